use std::sync::Arc;

use tesselle_core::storage::MemoryStorage;
use tesselle_core::{Driver, DriverOptions, Location};

use super::*;
use crate::meta::schema::MeasurementSchema;
use crate::meta::{Compression, DataType, Encoding, Value, Version};

fn memory() -> Location {
    Location::new(Arc::new(MemoryStorage::new()), "out.tsfile")
}

fn driver() -> Driver {
    Driver::try_new(&DriverOptions::default().with_threads(1)).unwrap()
}

fn series(name: &str, data_type: DataType, encoding: Encoding) -> MeasurementSchema {
    MeasurementSchema {
        name: name.into(),
        data_type,
        encoding,
        compression: Compression::Uncompressed,
        properties: Vec::new(),
    }
}

fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|d| u8::from_str_radix(std::str::from_utf8(d).unwrap(), 16).unwrap()).collect()
}

fn two_points(version: Version, device: &str) -> Vec<u8> {
    let location = memory();
    let mut writer =
        Writer::create(&location, false, WriterOptions::for_version(version), &driver()).unwrap();
    let id = writer.device_id(device);
    writer.add_device(id.clone(), vec![series("s", DataType::Int32, Encoding::Plain)]).unwrap();
    let values = Values::Int32(vec![7, 9]);
    writer.write(&id, &[1, 2], &[Column { name: "s", values: &values, present: None }]).unwrap();
    let summary = writer.finish().unwrap();
    let bytes = location.read_all(1 << 20).unwrap().to_vec();
    assert_eq!(summary.bytes, bytes.len() as u64);
    assert_eq!((summary.rows, summary.pieces), (2, 1));
    bytes
}

