//! Repair: intact row groups are kept, indexes are rebuilt, the source is not changed.

use std::path::Path;

use serde_json::Value;
use tesselle_core::{Depth, Format, Location, OpenOptions, RepairRequest, Repaired, Report, Scan};
use tesselle_tatami::Tatami;

use crate::expected::*;

fn repair(source: &Path, target: &Path) -> Repaired {
    let before = std::fs::read(source).unwrap();
    let (from, to) = (Location::local(source).unwrap(), Location::local(target).unwrap());
    let repaired = Tatami
        .repair(RepairRequest::new(&from, &to, &OpenOptions::default()), &driver())
        .unwrap_or_else(|e| panic!("{}: {e}", source.display()));
    assert_eq!(std::fs::read(source).unwrap(), before, "the source is not changed");
    assert_eq!(repaired.kept_bytes + repaired.dropped_bytes, before.len() as u64);
    let mut report = Report::new(Depth::Deep);
    open(target, &OpenOptions::default()).unwrap().verify(Depth::Deep, &driver(), &mut report).unwrap();
    assert!(report.ok(), "{}: {:?}", source.display(), report.findings());
    repaired
}

#[test]
fn every_damaged_fixture_becomes_a_valid_file() {
    let (folder, expected) = case("corrupt");
    let work = tempfile::tempdir().unwrap();
    for name in expected["files"].as_object().unwrap().keys() {
        let target = work.path().join(name);
        repair(&folder.join(name), &target);
    }
}

#[test]
fn a_damaged_index_or_header_loses_no_rows() {
    let (folder, expected) = case("corrupt");
    let work = tempfile::tempdir().unwrap();
    let intact = expected["files"]["intact.tatami"]["columns"].as_object().unwrap();
    for name in [
        "intact.tatami",
        "page-index.tatami",
        "bloom.tatami",
        "start-magic.tatami",
        "header-crc.tatami",
        "header-rows.tatami",
        "extra-tail.tatami",
        "header-footer-offset.tatami",
    ] {
        let target = work.path().join(name);
        repair(&folder.join(name), &target);
        let rows = read(&target, &Scan::all(), &OpenOptions::default()).unwrap();
        for (column, values) in intact {
            check_column(name, &rows, column, values.as_array().unwrap());
        }
    }
}

#[test]
fn a_damaged_page_loses_only_its_row_group() {
    let (folder, expected) = case("corrupt");
    let work = tempfile::tempdir().unwrap();
    let target = work.path().join("out.tatami");
    let repaired = repair(&folder.join("page-payload.tatami"), &target);
    assert!(
        repaired.dropped_bytes > 0 && repaired.notes.iter().any(|n| n.contains("row group 0")),
        "{:?}",
        repaired.notes
    );
    let groups = expected["layout"]["intact.tatami"]["row_groups"].as_array().unwrap();
    let skipped = groups[0]["rows"].as_u64().unwrap() as usize;
    let rows = read(&target, &Scan::all(), &OpenOptions::default()).unwrap();
    for (column, values) in expected["files"]["intact.tatami"]["columns"].as_object().unwrap() {
        let rest: Vec<Value> = values.as_array().unwrap()[skipped..].to_vec();
        check_column("page-payload", &rows, column, &rest);
    }
}

#[test]
fn the_records_of_a_file_without_a_footer_are_recovered() {
    let (folder, _) = case("corrupt");
    let work = tempfile::tempdir().unwrap();
    let target = work.path().join("out.tatami");
    let repaired = repair(&folder.join("interrupted.tatami"), &target);
    assert!(repaired.notes.iter().any(|n| n.contains("records")));
    let rows = read(&target, &Scan::all(), &OpenOptions::default()).unwrap();
    assert!(rows.iter().map(arrow_array::RecordBatch::num_rows).sum::<usize>() > 3);
}

#[test]
fn old_versions_and_search_segments_are_preserved() {
    let root = fixtures();
    let work = tempfile::tempdir().unwrap();
    for name in [
        "v10-basic/data.tatami",
        "search-basic/seg.tatami",
        "search-deletes/seg.tatami",
        "types-basic/data.tatami",
    ] {
        let target = work.path().join("out.tatami");
        let _ = std::fs::remove_file(&target);
        repair(&root.join(name), &target);
        let describe =
            |path: &Path| open(path, &OpenOptions::default()).unwrap().describe().unwrap().to_json();
        let (before, after) = (describe(&root.join(name)), describe(&target));
        for key in ["version", "metadata", "search", "tables"] {
            assert_eq!(before[key], after[key], "{name}: {key}");
        }
        let binary = OpenOptions::default().with_text_as_binary(true);
        let both = [&root.join(name), &target].map(|p| {
            let rows = read(p, &Scan::all(), &binary).unwrap();
            arrow_select::concat::concat_batches(&rows[0].schema(), &rows).unwrap()
        });
        assert_eq!(both[0], both[1], "{name}");
    }
}
