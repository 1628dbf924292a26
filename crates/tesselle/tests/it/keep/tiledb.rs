//! TileDB: dense and sparse arrays of random schemas and histories, and groups of them.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, UInt8Array};
use arrow_schema::{DataType, TimeUnit};
use proptest::prelude::*;
use serde_json::{Value, json};
use tesselle::core::Comparison;
use tesselle::tiledb::write::{ArrayWriter, GroupWriter, NewSchema, OnNull, SparseOptions};
use tesselle::tiledb::{Bounds, Member, MemberKind, MetadataValue};
use tesselle::{Location, Predicate, Scalar};

use super::draw::Draw;
use super::{CASES, check};

/// How many values an enumeration has.
const CODES: u64 = 40;

/// Types of attributes, and the Arrow types of their values.
fn kinds() -> Vec<(&'static str, DataType)> {
    vec![
        ("INT8", DataType::Int8),
        ("INT16", DataType::Int16),
        ("INT32", DataType::Int32),
        ("INT64", DataType::Int64),
        ("UINT8", DataType::UInt8),
        ("UINT16", DataType::UInt16),
        ("UINT32", DataType::UInt32),
        ("UINT64", DataType::UInt64),
        ("FLOAT32", DataType::Float32),
        ("FLOAT64", DataType::Float64),
        ("STRING_UTF8", DataType::Utf8),
        ("BLOB", DataType::Binary),
        ("DATETIME_MS", DataType::Timestamp(TimeUnit::Millisecond, None)),
    ]
}

/// A chain of filters that suits a type: at most one that reorders or subtracts, one that compresses, one that checks.
fn filters(kind: &str, draw: &mut Draw) -> String {
    let first: &[&str] = match kind {
        "STRING_UTF8" | "STRING_ASCII" | "BLOB" => &[""],
        "FLOAT32" | "FLOAT64" => &["", "byteshuffle", "bitshuffle", "xor"],
        _ => &["", "byteshuffle", "bitshuffle", "bit-width-reduction:128", "delta", "double-delta", "xor"],
    };
    let chain = [
        draw.pick(first),
        draw.pick(&["", "zstd:7", "gzip:2", "lz4", "bzip2:4"]),
        draw.pick(&["", "", "md5", "sha256"]),
    ];
    chain.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(",")
}

struct Columns {
    schema: Vec<Value>,
    /// Name, type and nullability of each attribute; values of an enumeration have no type.
    attributes: Vec<(String, DataType, bool)>,
    enumerations: Value,
}

fn attributes(draw: &mut Draw) -> Columns {
    let mut columns = Columns { schema: Vec::new(), attributes: Vec::new(), enumerations: json!({}) };
    for i in 0..=draw.below(4) {
        let name = format!("a{i}");
        if draw.chance(15) {
            let words: Vec<String> = (0..CODES).map(|n| format!("wörd{n}")).collect();
            columns.enumerations[format!("e{i}")] =
                json!({ "type": "STRING_UTF8", "ordered": draw.chance(50), "values": words });
            columns.schema.push(json!({
                "name": name, "role": "attribute", "type": "UINT8", "nullable": true, "enumeration": format!("e{i}"),
                "filters": filters("UINT8", draw),
            }));
            columns.attributes.push((name, DataType::Null, true));
            continue;
        }
        let (kind, values) = draw.pick(&kinds());
        let nullable = draw.chance(40);
        let is_var = matches!(values, DataType::Utf8 | DataType::Binary);
        let fill = match &values {
            DataType::Utf8 => json!("none"),
            DataType::Binary | DataType::Timestamp(..) => Value::Null,
            _ => json!(draw.below(100)),
        };
        columns.schema.push(json!({
            "name": name, "role": "attribute", "type": kind, "nullable": nullable,
            "cell_val_num": if is_var { json!("var") } else { json!(1) },
            "fill": if draw.chance(50) && !nullable { fill } else { Value::Null },
            "filters": filters(kind, draw),
        }));
        columns.attributes.push((name, values, nullable));
    }
    columns
}

