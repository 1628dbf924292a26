//! Repairs of damaged files: nothing is called healthy that a verification refuses.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod golden;

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use golden::driver;
use tesselle_core::storage::MemoryStorage;
use tesselle_core::testing::{Mendings, mend_flips, read_all};
use tesselle_core::{Depth, Format, Location, OpenOptions, Outcome, Repaired, Report, Scan, WriteOptions};
use tesselle_tet::Tet;

#[test]
fn a_repair_of_a_flipped_bit_keeps_the_law() {
    let names = [
        "dtype_f32_zstd",
        "rank3_raw",
        "names_utf8_groups",
        "footer_v1_provenance",
        "mixed_codecs_two_datasets",
        "odd_index_rows_reversed",
        "budget_both",
        "session_weather_v2",
    ];
    let mut all = Mendings::default();
    for case in golden::cases().into_iter().filter(|case| names.contains(&&*case.name)) {
        let files = [(String::new(), case.bytes())];
        let tally = mend_flips(&Tet, &files, &OpenOptions::default(), &driver(), (3, 120));
        all += tally;
    }
    assert!(all.refused < all.healthy + all.mended + all.doubtful + all.partial, "{all:?}");
}

/// A raw array with zone maps.
fn with_zone_maps() -> Vec<u8> {
    let storage = MemoryStorage::new();
    let target = Location::new(Arc::new(storage.clone()), "data.tet");
    let values: ArrayRef = Arc::new(Float64Array::from_iter_values((0..400).map(|i| f64::from(i) + 0.5)));
    let batch = RecordBatch::try_from_iter([("v", values)]).unwrap();
    let mut options = WriteOptions::default();
    for (name, value) in [("chunk", "100"), ("footer", "v2")] {
        options.settings.set(name, value);
    }
    let mut sink = Tet.create(&target, batch.schema(), &options, &driver()).unwrap();
    sink.write(&batch).unwrap();
    sink.finish().unwrap();
    storage.get("data.tet").unwrap().to_vec()
}

fn repair(bytes: Vec<u8>) -> (Repaired, Location) {
    let storage = MemoryStorage::new();
    storage.put("data.tet", bytes);
    let source = Location::new(Arc::new(storage), "data.tet");
    let target = Location::new(Arc::clone(source.storage()), "mended.tet");
    (Tet.repair(&source, &target, &OpenOptions::default(), &driver()).unwrap(), target)
}

#[test]
fn zone_maps_that_disagree_with_a_tile_are_made_anew_and_named() {
    let bytes = with_zone_maps();
    let (healthy, _) = repair(bytes.clone());
    assert_eq!(healthy.outcome, Outcome::Healthy);
    // Two values of the third tile, which no compression and no checksum guards.
    let at = bytes.windows(8).position(|window| window == 250.5_f64.to_le_bytes()).unwrap();
    let mut damaged = bytes.clone();
    damaged[at..at + 16].fill(0);
    let (repaired, target) = repair(damaged);
    assert_eq!(repaired.outcome, Outcome::Doubtful);
    let note = &repaired.notes[0];
    assert!(note.contains("made anew: 1 of them disagreed") && note.contains("may be damaged"), "{note}");
    let container = Tet.open(&target, &OpenOptions::default()).unwrap();
    let mut report = Report::new(Depth::Deep);
    container.verify(Depth::Deep, &driver(), &mut report).unwrap();
    assert!(report.ok(), "{:?}", report.findings());
    let table = container.table(&container.table_names()[0]).unwrap();
    let rows = read_all(&*table, &Scan::all().filter("value < 0.5".parse().unwrap()), &driver());
    assert_eq!(rows.num_rows(), 2, "the new zone maps hide nothing");
}
