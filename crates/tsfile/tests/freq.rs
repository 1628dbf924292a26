//! FREQ, the lossy encoding that only two releases of IoTDB wrote.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type, TimestampMillisecondType};
use tesselle_core::driver::{Order, scan};
use tesselle_core::{Driver, DriverOptions, Format, Location, OpenOptions, Scan};
use tesselle_tsfile::TsFile;

#[test]
fn columns_of_frequencies_read_as_the_original_reads_them() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/iotdb-1.0.0");
    let location = Location::local(format!("{folder}/freq.tsfile")).unwrap();
    let container = TsFile.open(&location, &OpenOptions::default()).unwrap();
    let driver = Driver::new(&DriverOptions::default()).unwrap();
    let table = container.table("root.w").unwrap();
    let batches: Vec<_> =
        scan(&*table, &Scan::all(), &driver, Order::Plan).unwrap().map(Result::unwrap).collect();
    let [batch] = batches.as_slice() else { panic!("{} batches", batches.len()) };
    let column = |name: &str| batch.column_by_name(name).unwrap();
    let expected = std::fs::read_to_string(format!("{folder}/freq.tsv")).unwrap();
    assert_eq!(expected.lines().count(), batch.num_rows());
    for (row, line) in expected.lines().enumerate() {
        let fields: Vec<&str> = line.split('\t').collect();
        let time = column("time").as_primitive::<TimestampMillisecondType>().value(row);
        assert_eq!(time.to_string(), fields[0]);
        assert_eq!(column("i").as_primitive::<Int32Type>().value(row).to_string(), fields[1]);
        // A cosine may differ in its last bits.
        let near = |a: f64, text: &str| {
            let b: f64 = text.parse().unwrap();
            assert!((a - b).abs() <= b.abs() * 1e-6, "{a} {b}");
        };
        near(column("l").as_primitive::<Int64Type>().value(row) as f64, fields[2]);
        near(column("f").as_primitive::<Float32Type>().value(row).into(), fields[3]);
        near(column("d").as_primitive::<Float64Type>().value(row), fields[4]);
    }
}
