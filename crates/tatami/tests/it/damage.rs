//! Repair of damaged files: a flipped bit of a footer is corrected, and damage is never reported as intact.

use std::sync::Arc;

use tesselle_core::storage::MemoryStorage;
use tesselle_core::testing::{RepairTally, repair_flips, rows_as_strings};
use tesselle_core::{Depth, Format, Location, OpenOptions, Outcome, RepairRequest, Repaired, Report, Scan};
use tesselle_tatami::Tatami;

use crate::expected::*;

#[test]
fn repairs_of_flipped_bits_follow_the_rules() {
    let names = [
        "minimal/data.tatami",
        "sorted-int/data.tatami",
        "corrupt/intact.tatami",
        "crafted-sorted/data.tatami",
        "v10-basic/data.tatami",
        "search-basic/seg.tatami",
    ];
    let options = OpenOptions::default().with_text_as_binary(true);
    let mut all = RepairTally::default();
    for name in names {
        let bytes = std::fs::read(fixtures().join(name)).unwrap();
        let tally = repair_flips(&Tatami, &[(String::new(), bytes)], &options, &driver(), (5, 150));
        all += tally;
    }
    assert_eq!(all.refused, 0, "{all:?}");
}

/// Repairs bytes; returns the report, and the rows of the result with its column names.
fn repair(bytes: Vec<u8>) -> (Repaired, Vec<String>) {
    let options = OpenOptions::default().with_text_as_binary(true);
    let storage = MemoryStorage::new();
    storage.put("data.tatami", bytes);
    let source = Location::new(Arc::new(storage), "data.tatami");
    let target = Location::new(Arc::clone(source.storage()), "repaired.tatami");
    let repaired = Tatami.repair(RepairRequest::new(&source, &target, &options), &driver()).unwrap();
    let container = Tatami.open(&target, &options).unwrap();
    let mut report = Report::new(Depth::Deep);
    container.verify(Depth::Deep, &driver(), &mut report).unwrap();
    assert!(report.ok(), "{:?}: {:?}", repaired.notes, report.findings());
    let table = container.default_table().unwrap();
    let batch = tesselle_core::testing::read_all(&*table, &Scan::all(), &driver());
    let mut rows: Vec<String> = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
    rows.extend(rows_as_strings(&batch));
    (repaired, rows)
}

fn footer(bytes: &[u8]) -> std::ops::Range<usize> {
    let end = bytes.len() - 12;
    end - u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap()) as usize..end
}

#[test]
fn any_flipped_bit_of_footer_and_trailer_is_corrected() {
    let bytes = std::fs::read(fixtures().join("sorted-int/data.tatami")).unwrap();
    let (healthy, rows) = repair(bytes.clone());
    assert_eq!(healthy.outcome, Outcome::Healthy);
    let start = footer(&bytes).start * 8;
    // A step that covers every bit of a byte in turn, and all bits of the trailer.
    let places = (start..bytes.len() * 8).step_by(9).chain(bytes.len() * 8 - 96..bytes.len() * 8);
    for place in places {
        let mut damaged = bytes.clone();
        damaged[place / 8] ^= 1 << (place % 8);
        let (repaired, after) = repair(damaged);
        assert_eq!(repaired.outcome, Outcome::Repaired, "bit {place}: {:?}", repaired.notes);
        assert!(after == rows, "bit {place}: {:?}", repaired.notes);
    }
}

#[test]
fn more_damage_to_a_footer_yields_a_doubtful_table_or_its_records() {
    let bytes = std::fs::read(fixtures().join("sorted-int/data.tatami")).unwrap();
    let (_, rows) = repair(bytes.clone());
    let range = footer(&bytes);
    let name = rows[0].as_bytes();
    let at = range.start + bytes[range.clone()].windows(name.len()).position(|part| part == name).unwrap();
    let mut renamed = bytes.clone();
    renamed[at..at + name.len()].fill(b'z');
    renamed[at] = b'q';
    let (repaired, after) = repair(renamed);
    assert_eq!(repaired.outcome, Outcome::Doubtful, "{:?}", repaired.notes);
    assert!(repaired.notes[1].contains("names and types of columns"), "{:?}", repaired.notes);
    let columns = rows.iter().zip(&after).filter(|(before, after)| before != after).count();
    assert_eq!((after.len(), columns), (rows.len(), 1), "one name differs, all rows are kept");

    let mut lost = bytes.clone();
    lost[range].fill(0xee);
    let (repaired, after) = repair(lost);
    assert_eq!(repaired.outcome, Outcome::Partial);
    assert!(repaired.notes[1].contains("another table"), "{:?}", repaired.notes);
    assert_eq!(after[..2], ["offset", "kind"]);
}
