//! Repair keeps every intact fragment, drops the others, and corrects wrong statistics.

use std::path::{Path, PathBuf};

use tesselle_core::testing::{RepairTally, copy_folder, repair_flips};
use tesselle_core::{Depth, Format, Location, OpenOptions, RepairRequest, Repaired, Report};
use tesselle_tiledb::TileDb;

use crate::support::{case, cases, driver, expected, files, open, options, rows};

fn repair(source: &Path, target: &Path, options: &OpenOptions) -> Repaired {
    let (source, target) = (Location::local(source).unwrap(), Location::local(target).unwrap());
    TileDb.repair(RepairRequest::new(&source, &target, options), &driver()).unwrap()
}

fn report(path: &Path, options: &OpenOptions) -> Report {
    let mut report = Report::new(Depth::Deep);
    open(path, options).unwrap().verify(Depth::Deep, &driver(), &mut report).unwrap();
    report
}

#[test]
fn intact_arrays_come_through_whole() {
    let names = [
        "sparse_multi_fragment",
        "dense_2d_multi_fragment",
        "deletes_commits_consolidated",
        "deletes_consolidated_late",
        "consolidated_sparse",
        "encrypted_sparse",
        "dimension_labels",
        "evolution_sparse",
        "pw_v3_sparse",
        "bc_v7_sparse",
        "old_v16_consolidated",
    ];
    // Some of them are next to the tests, the others only among all fixtures.
    let found: Vec<PathBuf> =
        cases().into_iter().filter(|case| names.iter().any(|name| case.ends_with(name))).collect();
    assert!(found.len() >= 5, "{found:?}");
    for case in found {
        let name = case.display();
        let options = options(&expected(&case));
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("repaired");
        let repaired = repair(&case.join("array"), &target, &options);
        assert!(repaired.kept_bytes > 0, "{name}");
        assert_eq!(
            rows(&target, &options),
            rows(&case.join("array"), &options),
            "{name}: {:?}",
            repaired.notes
        );
        assert!(report(&target, &options).ok(), "{name}");
    }
}

/// Copies a fixture and truncates a file of its newest fragment by one byte.
fn cut(case: &Path, folder: &Path, file: &str) -> PathBuf {
    let source = folder.join("array");
    copy_folder(&case.join("array"), &source);
    let mut fragments: Vec<PathBuf> =
        std::fs::read_dir(source.join("__fragments")).unwrap().map(|entry| entry.unwrap().path()).collect();
    fragments.sort();
    let victim = fragments.last().unwrap().join(file);
    let bytes = std::fs::read(&victim).unwrap();
    std::fs::write(&victim, &bytes[..bytes.len() - 1]).unwrap();
    source
}