fn values(columns: &Columns, rows: usize, draw: &mut Draw) -> Vec<(String, ArrayRef)> {
    let column = |(name, kind, nullable): &(String, DataType, bool)| {
        if *kind == DataType::Null {
            let codes = (0..rows).map(|_| (!draw.chance(30)).then(|| draw.below(CODES) as u8));
            return (name.clone(), Arc::new(codes.collect::<UInt8Array>()) as ArrayRef);
        }
        let nulls = if *nullable { 30 } else { 0 };
        (name.clone(), draw.column(kind, rows, nulls))
    };
    columns.attributes.iter().map(column).collect()
}

fn metadata(array: &ArrayWriter, draw: &mut Draw) {
    for (at, key) in draw.some(&["title", "level"], 60).into_iter().enumerate() {
        let value = if key == "title" {
            MetadataValue::string("grüße").unwrap()
        } else {
            MetadataValue::integer(7)
        };
        array.write_metadata(&vec![(key.as_bytes().to_vec(), Some(value))], Some(100 + at as u64)).unwrap();
    }
}

fn created(target: &Path, schema: &Value) -> ArrayWriter {
    let new = NewSchema::from_json(schema).unwrap_or_else(|error| panic!("{schema}: {error}"));
    ArrayWriter::create(&Location::local(target).unwrap(), &new, None, Some(1)).unwrap()
}

fn orders(draw: &mut Draw) -> [&'static str; 2] {
    [draw.pick(&["row-major", "col-major"]), draw.pick(&["row-major", "col-major"])]
}

fn dense(target: &Path, draw: &mut Draw) {
    let rank = 1 + draw.below(3);
    let mut columns = attributes(draw);
    let extents: Vec<(i64, i64)> =
        (0..rank).map(|_| (draw.below(9) as i64 - 4, 2 + draw.below(8) as i64)).collect();
    let mut schema: Vec<Value> = Vec::new();
    for (axis, (low, len)) in extents.iter().enumerate() {
        schema.push(json!({
            "name": format!("d{axis}"), "role": "dimension", "type": "INT32", "domain": [low, low + len - 1],
            "extent": 1 + draw.below(*len as u64), "filters": filters("INT32", draw),
        }));
    }
    schema.append(&mut columns.schema);
    let [tile_order, cell_order] = orders(draw);
    let mut whole = json!({
        "kind": "dense", "tile_order": tile_order, "cell_order": cell_order, "columns": schema,
        "enumerations": columns.enumerations, "offsets_filters": filters("UINT64", draw),
        "validity_filters": filters("UINT8", draw),
    });
    let label = draw.chance(30);
    if label {
        whole["labels"] = json!({ "lab": { "dim": 0, "type": "FLOAT64", "order": "increasing" } });
    }
    if draw.chance(30) {
        let ranges = extents.iter().map(|(low, len)| json!([low, low + len - 1]));
        whole["current_domain"] = ranges.collect();
    }
    let array = created(target, &whole);
    for at in 0..draw.below(4) {
        let region: Vec<Bounds> = extents
            .iter()
            .map(|(low, len)| {
                let (a, b) = (draw.below(*len as u64) as i64, draw.below(*len as u64) as i64);
                Bounds { low: Scalar::from(low + a.min(b)), high: Scalar::from(low + a.max(b)) }
            })
            .collect();
        let len = |range: &Bounds| match (&range.low, &range.high) {
            (Scalar::Int(low), Scalar::Int(high)) => (high - low + 1) as usize,
            _ => panic!("a range of integers"),
        };
        let rows = region.iter().map(len).product();
        let batch = RecordBatch::try_from_iter(values(&columns, rows, draw)).unwrap();
        array.write_dense_rows(Some(&region), &[batch], Some(10 + at)).unwrap();
    }
    if label {
        let (low, len) = extents[0];
        let range = Bounds { low: Scalar::from(low), high: Scalar::from(low + len - 1) };
        let labels: ArrayRef = Arc::new(Float64Array::from_iter_values((0..len).map(|i| i as f64 * 1.5)));
        array.write_label("lab", &range, &labels, Some(20)).unwrap();
    }
    metadata(&array, draw);
}

