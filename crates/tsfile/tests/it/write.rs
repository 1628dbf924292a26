//! Written files round-trip: random schemas, values, versions and settings through the sink and the reader.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Float32Array, Float64Array, Int32Array,
    Int64Array, RecordBatch, StringArray, TimestampMillisecondArray,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use proptest::prelude::*;
use tesselle_core::driver::{Order, scan};
use tesselle_core::storage::MemoryStorage;
use tesselle_core::{Driver, DriverOptions, Format, Location, OpenOptions, Scan, WriteOptions};
use tesselle_tsfile::TsFile;

fn driver() -> Driver {
    Driver::try_new(&DriverOptions::default().with_threads(2)).unwrap()
}

fn memory() -> Location {
    Location::new(Arc::new(MemoryStorage::new()), "random.tsfile")
}

fn options(table: &str, settings: &[(&str, String)]) -> WriteOptions {
    let mut options = WriteOptions::default().with_table(table.to_owned());
    if table.is_empty() {
        options.table = None;
    }
    for (name, value) in settings {
        options.settings.set(*name, value);
    }
    options
}

fn write(
    location: &Location,
    batches: &[RecordBatch],
    options: &WriteOptions,
) -> tesselle_core::Result<usize> {
    let mut sink = TsFile.create(location, batches[0].schema(), options, &driver())?;
    for batch in batches {
        sink.write(batch)?;
    }
    let summary = sink.finish()?;
    assert_eq!(summary.bytes, location.size()?);
    Ok(summary.rows as usize)
}

fn read(location: &Location, table: &str) -> Vec<RecordBatch> {
    let container = TsFile.open(location, &OpenOptions::default()).unwrap();
    let rows = scan(&*container.table(table).unwrap(), &Scan::all(), &driver(), Order::Plan).unwrap();
    rows.map(Result::unwrap).collect()
}

/// One cell in a form that compares by bits.
fn cell(array: &ArrayRef, row: usize) -> Option<String> {
    if array.is_null(row) {
        return None;
    }
    Some(match array.data_type() {
        DataType::Float32 => format!("{:08x}", array.as_primitive::<Float32Type>().value(row).to_bits()),
        DataType::Float64 => format!("{:016x}", array.as_primitive::<Float64Type>().value(row).to_bits()),
        DataType::Binary => format!("{:?}", array.as_binary::<i32>().value(row)),
        DataType::Utf8 => format!("{:?}", array.as_string::<i32>().value(row)),
        _ => format!("{:?}", array.slice(row, 1)),
    })
}

type Cells = BTreeMap<String, String>;

/// Rows as their non-null cells, in order.
fn rows(batches: &[RecordBatch]) -> Vec<Cells> {
    let mut rows = Vec::new();
    for batch in batches {
        let schema = batch.schema();
        for row in 0..batch.num_rows() {
            let filled = schema.fields().iter().zip(batch.columns());
            rows.push(filled.filter_map(|(f, a)| Some((f.name().clone(), cell(a, row)?))).collect());
        }
    }
    rows
}

/// A column of the model.
#[derive(Debug, Clone)]
struct Column {
    name: String,
    kind: &'static str,
    encoding: &'static str,
    seeds: Vec<Option<u32>>,
}

/// The encodings of integers, and the version that has each first.
const INTEGERS: &[(&str, u8)] = &[
    ("PLAIN", 0),
    ("RLE", 0),
    ("TS_2DIFF", 0),
    ("REGULAR", 0),
    ("GORILLA", 2),
    ("ZIGZAG", 3),
    ("CHIMP", 3),
    ("SPRINTZ", 3),
    ("RLBE", 3),
];

/// Types and the encodings that versions from `since` on write them with.
const KINDS: [(&str, &[(&str, u8)]); 10] = [
    ("BOOLEAN", &[("PLAIN", 0), ("RLE", 0)]),
    ("INT32", INTEGERS),
    ("INT64", INTEGERS),
    (
        "FLOAT",
        &[
            ("PLAIN", 0),
            ("RLE", 0),
            ("TS_2DIFF", 0),
            ("GORILLA", 0),
            ("GORILLA_V1", 2),
            ("CHIMP", 3),
            ("SPRINTZ", 3),
            ("RLBE", 3),
        ],
    ),
    (
        "DOUBLE",
        &[
            ("PLAIN", 0),
            ("RLE", 0),
            ("TS_2DIFF", 0),
            ("GORILLA", 0),
            ("GORILLA_V1", 2),
            ("CHIMP", 3),
            ("SPRINTZ", 3),
            ("RLBE", 3),
            ("CAMEL", 4),
        ],
    ),
    ("TEXT", &[("PLAIN", 0), ("DICTIONARY", 3)]),
    ("STRING", &[("PLAIN", 4), ("DICTIONARY", 4)]),
    ("BLOB", &[("PLAIN", 4)]),
    ("DATE", &[("PLAIN", 4), ("TS_2DIFF", 4), ("GORILLA", 4)]),
    ("TIMESTAMP", &[("PLAIN", 4), ("TS_2DIFF", 4), ("RLE", 4)]),
];

