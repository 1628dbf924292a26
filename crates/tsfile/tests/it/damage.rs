//! Repair of damaged files: damaged parts are dropped and reported, and damage is never reported as intact.

use std::collections::BTreeSet;
use std::sync::Arc;

use tesselle_core::storage::MemoryStorage;
use tesselle_core::testing::{RepairTally, is_thorough, repair_flips};
use tesselle_core::{Depth, Format, Location, OpenOptions, Outcome, RepairRequest, Repaired, Report, Scan};
use tesselle_tsfile::tools::Dumped;
use tesselle_tsfile::write::{Column, Values, Writer, WriterOptions};
use tesselle_tsfile::{Compression, DataType, Encoding, MeasurementSchema, TsFile, Version};

use crate::golden;

/// Small files of every version and model.
const CASES: [&str; 18] = [
    "v08-gorilla-nan",
    "v08-missing",
    "v09-unordered-time",
    "v09-missing",
    "v2-names",
    "v2-text",
    "v2-int32",
    "v3-names",
    "v3-text",
    "v3-aligned-one-page",
    "v3-aligned",
    "v4-aligned-one-page",
    "v4-names",
    "v4-multi",
    "v4py-camel",
    "v4py-table",
    "v4py-table-pages",
    "v4py-tree",
];

#[test]
fn repairs_of_flipped_bits_follow_the_rules() {
    let driver = golden::driver();
    let options = OpenOptions::default().with_text_as_binary(true);
    let mut all = RepairTally::default();
    // Damaged copies of each.
    let copies = if is_thorough() { 120 } else { 60 };
    for (name, path, expected) in golden::cases("tsfile") {
        if !CASES.contains(&name.as_str()) || expected.get("complete").is_some_and(|c| c == false) {
            continue;
        }
        let bytes = std::fs::read(path.join("data.tsfile")).unwrap();
        let tally = repair_flips(&TsFile, &[(String::new(), bytes)], &options, &driver, (7, copies));
        assert!(tally.refused * 10 < copies, "{name}: {tally:?}");
        all += tally;
    }
    assert!(all.repaired > 0 && all.partial > 0, "{all:?}");
}

fn stored(bytes: Vec<u8>) -> Location {
    let storage = MemoryStorage::new();
    storage.put("f.tsfile", bytes);
    Location::new(Arc::new(storage), "f.tsfile")
}

fn repair(bytes: Vec<u8>) -> (Repaired, Location) {
    let target = Location::new(Arc::new(MemoryStorage::new()), "repaired.tsfile");
    let repaired = TsFile
        .repair(RepairRequest::new(&stored(bytes), &target, &OpenOptions::default()), &golden::driver())
        .unwrap();
    let mut report = Report::new(Depth::Deep);
    let container = TsFile.open(&target, &OpenOptions::default()).unwrap();
    container.verify(Depth::Deep, &golden::driver(), &mut report).unwrap();
    assert!(report.ok(), "{:?}: {:?}", repaired.notes, report.findings());
    (repaired, target)
}

/// All points as strings: device, measurement, time and the value from its typed column.
fn points(location: &Location) -> BTreeSet<String> {
    let container = TsFile.open(location, &OpenOptions::default()).unwrap();
    let (_, batches) = golden::rows(&*container, "*", &Scan::all()).unwrap();
    let mut points = BTreeSet::new();
    for batch in &batches {
        for row in 0..batch.num_rows() {
            let cells = batch.columns().iter().filter_map(|column| golden::cell(column, row));
            points.insert(format!("{:?}", cells.collect::<Vec<_>>()));
        }
    }
    points
}

#[test]
fn a_page_is_kept_only_if_it_can_be_read() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/damaged/several-bytes.tsfile");
    let (repaired, target) = repair(std::fs::read(file).unwrap());
    assert_eq!(repaired.outcome, Outcome::Partial, "{:?}", repaired.notes);
    let lost = repaired.notes.iter().filter(|note| note.starts_with("lost from ")).count();
    assert!(lost > 0 && !points(&target).is_empty(), "{:?}", repaired.notes);
}

/// The number of lost points that a report states.
fn stated_loss(notes: &[String]) -> usize {
    let lists = notes.iter().filter(|note| note.starts_with("lost from "));
    let words = lists.flat_map(|note| note.split([' ', ',']).collect::<Vec<_>>()).collect::<Vec<_>>();
    words.windows(2).filter(|pair| pair[1] == "points").map(|pair| pair[0].parse::<usize>().unwrap()).sum()
}

