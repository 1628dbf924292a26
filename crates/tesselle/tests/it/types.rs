//! The types reported by a conversion are the types read back.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMillisecondArray};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, TimeUnit};
use tesselle::tet::{
    AxisLabels, Codec, DatasetMetadata, DatasetSpec, FooterSpec, HistoryRow, MemoryBudget, Metadata, Writer,
    WriterOptions,
};
use tesselle::{DType, Driver, DriverOptions, Location, convert, parse_types};

fn types() -> Vec<DataType> {
    let units = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];
    let mut all = vec![
        DataType::Boolean,
        DataType::Int8,
        DataType::Int16,
        DataType::Int32,
        DataType::Int64,
        DataType::UInt8,
        DataType::UInt16,
        DataType::UInt32,
        DataType::UInt64,
        DataType::Float16,
        DataType::Float32,
        DataType::Float64,
        DataType::Utf8,
        DataType::LargeUtf8,
        DataType::Binary,
        DataType::LargeBinary,
        DataType::FixedSizeBinary(3),
        DataType::Date32,
        DataType::Date64,
        DataType::Time32(TimeUnit::Second),
        DataType::Time64(TimeUnit::Microsecond),
        DataType::Decimal128(20, 0),
        DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
        DataType::List(Arc::new(Field::new("item", DataType::Int32, true))),
    ];
    all.extend(units.map(|unit| DataType::Timestamp(unit, None)));
    all.extend(units.map(DataType::Duration));
    all
}

/// Three values of a type.
fn values(data_type: &DataType) -> ArrayRef {
    let strings: ArrayRef = Arc::new(StringArray::from(vec!["one", "two", "six"]));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![0, 172_800_000, 86_400_000]));
    let small: ArrayRef = Arc::new(Int32Array::from(vec![1, 0, 7]));
    match data_type {
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::Dictionary(..) => cast(&strings, data_type),
        DataType::FixedSizeBinary(_) => cast(&cast(&strings, &DataType::Binary).unwrap(), data_type),
        DataType::Timestamp(unit, _) | DataType::Duration(unit) => {
            // Whole days, regardless of the unit.
            let second = match unit {
                TimeUnit::Second => 1,
                TimeUnit::Millisecond => 1000,
                TimeUnit::Microsecond => 1_000_000,
                TimeUnit::Nanosecond => 1_000_000_000,
            };
            let days: ArrayRef =
                Arc::new(Int64Array::from_iter_values([1, 0, 2].map(|day| day * 86_400 * second)));
            cast(&days, data_type)
        }
        DataType::Date64 => cast(&numbers, data_type),
        DataType::Time64(_) => cast(&cast(&small, &DataType::Int64).unwrap(), data_type),
        _ => cast(&small, data_type),
    }
    .unwrap_or_else(|error| panic!("{data_type}: {error}"))
}

fn source(folder: &Path, data_type: &DataType) -> String {
    let time: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![1, 2, 3]));
    let batch = RecordBatch::try_from_iter([("time", time), ("v", values(data_type))]).unwrap();
    let path = folder.join("source.arrow");
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = arrow_ipc::writer::FileWriter::try_new(file, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    path.to_str().unwrap().to_owned()
}

fn plain(data_type: &DataType) -> DataType {
    match data_type {
        DataType::LargeUtf8 => DataType::Utf8,
        DataType::LargeBinary => DataType::Binary,
        other => other.clone(),
    }
}

#[test]
fn every_type_is_kept_widened_as_reported_or_refused_with_a_cast_that_works() {
    let folder = tempfile::tempdir().unwrap();
    let driver = Driver::try_new(&DriverOptions::default().with_threads(1).with_memory(64 << 20)).unwrap();
    let mut refused = 0;
    for data_type in types() {
        for target in ["tsfile", "tatami", "tiledb", "tet", "parquet", "arrow"] {
            let case = format!("{data_type} to {target}");
            let input = source(folder.path(), &data_type);
            let output = folder.path().join(format!("out.{target}")).to_str().unwrap().to_owned();
            let mut conversion = convert(&input, &output).overwrite(true).on(&driver);
            if target == "tatami" && matches!(data_type, DataType::List(_)) {
                conversion = conversion.set("profile", "extended");
            }
            if target == "tet" {
                conversion = conversion.columns(["v"]);
            }
            let mut expected = data_type.clone();
            let mut result = conversion.clone().run();
            if let Err(error) = &result {
                refused += 1;
                let text = error.to_string();
                assert!(text.contains("'v'"), "{case}: {text}");
                let Some(cast) = text.split("casts: ").nth(1).and_then(|rest| rest.split(", or").next())
                else {
                    assert!(text.contains("a list of columns"), "{case}: {text}");
                    continue;
                };
                let casts = parse_types(cast).unwrap();
                expected = casts[0].1.clone();
                result = conversion.casts(casts).run();
                // Strings are not numbers, regardless of the type they are cast to.
                if matches!(&result, Err(error) if error.to_string().contains("has a value that does not fit"))
                {
                    continue;
                }
            }
            let converted = result.unwrap_or_else(|error| panic!("{case}: {error}"));
            let change = converted.changed.iter().find(|change| change.column == "v");
            let expected = change.map_or(expected, |change| change.to.clone());
            let back = tesselle::Opener::new().open_table(&output).unwrap().schema();
            let name = if target == "tet" { "value" } else { "v" };
            let name = if back.index_of("v").is_ok() { "v" } else { name };
            let found =
                back.field_with_name(name).unwrap_or_else(|_| panic!("{case}: {back:?}")).data_type().clone();
            // The nullability of list items is not compared.
            let shown = |data_type: &DataType| plain(data_type).to_string().replace("non-null ", "");
            let same = shown(&found) == shown(&expected);
            assert!(same, "{case}: {found} instead of {expected}");
        }
    }
    assert!(refused > 15, "{refused}");
}

