//! Repairs of damaged files: a flipped bit of a footer is turned back, and nothing is called healthy that is not.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failing helper is a failing test"
)]

mod expected;

use std::sync::Arc;

use expected::*;
use tesselle_core::storage::MemoryStorage;
use tesselle_core::testing::{Mendings, mend_flips, rows_as_text};
use tesselle_core::{Depth, Format, Location, OpenOptions, Outcome, Repaired, Report, Scan};
use tesselle_tatami::Tatami;

#[test]
fn a_repair_of_a_flipped_bit_keeps_the_law() {
    let names = [
        "minimal/data.tatami",
        "sorted-int/data.tatami",
        "corrupt/intact.tatami",
        "crafted-sorted/data.tatami",
        "v10-basic/data.tatami",
        "search-basic/seg.tatami",
    ];
    let options = OpenOptions { text_as_binary: true, ..OpenOptions::default() };
    let mut all = Mendings::default();
    for name in names {
        let bytes = std::fs::read(fixtures().join(name)).unwrap();
        let tally = mend_flips(&Tatami, &[(String::new(), bytes)], &options, &driver(), (5, 150));
        all += tally;
    }
    assert_eq!(all.refused, 0, "{all:?}");
}

/// Repairs bytes; what was said, and the rows of the result with the names of its columns.
fn repair(bytes: Vec<u8>) -> (Repaired, Vec<String>) {
    let options = OpenOptions { text_as_binary: true, ..OpenOptions::default() };
    let storage = MemoryStorage::new();
    storage.put("data.tatami", bytes);
    let source = Location::new(Arc::new(storage), "data.tatami");
    let target = Location::new(Arc::clone(source.storage()), "mended.tatami");
    let repaired = Tatami.repair(&source, &target, &options, &driver()).unwrap();
    let container = Tatami.open(&target, &options).unwrap();
    let mut report = Report::new(Depth::Deep);
    container.verify(Depth::Deep, &driver(), &mut report).unwrap();
    assert!(report.ok(), "{:?}: {:?}", repaired.notes, report.findings());
    let table = container.default_table().unwrap();
    let batch = tesselle_core::testing::read_all(&*table, &Scan::all(), &driver());
    let mut rows: Vec<String> = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
    rows.extend(rows_as_text(&batch));
    (repaired, rows)
}

fn footer(bytes: &[u8]) -> std::ops::Range<usize> {
    let end = bytes.len() - 12;
    end - u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap()) as usize..end
}

#[test]
fn any_flipped_bit_of_footer_and_trailer_is_turned_back() {
    let bytes = std::fs::read(fixtures().join("sorted-int/data.tatami")).unwrap();
    let (healthy, rows) = repair(bytes.clone());
    assert_eq!(healthy.outcome, Outcome::Healthy);
    let start = footer(&bytes).start * 8;
    // A step that meets every bit of a byte in turn, and all bits of the trailer.
    let places = (start..bytes.len() * 8).step_by(9).chain(bytes.len() * 8 - 96..bytes.len() * 8);
    for place in places {
        let mut damaged = bytes.clone();
        damaged[place / 8] ^= 1 << (place % 8);
        let (repaired, mended) = repair(damaged);
        assert_eq!(repaired.outcome, Outcome::Mended, "bit {place}: {:?}", repaired.notes);
        assert!(mended == rows, "bit {place}: {:?}", repaired.notes);
    }
}

#[test]
fn more_damage_to_a_footer_leaves_the_table_in_doubt_or_its_records() {
    let bytes = std::fs::read(fixtures().join("sorted-int/data.tatami")).unwrap();
    let (_, rows) = repair(bytes.clone());
    let range = footer(&bytes);
    let name = rows[0].as_bytes();
    let at = range.start + bytes[range.clone()].windows(name.len()).position(|part| part == name).unwrap();
    let mut renamed = bytes.clone();
    renamed[at..at + name.len()].fill(b'z');
    renamed[at] = b'q';
    let (repaired, mended) = repair(renamed);
    assert_eq!(repaired.outcome, Outcome::Doubtful, "{:?}", repaired.notes);
    assert!(repaired.notes[1].contains("names and types of columns"), "{:?}", repaired.notes);
    let columns = rows.iter().zip(&mended).filter(|(before, after)| before != after).count();
    assert_eq!((mended.len(), columns), (rows.len(), 1), "one name differs, all rows are there");

    let mut lost = bytes.clone();
    lost[range].fill(0xee);
    let (repaired, mended) = repair(lost);
    assert_eq!(repaired.outcome, Outcome::Partial);
    assert!(repaired.notes[1].contains("another table"), "{:?}", repaired.notes);
    assert_eq!(mended[..2], ["offset", "kind"]);
}
