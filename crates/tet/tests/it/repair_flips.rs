//! Repairs of damaged files: a result is called healthy only if it verifies.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use tesselle_core::storage::MemoryStorage;
use tesselle_core::testing::{RepairTally, read_all, repair_flips};
use tesselle_core::{
    Depth, Format, Location, OpenOptions, Outcome, RepairRequest, Repaired, Report, Scan, WriteOptions,
};
use tesselle_tet::Tet;

use crate::golden;
use crate::golden::driver;

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
    let mut all = RepairTally::default();
    for case in golden::cases().into_iter().filter(|case| names.contains(&&*case.name)) {
        let files = [(String::new(), case.bytes())];
        let tally = repair_flips(&Tet, &files, &OpenOptions::default(), &driver(), (3, 120));
        all += tally;
    }
    assert!(all.refused < all.healthy + all.repaired + all.doubtful + all.partial, "{all:?}");
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
    let target = Location::new(Arc::clone(source.storage()), "repaired.tet");
    (Tet.repair(RepairRequest::new(&source, &target, &OpenOptions::default()), &driver()).unwrap(), target)
}

#[test]
fn zone_maps_that_disagree_with_a_chunk_are_rebuilt_and_named() {
    let bytes = with_zone_maps();
    let (healthy, _) = repair(bytes.clone());
    assert_eq!(healthy.outcome, Outcome::Healthy);
    // Two values of the third chunk, which has neither compression nor a checksum.
    let at = bytes.windows(8).position(|window| window == 250.5_f64.to_le_bytes()).unwrap();
    let mut damaged = bytes.clone();
    damaged[at..at + 16].fill(0);
    let (repaired, target) = repair(damaged);
    assert_eq!(repaired.outcome, Outcome::Doubtful);
    let note = &repaired.notes[0];
    assert!(note.contains("rebuilt: 1 of them disagreed") && note.contains("may be damaged"), "{note}");
    let container = Tet.open(&target, &OpenOptions::default()).unwrap();
    let mut report = Report::new(Depth::Deep);
    container.verify(Depth::Deep, &driver(), &mut report).unwrap();
    assert!(report.ok(), "{:?}", report.findings());
    let table = container.table(&container.table_names()[0]).unwrap();
    let rows = read_all(&*table, &Scan::all().filter("value < 0.5".parse().unwrap()), &driver());
    assert_eq!(rows.num_rows(), 2, "the new zone maps hide nothing");
}

fn tensor(location: &Location) -> Vec<f64> {
    let file = tesselle_tet::File::open(location, &OpenOptions::default()).unwrap();
    let mut bytes = vec![0; 400 * 8];
    let array = file.array(0).unwrap();
    tesselle_core::array::read_region(&*array, &tesselle_core::Region::whole(&[400]), &mut bytes, &driver())
        .unwrap();
    bytes.chunks_exact(8).map(|cell| f64::from_le_bytes(cell.try_into().unwrap())).collect()
}

/// A file of four chunks in which the offset of the second payload leads into the index.
fn without_a_chunk() -> Vec<u8> {
    let mut bytes = with_zone_maps();
    let index = bytes.windows(4).position(|window| window == b"TIDX").unwrap();
    let at = index + 32 + 104 + 72;
    bytes[at..at + 8].copy_from_slice(&((index + 32) as u64).to_le_bytes());
    bytes
}

#[test]
fn lost_elements_get_the_value_that_is_asked_for() {
    let storage = MemoryStorage::new();
    storage.put("data.tet", without_a_chunk());
    let source = Location::new(Arc::new(storage.clone()), "data.tet");
    let target = Location::new(Arc::new(storage), "repaired.tet");
    let fill = |text: &str| OpenOptions::default().with_fill(text.to_owned());
    let repaired = Tet.repair(RepairRequest::new(&source, &target, &fill("-9999")), &driver()).unwrap();
    assert!(repaired.notes[0].contains("filled with -9999"), "{:?}", repaired.notes);
    let values = tensor(&target);
    assert!(
        values
            .iter()
            .enumerate()
            .all(|(i, value)| *value == if (100..200).contains(&i) { -9999.0 } else { i as f64 + 0.5 })
    );
    let error = Tet.repair(RepairRequest::new(&source, &target, &fill("none")), &driver()).unwrap_err();
    assert!(error.to_string().contains("'none' is not a value of the type"), "{error}");
}

