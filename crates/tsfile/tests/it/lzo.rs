//! Pages that the C++ writer compressed with LZO: read, and not written.

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMillisecondType};
use tesselle_core::{Depth, Driver, DriverOptions, Format, Location, OpenOptions, Report, Scan, driver};
use tesselle_tsfile::{Compression, TsFile, Version};

#[test]
fn series_of_the_c_plus_plus_writer_are_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cpp-2.5.0/lzo.tsfile");
    let location = Location::local(path.to_str().unwrap()).unwrap();
    let container = TsFile.open(&location, &OpenOptions::default()).unwrap();
    let on = Driver::try_new(&DriverOptions::default().with_threads(1)).unwrap();
    let mut report = Report::new(Depth::Deep);
    container.verify(Depth::Deep, &on, &mut report).unwrap();
    assert!(report.ok(), "{:?}", report.findings());
    let table = container.table("root.d").unwrap();
    let scan = Scan::all().columns(["time", "number", "word", "noise"]);
    let mut row = 0_i64;
    for batch in driver::scan(&*table, &scan, &on, driver::Order::Plan).unwrap() {
        let batch = batch.unwrap();
        let times = batch.column(0).as_primitive::<TimestampMillisecondType>();
        let numbers = batch.column(1).as_primitive::<Int64Type>();
        let words = batch.column(2).as_string::<i32>();
        let noise = batch.column(3).as_primitive::<Int32Type>();
        for at in 0..batch.num_rows() {
            assert_eq!((times.value(at), numbers.value(at)), (row * 10, row / 5));
            assert_eq!(i64::from(noise.value(at)), (row * row * 40_503 + row * 2_654_435) % 65_521);
            let word = "ab".repeat((row % 7) as usize) + &(row / 9).to_string().repeat((row % 3) as usize);
            assert_eq!(words.value(at), word);
            row += 1;
        }
    }
    assert_eq!(row, 1200);
    assert!([Version::V3, Version::V4].into_iter().all(|version| !Compression::Lzo.is_writable(version)));
}