/// Two datasets with attributes, labels of an axis, and a history.
fn labeled(path: &str, driver: &Driver) {
    let dataset = |name: &str| DatasetSpec {
        name: name.to_owned(),
        dtype: DType::I64,
        shape: vec![2, 2],
        chunk_shape: vec![2, 2],
        codec: Codec::Raw,
        level: None,
        budget: MemoryBudget::default(),
    };
    let about = |units: &str, coords| DatasetMetadata {
        attrs: [("units".to_owned(), units.to_owned())].into(),
        dim_names: Some(vec!["y".to_owned(), "x".to_owned()]),
        coords,
    };
    let labels = AxisLabels { labels: vec!["left".to_owned(), "right".to_owned()] };
    let coords = Some([("x".to_owned(), labels)].into());
    let datasets = [("a".to_owned(), about("m", coords)), ("b".to_owned(), about("s", None))].into();
    let footer = FooterSpec {
        history: vec![HistoryRow::new("write", "somewhere", "1".to_owned())],
        metadata: Some(Metadata { file: None, datasets }),
        ..FooterSpec::default()
    };
    let options = WriterOptions::default().with_footer(footer);
    let specs = [dataset("a"), dataset("b")];
    let mut writer = Writer::create(&Location::local(path).unwrap(), &specs, options, driver).unwrap();
    for id in 0..2 {
        let cells: Vec<u8> = (1_i64..5).flat_map(i64::to_le_bytes).collect();
        writer.push_rows(id, &cells).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn labels_and_history_of_a_tensor_file_stay_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let driver = Driver::try_new(&DriverOptions::default().with_threads(1).with_memory(64 << 20)).unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    labeled(&path("a.tet"), &driver);
    let describe = |name: &str| {
        let opened = tesselle::open(&path(name)).unwrap();
        opened.container().describe().unwrap()
    };
    let converted = convert(path("a.tet"), path("b.tet")).on(&driver).run().unwrap();
    assert_eq!(converted.kept, ["a.units", "b.units"]);
    assert!(converted.lost.is_empty(), "{:?}", converted.lost);
    let (before, after) = (describe("a.tet"), describe("b.tet"));
    assert_eq!(before.metadata["datasets"], after.metadata["datasets"]);
    assert_eq!(after.metadata["datasets"]["a"]["coords"]["x"]["labels"][1], "right");
    assert_eq!(before.extra["history"], after.extra["history"]);
    let converted = convert(path("a.tet"), path("c.parquet")).on(&driver).run().unwrap();
    assert!(converted.lost.iter().any(|line| line.contains("labels")), "{:?}", converted.lost);
    assert!(converted.lost.iter().any(|line| line.contains("history")), "{:?}", converted.lost);
}

#[test]
fn a_dictionary_without_values_is_a_column_of_nulls() {
    let folder = tempfile::tempdir().unwrap();
    let driver = Driver::try_new(&DriverOptions::default().with_threads(1).with_memory(64 << 20)).unwrap();
    let keys = Int32Array::from(vec![None, None]);
    let empty: ArrayRef = Arc::new(StringArray::from(Vec::<&str>::new()));
    let column: ArrayRef = Arc::new(arrow_array::DictionaryArray::new(keys, empty));
    let batch = RecordBatch::try_from_iter_with_nullable([("v", column, true)]).unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let file = std::fs::File::create(path("a.arrow")).unwrap();
    let mut writer = arrow_ipc::writer::FileWriter::try_new(file, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    for target in ["a.tiledb", "a.jsonl", "a.tatami", "a.csv", "a.parquet"] {
        let converted = convert(path("a.arrow"), path(target)).on(&driver).run();
        assert_eq!(converted.unwrap_or_else(|error| panic!("{target}: {error}")).summary.rows, 2, "{target}");
    }
    assert_eq!(std::fs::read_to_string(path("a.jsonl")).unwrap(), "{\"v\": null}\n{\"v\": null}\n");
}
