//! Columns of every type, derived from a row number.

use std::sync::Arc;

use arrow_array::builder::{FixedSizeBinaryBuilder, FixedSizeListBuilder, Int32Builder, ListBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, DurationMillisecondArray, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, PrimitiveArray, RecordBatch, StringArray, TimestampMillisecondArray,
    TimestampNanosecondArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use tesselle_tiledb::{Attribute, Datatype};

use crate::Result;

/// A pseudorandom number, the same on every run.
pub(crate) fn mix(row: usize) -> u64 {
    let mut x = (row as u64).wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// An attribute and its column.
pub(crate) type Column = (Attribute, ArrayRef);

/// One attribute of every type with one value per cell.
pub(crate) fn numbers(rows: usize) -> Vec<Column> {
    macro_rules! column {
        ($name:literal, $datatype:ident, $array:ident, $make:expr) => {
            (
                Attribute::new($name, Datatype::$datatype),
                Arc::new($array::from_iter_values((0..rows).map($make))) as ArrayRef,
            )
        };
    }
    vec![
        column!("i8", Int8, Int8Array, |i| mix(i) as i8),
        column!("i16", Int16, Int16Array, |i| mix(i) as i16),
        column!("i32", Int32, Int32Array, |i| mix(i) as i32),
        column!("i64", Int64, Int64Array, |i| mix(i) as i64 >> 8),
        column!("u8", Uint8, UInt8Array, |i| mix(i) as u8),
        column!("u16", Uint16, UInt16Array, |i| mix(i) as u16),
        column!("u32", Uint32, UInt32Array, |i| mix(i) as u32),
        column!("u64", Uint64, UInt64Array, mix),
        column!("f32", Float32, Float32Array, |i| mix(i) as i16 as f32 / 8.0),
        column!("f64", Float64, Float64Array, |i| mix(i) as i32 as f64 / 16.0),
        column!("ms", DatetimeMs, TimestampMillisecondArray, |i| i as i64 * 1000 + 7),
        column!("ns", DatetimeNs, TimestampNanosecondArray, |i| i as i64 * 1_000_000 - 3),
        column!("year", DatetimeYear, Int64Array, |i| i as i64 % 90),
        column!("time", TimeMs, DurationMillisecondArray, |i| i as i64 * 11),
        (
            Attribute::new("bool", Datatype::Bool),
            Arc::new((0..rows).map(|i| Some(mix(i).is_multiple_of(2))).collect::<BooleanArray>()),
        ),
    ]
}

/// Strings, bytes and lists.
pub(crate) fn various(rows: usize) -> Vec<Column> {
    let text = |i: usize| format!("{}-{}", "é".repeat(i % 3), mix(i) % 50);
    let ascii = |i: usize| "x".repeat((mix(i) % 5) as usize);
    let mut lists = ListBuilder::new(Int32Builder::new());
    let mut pairs = FixedSizeListBuilder::new(Int32Builder::new(), 2);
    let mut fixed = FixedSizeBinaryBuilder::new(3);
    for i in 0..rows {
        lists.append_value((0..=(i % 4)).map(|k| Some((i * 10 + k) as i32)));
        pairs.values().append_slice(&[i as i32, -(i as i32)]);
        pairs.append(true);
        // Three bytes always fit.
        let _ = fixed.append_value([b'a' + (i % 26) as u8, b'b', b'c']);
    }
    vec![
        (
            Attribute::new("utf8", Datatype::StringUtf8).var(),
            Arc::new(StringArray::from_iter_values((0..rows).map(text))),
        ),
        (
            Attribute::new("ascii", Datatype::StringAscii).var(),
            Arc::new(StringArray::from_iter_values((0..rows).map(ascii))),
        ),
        (
            Attribute::new("chars", Datatype::Char).var(),
            Arc::new(BinaryArray::from_iter_values((0..rows).map(|i| ascii(i + 1).into_bytes()))),
        ),
        (
            Attribute::new("blob", Datatype::Blob).var(),
            Arc::new(BinaryArray::from_iter_values((0..rows).map(|i| vec![i as u8; 1 + i % 3]))),
        ),
        (Attribute::new("list", Datatype::Int32).var(), Arc::new(lists.finish())),
        (Attribute::new("pair", Datatype::Int32).with_values(2), Arc::new(pairs.finish())),
        (Attribute::new("abc", Datatype::Char).with_values(3), Arc::new(fixed.finish())),
    ]
}

/// Attributes with nulls, about a third of them.
pub(crate) fn nullable(rows: usize) -> Vec<Column> {
    let valid = |i: usize| !mix(i + 5).is_multiple_of(3);
    let ints: PrimitiveArray<Int32Type> = (0..rows).map(|i| valid(i).then_some(i as i32 * 3)).collect();
    let floats: Float64Array = (0..rows).map(|i| valid(i + 1).then_some(i as f64 / 4.0)).collect();
    let strings: StringArray = (0..rows).map(|i| valid(i + 2).then(|| format!("t{}", i % 7))).collect();
    let ascii: StringArray = (0..rows).map(|i| valid(i + 3).then(|| format!("a{}", i % 5))).collect();
    vec![
        (Attribute::new("n_i32", Datatype::Int32).nullable(), Arc::new(ints)),
        (Attribute::new("n_f64", Datatype::Float64).nullable(), Arc::new(floats)),
        (Attribute::new("n_utf8", Datatype::StringUtf8).var().nullable(), Arc::new(strings)),
        (Attribute::new("n_ascii", Datatype::StringAscii).var().nullable(), Arc::new(ascii)),
    ]
}

/// A batch of named columns.
pub(crate) fn batch<'a>(columns: impl IntoIterator<Item = (&'a str, ArrayRef)>) -> Result<RecordBatch> {
    Ok(RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| {
        let nullable = column.is_nullable();
        (name, column, nullable)
    }))?)
}

/// The batch of attribute columns.
pub(crate) fn batch_of(columns: &[Column]) -> Result<RecordBatch> {
    batch(columns.iter().map(|(attribute, column)| (attribute.name.as_str(), Arc::clone(column))))
}
