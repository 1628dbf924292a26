//! Verification and repair of the original engines' files.

#![allow(clippy::unwrap_used, reason = "functions of a test")]

mod golden;

use serde_json::Value;
use std::path::Path;
use tesselle_core::{Depth, Format, Location, OpenOptions, Report};
use tesselle_tsfile::TsFile;

fn verify(path: &Path) -> Report {
    let mut report = Report::new(Depth::Deep);
    match golden::open(path, false) {
        Ok(container) => container.verify(Depth::Deep, &golden::driver(), &mut report).unwrap(),
        Err(error) => report = Report::refused(Depth::Deep, &error),
    }
    report
}

fn is_whole(expected: &Value) -> bool {
    expected.get("complete").is_none_or(|c| c == true)
}

#[test]
fn whole_files_have_no_error() {
    for folder in ["tsfile", "tsfile-upstream"] {
        for (name, path, expected) in golden::cases(folder) {
            if is_whole(&expected) && expected.get("devices").is_some() {
                let report = verify(&path.join("data.tsfile"));
                assert!(report.ok(), "{name}: {:#?}", report.findings());
            }
        }
    }
}

#[test]
fn truncated_files_are_refused_and_repaired_to_their_last_whole_group() {
    for folder in ["tsfile", "tsfile-upstream"] {
        let cases = golden::cases(folder);
        for (name, path, expected) in cases.iter().filter(|(_, _, e)| !is_whole(e)) {
            let file = path.join("data.tsfile");
            assert!(!verify(&file).ok(), "{name}");
            let target = tempfile::tempdir().unwrap();
            let fixed = target.path().join("fixed.tsfile");
            let (from, to) = (Location::local(&file).unwrap(), Location::local(&fixed).unwrap());
            let report = TsFile.repair(&from, &to, &OpenOptions::default(), &golden::driver()).unwrap();
            if let Some(end) = expected.get("self_check") {
                assert_eq!(report.kept_bytes as i64, end.as_i64().unwrap().max(12), "{name}");
            }
            let health = verify(&fixed);
            assert!(health.ok(), "{name}: {:#?}", health.findings());
            let mut wanted = expected.clone();
            if expected.get("recovered").is_some() {
                let whole = expected["note"].as_str().unwrap().split(' ').next().unwrap();
                let uncut = &cases.iter().find(|(name, _, _)| name == whole).unwrap().2;
                wanted["devices"] = kept_before(expected["self_check"].as_i64().unwrap(), &uncut["devices"]);
            }
            if wanted.get("devices").is_some() {
                golden::check_devices(name, &fixed, &wanted);
            }
        }
    }
}

/// The series of a file cut at `end`: points lie in the order of the chunks.
fn kept_before(end: i64, devices: &Value) -> Value {
    let mut kept = serde_json::json!({});
    for (device, series) in devices.as_object().unwrap() {
        for (name, s) in series.as_object().unwrap() {
            let chunks = s["chunks"].as_array().unwrap().iter();
            let before = chunks.filter(|c| c["offset"].as_i64().unwrap() < end);
            let count: u64 = before.map(|c| c["statistics"]["count"].as_u64().unwrap()).sum();
            if count == 0 {
                continue;
            }
            let mut part = s.clone();
            for key in ["points", "written"] {
                if let Some(list) = part.get_mut(key).and_then(Value::as_array_mut) {
                    list.truncate(count as usize);
                }
            }
            kept[device][name] = part;
        }
    }
    kept
}