impl Column {
    fn arrow_type(&self) -> DataType {
        match self.kind {
            "BOOLEAN" => DataType::Boolean,
            "INT32" => DataType::Int32,
            "INT64" => DataType::Int64,
            "FLOAT" => DataType::Float32,
            "DOUBLE" => DataType::Float64,
            "BLOB" => DataType::Binary,
            "DATE" => DataType::Date32,
            "TIMESTAMP" => DataType::Timestamp(TimeUnit::Millisecond, None),
            _ => DataType::Utf8,
        }
    }

    fn field(&self) -> Field {
        let metadata = [(tesselle_core::TYPE_KEY.to_string(), self.kind.to_string())].into();
        Field::new(&self.name, self.arrow_type(), true).with_metadata(metadata)
    }

    /// Values that the encoding represents exactly.
    fn number(&self, row: usize, seed: u32) -> f64 {
        match self.encoding {
            // Two decimals, or differences that floats represent exactly.
            "RLE" | "TS_2DIFF" | "RLBE" => f64::from(seed as i32 >> 12) / 4.0,
            "SPRINTZ" => 21.5,
            "CAMEL" => f64::from(seed as i32) / 10f64.powi((row % 6) as i32),
            "GORILLA_V1" | "GORILLA" => f64::from(seed) * 1e-3,
            _ if seed.is_multiple_of(50) => f64::INFINITY,
            _ if seed % 50 == 1 => -0.0,
            _ => f64::from(f32::from_bits(seed & 0xbfff_ffff)),
        }
    }

    fn integer(&self, row: usize, seed: u32) -> i64 {
        match self.encoding {
            "REGULAR" => 5 + 3 * row as i64,
            "SPRINTZ" => i64::from(seed % 10_000),
            _ => i64::from(seed as i32),
        }
    }

    fn array(&self, range: std::ops::Range<usize>) -> ArrayRef {
        let start = range.start;
        let cells =
            self.seeds[range].iter().enumerate().map(move |(i, seed)| seed.map(|seed| (start + i, seed)));
        let ints = cells.clone().map(|c| c.map(|(row, seed)| self.integer(row, seed)));
        let floats = cells.clone().map(|c| c.map(|(row, seed)| self.number(row, seed)));
        let strings = cells.map(|c| {
            c.map(|(_, seed)| ["", "grün", "温度", "a b"][seed as usize % 4].repeat(seed as usize % 5))
        });
        match self.kind {
            "BOOLEAN" => Arc::new(ints.map(|v| v.map(|v| v % 2 == 0)).collect::<BooleanArray>()),
            "INT32" => Arc::new(ints.map(|v| v.map(|v| v as i32)).collect::<Int32Array>()),
            "INT64" => Arc::new(ints.map(|v| v.map(|v| v * 1_000_003)).collect::<Int64Array>()),
            "FLOAT" => Arc::new(floats.map(|v| v.map(|v| v as f32)).collect::<Float32Array>()),
            "DOUBLE" => Arc::new(floats.collect::<Float64Array>()),
            "BLOB" => Arc::new(strings.map(|v| v.map(String::into_bytes)).collect::<BinaryArray>()),
            "DATE" => Arc::new(ints.map(|v| v.map(|v| (v % 30_000) as i32)).collect::<Date32Array>()),
            "TIMESTAMP" => Arc::new(ints.collect::<TimestampMillisecondArray>()),
            _ => Arc::new(strings.collect::<StringArray>()),
        }
    }
}

/// A random file of one device.
#[derive(Debug, Clone)]
struct Model {
    version: u8,
    times: Vec<i64>,
    columns: Vec<Column>,
    aligned: bool,
    page_points: usize,
    group_bytes: usize,
    batch: usize,
    compression: &'static str,
}

