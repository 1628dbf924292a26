//! An upgrade of TileDB arrays and groups: the newest version, and nothing else changes.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tesselle::tiledb::write::{GroupWriter, WRITE_VERSION};
use tesselle::tiledb::{Member, MemberKind};
use tesselle::{Depth, Driver, DriverOptions, Location, Opener, convert, diff, verify};

fn driver() -> Driver {
    Driver::try_new(&DriverOptions::default().with_threads(2).with_memory(64 << 20)).unwrap()
}

/// Arrays that the original engine wrote, in many versions.
fn samples() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tiledb/tests/data/libtiledb-2.30.0");
    std::env::var_os("TESSELLE_FIXTURES").map_or(own, |root| Path::new(&root).join("tiledb"))
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The output of `info` except versions, and names and positions of files.
fn info(path: &Path) -> Value {
    const OWN: [&str; 9] = [
        "version",
        "uuid",
        "file",
        "uri",
        "offset",
        "bytes",
        "path",
        "schema_name",
        "non_empty_domain_bytes",
    ];
    fn strip(value: &mut Value) {
        match value {
            Value::Object(items) => {
                items.retain(|key, _| !OWN.contains(&key.as_str()));
                items.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut info = tesselle::open(text(path)).unwrap().describe().unwrap().to_json();
    strip(&mut info["tables"]);
    strip(&mut info["metadata"]);
    serde_json::json!({ "tables": info["tables"], "metadata": info["metadata"] })
}

/// The versions of the fragments below a folder, and whether there is a schema of the oldest layout.
fn versions(folder: &Path, out: &mut Vec<u32>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        assert_ne!(name, "__array_schema.tdb", "{}", folder.display());
        if entry.file_type().unwrap().is_dir() {
            if folder.ends_with("__fragments") {
                out.push(name.rsplit('_').next().unwrap().parse().unwrap());
            } else {
                versions(&entry.path(), out);
            }
        }
    }
}

fn check(source: &Path, target: &Path) {
    let uri = text(source);
    let report = convert(uri, text(target)).format("tiledb").upgrade(true).on(&driver()).run();
    let report = report.unwrap_or_else(|error| panic!("{uri}: {error}"));
    let mut found = Vec::new();
    versions(target, &mut found);
    assert!(found.iter().all(|version| *version >= WRITE_VERSION), "{uri}: {found:?}");
    // Some strings are not UTF-8.
    let opener = Opener::new().strings_as_binary(true);
    let found = diff(uri, text(target)).opener(opener).on(&driver()).run().unwrap();
    assert!(found.is_equal(), "{uri}: {}", found.to_json());
    // Where a filter is dropped the report names it.
    if !report.lost.iter().any(|line| line.contains("positive delta")) {
        assert_eq!(info(source), info(target), "{uri}");
    }
    let report = verify(text(target)).depth(Depth::Deep).on(&driver()).run().unwrap();
    assert!(report.ok(), "{uri}: {:?}", report.findings());
}

#[test]
fn arrays_of_old_versions_keep_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let mut seen = 0;
    for case in std::fs::read_dir(samples()).unwrap().flatten() {
        let source = case.path().join("array");
        let name = case.file_name().to_string_lossy().into_owned();
        if ["bc_", "pw_", "old_"].iter().any(|prefix| name.starts_with(prefix)) {
            check(&source, &folder.path().join(format!("{name}.tiledb")));
            seen += 1;
        }
    }
    assert!(seen > 1, "{seen}");
}

#[test]
fn a_group_of_old_arrays_is_upgraded_with_its_nested_groups() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("old");
    let (outer, inner) = (Location::local(&source).unwrap(), Location::local(source.join("sub")).unwrap());
    let (group, sub) =
        (GroupWriter::create(&outer, None).unwrap(), GroupWriter::create(&inner, None).unwrap());
    for (name, place) in
        [("bc_v14_sparse", "points"), ("pw_v3_sparse", "sub/oldest"), ("dense_3d_col", "sub/cube")]
    {
        let array = samples().join(name).join("array");
        convert(text(&array), text(&source.join(place))).format("tiledb").on(&driver()).run().unwrap();
    }
    let array = |place: &str, name: &str| Member::relative(MemberKind::Array, place, name);
    sub.change(&[array("oldest", "the oldest"), array("cube", "cube")], &[], None).unwrap();
    group
        .change(&[array("points", "points"), Member::relative(MemberKind::Group, "sub", "sub")], &[], None)
        .unwrap();
    let before = tesselle::open(text(&source)).unwrap();
    assert_eq!(before.table_names().len(), 3);
    let target = folder.path().join("new.tiledb");
    check(&source, &target);
    assert_eq!(tesselle::open(text(&target)).unwrap().table_names(), before.table_names());
    // A version that is not written is refused by name.
    let refused =
        convert(text(&source.join("points")), text(&folder.path().join("no.tiledb"))).set("version", "3");
    let error = refused.on(&driver()).run().unwrap_err().to_string();
    assert!(error.contains("version 22"), "{error}");
}
