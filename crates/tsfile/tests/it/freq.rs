//! FREQ, the lossy encoding that only two releases of IoTDB wrote.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type, TimestampMillisecondType};
use tesselle_core::driver::{Order, scan};
use tesselle_core::{
    Container, Depth, Driver, DriverOptions, Format, Location, OpenOptions, Predicate, Report, Scan,
};
use tesselle_tsfile::TsFile;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/iotdb-1.0.0");

fn open(name: &str) -> Arc<dyn Container> {
    let location = Location::local(format!("{FOLDER}/{name}")).unwrap();
    TsFile.open(&location, &OpenOptions::default()).unwrap()
}

fn rows(container: &dyn Container, table: &str, request: &Scan) -> Vec<RecordBatch> {
    let driver = Driver::try_new(&DriverOptions::default()).unwrap();
    let table = container.table(table).unwrap();
    scan(&*table, request, &driver, Order::Plan).unwrap().map(Result::unwrap).collect()
}

/// Compares the rows of a device with lines of time, INT32, INT64, FLOAT and DOUBLE.
fn compare(container: &dyn Container, table: &str, lines: &[Vec<&str>]) {
    let batches = rows(container, table, &Scan::all());
    let [batch] = batches.as_slice() else { panic!("{} batches", batches.len()) };
    let column = |name: &str| batch.column_by_name(name).unwrap();
    assert_eq!(lines.len(), batch.num_rows());
    // A cosine may differ in its last bits; near zero the tolerance follows the amplitude of the summed
    // waves.
    let near = |a: f64, text: &str, precision: f64, wave: f64| {
        let b: f64 = text.parse().unwrap();
        assert!((a - b).abs() <= b.abs().max(wave) * precision, "{table}: {a} {b}");
    };
    for (row, fields) in lines.iter().enumerate() {
        let time = column("time").as_primitive::<TimestampMillisecondType>().value(row);
        assert_eq!(time.to_string(), fields[0]);
        assert_eq!(column("i").as_primitive::<Int32Type>().value(row).to_string(), fields[1]);
        near(column("l").as_primitive::<Int64Type>().value(row) as f64, fields[2], 1e-12, 1e12);
        near(column("f").as_primitive::<Float32Type>().value(row).into(), fields[3], 1e-7, 0.0);
        near(column("d").as_primitive::<Float64Type>().value(row), fields[4], 1e-12, 1.0);
    }
}

#[test]
fn frequency_columns_match_the_original_reader() {
    let expected = std::fs::read_to_string(format!("{FOLDER}/freq.tsv")).unwrap();
    let lines: Vec<Vec<&str>> = expected.lines().map(|line| line.split('\t').collect()).collect();
    compare(&*open("freq.tsfile"), "root.w", &lines);
}

#[test]
fn every_ratio_and_block_size_matches_the_original_reader() {
    let expected = std::fs::read_to_string(format!("{FOLDER}/freq-settings.tsv")).unwrap();
    let container = open("freq-settings.tsfile");
    for device in ["a", "b", "c", "d"] {
        let lines = expected.lines().map(|line| line.split('\t').collect::<Vec<_>>());
        let own: Vec<Vec<&str>> = lines.filter(|f| f[0] == device).map(|f| f[1..].to_vec()).collect();
        compare(&*container, &format!("root.{device}"), &own);
    }
}

#[test]
fn statistics_of_the_values_before_encoding_neither_prune_nor_count_as_damage() {
    let container = open("freq-settings.tsfile");
    let mut outside = 0;
    for device in ["root.a", "root.b", "root.c", "root.d"] {
        let all = rows(&*container, device, &Scan::all());
        // The statistics state -348 and 345; decoded values may be outside.
        for predicate in ["i > 345", "i < -348", "i = 0", "d > 0.3457268777464098", "f < -348.8"] {
            let predicate: Predicate = predicate.parse().unwrap();
            let want: usize = all.iter().map(|b| predicate.filter(b).unwrap().num_rows()).sum();
            let found = rows(&*container, device, &Scan::all().filter(predicate.clone()));
            assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), want, "{device}: {predicate}");
            outside += want;
        }
        assert!(container.table(device).unwrap().stats().columns["i"].max.exact().is_none());
    }
    assert!(outside > 0);
    let points = rows(&*container, "*", &Scan::all().filter("value_int32 > 345".parse().unwrap()));
    assert!(points.iter().map(RecordBatch::num_rows).sum::<usize>() > 0);
    let mut report = Report::new(Depth::Deep);
    let driver = Driver::try_new(&DriverOptions::default()).unwrap();
    container.verify(Depth::Deep, &driver, &mut report).unwrap();
    assert!(report.findings().is_empty(), "{:?}", report.findings());
}
