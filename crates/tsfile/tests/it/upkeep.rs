//! Writing deletions, and merging data directories.

use std::collections::BTreeSet;
use std::sync::Arc;

use tesselle_core::storage::{MemoryStorage, Storage};
use tesselle_core::testing::CountingStorage;
use tesselle_core::{Depth, ErrorKind, Format, Location, OpenOptions, Report, Scan, Settings};
use tesselle_tsfile::tools::{self, Dumped};
use tesselle_tsfile::upkeep::{Points, Series, compact, delete};
use tesselle_tsfile::write::{Column, Values, Writer, WriterOptions};
use tesselle_tsfile::{Compression, DataType, Encoding, MeasurementSchema, TsFile, Version};

use crate::golden;

fn write(location: &Location, version: Version, times: std::ops::Range<i64>) {
    let options = WriterOptions::for_version(version);
    let mut writer = Writer::create(location, false, options, &golden::driver()).unwrap();
    let series = |name: &str| MeasurementSchema {
        name: name.to_owned(),
        data_type: DataType::Int32,
        encoding: Encoding::Rle,
        compression: Compression::Snappy,
        properties: Vec::new(),
    };
    let times: Vec<i64> = times.collect();
    let values = Values::Int32(times.iter().map(|t| *t as i32).collect());
    for name in ["root.a", "root.b"] {
        let device = writer.device_id(name);
        writer.add_device(device.clone(), vec![series("s"), series("t")]).unwrap();
        let columns = ["s", "t"].map(|name| Column { name, values: &values, present: None });
        writer.write(&device, &times, &columns).unwrap();
    }
    writer.finish().unwrap();
}

/// Device, measurement and time of every point.
fn points(location: &Location) -> BTreeSet<String> {
    let container = TsFile.open(location, &OpenOptions::default()).unwrap();
    let (_, batches) = golden::rows(&*container, "*", &Scan::all()).unwrap();
    let mut points = BTreeSet::new();
    for batch in &batches {
        for row in 0..batch.num_rows() {
            let cells = (0..3).filter_map(|i| golden::cell(batch.column(i), row));
            points.insert(format!("{:?}", cells.collect::<Vec<_>>()));
        }
    }
    points
}

#[test]
fn deletions_hide_their_points_in_every_version() {
    for version in Version::ALL {
        let file = Location::new(Arc::new(MemoryStorage::new()), "f.tsfile");
        write(&file, version, 0..100);
        let before = points(&file);
        let path = |path: &str| Series::Path(path.to_owned());
        let from = if version.is_flat() { i64::MIN } else { 0 };
        let deleted = delete(&file, &Points { series: path("root.a.s"), from, to: 9 }).unwrap();
        assert_eq!((deleted.files, deleted.series), (1, 1));
        assert_eq!(before.len() - points(&file).len(), 10, "{}", version.name());
        let deleted = delete(&file, &Points { series: path("root.**"), from: i64::MIN, to: 4 }).unwrap();
        assert_eq!(deleted.series, 4);
        assert_eq!(before.len() - points(&file).len(), 10 + 15, "{}", version.name());
        let nothing = delete(&file, &Points { series: path("root.c.*"), from: i64::MIN, to: 4 });
        assert_eq!(nothing.unwrap_err().kind(), ErrorKind::NotFound);
    }
}

