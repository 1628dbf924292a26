//! Fixtures of the original engines and their expected contents: all of them if `TESSELLE_FIXTURES` is their
//! folder, otherwise the few in `tests/data/small`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, SchemaRef, TimeUnit};
use serde_json::Value;
use tesselle_core::driver::Order;
use tesselle_core::{Container, Driver, DriverOptions, Format, Location, OpenOptions, Scan};
use tesselle_tsfile::TsFile;

/// The cases of a fixture folder: name, path, expectation. None of a folder that is only among all fixtures.
pub(crate) fn cases(folder: &str) -> Vec<(String, PathBuf, Value)> {
    let small = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/small");
    let all = std::env::var_os("TESSELLE_FIXTURES").map(PathBuf::from);
    let mut cases = Vec::new();
    if all.is_none() && !small.join(folder).is_dir() {
        return cases;
    }
    for entry in std::fs::read_dir(all.unwrap_or(small).join(folder)).unwrap() {
        let path = entry.unwrap().path();
        let Ok(text) = std::fs::read_to_string(path.join("expected.json")) else { continue };
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        cases.push((name, path, serde_json::from_str(&text).unwrap()));
    }
    assert!(!cases.is_empty(), "no fixtures in {folder}");
    cases.sort_by(|a, b| a.0.cmp(&b.0));
    cases
}

/// The folder of one case of the set that is always there.
pub(crate) fn case(name: &str) -> PathBuf {
    let found = cases("tsfile").into_iter().find(|case| case.0 == name);
    found.unwrap_or_else(|| panic!("there is no fixture '{name}'")).1
}

pub(crate) fn open(path: &Path, text_as_binary: bool) -> tesselle_core::Result<Arc<dyn Container>> {
    let options = OpenOptions::default().with_text_as_binary(text_as_binary);
    TsFile.open(&Location::local(path).unwrap(), &options)
}

pub(crate) fn driver() -> Driver {
    Driver::try_new(&DriverOptions::default().with_threads(2).with_memory(1 << 28)).unwrap()
}

pub(crate) fn rows(
    container: &dyn Container,
    table: &str,
    scan: &Scan,
) -> tesselle_core::Result<(SchemaRef, Vec<RecordBatch>)> {
    rows_with(container, table, scan, &driver())
}

pub(crate) fn rows_with(
    container: &dyn Container,
    table: &str,
    scan: &Scan,
    driver: &Driver,
) -> tesselle_core::Result<(SchemaRef, Vec<RecordBatch>)> {
    let table = container.table(table)?;
    let rows = tesselle_core::driver::scan(&*table, scan, driver, Order::Plan)?;
    let schema = rows.schema();
    Ok((schema, rows.read_all()?))
}

/// A value in a form that compares with `==`: floats by bits, all NaNs equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Plain {
    Int(i64),
    Bits32(u32),
    Bits64(u64),
    Bytes(Vec<u8>),
}