fn models() -> impl Strategy<Value = Model> {
    (prop::sample::select(vec![0u8, 1, 2, 3, 4, 4]), 1usize..300).prop_flat_map(|(version, rows)| {
        let kinds: Vec<(&str, &str)> = KINDS
            .iter()
            .flat_map(|(kind, encodings)| encodings.iter().map(move |(e, since)| (*kind, *e, *since)))
            .filter(|(kind, _, since)| {
                version >= *since && (version == 4 || KINDS[..6].iter().any(|k| k.0 == *kind))
            })
            .map(|(kind, encoding, _)| (kind, encoding))
            .collect();
        let seeds = prop::collection::vec(prop::option::weighted(0.8, any::<u32>()), rows);
        let column = (prop::sample::select(kinds), seeds);
        let compressions: &[&str] = match version {
            0 | 1 => &["UNCOMPRESSED", "SNAPPY"],
            2 => &["UNCOMPRESSED", "SNAPPY", "LZ4"],
            _ => &["UNCOMPRESSED", "SNAPPY", "LZ4", "GZIP", "ZSTD", "LZMA2"],
        };
        (
            prop::collection::vec(column, 1..6),
            prop::collection::vec(1i64..1000, rows),
            -1_000_000i64..2_000_000_000_000,
            any::<bool>(),
            prop::sample::select(vec![1usize, 7, 100, 10_000]),
            prop::sample::select(vec![500usize, 5_000, 1 << 20]),
            1usize..200,
            prop::sample::select(compressions.to_vec()),
        )
            .prop_map(
                move |(columns, steps, start, aligned, page_points, group_bytes, batch, compression)| {
                    let times = steps.iter().scan(start, |at, step| {
                        *at += step;
                        Some(*at)
                    });
                    let columns =
                        columns.into_iter().enumerate().map(|(i, ((kind, encoding), mut seeds))| {
                            if encoding == "REGULAR" {
                                seeds.fill(Some(0));
                            }
                            Column { name: format!("s{i}"), kind, encoding, seeds }
                        });
                    Model {
                        version,
                        times: times.collect(),
                        columns: columns.collect(),
                        aligned: aligned && version >= 3,
                        page_points,
                        group_bytes,
                        batch,
                        compression,
                    }
                },
            )
    })
}

impl Model {
    fn schema(&self, extra: &[Field]) -> Arc<Schema> {
        let mut fields = vec![Field::new("time", DataType::Timestamp(TimeUnit::Millisecond, None), false)];
        fields.extend_from_slice(extra);
        fields.extend(self.columns.iter().map(Column::field));
        Arc::new(Schema::new(fields))
    }

