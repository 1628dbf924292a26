//! Damaged files: each one is refused with its own class, at its own stage, and nothing panics.

use std::sync::Arc;

use tesselle_core::storage::MemoryStorage;
use tesselle_core::testing::{Random, exercise, flips, is_thorough};
use tesselle_core::{Container, Depth, Location, OpenOptions, Report, Result, Scalar, Scan, Severity};
use tesselle_tatami::{File, Tatami};

use crate::expected::*;

fn verify(container: &dyn Container) -> Report {
    let mut report = Report::new(Depth::Deep);
    container.verify(Depth::Deep, &driver(), &mut report).unwrap();
    report
}

#[test]
fn every_damaged_fixture_is_refused_with_its_class_at_its_stage() {
    let (folder, expected) = case("corrupt");
    let files = expected["files"].as_object().unwrap();
    let options = OpenOptions::default();
    let intact = &files["intact.tatami"]["columns"];
    for (name, spec) in files.iter().filter(|(_, spec)| spec.get("stage").is_some()) {
        let path = folder.join(name);
        let class = spec["class"].as_str().unwrap();
        let read = || read(&path, &Scan::all(), &options);
        match spec["stage"].as_str().unwrap() {
            "open" => assert_eq!(open(&path, &options).err().unwrap().class_name(), class, "{name}"),
            "read" => {
                open(&path, &options).unwrap().describe().unwrap();
                assert_eq!(read().unwrap_err().class_name(), class, "{name}");
            }
            "lookup" | "ok" => {
                let batches = read().unwrap_or_else(|e| panic!("{name}: {e}"));
                for (column, values) in intact.as_object().unwrap() {
                    check_column(name, &batches, column, values.as_array().unwrap());
                }
            }
            _ => {
                let _ = read();
            }
        }
    }
    let listed: Vec<&String> = files.keys().collect();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        assert!(name == "expected.json" || listed.contains(&&name), "{name} is not listed");
    }
}

#[test]
fn verify_finds_every_damage_and_nothing_in_intact_files() {
    for (folder, expected) in cases() {
        for name in expected["layout"].as_object().unwrap().keys() {
            let container = open(&folder.join(name), &OpenOptions::default()).unwrap();
            let report = verify(container.as_ref());
            assert!(report.ok(), "{}/{name}: {:?}", folder.display(), report.findings());
            assert!(
                report.pieces > 0 || expected["layout"][name]["row_groups"].as_array().unwrap().is_empty()
            );
        }
    }
    let (folder, expected) = case("corrupt");
    for (name, spec) in expected["files"].as_object().unwrap() {
        let Ok(container) = open(&folder.join(name), &OpenOptions::default()) else { continue };
        let report = verify(container.as_ref());
        let errors: Vec<&str> =
            report.findings().iter().filter(|f| f.severity == Severity::Error).map(|f| f.kind).collect();
        match spec["stage"].as_str() {
            Some("read") => assert!(errors.contains(&spec["class"].as_str().unwrap()), "{name}: {errors:?}"),
            Some("lookup" | "ok") => assert!(!errors.is_empty(), "{name}"),
            _ => {}
        }
    }
}

#[test]
fn the_byte_map_covers_every_file_without_overlap() {
    for (folder, expected) in cases() {
        for name in expected["layout"].as_object().unwrap().keys() {
            let layout = open(&folder.join(name), &OpenOptions::default()).unwrap().layout().unwrap();
            let file = &layout.files[0];
            let mut at = 0;
            for extent in file.extents.iter().filter(|e| e.depth == 0) {
                assert_eq!(extent.range.start, at, "{name}: {}", extent.content);
                at = extent.range.end;
            }
            assert_eq!(at, file.size, "{name}");
            assert!(file.extents.iter().all(|e| e.role != tesselle_core::Role::Gap), "{name}");
        }
    }
}

/// Runs every operation on a file; only panics and hangs fail.
fn survives(bytes: &[u8]) -> Result<()> {
    let answer = exercise(&Tatami, bytes, &shared_driver());
    let storage = MemoryStorage::new();
    storage.put("x.tatami", bytes.to_vec());
    let file = File::open(&Location::new(Arc::new(storage), "x.tatami"), &OpenOptions::default())?;
    let _ = file.lookup(&Scalar::Int(7));
    let _ = file.take(&[0, file.rows() / 2], None);
    answer
}

fn shared_driver() -> tesselle_core::Driver {
    static DRIVER: std::sync::OnceLock<tesselle_core::Driver> = std::sync::OnceLock::new();
    DRIVER.get_or_init(driver).clone()
}

fn small_files() -> Vec<(String, Vec<u8>)> {
    let names = [
        "minimal/data.tatami",
        "sorted-int/data.tatami",
        "corrupt/intact.tatami",
        "crafted-sorted/data.tatami",
        "v10-basic/data.tatami",
    ];
    names.map(|name| (name.to_owned(), std::fs::read(fixtures().join(name)).unwrap())).into()
}

#[test]
fn a_file_cut_off_anywhere_is_refused() {
    for (name, bytes) in small_files() {
        for len in (0..bytes.len()).step_by(1 + bytes.len() / 600) {
            assert!(survives(&bytes[..len]).is_err(), "{name} cut at {len}");
        }
        survives(&bytes).unwrap();
    }
}

/// Damaged copies of each file.
fn copies() -> usize {
    if is_thorough() { 400 } else { 150 }
}

#[test]
fn flipped_bits_never_panic() {
    for (_, bytes) in small_files() {
        for damaged in flips(&bytes, 1).take(copies()) {
            let _ = survives(&damaged);
        }
    }
}

/// Damage with a valid checksum: the footer is changed and its checksum recomputed, so every count and offset
/// in it is hostile.
#[test]
fn a_resealed_footer_with_flipped_bytes_never_panics() {
    let mut random = Random::new(2);
    for (_, bytes) in small_files() {
        let size = bytes.len();
        let len = u32::from_le_bytes(bytes[size - 12..size - 8].try_into().unwrap()) as usize;
        let start = size - 12 - len;
        for _ in 0..copies() {
            let mut damaged = bytes.clone();
            damaged[start + random.place(len)] = random.below(256) as u8;
            let crc = tesselle_codec::crc::crc32c(&damaged[start..size - 12]);
            damaged[size - 8..size - 4].copy_from_slice(&crc.to_le_bytes());
            let _ = survives(&damaged);
        }
    }
}
