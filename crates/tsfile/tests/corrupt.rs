//! Strangers' bytes: no cut and no flipped bit may panic, hang or take memory; a cut file never opens.

#![allow(clippy::unwrap_used, reason = "functions of a test")]

mod golden;

use std::sync::Arc;
use tesselle_core::storage::MemoryStorage;
use tesselle_core::{Depth, Driver, Format, Location, OpenOptions, Report, Scan};
use tesselle_tsfile::TsFile;

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

/// Does everything a reader can do with the bytes; errors are fine.
fn exercise(bytes: &[u8], driver: &Driver) -> bool {
    let storage = MemoryStorage::new();
    storage.put("f.tsfile", bytes.to_vec());
    let location = Location::new(Arc::new(storage), "f.tsfile");
    let _ = tesselle_tsfile::tools::read(&location, true);
    let options = OpenOptions { text_as_binary: true, ..OpenOptions::default() };
    let target = Location::new(Arc::clone(location.storage()), "fixed.tsfile");
    let _ = TsFile.repair(&location, &target, &options, driver);
    let Ok(container) = TsFile.open(&location, &options) else { return false };
    let _ = container.describe();
    let _ = container.chunks(None);
    let _ = container.layout();
    let _ = container.verify(Depth::Deep, driver, &mut Report::new(Depth::Deep));
    for name in container.table_names().into_iter().take(4).chain(["*".to_string()]) {
        let _ = golden::rows_with(&*container, &name, &Scan::all(), driver);
    }
    true
}

fn files() -> Vec<(String, Vec<u8>)> {
    let cases = golden::cases("tsfile").into_iter().filter(|(name, _, _)| CASES.contains(&name.as_str()));
    cases.map(|(name, path, _)| (name, std::fs::read(path.join("data.tsfile")).unwrap())).collect()
}

#[test]
fn no_prefix_of_a_file_opens_or_breaks_the_reader() {
    let driver = golden::driver();
    for (name, bytes) in files() {
        assert!(exercise(&bytes, &driver), "{name} itself opens");
        for cut in (0..bytes.len()).step_by(if bytes.len() > 1500 { 3 } else { 1 }) {
            assert!(!exercise(&bytes[..cut], &driver), "{name} cut to {cut} bytes opens");
        }
    }
}

#[test]
fn flipped_bytes_do_not_break_the_reader() {
    let driver = golden::driver();
    for (_, bytes) in files() {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        for _ in 0..300 {
            let mut damaged = bytes.clone();
            for _ in 0..3 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let at = (state as usize >> 8) % damaged.len();
                // Extremes are what lengths and counts fear most.
                damaged[at] = [state as u8, 0, 0x7f, 0xff][state as usize % 4];
            }
            exercise(&damaged, &driver);
        }
    }
}

#[test]
fn the_former_format_is_refused_by_name() {
    for (name, path, expected) in golden::cases("tsfile-upstream") {
        if expected.get("opens").is_some_and(|opens| opens == false) {
            let error = golden::open(&path.join("data.tsfile"), false).err().unwrap();
            assert_eq!(error.class_name(), "unsupported_version", "{name}");
        }
    }
}