fn sparse(target: &Path, draw: &mut Draw) {
    let dims: Vec<&str> =
        (0..=draw.below(2)).map(|_| draw.pick(&["INT32", "FLOAT64", "STRING_ASCII", "INT64"])).collect();
    let mut columns = attributes(draw);
    let mut schema: Vec<Value> = Vec::new();
    for (axis, kind) in dims.iter().enumerate() {
        let mut dim = json!({
            "name": format!("d{axis}"), "role": "dimension", "type": kind, "filters": filters(kind, draw),
        });
        match *kind {
            "STRING_ASCII" => dim["cell_val_num"] = json!("var"),
            "FLOAT64" => dim["domain"] = json!([-10.0, 1_000.0]),
            _ => {
                dim["domain"] = json!([-10, 999]);
                dim["extent"] = json!(1 + draw.below(50));
            }
        }
        schema.push(dim);
    }
    schema.append(&mut columns.schema);
    // The filters of all dimensions that have none of their own: they must suit each of them.
    let narrowest =
        ["STRING_ASCII", "FLOAT64"].into_iter().find(|kind| dims.contains(kind)).unwrap_or("INT64");
    let [tile_order, mut cell_order] = orders(draw);
    if draw.chance(20) {
        cell_order = "hilbert";
    }
    let dups = draw.chance(40);
    let array = created(
        target,
        &json!({
            "kind": "sparse", "tile_order": tile_order, "cell_order": cell_order, "capacity": 1 + draw.below(60),
            "allows_dups": dups, "columns": schema, "enumerations": columns.enumerations,
            "coords_filters": filters(narrowest, draw), "offsets_filters": filters("UINT64", draw),
        }),
    );
    for at in 0..draw.below(4) {
        let rows = 1 + draw.below(80) as usize;
        // The first dimension numbers the cells, so that they differ within a write.
        let coordinates = |axis: usize, kind: &&str, draw: &mut Draw| -> ArrayRef {
            let numbers: Vec<i64> =
                (0..rows as i64).map(|row| if axis == 0 { row } else { draw.below(90) as i64 }).collect();
            match *kind {
                "STRING_ASCII" => {
                    Arc::new(StringArray::from_iter_values(numbers.iter().map(|n| format!("k{n}"))))
                }
                "FLOAT64" => {
                    Arc::new(Float64Array::from_iter_values(numbers.iter().map(|n| *n as f64 / 4.0)))
                }
                "INT32" => Arc::new(Int32Array::from_iter_values(numbers.iter().map(|n| *n as i32))),
                _ => Arc::new(Int64Array::from(numbers)),
            }
        };
        let axes =
            dims.iter().enumerate().map(|(axis, kind)| (format!("d{axis}"), coordinates(axis, kind, draw)));
        let axes: Vec<(String, ArrayRef)> = axes.collect();
        let batch = RecordBatch::try_from_iter(axes.into_iter().chain(values(&columns, rows, draw))).unwrap();
        array.write_sparse(&[batch], &SparseOptions::default().with_timestamp(10 + at)).unwrap();
    }
    if draw.chance(30) && matches!(dims[0], "INT32" | "INT64") {
        let condition = Predicate::compare("d0", Comparison::Lt, draw.below(10) as i64);
        array.delete(&condition, OnNull::Refuse, Some(50)).unwrap();
    }
    metadata(&array, draw);
}

fn array(target: &Path, draw: &mut Draw) {
    if draw.chance(50) { dense(target, draw) } else { sparse(target, draw) }
}

/// A group with arrays, and groups down to a depth.
fn group(target: &Path, draw: &mut Draw, depth: u64) {
    let writer = GroupWriter::create(&Location::local(target).unwrap(), None).unwrap();
    let mut members = Vec::new();
    for i in 0..=draw.below(3) {
        let (folder, name) = (format!("m{i}"), format!("member {i}"));
        let kind = if depth > 0 && draw.chance(30) {
            group(&target.join(&folder), draw, depth - 1);
            MemberKind::Group
        } else {
            array(&target.join(&folder), draw);
            MemberKind::Array
        };
        members.push(Member::relative(kind, folder, name));
    }
    writer.change(&members, &[], Some(5)).unwrap();
    if draw.chance(50) {
        writer.write_metadata(&vec![(b"n".to_vec(), Some(MetadataValue::float(1.5)))], Some(6)).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn arrays_stay_what_they_are(seed in any::<u64>()) {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("a.tiledb");
        array(&source, &mut Draw::new(seed));
        check(&source);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES / 4))]

    #[test]
    fn groups_stay_what_they_are(seed in any::<u64>()) {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("g.tiledb");
        group(&source, &mut Draw::new(seed), 2);
        check(&source);
    }
}
