//! Verification and repair of the original engines' files.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use tesselle_core::storage::MemoryStorage;
use tesselle_core::{Depth, Format, Location, OpenOptions, RepairRequest, Report};
use tesselle_tsfile::write::{Column, Values, Writer, WriterOptions};
use tesselle_tsfile::{Compression, DataType, Encoding, MeasurementSchema, TsFile, Version};

use crate::golden;

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
fn intact_files_have_no_error() {
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
fn truncated_files_are_refused_and_repaired_to_their_last_complete_group() {
    for folder in ["tsfile", "tsfile-upstream"] {
        let cases = golden::cases(folder);
        for (name, path, expected) in cases.iter().filter(|(_, _, e)| !is_whole(e)) {
            let file = path.join("data.tsfile");
            assert!(!verify(&file).ok(), "{name}");
            let target = tempfile::tempdir().unwrap();
            let fixed = target.path().join("fixed.tsfile");
            let (from, to) = (Location::local(&file).unwrap(), Location::local(&fixed).unwrap());
            let report = TsFile
                .repair(RepairRequest::new(&from, &to, &OpenOptions::default()), &golden::driver())
                .unwrap();
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

/// The series of a file cut at `end`: points are in chunk order.
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

/// A file with one page of INT64 values, PLAIN and not compressed.
fn integers(values: &[i64], version: Version) -> Vec<u8> {
    let storage = MemoryStorage::new();
    let location = Location::new(Arc::new(storage.clone()), "f.tsfile");
    let options = WriterOptions::for_version(version);
    let mut writer = Writer::create(&location, false, options, &golden::driver()).unwrap();
    let device = writer.device_id("root.d");
    let series = MeasurementSchema {
        name: "s".to_owned(),
        data_type: DataType::Int64,
        encoding: Encoding::Plain,
        compression: Compression::Uncompressed,
        properties: Vec::new(),
    };
    writer.add_device(device.clone(), vec![series]).unwrap();
    let times: Vec<i64> = (0..values.len() as i64).collect();
    let values = Values::Int64(values.to_vec());
    writer.write(&device, &times, &[Column { name: "s", values: &values, present: None }]).unwrap();
    writer.finish().unwrap();
    storage.get("f.tsfile").unwrap().to_vec()
}

fn verify_bytes(bytes: Vec<u8>) -> Report {
    let storage = MemoryStorage::new();
    storage.put("f.tsfile", bytes);
    let location = Location::new(Arc::new(storage), "f.tsfile");
    let container = TsFile.open(&location, &OpenOptions::default()).unwrap();
    let mut report = Report::new(Depth::Deep);
    container.verify(Depth::Deep, &golden::driver(), &mut report).unwrap();
    report
}

#[test]
fn sums_are_compared_exactly() {
    // The value in the middle is neither first nor last, min nor max, and changes by a millionth or less.
    let cases = [[-300_000_000, -10, -248_000_744, 4, 900_000_000_000], [0, 5, 1 << 60, 1 << 61, 7]];
    for values in cases {
        for version in Version::ALL {
            let bytes = integers(&values, version);
            assert!(verify_bytes(bytes.clone()).ok(), "{}", version.name());
            let is_little = version == Version::V08;
            let needle = if is_little { values[2].to_le_bytes() } else { values[2].to_be_bytes() };
            let places: Vec<usize> =
                (0..bytes.len() - 8).filter(|at| bytes[*at..*at + 8] == needle).collect();
            assert_eq!(places.len(), 1);
            let mut damaged = bytes;
            damaged[places[0] + if is_little { 1 } else { 6 }] ^= 0x10;
            let report = verify_bytes(damaged);
            assert!(report.findings().iter().any(|f| f.message.contains("sum")), "{}", version.name());
        }
    }
}

#[test]
fn strings_that_are_not_utf8_are_a_warning() {
    let mut found = 0;
    for (name, path, _) in golden::cases("tsfile") {
        let file = path.join("data.tsfile");
        let Ok(container) = golden::open(&file, false) else { continue };
        let refuses = golden::rows(&*container, "*", &tesselle_core::Scan::all()).is_err();
        let report = verify(&file);
        let warns = report.findings().iter().any(|f| f.kind == "not_utf8");
        assert_eq!(warns, refuses, "{name}");
        found += usize::from(warns);
    }
    assert!(found > 0 || std::env::var_os("TESSELLE_FIXTURES").is_none());
}

#[test]
fn schemas_of_measurements_and_the_bloom_filter_are_compared() {
    for version in [Version::V08, Version::V1] {
        let bytes = integers(&[5, 6, 7], version);
        // The entry of the map: the key, the name, type, encoding and compressor.
        let entry = [0u8, 0, 0, 1, b's', 0, 0, 0, 1, b's', 0, 2, 0, 0, 0, 0];
        let at = (0..bytes.len() - entry.len()).find(|at| bytes[*at..*at + entry.len()] == entry).unwrap();
        for (byte, flip, is_error) in
            [(4, 1, true), (9, 1, true), (11, 3, true), (13, 2, false), (15, 1, false)]
        {
            let mut damaged = bytes.clone();
            damaged[at + byte] ^= flip;
            let report = verify_bytes(damaged);
            let found = report.findings().iter().find(|f| f.kind == "measurement_schema");
            let found = found.unwrap_or_else(|| panic!("{} byte {byte}", version.name()));
            assert_eq!(found.severity == tesselle_core::Severity::Error, is_error, "{found:?}");
        }
    }
    let bytes = integers(&[5, 6, 7], Version::V1);
    let metadata = bytes.len() - 60;
    let surplus = (metadata..bytes.len() - 12).any(|at| {
        (0..8).any(|bit| {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            let storage = MemoryStorage::new();
            storage.put("f.tsfile", damaged.clone());
            let location = Location::new(Arc::new(storage), "f.tsfile");
            TsFile.open(&location, &OpenOptions::default()).is_ok()
                && verify_bytes(damaged).findings().iter().any(|f| f.message.contains("no series"))
        })
    });
    assert!(surplus);
}