pub(crate) fn cell(array: &dyn Array, row: usize) -> Option<Plain> {
    if array.is_null(row) {
        return None;
    }
    let f32_bits = |v: f32| Plain::Bits32(if v.is_nan() { f32::NAN.to_bits() } else { v.to_bits() });
    let f64_bits = |v: f64| Plain::Bits64(if v.is_nan() { f64::NAN.to_bits() } else { v.to_bits() });
    Some(match array.data_type() {
        DataType::Boolean => Plain::Int(i64::from(array.as_boolean().value(row))),
        DataType::Int32 => Plain::Int(array.as_primitive::<Int32Type>().value(row).into()),
        DataType::Date32 => Plain::Int(array.as_primitive::<Date32Type>().value(row).into()),
        DataType::Int64 => Plain::Int(array.as_primitive::<Int64Type>().value(row)),
        DataType::Timestamp(TimeUnit::Millisecond, None) => {
            Plain::Int(array.as_primitive::<TimestampMillisecondType>().value(row))
        }
        DataType::Float32 => f32_bits(array.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => f64_bits(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => Plain::Bytes(array.as_string::<i32>().value(row).as_bytes().to_vec()),
        DataType::Binary => Plain::Bytes(array.as_binary::<i32>().value(row).to_vec()),
        other => panic!("unexpected type {other}"),
    })
}

/// A value of expected.json; `None` if only its length is known.
pub(crate) fn wanted(kind: &str, value: &Value) -> Option<Plain> {
    let float = |v: &Value| match v {
        Value::String(s) => match s.as_str() {
            "NaN" => f64::NAN,
            "Infinity" => f64::INFINITY,
            "-Infinity" => f64::NEG_INFINITY,
            "-0.0" => -0.0,
            other => panic!("{other}"),
        },
        v => v.as_f64().unwrap(),
    };
    Some(match kind {
        "FLOAT" => Plain::Bits32((float(value) as f32).to_bits()),
        "DOUBLE" => Plain::Bits64(float(value).to_bits()),
        "BOOLEAN" => Plain::Int(i64::from(value.as_bool().unwrap())),
        "TEXT" | "STRING" | "BLOB" => match value {
            Value::String(s) => Plain::Bytes(s.clone().into_bytes()),
            Value::Object(o) if o.contains_key("hex") => Plain::Bytes(unhex(o["hex"].as_str().unwrap())),
            Value::Object(o) if o.contains_key("repeat") => Plain::Bytes(
                o["repeat"].as_str().unwrap().repeat(o["count"].as_u64().unwrap() as usize).into_bytes(),
            ),
            _ => return None,
        },
        "DATE" => Plain::Int(days(value.as_i64().unwrap())),
        _ => Plain::Int(value.as_i64().unwrap()),
    })
}

fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .map(|p| u8::from_str_radix(std::str::from_utf8(p).unwrap(), 16).unwrap())
        .collect()
}

/// Days since the epoch of a proleptic Gregorian date yyyymmdd, counted one by one.
fn days(date: i64) -> i64 {
    let (year, month, day) = (date / 10_000, date / 100 % 100, date % 100);
    let leap = |y: i64| y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
    let mut days: i64 = 0;
    for y in year.min(1970)..year.max(1970) {
        days += 365 + i64::from(leap(y));
    }
    if year < 1970 {
        days = -days;
    }
    let lengths = [31, 28 + i64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    days + lengths.iter().take(month as usize - 1).sum::<i64>() + day - 1
}

pub(crate) type Points = BTreeMap<i64, Option<Plain>>;

/// The expected points of a series: `written` if the original reader is defective, `points` if the encoding
/// is lossy.
pub(crate) fn points(series: &Value) -> Points {
    let kind = series["type"].as_str().unwrap();
    let read = |key: &str| -> Points {
        let list = series[key].as_array().unwrap();
        list.iter().map(|p| (p[0].as_i64().unwrap(), wanted(kind, &p[1]))).collect()
    };
    let points = read("points");
    if series.get("written").is_none() {
        return points;
    }
    let encoding = series["encoding"].as_str().unwrap();
    let float = matches!(kind, "FLOAT" | "DOUBLE");
    let written = read("written");
    if matches!(encoding, "PLAIN" | "GORILLA" | "REGULAR")
        || (matches!(encoding, "RLE" | "TS_2DIFF") && !float)
    {
        return written;
    }
    written.into_keys().map(|time| (time, points.get(&time).cloned().flatten())).collect()
}

pub(crate) fn devices(expected: &Value) -> BTreeMap<String, BTreeMap<String, (String, Points)>> {
    let mut out = BTreeMap::new();
    for (device, series) in expected["devices"].as_object().unwrap() {
        let columns = series.as_object().unwrap().iter().filter(|(_, s)| s["type"] != "VECTOR");
        let columns =
            columns.map(|(name, s)| (name.clone(), (s["type"].as_str().unwrap().to_string(), points(s))));
        out.insert(device.clone(), columns.collect());
    }
    out
}

/// Whether some string is not UTF-8, so that it can only be read as binary.
pub(crate) fn needs_binary(expected: &Value) -> bool {
    devices(expected).values().flat_map(BTreeMap::values).any(|(kind, points)| {
        matches!(kind.as_str(), "TEXT" | "STRING")
            && points
                .values()
                .flatten()
                .any(|v| matches!(v, Plain::Bytes(b) if std::str::from_utf8(b).is_err()))
    })
}

/// All points of a device table.
pub(crate) fn read_device(container: &dyn Container, device: &str) -> (Vec<i64>, BTreeMap<String, Points>) {
    let (schema, batches) = rows(container, device, &Scan::all()).unwrap_or_else(|e| panic!("{device}: {e}"));
    let mut times = Vec::new();
    let mut columns: BTreeMap<String, Points> =
        schema.fields().iter().skip(1).map(|f| (f.name().clone(), Points::new())).collect();
    for batch in batches {
        let at = batch.column(0).as_primitive::<TimestampMillisecondType>();
        times.extend_from_slice(at.values());
        for (field, array) in schema.fields().iter().zip(batch.columns()).skip(1) {
            let points = columns.get_mut(field.name()).unwrap();
            for row in 0..batch.num_rows() {
                if let Some(value) = cell(array, row) {
                    points.insert(at.value(row), Some(value));
                }
            }
        }
    }
    (times, columns)
}

pub(crate) fn same_points(what: &str, got: &Points, want: &Points) {
    for (time, value) in want {
        let found = got.get(time);
        assert!(found.is_some(), "{what}: no point at {time}");
        if value.is_some() {
            assert_eq!(found.unwrap(), value, "{what} at {time}");
        }
    }
    assert_eq!(got.len(), want.len(), "{what}: points");
}

/// Compares every device and the long table with the expectation.
pub(crate) fn check_devices(name: &str, path: &Path, expected: &Value) {
    let binary = needs_binary(expected);
    let container = open(path, binary).unwrap_or_else(|e| panic!("{name}: {e}"));
    if binary {
        let strict = open(path, false).unwrap();
        let error = rows(&*strict, "*", &Scan::all()).unwrap_err();
        assert!(error.to_string().contains("text_as_binary"), "{error}");
    }
    let want = devices(expected);
    for (device, columns) in &want {
        let (times, got) = read_device(&*container, device);
        let all: std::collections::BTreeSet<i64> =
            columns.values().flat_map(|(_, p)| p.keys().copied()).collect();
        assert_eq!(times, all.into_iter().collect::<Vec<_>>(), "{name}: {device}: times");
        assert_eq!(
            got.keys().collect::<Vec<_>>(),
            columns.keys().collect::<Vec<_>>(),
            "{name}: {device}: columns"
        );
        for (column, (_, points)) in columns {
            same_points(&format!("{name}: {device}.{column}"), &got[column], points);
        }
    }
    check_long(name, &*container, &want);
}

fn check_long(
    name: &str,
    container: &dyn Container,
    want: &BTreeMap<String, BTreeMap<String, (String, Points)>>,
) {
    let (schema, batches) = rows(container, "*", &Scan::all()).unwrap_or_else(|e| panic!("{name}: *: {e}"));
    let mut got: BTreeMap<(String, String), Points> = BTreeMap::new();
    let mut total = 0;
    for batch in batches {
        total += batch.num_rows();
        let (devices, names) = (batch.column(0).as_string::<i32>(), batch.column(1).as_string::<i32>());
        let times = batch.column(2).as_primitive::<TimestampMillisecondType>();
        for row in 0..batch.num_rows() {
            let filled: Vec<usize> =
                (3..batch.num_columns()).filter(|c| batch.column(*c).is_valid(row)).collect();
            assert_eq!(filled.len(), 1, "{name}: *: row {row}");
            let (device, measurement) = (devices.value(row).to_string(), names.value(row).to_string());
            let kind = &want[&device][&measurement].0;
            assert_eq!(schema.field(filled[0]).name(), &format!("value_{}", kind.to_lowercase()));
            let value = cell(batch.column(filled[0]), row);
            got.entry((device, measurement)).or_default().insert(times.value(row), value);
        }
    }
    let mut count = 0;
    for (device, columns) in want {
        for (column, (_, points)) in columns {
            count += points.len();
            let found = got.remove(&(device.clone(), column.clone())).unwrap_or_default();
            same_points(&format!("{name}: *: {device}.{column}"), &found, points);
        }
    }
    assert_eq!(total, count, "{name}: *: rows");
}

/// A time and the value at it.
type Point = (i64, Plain);

/// Count, bounds, sum, first and last of the points of a series in a time range, computed point by point.
#[derive(Debug, Default)]
struct Reference {
    count: u64,
    min: Option<f64>,
    max: Option<f64>,
    sum: f64,
    first: Option<Point>,
    last: Option<Point>,
}

fn number(value: &Plain) -> f64 {
    match value {
        Plain::Int(v) => *v as f64,
        Plain::Bits32(v) => f64::from(f32::from_bits(*v)),
        Plain::Bits64(v) => f64::from_bits(*v),
        Plain::Bytes(_) => f64::NAN,
    }
}

fn plain(value: &tesselle_tsfile::Value) -> Plain {
    use tesselle_tsfile::Value;
    match value {
        Value::Boolean(v) => Plain::Int(i64::from(*v)),
        Value::Int32(v) => Plain::Int((*v).into()),
        Value::Int64(v) => Plain::Int(*v),
        Value::Float(v) => Plain::Bits32(if v.is_nan() { f32::NAN.to_bits() } else { v.to_bits() }),
        Value::Double(v) => Plain::Bits64(if v.is_nan() { f64::NAN.to_bits() } else { v.to_bits() }),
        Value::Binary(v) => Plain::Bytes(v.clone()),
    }
}

/// Checks the aggregates of all series over each time range against all points. Returns the number of series
/// and ranges compared, and of pages decoded for them.
pub(crate) fn check_aggregates(
    what: &str,
    location: &Location,
    ranges: &[(i64, i64)],
    driver: &Driver,
) -> (u64, u64) {
    use tesselle_tsfile::aggregate::{Request, aggregate};
    use tesselle_tsfile::{DataType as Type, Sum};
    let options = OpenOptions::default().with_raw(true).with_text_as_binary(true);
    let container = TsFile.open(location, &options).unwrap();
    let (_, batches) = rows_with(&*container, "*", &Scan::all(), driver).unwrap();
    let mut points: BTreeMap<[Vec<u8>; 2], Vec<Point>> = BTreeMap::new();
    for batch in &batches {
        for row in 0..batch.num_rows() {
            let at = |column: usize| cell(batch.column(column), row);
            let (Some(Plain::Bytes(device)), Some(Plain::Bytes(measurement)), Some(Plain::Int(time))) =
                (at(0), at(1), at(2))
            else {
                panic!("a point without a device or measurement");
            };
            let value = (3..batch.num_columns()).find_map(at).unwrap();
            points.entry([device, measurement]).or_default().push((time, value));
        }
    }
    let (mut compared, mut decoded) = (0, 0);
    for (from, to) in ranges {
        let request = Request { from: *from, to: *to, ..Request::default() };
        for series in aggregate(location, &request, driver).unwrap() {
            let what = format!("{what}: {}.{} in {from}..={to}", series.device, series.measurement);
            let key = [&series.device, &series.measurement].map(|name| name.clone().into_bytes());
            let mut want = Reference::default();
            for (time, value) in points.get(&key).into_iter().flatten() {
                if !(*from..=*to).contains(time) {
                    continue;
                }
                let v = number(value);
                want.count += 1;
                want.sum += v;
                if !v.is_nan() {
                    want.min = Some(want.min.map_or(v, |min| min.min(v)));
                    want.max = Some(want.max.map_or(v, |max| max.max(v)));
                }
                want.first.get_or_insert((*time, value.clone()));
                want.last = Some((*time, value.clone()));
            }
            let got = &series.values;
            assert_eq!(got.count, want.count, "{what}: count");
            let point = |p: &Option<(i64, tesselle_tsfile::Value)>| p.as_ref().map(|(t, v)| (*t, plain(v)));
            assert_eq!(point(&got.first), want.first, "{what}: first");
            assert_eq!(point(&got.last), want.last, "{what}: last");
            if !matches!(series.data_type, Type::Text | Type::String | Type::Blob | Type::Boolean) {
                assert_eq!(got.min.as_ref().map(|v| number(&plain(v))), want.min, "{what}: min");
                assert_eq!(got.max.as_ref().map(|v| number(&plain(v))), want.max, "{what}: max");
            }
            if let Some(sum) = got.sum {
                let sum = match sum {
                    Sum::Integer(v) => v as f64,
                    Sum::Float(v) => v,
                };
                let scale = points[&key].iter().map(|(_, v)| number(v).abs()).filter(|v| v.is_finite());
                let near = (sum - want.sum).abs() <= 1e-9 * scale.sum::<f64>();
                let same = sum.is_nan() && want.sum.is_nan() || sum == want.sum || near;
                assert!(same, "{what}: sum {sum}, not {}", want.sum);
            }
            compared += 1;
            decoded += series.effort.pages_decoded;
        }
    }
    (compared, decoded)
}