    fn batches(&self, extra: &[(&str, Vec<Option<&str>>)]) -> Vec<RecordBatch> {
        let fields: Vec<Field> =
            extra.iter().map(|(name, _)| Field::new(*name, DataType::Utf8, true)).collect();
        let schema = self.schema(&fields);
        let n = self.times.len();
        (0..n)
            .step_by(self.batch)
            .map(|start| {
                let range = start..n.min(start + self.batch);
                let mut arrays: Vec<ArrayRef> =
                    vec![Arc::new(TimestampMillisecondArray::from(self.times[range.clone()].to_vec()))];
                for (_, values) in extra {
                    arrays.push(Arc::new(StringArray::from(values[range.clone()].to_vec())));
                }
                arrays.extend(self.columns.iter().map(|c| c.array(range.clone())));
                RecordBatch::try_new(schema.clone(), arrays).unwrap()
            })
            .collect()
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        let encodings: Vec<String> =
            self.columns.iter().map(|c| format!("{}:{}", c.name, c.encoding)).collect();
        vec![
            ("version", ["0.8", "1", "2", "3", "4"][self.version as usize].to_string()),
            ("page_points", self.page_points.to_string()),
            ("group_bytes", self.group_bytes.to_string()),
            ("compression", self.compression.to_string()),
            ("encodings", encodings.join(",")),
            ("degree", "3".to_string()),
        ]
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_device_round_trips(model in models()) {
        let location = memory();
        let mut settings = model.settings();
        settings.push(("aligned", model.aligned.to_string()));
        let batches = model.batches(&[]);
        let written = write(&location, &batches, &options("root.sg.d1", &settings)).unwrap();
        let mut want = rows(&batches);
        if !model.aligned {
            // A row without a value leaves no point.
            want.retain(|row| row.len() > 1);
        }
        prop_assert_eq!(written, want.len());
        if want.is_empty() {
            return Ok(());
        }
        prop_assert_eq!(rows(&read(&location, "root.sg.d1")), want);
    }

    #[test]
    fn a_shuffled_device_is_sorted(model in models(), seed in any::<u64>()) {
        // Rows may arrive in any order, also across flushes; of equal times the later row wins.
        let mut model = model;
        let n = model.times.len();
        let mut state = seed | 1;
        for i in (1..n).rev() {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            model.times.swap(i, (state % (i as u64 + 1)) as usize);
        }
        model.columns.retain(|c| !matches!(c.encoding, "REGULAR" | "RLBE"));
        if n > 2 {
            model.times[0] = model.times[n - 1];
        }
        prop_assume!(!model.columns.is_empty());
        let location = memory();
        let mut settings = model.settings();
        settings.extend([("aligned", model.aligned.to_string()), ("order", "sort".to_string())]);
        let batches = model.batches(&[]);
        write(&location, &batches, &options("d", &settings)).unwrap();
        let mut want: BTreeMap<i64, Cells> = BTreeMap::new();
        for (time, row) in model.times.iter().zip(rows(&batches)) {
            if model.aligned {
                want.insert(*time, row);
            } else {
                want.entry(*time).or_default().extend(row);
            }
        }
        let want: Vec<Cells> = want.into_values().filter(|row| model.aligned || row.len() > 1).collect();
        if !want.is_empty() {
            prop_assert_eq!(rows(&read(&location, "d")), want);
        }
    }

    #[test]
    fn a_table_round_trips(model in models(), tags in prop::collection::vec((0usize..6, 0usize..6), 300)) {
        let mut model = Model { version: 4, aligned: true, ..model };
        model.columns.retain(|c| c.encoding != "REGULAR");
        prop_assume!(!model.columns.is_empty());
        // Some have the same path: null and the string for null, and dots in tags.
        let pick = |i: usize| [None, Some("null"), Some("a"), Some("a.b"), Some("b.a"), Some("süd")][i];
        let n = model.times.len();
        let region: Vec<Option<&str>> = tags[..n].iter().map(|t| pick(t.0)).collect();
        let plant: Vec<Option<&str>> = tags[..n].iter().map(|t| pick(t.1)).collect();
        let location = memory();
        let mut settings = model.settings();
        settings.push(("tags", "region,plant".to_string()));
        let batches = model.batches(&[("region", region), ("plant", plant)]);
        let written = write(&location, &batches, &options("Weather", &settings)).unwrap();
        prop_assert_eq!(written, rows(&batches).len());
        let sorted = |mut rows: Vec<Cells>| {
            rows.sort();
            rows
        };
        prop_assert_eq!(sorted(rows(&read(&location, "weather"))), sorted(rows(&batches)));
    }

    #[test]
    fn devices_named_by_a_column_round_trip(model in models(), picks in prop::collection::vec(0usize..4, 300)) {
        let mut model = Model { aligned: false, ..model };
        model.columns.retain(|c| c.encoding != "REGULAR");
        prop_assume!(!model.columns.is_empty());
        let names = ["root.a", "root.b.c.d.e", "größe", "温度.x"];
        let device: Vec<Option<&str>> = picks[..model.times.len()].iter().map(|&i| Some(names[i])).collect();
        let location = memory();
        let mut settings = model.settings();
        settings.push(("device_column", "dev".to_string()));
        settings.push(("aligned", "false".to_string()));
        let batches = model.batches(&[("dev", device)]);
        let written = write(&location, &batches, &options("", &settings)).unwrap();
        let all = rows(&batches);
        prop_assert_eq!(written, all.iter().filter(|row| row.len() > 2).count());
        for name in names {
            let quoted = format!("{name:?}");
            let own = all.iter().filter(|row| row.get("dev") == Some(&quoted) && row.len() > 2);
            let want: Vec<Cells> = own
                .map(|row| row.iter().filter(|(k, _)| *k != "dev").map(|(k, v)| (k.clone(), v.clone())).collect())
                .collect();
            if !want.is_empty() {
                prop_assert_eq!(rows(&read(&location, name)), want);
            }
        }
    }

    #[test]
    fn a_whole_file_round_trips_through_long_rows(model in models()) {
        let mut model = Model { aligned: false, ..model };
        model.columns.retain(|c| !matches!(c.encoding, "REGULAR" | "SPRINTZ" | "RLBE"));
        prop_assume!(model.columns.iter().any(|c| c.seeds.iter().any(Option::is_some)));
        let (first, second) = (memory(), memory());
        let mut settings = model.settings();
        settings.push(("aligned", "false".to_string()));
        write(&first, &model.batches(&[]), &options("root.sg.d1", &settings)).unwrap();
        let long = read(&first, "*");
        write(&second, &long, &options("", &[])).unwrap();
        prop_assert_eq!(rows(&read(&second, "root.sg.d1")), rows(&read(&first, "root.sg.d1")));
    }
}

#[test]
fn invalid_settings_are_refused() {
    let schema = Arc::new(Schema::new(vec![
        Field::new("time", DataType::Int64, false),
        Field::new("a", DataType::Int32, true),
    ]));
    let create = |settings: &[(&str, &str)]| {
        let settings: Vec<(&str, String)> = settings.iter().map(|(k, v)| (*k, v.to_string())).collect();
        TsFile.create(&memory(), schema.clone(), &options("", &settings), &driver()).map(|_| ())
    };
    create(&[]).unwrap();
    for (settings, message) in [
        (&[("versoin", "3")][..], "did you mean 'version'"),
        (&[("version", "5")], "version '5' does not exist"),
        (&[("encoding", "GORILA")], "did you mean 'GORILLA'"),
        (&[("encodings", "b:RLE")], "column 'b' does not exist"),
        (&[("encodings", "a:CAMEL")], "CAMEL cannot encode INT32"),
        (&[("encodings", "a:FREQ"), ("version", "3")], "FREQ can be read but not written"),
        (&[("version", "3"), ("tags", "a")], "has no tables"),
        (&[("version", "1"), ("compression", "ZSTD")], "compressor ZSTD is not supported"),
        (&[("page_points", "0")], "must be positive"),
        (&[("time_encoding", "GORILLA")], "times cannot be encoded as GORILLA"),
        (&[("time", "t")], "column 't' does not exist"),
    ] {
        let error = create(settings).unwrap_err().to_string();
        assert!(error.contains(message), "{settings:?}: {error}");
    }
}

#[test]
fn rows_without_a_time_are_refused() {
    let schema = Arc::new(Schema::new(vec![
        Field::new("time", DataType::Int64, true),
        Field::new("a", DataType::Int32, true),
    ]));
    let times: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
    let values: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let batch = RecordBatch::try_new(schema, vec![times, values]).unwrap();
    let location = memory();
    let error = write(&location, &[batch], &options("d", &[])).unwrap_err();
    assert!(error.to_string().contains("row 1 has no time"), "{error}");
    assert!(!location.exists().unwrap());
}

#[test]
fn rows_can_be_numbered() {
    let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Float64, true)]));
    let values: ArrayRef = Arc::new(Float64Array::from(vec![0.5, 1.5, 2.5]));
    let batch = RecordBatch::try_new(schema, vec![values]).unwrap();
    let location = memory();
    write(&location, &[batch.clone(), batch], &options("d", &[("time", "@row".into())])).unwrap();
    let times: BTreeSet<String> = rows(&read(&location, "d")).iter().map(|row| row["time"].clone()).collect();
    assert_eq!(times.len(), 6);
}

