//! Intact arrays of the original engine verify without an error at every depth, and damage is detected.

use std::sync::Arc;

use serde_json::Value as Json;
use tesselle_core::{Depth, Report, Severity};

use crate::support::{case, cases, driver, expected, open, options};

#[test]
fn intact_arrays_have_no_errors() {
    let mut failures = Vec::new();
    for case in cases() {
        let expected = expected(&case);
        if expected.get("unreadable_by_2_30").is_some() {
            continue;
        }
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        for depth in [Depth::Quick, Depth::Pieces, Depth::Deep] {
            let container = open(&case.join("array"), &options(&expected)).unwrap();
            let mut report = Report::new(depth);
            container.verify(depth, &driver(), &mut report).unwrap();
            let errors = report.findings().iter().filter(|finding| finding.severity == Severity::Error);
            failures.extend(errors.take(2).map(|f| format!("{name}: {} {} {:?}", f.kind, f.message, f.file)));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn an_uncommitted_fragment_is_a_warning() {
    let case = case("uncommitted_fragment");
    let container = open(&case.join("array"), &options(&Json::Null)).unwrap();
    let mut report = Report::new(Depth::Quick);
    container.verify(Depth::Quick, &driver(), &mut report).unwrap();
    let kinds: Vec<&str> = report.findings().iter().map(|finding| finding.kind).collect();
    assert!(report.ok() && kinds.contains(&"uncommitted_fragment"), "{kinds:?}");
}

#[test]
fn a_damaged_tile_fails_its_checksum_at_the_middle_depth() {
    let case = case("filter_sha256");
    let folder = tempfile::tempdir().unwrap();
    copy(&case.join("array"), folder.path());
    let mut data = Vec::new();
    find(folder.path(), "a0.tdb", &mut data);
    let mut bytes = std::fs::read(&data[0]).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&data[0], bytes).unwrap();
    let container: Arc<_> = open(folder.path(), &options(&Json::Null)).unwrap();
    let mut report = Report::new(Depth::Quick);
    container.verify(Depth::Quick, &driver(), &mut report).unwrap();
    assert!(report.ok());
    let mut report = Report::new(Depth::Pieces);
    container.verify(Depth::Pieces, &driver(), &mut report).unwrap();
    assert!(!report.ok());
    let finding = &report.findings()[0];
    assert!(finding.file.as_ref().is_some_and(|file| file.ends_with("a0.tdb")), "{finding:?}");
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            std::fs::create_dir_all(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn find(folder: &std::path::Path, name: &str, out: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find(&path, name, out);
        } else if path.ends_with(name) {
            out.push(path);
        }
    }
}

/// The metadata of a fragment with one byte of its footer changed.
fn flip_footer(metadata: &[u8], at: usize, mask: u8) -> Vec<u8> {
    let mut bytes = metadata.to_vec();
    let (footer, length) = bytes.split_at(bytes.len() - 8);
    let start = footer.len() - u64::from_le_bytes(length.try_into().unwrap()) as usize;
    bytes[start + at] ^= mask;
    bytes
}

#[test]
fn domains_and_counts_of_a_dense_footer_are_compared_with_the_array() {
    let folder = tempfile::tempdir().unwrap();
    copy(&case("dense_1d_partial_multi").join("array"), folder.path());
    let mut found = Vec::new();
    find(folder.path(), "__fragment_metadata.tdb", &mut found);
    let whole = std::fs::read(&found[0]).unwrap();
    // Version, length of the schema's name, the name, dense, no domain; then two bounds, sparse tiles, cells of the last tile.
    let start = whole.len() - 8 - u64::from_le_bytes(whole[whole.len() - 8..].try_into().unwrap()) as usize;
    let name = u64::from_le_bytes(whole[start + 4..start + 12].try_into().unwrap()) as usize;
    let domain = 12 + name + 2;
    let changes = [
        (domain + 6, 1, "non_empty_domain"),
        (domain + 8, 1, "tile_count"),
        (domain + 16, 1, "last_tile_cells"),
        (domain + 17, 1, "last_tile_cells"),
    ];
    for (at, mask, kind) in changes {
        std::fs::remove_file(&found[0]).unwrap();
        std::fs::write(&found[0], flip_footer(&whole, at, mask)).unwrap();
        let container = open(folder.path(), &options(&Json::Null)).unwrap();
        let mut report = Report::new(Depth::Deep);
        container.verify(Depth::Deep, &driver(), &mut report).unwrap();
        let kinds: Vec<&str> = report.findings().iter().map(|finding| finding.kind).collect();
        assert!(!report.ok() && kinds.contains(&kind), "byte {at} of the footer: {kinds:?}, not {kind}");
    }
}