#[test]
fn the_tiles_of_a_damaged_fragment_that_decode_are_kept() {
    for (name, file) in [("sparse_rtree_levels", "d0.tdb"), ("dense_2d_tile_col_cell_row", "a0.tdb")] {
        let case = case(name);
        let options = OpenOptions::default().with_text_as_binary(true);
        let folder = tempfile::tempdir().unwrap();
        let source = cut(&case, folder.path(), file);
        assert!(!report(&source, &options).ok());
        let target = folder.path().join("repaired");
        let repaired = repair(&source, &target, &options);
        assert_eq!(repaired.outcome.name(), "partial", "{name}: {:?}", repaired.notes);
        assert!(repaired.notes[0].starts_with("kept: "), "{name}: {:?}", repaired.notes);
        assert!(report(&target, &options).ok(), "{name}");
        let (before, after) = (rows(&case.join("array"), &options), rows(&target, &options));
        let kept = after.iter().filter(|row| before.contains(row)).count();
        assert!(kept > 0 && kept < before.len(), "{name}: {kept} of {}", before.len());
        // Lost cells of a dense array are filled, those of a sparse array are gone.
        let rest = if name.starts_with("dense") { before.len() } else { kept };
        assert_eq!(after.len(), rest, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn a_storage_that_fails_is_not_damage() {
    let case = case("sparse_1d_i32");
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("array");
    copy_folder(&case.join("array"), &source);
    let fragment = std::fs::read_dir(source.join("__fragments")).unwrap().next().unwrap().unwrap().path();
    // A link to itself fails for every user, even one that may read everything.
    let victim = fragment.join("a0.tdb");
    std::fs::remove_file(&victim).unwrap();
    std::os::unix::fs::symlink(&victim, &victim).unwrap();
    let mut report = Report::new(Depth::Deep);
    let container = open(&source, &OpenOptions::default()).unwrap();
    let error = container.verify(Depth::Deep, &driver(), &mut report).unwrap_err();
    assert_eq!(error.kind().exit_code(), 3, "{error}");
    let target = folder.path().join("repaired");
    let (from, to) = (Location::local(&source).unwrap(), Location::local(&target).unwrap());
    let error =
        TileDb.repair(RepairRequest::new(&from, &to, &OpenOptions::default()), &driver()).unwrap_err();
    assert_eq!(error.kind().exit_code(), 3, "{error}");
    assert!(!target.exists());
}

#[test]
fn a_fragment_of_damaged_tiles_is_dropped_and_the_others_stay() {
    let case = case("sparse_multi_fragment");
    let options = OpenOptions::default();
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("array");
    copy_folder(&case.join("array"), &source);
    let mut fragments: Vec<PathBuf> =
        std::fs::read_dir(source.join("__fragments")).unwrap().map(|entry| entry.unwrap().path()).collect();
    fragments.sort();
    std::fs::remove_file(fragments.last().unwrap().join("d0.tdb")).unwrap();
    assert!(!report(&source, &options).ok());
    let target = folder.path().join("repaired");
    let repaired = repair(&source, &target, &options);
    assert_eq!(repaired.notes.len(), 1, "{:?}", repaired.notes);
    assert!(repaired.dropped_bytes > 0);
    assert!(report(&target, &options).ok());
    let left = open(&target, &options).unwrap().describe().unwrap().to_json();
    assert_eq!(left["fragments"].as_array().unwrap().len(), fragments.len() - 1);
}

#[test]
fn statistics_that_the_engine_wrote_wrongly_are_rebuilt() {
    for name in ["dense_2d_partial_fill", "types_nullable_var", "sparse_1d_string"] {
        let case = case(name);
        let options = OpenOptions::default().with_text_as_binary(true).with_raw(true);
        let before = report(&case.join("array"), &options);
        assert!(before.findings().iter().any(|finding| finding.kind == "tile_statistics"), "{name}");
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("repaired");
        repair(&case.join("array"), &target, &options);
        let after = report(&target, &options);
        assert!(after.findings().is_empty(), "{name}: {:?}", after.findings());
        assert_eq!(rows(&target, &options), rows(&case.join("array"), &options), "{name}");
    }
}

#[test]
fn a_repair_of_a_flipped_bit_keeps_the_law() {
    let mut all = RepairTally::default();
    for name in [
        "bc_v7_sparse",
        "consolidated_ignore_file",
        "deletes_consolidated_late",
        "dense_1d_partial_multi",
        "dense_2d_multi_fragment",
        "dimension_labels",
        "encrypted_sparse",
        "enumeration_extended",
        "filter_sha256",
        "hilbert_str_i64",
        "non_split_coords_v1_4_0",
        "pw_v3_sparse",
        "sparse_multi_fragment",
        "str_dict_zstd_ascii",
    ] {
        // One of them is only in the full set.
        let Some(case) = cases().into_iter().find(|case| case.ends_with(name)) else { continue };
        let options = options(&expected(&case)).with_text_as_binary(true);
        let mut intact = Vec::new();
        files(&case.join("array"), &case.join("array"), &mut intact);
        let tally = repair_flips(&TileDb, &intact, &options, &driver(), (11, 60));
        all += tally;
    }
    assert!(all.refused < all.healthy + all.repaired + all.doubtful + all.partial, "{all:?}");
}
