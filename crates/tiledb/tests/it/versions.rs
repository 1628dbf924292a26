//! Arrays of older versions accept writes in their own version, even if their empty folders are missing.
//!
//! All fixtures are found through `TESSELLE_FIXTURES`; without it those in `tests/data` are used.

use std::path::Path;

use arrow_array::RecordBatch;
use tesselle_core::testing::copy_folder;
use tesselle_core::{Depth, Location, OpenOptions, Report, Scan};
use tesselle_tiledb::ArrayKind;
use tesselle_tiledb::write::{ArrayWriter, Consolidation, SparseOptions, Vacuum};
use tesselle_tiledb::{Attribute, Datatype, MetadataValue};

use crate::support::{case, cases, driver, expected, open, read};

fn raw() -> OpenOptions {
    OpenOptions::default().with_raw(true).with_text_as_binary(true)
}

fn batches(path: &Path) -> Vec<RecordBatch> {
    read(&*open(path, &raw()).unwrap(), &Scan::all()).unwrap()
}

fn rows(path: &Path) -> usize {
    batches(path).iter().map(RecordBatch::num_rows).sum()
}

fn verify(path: &Path) {
    let mut report = Report::new(Depth::Deep);
    open(path, &raw()).unwrap().verify(Depth::Deep, &driver(), &mut report).unwrap();
    assert!(report.ok(), "{}: {:?}", path.display(), report.findings());
}

#[test]
fn old_arrays_are_written_in_their_own_version() {
    let mut versions = Vec::new();
    for case in cases() {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let of_old = ["bc_v10", "bc_v12", "bc_v14", "old_v16", "old_v18", "old_v20"];
        if !of_old.iter().any(|start| name.starts_with(start)) || expected(&case)["kind"] == "group" {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("array");
        copy_folder(&case.join("array"), &place);
        let array = ArrayWriter::open(&Location::local(&place).unwrap(), None).unwrap();
        let version = array.schema().version;
        assert!(version < 22, "{name}");
        let before = rows(&place);
        if before == 0 {
            continue;
        }
        array.write_metadata(&vec![(b"note".to_vec(), Some(MetadataValue::integer(1)))], None).unwrap();
        let all = batches(&place);
        let written = if array.schema().kind == ArrayKind::Sparse {
            array.write_sparse(&all, &SparseOptions::default())
        } else {
            array.write_dense_rows(None, &all, None)
        };
        let written = written.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(written.fragments[0].ends_with(&format!("_{version}")), "{name}: {:?}", written.fragments);
        let twice = if array.schema().allows_dups { 2 * before } else { before };
        assert_eq!(rows(&place), twice, "{name}");
        verify(&place);
        let merged = match array.consolidate(&Consolidation::default()) {
            Ok(merged) => merged,
            // Some filters cannot encode the fill values between fragments.
            Err(error) if error.to_string().contains("cannot hold these values") => continue,
            Err(error) => panic!("{name}: {error}"),
        };
        assert!(merged.fragments[0].ends_with(&format!("_{version}")), "{name}: {:?}", merged.fragments);
        array.vacuum(Vacuum::Fragments).unwrap();
        assert_eq!(rows(&place), twice, "{name} after consolidation");
        verify(&place);
        let info = open(&place, &raw()).unwrap().describe().unwrap().to_json();
        assert_eq!(info["fragments"].as_array().unwrap().len(), 1, "{name}");
        assert_eq!(info["metadata"]["note"]["value"], 1, "{name}");
        versions.push(version);
    }
    versions.dedup();
    let least = if std::env::var_os("TESSELLE_FIXTURES").is_some() { 4 } else { 1 };
    assert!(versions.len() >= least, "{versions:?}");
}

#[test]
fn a_change_of_the_schema_keeps_the_version_where_it_can() {
    let case = case("bc_v14_sparse");
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("array");
    copy_folder(&case.join("array"), &place);
    let mut array = ArrayWriter::open(&Location::local(&place).unwrap(), None).unwrap();
    array.evolve().add_attribute(Attribute::new("late", Datatype::Int32)).apply(None).unwrap();
    assert_eq!(array.schema().version, 14);
    let codes = tesselle_tiledb::Enumeration::of_strings("codes", ["a", "b"], false).unwrap();
    array.evolve().add_enumeration(codes).unwrap().apply(None).unwrap();
    assert_eq!(array.schema().version, 20);
    verify(&place);
}

#[test]
fn a_write_that_cannot_be_committed_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let case = case("sparse_1d_i32");
    let place = folder.path().join("array");
    copy_folder(&case.join("array"), &place);
    let all = batches(&place);
    // A file in place of the commits folder.
    let commits = place.join("__commits");
    let array = ArrayWriter::open(&Location::local(&place).unwrap(), None).unwrap();
    std::fs::remove_dir_all(&commits).unwrap();
    std::fs::write(&commits, "").unwrap();
    let count = || std::fs::read_dir(place.join("__fragments")).unwrap().count();
    let before = count();
    array.write_sparse(&all, &SparseOptions::default()).unwrap_err();
    assert_eq!(count(), before);
}