#[test]
fn points_are_dumped_page_by_page_as_the_file_is_read() {
    let storage = Arc::new(MemoryStorage::new());
    let file = Location::new(Arc::clone(&storage) as Arc<dyn Storage>, "f.tsfile");
    let options = WriterOptions::for_version(Version::V1).with_page_points(100).with_group_bytes(20_000);
    let mut writer = Writer::create(&file, false, options, &golden::driver()).unwrap();
    let device = writer.device_id("root.a");
    let series = MeasurementSchema {
        name: "s".to_owned(),
        data_type: DataType::Int64,
        encoding: Encoding::Plain,
        compression: Compression::Uncompressed,
        properties: Vec::new(),
    };
    writer.add_device(device.clone(), vec![series]).unwrap();
    for block in 0..50 {
        let times: Vec<i64> = (block * 1_000..(block + 1) * 1_000).collect();
        let values = Values::Int64(times.clone());
        writer.write(&device, &times, &[Column { name: "s", values: &values, present: None }]).unwrap();
    }
    writer.finish().unwrap();

    let counting = Arc::new(CountingStorage::new(storage));
    let counted = Location::new(Arc::clone(&counting) as Arc<dyn Storage>, "f.tsfile");
    let (mut points, mut first) = (0, None);
    let each = &mut |dumped: Dumped| {
        if let Dumped::Page(page) = dumped {
            let here = page["points"].as_array().unwrap().len();
            assert!(here <= 100, "{here} points at once");
            first.get_or_insert(counting.counts().bytes_read);
            points += here;
        }
        Ok(())
    };
    tools::read(&counted, true, each).unwrap();
    assert_eq!(points, 50_000);
    let size = file.size().unwrap();
    assert!(first.unwrap() < size / 10, "{first:?} of {size} bytes were read before the first page");
}

#[test]
fn a_time_range_needs_a_version_that_stores_its_start() {
    let file = Location::new(Arc::new(MemoryStorage::new()), "f.tsfile");
    write(&file, Version::V1, 0..10);
    let range = Points { series: Series::Path("root.a.s".to_owned()), from: 2, to: 4 };
    assert_eq!(delete(&file, &range).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn tables_lose_rows_or_columns_by_tags() {
    let path = golden::case("v4py-table");
    let storage = MemoryStorage::new();
    storage.put("f.tsfile", std::fs::read(path.join("data.tsfile")).unwrap());
    let file = Location::new(Arc::new(storage), "f.tsfile");
    let before = points(&file);
    let of = |tags: Vec<(String, String)>, columns: Vec<String>| Points {
        series: Series::Table { table: "weather".to_owned(), tags, columns },
        from: i64::MIN,
        to: i64::MAX,
    };
    let unknown = delete(&file, &of(vec![("nowhere".to_owned(), "x".to_owned())], Vec::new()));
    assert!(unknown.unwrap_err().to_string().contains("nowhere"));
    delete(&file, &of(Vec::new(), vec!["i".to_owned()])).unwrap();
    let fewer = points(&file);
    assert!(fewer.len() < before.len() && fewer.iter().all(|point| !point.contains("Bytes([105])")));
    delete(&file, &of(Vec::new(), Vec::new())).unwrap();
    assert!(points(&file).is_empty());
}

#[test]
fn a_compaction_merges_files_without_deleted_points() {
    for version in Version::ALL {
        let root = Location::new(Arc::new(MemoryStorage::new()), "data");
        write(&root.join("sequence/g/1-1-0.tsfile"), version, 0..50);
        write(&root.join("sequence/g/2-2-0.tsfile"), version, 50..80);
        write(&root.join("unsequence/g/3-3-0.tsfile"), version, 20..30);
        let series = Series::Path("root.a.*".to_owned());
        delete(&root, &Points { series, from: i64::MIN, to: 14 }).unwrap();
        let shown = points(&root);
        let target = Location::new(Arc::new(MemoryStorage::new()), "all.tsfile");
        let done = compact(&root, &target, &Settings::default(), false, &golden::driver()).unwrap();
        assert_eq!((done.files, done.summary.lost.len()), (3, 0), "{:?}", done.summary);
        assert_eq!(points(&target), shown, "{}", version.name());
        let container = TsFile.open(&target, &OpenOptions::default()).unwrap();
        assert_eq!(container.describe().unwrap().version, version.name());
        let mut report = Report::new(Depth::Deep);
        container.verify(Depth::Deep, &golden::driver(), &mut report).unwrap();
        assert!(report.ok(), "{:?}", report.findings());
        let resource = Location::new(Arc::clone(target.storage()), "all.tsfile.resource");
        let devices = &tools::resources(&resource).unwrap()["files"][0]["devices"];
        assert_eq!(devices, &serde_json::json!({ "root.a": [15, 79], "root.b": [0, 79] }));
        let again = compact(&root, &target, &Settings::default(), false, &golden::driver());
        assert_eq!(again.unwrap_err().kind(), ErrorKind::Invalid);
    }
}