/// Rows of every type, a few of them null.
fn sample() -> Model {
    let column = |i: usize, kind: &'static str, encoding: &'static str| Column {
        name: format!("s{i}"),
        kind,
        encoding,
        seeds: (0..50u32).map(|n| (n % 7 != i as u32).then_some(n * 977)).collect(),
    };
    let columns = KINDS.iter().enumerate().map(|(i, (kind, encodings))| column(i, kind, encodings[0].0));
    Model {
        version: 4,
        times: (0..50).map(|i| i * 10).collect(),
        columns: columns.collect(),
        aligned: true,
        page_points: 8,
        group_bytes: 2000,
        batch: 20,
        compression: "LZ4",
    }
}

#[test]
fn the_sink_passes_the_sink_conformance_suite() {
    let model = sample();
    let mut settings = model.settings();
    settings.push(("aligned", "true".into()));
    let folder = tempfile::tempdir().unwrap();
    for (name, table) in [("device", "root.d"), ("table", "weather")] {
        let target = Location::local(folder.path().join(format!("{name}.tsfile"))).unwrap();
        if name == "table" {
            settings.push(("model", "table".into()));
        }
        let options = options(table, &settings);
        tesselle_core::testing::sink_conformance(&TsFile, &target, &model.batches(&[]), &options, &driver());
    }
}

#[test]
fn an_aborted_write_leaves_nothing() {
    let model = sample();
    for version in ["1", "3", "4"] {
        let mut settings = vec![("version", version.to_string()), ("group_bytes", "2000".to_string())];
        if version != "1" {
            settings.push(("aligned", "true".to_string()));
        }
        let mut model = model.clone();
        model.columns.truncate(if version == "4" { 10 } else { 6 });
        let options = options("root.d", &settings);
        let operations =
            tesselle_core::testing::crash_conformance(&TsFile, &model.batches(&[]), &options, &driver());
        assert!(operations > 1);
    }
}