#[test]
fn version_1_matches_the_documented_example() {
    let bytes = two_points(Version::V1, "d");
    assert_eq!(bytes.len(), 405);
    let start = hex("54 73 46 69 6c 65 30 30 30 30 30 31
         01 00 00 00 01 73 00 00 00 55 00 01 00 00 00 01 00 00 00 00 00 00 00 00 00 00 00 00
         00 00 00 21 00 00 00 21 00 00 00 02 00 00 00 00 00 00 00 02 00 00 00 00 00 00 00 01
         00 00 00 07 00 00 00 09 00 00 00 07 00 00 00 09 40 30 00 00 00 00 00 00
         18 00 00 00 01 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 01
         00 00 00 07 00 00 00 09
         00 00 00 00 01 64 00 00 00 00 00 00 00 71 00 00 00 01 02");
    assert_eq!(bytes[..start.len()], start);
    assert_eq!(bytes[0x18b..], hex("00 00 00 65 54 73 46 69 6c 65"));
}

#[test]
fn version_3_matches_the_documented_example() {
    let bytes = two_points(Version::V3, "r.d");
    let start = hex("54 73 46 69 6c 65 03 00 06 72 2e 64 05 02 73 1d 01 00 00 1b 1b 18
         00 00 00 01 00 00 00 00 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 01 0e 12 02
         00 02 73 01 08 02 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00 02 00 00 00 07 00 00 00 09 00 00 00 07
         00 00 00 09 00 00 00 00 00 00 00 10 00 00 00 00 00 00 00 0c
         01 02 73 00 00 00 00 00 00 00 31 00 00 00 00 00 00 00 67 03
         01 06 72 2e 64 00 00 00 00 00 00 00 67 00 00 00 00 00 00 00 7b 01 00 00 00 00 00 00 00 30 1f");
    assert_eq!(bytes[..start.len()], start);
    let end = hex("80 02 05 00 00 00 41 54 73 46 69 6c 65");
    assert!(bytes.ends_with(&end));
}

#[test]
fn rows_and_columns_give_the_same_file() {
    let location = memory();
    let mut writer =
        Writer::create(&location, false, WriterOptions::for_version(Version::V1), &driver()).unwrap();
    let id = writer.device_id("d");
    writer.add_device(id.clone(), vec![series("s", DataType::Int32, Encoding::Plain)]).unwrap();
    for (time, value) in [(1, 7), (2, 9)] {
        writer.write_row(&id, time, &[("s", Value::Int32(value))]).unwrap();
    }
    assert!(writer.write_row(&id, 3, &[("s", Value::Int64(1))]).is_err());
    assert!(writer.write_row(&id, 3, &[("t", Value::Int32(1))]).is_err());
    writer.finish().unwrap();
    assert_eq!(location.read_all(1 << 20).unwrap().to_vec(), two_points(Version::V1, "d"));
}

#[test]
fn the_file_is_invisible_before_finish() {
    let location = memory();
    let writer = Writer::create(&location, false, WriterOptions::default(), &driver()).unwrap();
    assert!(!location.exists().unwrap());
    drop(writer);
    assert!(!location.exists().unwrap());
}

#[test]
fn points_out_of_order_are_refused_or_sorted() {
    fn column(values: &Values) -> Column<'_> {
        Column { name: "s", values, present: None }
    }
    let values = Values::Int32(vec![3, 1, 2]);
    for order in [Order::Refuse, Order::Sort] {
        let location = memory();
        let options = WriterOptions { order, ..WriterOptions::for_version(Version::V1) };
        let mut writer = Writer::create(&location, false, options, &driver()).unwrap();
        let id = writer.device_id("d");
        writer.add_device(id.clone(), vec![series("s", DataType::Int32, Encoding::Plain)]).unwrap();
        let result = writer.write(&id, &[30, 10, 20], &[column(&values)]);
        if order == Order::Refuse {
            let error = result.unwrap_err();
            assert!(error.to_string().contains("time 10 comes after 30"), "{error}");
            // None of the refused rows has been stored.
            writer.write(&id, &[1, 2, 3], &[column(&values)]).unwrap();
            assert!(writer.write(&id, &[3], &[column(&Values::Int32(vec![1]))]).is_err());
        } else {
            result.unwrap();
            writer.flush().unwrap();
            let late = writer.write(&id, &[15], &[column(&Values::Int32(vec![1]))]).unwrap_err();
            assert!(late.to_string().contains("time 15 comes after 30"), "{late}");
        }
        writer.finish().unwrap();
    }
}

#[test]
fn features_that_a_version_lacks_are_refused() {
    let writer =
        |version| Writer::create(&memory(), false, WriterOptions::for_version(version), &driver()).unwrap();
    let mut v1 = writer(Version::V1);
    let id = v1.device_id("d");
    assert!(v1.add_device(id.clone(), vec![series("s", DataType::String, Encoding::Plain)]).is_err());
    assert!(v1.add_device(id.clone(), vec![series("s", DataType::Int32, Encoding::Gorilla)]).is_err());
    assert!(v1.add_aligned_device(id.clone(), vec![]).is_err());
    let mut zstd = series("s", DataType::Int32, Encoding::Plain);
    zstd.compression = Compression::Zstd;
    assert!(v1.add_device(id.clone(), vec![zstd]).is_err());
    v1.add_device(id, vec![series("s", DataType::Int32, Encoding::Plain)]).unwrap();
    let other = v1.add_device(v1.device_id("e"), vec![series("s", DataType::Int64, Encoding::Plain)]);
    assert!(other.unwrap_err().to_string().contains("another type"));
}

#[test]
fn values_that_would_not_round_trip_are_refused() {
    let cases = [
        (Version::V1, DataType::Double, Encoding::Rle, Values::Double(vec![f64::INFINITY])),
        (Version::V1, DataType::Float, Encoding::Ts2Diff, Values::Float(vec![3e9])),
        (Version::V1, DataType::Double, Encoding::GorillaV1, Values::Double(vec![f64::NAN])),
        (Version::V1, DataType::Int32, Encoding::Regular, Values::Int32(vec![1, 2, 9, 4])),
        (
            Version::V3,
            DataType::Int64,
            Encoding::Sprintz,
            Values::Int64(vec![0, i64::MAX, 0, 0, 0, 0, 0, 0, 0]),
        ),
        (Version::V3, DataType::Double, Encoding::Rlbe, Values::Double(vec![0.1, 1e17, 0.3])),
    ];
    for (version, data_type, encoding, values) in cases {
        let mut writer =
            Writer::create(&memory(), false, WriterOptions::for_version(version), &driver()).unwrap();
        let id = writer.device_id("d");
        writer.add_device(id.clone(), vec![series("s", data_type, encoding)]).unwrap();
        let times: Vec<i64> = (0..values.len() as i64).collect();
        writer.write(&id, &times, &[Column { name: "s", values: &values, present: None }]).unwrap();
        let Err(error) = writer.finish() else { panic!("{version:?} {encoding:?} took {values:?}") };
        let message = error.to_string();
        assert!(
            message.contains("cannot hold these values") || message.contains("cannot store these values"),
            "{error}"
        );
        assert!(error.to_string().contains("out.tsfile"), "{error}");
    }
}
