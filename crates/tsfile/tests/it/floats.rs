//! Floats round-trip in every encoding, or are refused, or are rounded where requested and reported.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use proptest::prelude::*;
use tesselle_core::storage::MemoryStorage;
use tesselle_core::{Depth, ErrorKind, Format, Location, OpenOptions, Report, Scan, Summary};
use tesselle_tsfile::write::{Column, Values, Writer, WriterOptions};
use tesselle_tsfile::{Compression, DataType, Encoding, MeasurementSchema, TsFile, Version};

use crate::golden;

fn write(
    version: Version,
    encoding: Encoding,
    decimals: Option<u32>,
    values: &Values,
) -> (Location, tesselle_core::Result<Summary>) {
    let location = Location::new(Arc::new(MemoryStorage::new()), "f.tsfile");
    let summary = try_write(&location, version, encoding, decimals, values);
    (location, summary)
}

fn try_write(
    location: &Location,
    version: Version,
    encoding: Encoding,
    decimals: Option<u32>,
    values: &Values,
) -> tesselle_core::Result<Summary> {
    let options = WriterOptions::for_version(version).with_page_points(40);
    let mut writer = Writer::create(location, false, options, &golden::driver())?;
    let device = writer.device_id("root.d");
    let (data_type, rows) = match values {
        Values::Float(v) => (DataType::Float, v.len()),
        Values::Double(v) => (DataType::Double, v.len()),
        _ => unreachable!("floats only"),
    };
    let properties = decimals.map(|n| ("max_point_number".to_owned(), n.to_string()));
    let series = MeasurementSchema {
        name: "speed".to_owned(),
        data_type,
        encoding,
        compression: Compression::Snappy,
        properties: properties.into_iter().collect(),
    };
    writer.add_device(device.clone(), vec![series])?;
    let times: Vec<i64> = (0..rows as i64).collect();
    writer.write(&device, &times, &[Column { name: "speed", values, present: None }])?;
    writer.finish()
}

fn read_bits(location: &Location) -> Vec<u64> {
    let container = TsFile.open(location, &OpenOptions::default()).unwrap();
    let mut report = Report::new(Depth::Deep);
    container.verify(Depth::Deep, &golden::driver(), &mut report).unwrap();
    assert!(report.ok(), "{:#?}", report.findings());
    let (_, batches) = golden::rows(&*container, "root.d", &Scan::all()).unwrap();
    let bits = |batch: &arrow_array::RecordBatch| -> Vec<u64> {
        let column = batch.column(1);
        if let Some(doubles) = column.as_primitive_opt::<Float64Type>() {
            return doubles.values().iter().map(|v| v.to_bits()).collect();
        }
        let singles = column.as_primitive::<Float32Type>();
        singles.values().iter().map(|v| u64::from(v.to_bits())).collect()
    };
    batches.iter().flat_map(bits).collect()
}

/// Bits of the values; legacy Gorilla and CAMEL preserve that a value is NaN, but not its bits.
fn bits(values: &Values) -> Vec<u64> {
    match values {
        Values::Float(v) => v.iter().map(|v| u64::from(v.to_bits())).collect(),
        Values::Double(v) => v.iter().map(|v| v.to_bits()).collect(),
        _ => Vec::new(),
    }
}

fn numbers() -> impl Strategy<Value = Vec<f64>> {
    let some = prop_oneof![
        (-100_000i32..100_000, 0i32..7).prop_map(|(n, p)| f64::from(n) / 10f64.powi(p)),
        -1e3f64..1e3,
        any::<f32>().prop_map(f64::from).prop_filter("no NaN", |v| !v.is_nan()),
        Just(0.0),
        Just(f64::INFINITY),
    ];
    let few = prop::collection::vec(some, 1..120);
    let tidy = (prop::collection::vec(-1_000_000i32..1_000_000, 1..120), 0i32..8)
        .prop_map(|(ints, p)| ints.iter().map(|n| f64::from(*n) / 10f64.powi(p)).collect());
    prop_oneof![few, tidy]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn floats_round_trip_or_are_refused(numbers in numbers()) {
        let singles = Values::Float(numbers.iter().map(|v| *v as f32).collect());
        let doubles = Values::Double(numbers);
        for version in Version::ALL {
            for encoding in Encoding::ALL {
                for (data_type, values) in [(DataType::Float, &singles), (DataType::Double, &doubles)] {
                    if !encoding.is_writable(data_type, version) {
                        continue;
                    }
                    let (location, summary) = write(version, encoding, None, values);
                    match summary {
                        Ok(summary) => {
                            prop_assert!(summary.lost.is_empty());
                            let what = format!("{} {}", version.name(), encoding.name(version));
                            prop_assert_eq!(read_bits(&location), bits(values), "{}", what);
                        }
                        Err(error) => {
                            prop_assert_eq!(error.kind(), ErrorKind::Invalid);
                            prop_assert!(error.to_string().contains("'speed'"), "{}", error);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn sufficient_decimals_are_chosen() {
    let values = Values::Double(vec![0.123_456, 0.5, -17.25]);
    for version in Version::ALL {
        for encoding in [Encoding::Rle, Encoding::Ts2Diff] {
            let (location, summary) = write(version, encoding, None, &values);
            assert!(summary.unwrap().lost.is_empty());
            assert_eq!(read_bits(&location), bits(&values));
        }
    }
}

#[test]
fn values_without_sufficient_decimals_are_marked_or_refused_with_a_hint() {
    let values = Values::Double(vec![1.0 / 3.0, 1e300, -0.0]);
    let (location, summary) = write(Version::V4, Encoding::Ts2Diff, None, &values);
    summary.unwrap();
    assert_eq!(read_bits(&location), bits(&values));
    let (_, refused) = write(Version::V3, Encoding::Ts2Diff, None, &values);
    let error = refused.unwrap_err().to_string();
    for word in ["'speed'", "TS_2DIFF", "decimals=N", "PLAIN"] {
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn requested_rounding_is_reported() {
    let values = Values::Double(vec![0.125, 0.5]);
    for version in Version::ALL {
        let (location, summary) = write(version, Encoding::Rle, Some(2), &values);
        let lost = summary.unwrap().lost;
        assert!(lost.len() == 1 && lost[0].contains("1 values of 'speed'"), "{lost:?}");
        assert_eq!(read_bits(&location), bits(&Values::Double(vec![0.13, 0.5])));
    }
}
