//! Hostile input: no truncation and no flipped bit may panic, hang or exhaust memory; a truncated file never
//! opens.

use std::sync::Arc;

use tesselle_core::storage::MemoryStorage;
use tesselle_core::testing::{exercise, flips, is_thorough};
use tesselle_core::{Driver, Format, Location, OpenOptions, Scan};
use tesselle_tsfile::TsFile;
use tesselle_tsfile::aggregate::Request;

use crate::golden;

/// Small files of every version; each is a few kilobytes.
const CASES: [&str; 9] = [
    "v08-gorilla-nan",
    "v09-unordered-time",
    "v09-negative-time",
    "v2-names",
    "v3-names",
    "v3-aligned-one-page",
    "v4-aligned-one-page",
    "v4-names",
    "v4py-camel",
];

/// Runs every read operation on the bytes; errors are fine. Returns whether they open.
fn survives(bytes: &[u8], driver: &Driver) -> bool {
    let _ = exercise(&TsFile, bytes, driver);
    let storage = MemoryStorage::new();
    storage.put("f.tsfile", bytes.to_vec());
    let location = Location::new(Arc::new(storage), "f.tsfile");
    let _ = tesselle_tsfile::original::sketch(
        &location,
        "f",
        &tesselle_core::Limits::default(),
        driver,
        &mut |_| Ok(()),
    );
    let _ = tesselle_tsfile::tools::read(&location, true, &mut |_| Ok(()));
    let _ =
        tesselle_tsfile::aggregate::aggregate(&location, &Request { from: 3, ..Request::default() }, driver);
    let Ok(container) = TsFile.open(&location, &OpenOptions::default()) else { return false };
    let _ = golden::rows_with(&*container, "*", &Scan::all(), driver);
    true
}

fn files() -> Vec<(String, Vec<u8>)> {
    let cases = golden::cases("tsfile").into_iter().filter(|(name, _, _)| CASES.contains(&name.as_str()));
    let files: Vec<_> =
        cases.map(|(name, path, _)| (name, std::fs::read(path.join("data.tsfile")).unwrap())).collect();
    assert!(!files.is_empty());
    files
}

#[test]
fn no_prefix_of_a_file_opens_or_breaks_the_reader() {
    let driver = golden::driver();
    for (name, bytes) in files() {
        assert!(survives(&bytes, &driver), "{name} itself opens");
        for cut in (0..bytes.len()).step_by(if bytes.len() > 1500 { 3 } else { 1 }) {
            assert!(!survives(&bytes[..cut], &driver), "{name} cut to {cut} bytes opens");
        }
    }
}

#[test]
fn flipped_bytes_do_not_break_the_reader() {
    let driver = golden::driver();
    let copies = if is_thorough() { 300 } else { 150 };
    for (_, bytes) in files() {
        for damaged in flips(&bytes, 1).take(copies) {
            survives(&damaged, &driver);
        }
    }
}

#[test]
fn the_pre_0_8_format_is_refused_by_name() {
    let magic = b"TsFilev0.3.0";
    let file = [&magic[..], &[0; 1000], magic].concat();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.tsfile");
    std::fs::write(&path, file).unwrap();
    let error = golden::open(&path, false).err().unwrap();
    assert_eq!(error.class_name(), "unsupported_version");
}
