//! A copied array or group keeps everything that the source states.
//!
//! The fixtures are found through `TESSELLE_FIXTURES`; without it only those next to the tests are used.

use std::path::Path;

use serde_json::Value as Json;
use tesselle_core::{
    Depth, Format, Location, OpenOptions, Report, RewriteRequest, Secret, Settings, WriteOptions,
};
use tesselle_tiledb::TileDb;

use crate::support::{case, cases, driver, expected, open, options, rows};

/// The rows with their values as stored.
fn stored(path: &Path, options: &OpenOptions) -> Vec<String> {
    rows(path, &options.clone().with_raw(true).with_text_as_binary(true))
}

fn rewrite(source: &Path, target: &Path, options: &OpenOptions) -> bool {
    let (source, target) = (Location::local(source).unwrap(), Location::local(target).unwrap());
    TileDb
        .rewrite(RewriteRequest::new(&source, &target, options, &WriteOptions::default()), &driver())
        .unwrap()
        .is_some()
}

fn info(path: &Path, options: &OpenOptions) -> Json {
    open(path, options).unwrap().describe().unwrap().to_json()
}

/// Compares two arrays or groups, members included.
fn compare(name: &str, source: &Path, target: &Path, options: &OpenOptions) {
    let (before, after) = (info(source, options), info(target, options));
    assert_eq!(after, before, "{name}");
    if before["kind"] == "group" {
        for member in before["members"].as_array().unwrap() {
            let uri = member["uri"].as_str().unwrap();
            compare(&format!("{name}/{uri}"), &source.join(uri), &target.join(uri), options);
        }
        return;
    }
    assert_eq!(stored(target, options), stored(source, options), "{name}");
    for label in before["labels"].as_object().unwrap().values() {
        let uri = label["uri"].as_str().unwrap();
        compare(&format!("{name}/{uri}"), &source.join(uri), &target.join(uri), options);
    }
}

#[test]
fn everything_stays() {
    for case in cases() {
        let expected = expected(&case);
        if expected.get("unreadable_by_2_30").is_some() {
            continue;
        }
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let options = options(&expected);
        let folder = tempfile::tempdir().unwrap();
        let (source, target) = (case.join("array"), folder.path().join("copy"));
        assert!(rewrite(&source, &target, &options), "{name}");
        compare(&name, &source, &target, &options);
        let mut report = Report::new(Depth::Deep);
        open(&target, &options).unwrap().verify(Depth::Deep, &driver(), &mut report).unwrap();
        assert!(report.ok(), "{name}: {:?}", report.findings());
    }
}

#[test]
fn settings_and_partial_times_require_rewriting_rows() {
    let case = case("sparse_multi_fragment");
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("copy");
    let (from, to) = (Location::local(case.join("array")).unwrap(), Location::local(&target).unwrap());
    let key = OpenOptions::default().with_key(Secret::new(vec![7; 32]));
    let settings = Settings::from_pairs(&["capacity=3"]).unwrap();
    let with_settings = WriteOptions::default().with_settings(settings);
    for (open, write) in [(&key, &WriteOptions::default()), (&OpenOptions::default(), &with_settings)] {
        assert!(TileDb.rewrite(RewriteRequest::new(&from, &to, open, write), &driver()).unwrap().is_none());
        assert!(!target.exists());
    }
    // As of an earlier time, only data written by then is copied.
    let all = info(&case.join("array"), &OpenOptions::default());
    let first = all["fragments"][0]["timestamps"][1].as_u64().unwrap();
    let early = OpenOptions::default().with_between((0, first));
    assert!(rewrite(&case.join("array"), &target, &early));
    assert_eq!(info(&target, &OpenOptions::default())["fragments"].as_array().unwrap().len(), 1);
    assert_eq!(stored(&target, &OpenOptions::default()), stored(&case.join("array"), &early));
}