#[test]
fn damage_loses_only_its_chunk_and_the_lost_points_are_counted() {
    let cases = golden::cases("tsfile");
    for name in ["v09-missing", "v08-int32-snappy", "v09-int32-snappy", "v2-int32", "v3-int32", "v4-int32"] {
        let Some((_, path, _)) = cases.iter().find(|case| case.0 == name) else { continue };
        let bytes = std::fs::read(path.join("data.tsfile")).unwrap();
        let (healthy, copy) = repair(bytes.clone());
        assert_eq!(healthy.outcome, Outcome::Healthy, "{name}");
        assert_eq!(healthy.notes, ["the file is healthy and was copied"], "{name}");
        assert_eq!(&*copy.read_all(1 << 30).unwrap(), &bytes[..], "{name}");
        let before = points(&copy);
        let container = TsFile.open(&copy, &OpenOptions::default()).unwrap();
        let chunks = container.chunks(None).unwrap();
        let mut saved = 0;
        for chunk in chunks {
            let offset = chunk["offset"].as_u64().unwrap() as usize;
            let mut damaged = bytes.clone();
            // The marker of a chunk: the scan stops there, and the metadata lists where to resume.
            damaged[offset] ^= 0x40;
            let (repaired, target) = repair(damaged);
            assert_eq!(repaired.outcome, Outcome::Partial, "{name}: {:?}", repaired.notes);
            let after = points(&target);
            assert!(after.is_subset(&before), "{name} at {offset}: {:?}", repaired.notes);
            let lost = before.len() - after.len();
            assert_eq!(stated_loss(&repaired.notes), lost, "{name} at {offset}: {:?}", repaired.notes);
            saved = saved.max(after.len());
        }
        assert!(saved > 0 || name == "v09-missing", "{name}: no other chunk was recovered");
    }
}

#[test]
fn unapplied_deletions_next_to_a_file_are_reported() {
    let path = golden::case("v3-names");
    let storage = MemoryStorage::new();
    storage.put("f.tsfile", std::fs::read(path.join("data.tsfile")).unwrap());
    storage.put("f.tsfile.mods", b"DELETION,root.nowhere.s,9,0,5\n".to_vec());
    let source = Location::new(Arc::new(storage), "f.tsfile");
    let target = Location::new(Arc::new(MemoryStorage::new()), "repaired.tsfile");
    let repaired = TsFile
        .repair(RepairRequest::new(&source, &target, &OpenOptions::default()), &golden::driver())
        .unwrap();
    assert_eq!(repaired.outcome, Outcome::Healthy);
    assert!(repaired.notes.iter().any(|note| note.contains("deletions next to")), "{:?}", repaired.notes);
}

/// A file of two groups of two series with three pages each.
fn paged(version: Version, aligned: bool) -> Vec<u8> {
    let storage = MemoryStorage::new();
    let location = Location::new(Arc::new(storage.clone()), "f.tsfile");
    let options = WriterOptions::for_version(version).with_page_points(10);
    let mut writer = Writer::create(&location, false, options, &golden::driver()).unwrap();
    let device = writer.device_id("root.d");
    let series = |name: &str| MeasurementSchema {
        name: name.to_owned(),
        data_type: DataType::Int32,
        encoding: Encoding::Plain,
        compression: Compression::Uncompressed,
        properties: Vec::new(),
    };
    let series = vec![series("a"), series("b")];
    if aligned {
        writer.add_aligned_device(device.clone(), series).unwrap();
    } else {
        writer.add_device(device.clone(), series).unwrap();
    }
    for group in 0..2 {
        let times: Vec<i64> = (group * 100..group * 100 + 30).collect();
        let a = Values::Int32(times.iter().map(|t| *t as i32 * 3 - 7).collect());
        let b = Values::Int32(times.iter().map(|t| *t as i32 * -5).collect());
        let columns = [("a", &a), ("b", &b)].map(|(name, values)| Column { name, values, present: None });
        writer.write(&device, &times, &columns).unwrap();
        writer.flush().unwrap();
    }
    writer.finish().unwrap();
    storage.get("f.tsfile").unwrap().to_vec()
}

#[test]
fn damage_loses_only_its_page() {
    for version in Version::ALL {
        for aligned in [false, true] {
            if aligned && !version.is_compact() {
                continue;
            }
            let bytes = paged(version, aligned);
            let before = points(&stored(bytes.clone()));
            assert_eq!(before.len(), 120);
            let mut pages = Vec::new();
            let mut is_time = false;
            tesselle_tsfile::tools::read(&stored(bytes.clone()), false, &mut |part| {
                match part {
                    Dumped::Chunk(chunk) => is_time = chunk["type"] == "VECTOR",
                    Dumped::Page(page) => {
                        let field = |name: &str| page[name].as_u64().unwrap() as usize;
                        pages.push((is_time, field("offset"), field("compressed_size")));
                    }
                    _ => {}
                }
                Ok(())
            })
            .unwrap();
            assert_eq!(pages.len(), if aligned { 18 } else { 12 });
            for (is_time, offset, size) in pages {
                let what = format!("{} {aligned} {offset}", version.name());
                let mut damaged = bytes.clone();
                // The data of a page ends with the last of its values.
                let header = if version.is_compact() { 30 } else { 40 };
                let last = offset + header + size - 12;
                damaged[last] ^= 0x55;
                let (repaired, target) = repair(damaged);
                assert_eq!(repaired.outcome, Outcome::Partial, "{what}: {:?}", repaired.notes);
                let after = points(&target);
                assert!(after.is_subset(&before), "{what}");
                let lost = if is_time { 20 } else { 10 };
                assert_eq!(before.len() - after.len(), lost, "{what}: {:?}", repaired.notes);
            }
        }
    }
}

#[test]
fn a_chunk_is_kept_only_if_its_marker_and_type_agree() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/damaged/marked-as-times.tsfile");
    let (_, target) = repair(std::fs::read(file).unwrap());
    assert!(!points(&target).is_empty());
}
