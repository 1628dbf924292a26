//! Empty files: those of the original engines open, and files written without data match them.

use std::path::Path;
use std::sync::Arc;

use tesselle_core::storage::MemoryStorage;
use tesselle_core::{Depth, Driver, DriverOptions, Format, Location, OpenOptions, Report, Scan, driver};
use tesselle_tsfile::write::{Writer, WriterOptions};
use tesselle_tsfile::{Compression, DataType, Encoding, MeasurementSchema, TsFile, Version};

fn driver() -> Driver {
    Driver::try_new(&DriverOptions::default().with_threads(1)).unwrap()
}

fn original(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/empty").join(name)
}

/// Opens a file, verifies it deeply and returns the names of its tables, which must be empty.
fn tables(location: &Location) -> Vec<String> {
    let container = TsFile.open(location, &OpenOptions::default()).unwrap();
    let mut report = Report::new(Depth::Deep);
    container.verify(Depth::Deep, &driver(), &mut report).unwrap();
    assert!(report.ok(), "{location}: {:?}", report.findings());
    let long = container.table("*").unwrap();
    let rows = driver::scan(&*long, &Scan::all(), &driver(), driver::Order::Plan).unwrap();
    assert_eq!(rows.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 0);
    container.describe().unwrap();
    container.table_names()
}

/// The bytes of a writer that is closed immediately, with or without a declared device.
fn written(version: Version, registered: bool) -> (Location, Vec<u8>) {
    let location = Location::new(Arc::new(MemoryStorage::new()), "f.tsfile");
    let mut writer =
        Writer::create(&location, false, WriterOptions::for_version(version), &driver()).unwrap();
    if registered {
        let series = MeasurementSchema {
            name: "s".into(),
            data_type: DataType::Int32,
            encoding: Encoding::Plain,
            compression: Compression::Uncompressed,
            properties: Vec::new(),
        };
        writer.add_device(writer.device_id("root.d"), vec![series]).unwrap();
    }
    writer.finish().unwrap();
    let bytes = location.read_all(1 << 20).unwrap().to_vec();
    (location, bytes)
}

#[test]
fn empty_files_of_the_original_engines_open() {
    for (name, want) in [
        ("v2-java-0.11.4.tsfile", &[][..]),
        ("v3-java-1.0.0.tsfile", &[]),
        ("v4-java-2.1.0.tsfile", &[]),
        ("v4-cpp-2.5.0.tsfile", &["t"]),
    ] {
        assert_eq!(tables(&Location::local(original(name)).unwrap()), want, "{name}");
    }
}

#[test]
fn empty_files_are_written_as_by_the_original_engines() {
    for version in Version::ALL {
        for registered in [false, true] {
            let (location, bytes) = written(version, registered);
            assert!(tables(&location).is_empty(), "{}", version.name());
            match version {
                Version::V3 => {
                    assert_eq!(bytes, std::fs::read(original("v3-java-1.0.0.tsfile")).unwrap());
                }
                // The root is the same; 0.11 ends with a version record of its own.
                Version::V2 => {
                    let theirs = std::fs::read(original("v2-java-0.11.4.tsfile")).unwrap();
                    assert_eq!(bytes[..30], theirs[..30]);
                }
                // Up to the properties, whose order is that of a hash map.
                Version::V4 => {
                    let theirs = std::fs::read(original("v4-java-2.1.0.tsfile")).unwrap();
                    assert_eq!(bytes[..20], theirs[..20]);
                }
                _ => {}
            }
        }
    }
}