#[test]
fn a_lost_chunk_is_filled_and_marked_and_the_others_stay() {
    let rows = 400 / 100;
    let (repaired, target) = repair(without_a_chunk());
    assert_eq!(repaired.outcome, Outcome::Partial);
    assert!(repaired.notes[0].contains("1 chunk is lost and filled with NaN: [1]"), "{:?}", repaired.notes);
    assert_eq!(repaired.kept_bytes, (rows - 1) * 800);
    let values = tensor(&target);
    for (i, value) in values.iter().enumerate() {
        let want = i as f64 + 0.5;
        assert!(if (100..200).contains(&i) { value.is_nan() } else { *value == want }, "{i}: {value}");
    }
    let file = tesselle_tet::File::open(&target, &OpenOptions::default()).unwrap();
    let about = file.metadata().unwrap().datasets.values().next().unwrap();
    assert!(about.attrs["tesselle:lost_chunks"].contains("[1]"));
    let container = Tet.open(&target, &OpenOptions::default()).unwrap();
    let mut report = Report::new(Depth::Deep);
    container.verify(Depth::Deep, &driver(), &mut report).unwrap();
    assert!(report.ok(), "{:?}", report.findings());
}

#[test]
fn a_file_that_was_cut_keeps_the_chunks_before_the_cut() {
    let storage = MemoryStorage::new();
    let target = Location::new(Arc::new(storage.clone()), "data.tet");
    let values: ArrayRef = Arc::new(Float64Array::from_iter_values((0..400).map(|i| f64::from(i) + 0.5)));
    let batch = RecordBatch::try_from_iter([("v", values)]).unwrap();
    let mut options = WriteOptions::default();
    options.settings.set("chunk", "100");
    let mut sink = Tet.create(&target, batch.schema(), &options, &driver()).unwrap();
    sink.write(&batch).unwrap();
    sink.finish().unwrap();
    let bytes = storage.get("data.tet").unwrap().to_vec();
    let (repaired, target) = repair(bytes[..bytes.len() - 900].to_vec());
    assert_eq!(repaired.outcome, Outcome::Partial);
    let values = tensor(&target);
    assert!(values[..200].iter().enumerate().all(|(i, value)| *value == i as f64 + 0.5));
    assert!(values[200..].iter().all(|value| value.is_nan()));
}

#[test]
fn a_checksum_finds_a_flipped_bit_in_zstd_data() {
    let storage = MemoryStorage::new();
    let target = Location::new(Arc::new(storage.clone()), "data.tet");
    // Random bytes do not compress: the frame stores them verbatim, and only a checksum protects them.
    let mut state = 1_u64;
    let noise = (0..4096).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f64::from_bits((state >> 12) | 0x3ff0_0000_0000_0000)
    });
    let values: ArrayRef = Arc::new(Float64Array::from_iter_values(noise));
    let batch = RecordBatch::try_from_iter([("v", values)]).unwrap();
    for (checksum, found) in [(None, true), (Some("true"), true), (Some("false"), false)] {
        let mut options = WriteOptions::default().with_overwrite(true);
        options.settings.set("codec", "zstd");
        if let Some(checksum) = checksum {
            options.settings.set("checksum", checksum);
        }
        let mut sink = Tet.create(&target, batch.schema(), &options, &driver()).unwrap();
        sink.write(&batch).unwrap();
        sink.finish().unwrap();
        let mut bytes = storage.get("data.tet").unwrap().to_vec();
        let middle = bytes.len() - 5000;
        bytes[middle] ^= 1;
        storage.put("damaged.tet", bytes);
        let damaged = Location::new(Arc::new(storage.clone()), "damaged.tet");
        let mut report = Report::new(Depth::Deep);
        let container = Tet.open(&damaged, &OpenOptions::default()).unwrap();
        container.verify(Depth::Deep, &driver(), &mut report).unwrap();
        assert_eq!(!report.ok(), found, "checksum {checksum:?}: {:?}", report.findings());
    }
}

/// The footer is damaged, and an index row of an unknown codec belongs to no chunk: the array is empty.
#[test]
fn a_row_without_a_chunk_is_not_copied() {
    let (repaired, target) = repair(include_bytes!("../data/damaged/surplus_row.tet").to_vec());
    assert_eq!(repaired.outcome, Outcome::Partial, "{:?}", repaired.notes);
    let mut report = Report::new(Depth::Deep);
    let out = Tet.open(&target, &OpenOptions::default()).unwrap();
    out.verify(Depth::Deep, &driver(), &mut report).unwrap();
    assert!(report.ok(), "{:?}", report.findings());
}
