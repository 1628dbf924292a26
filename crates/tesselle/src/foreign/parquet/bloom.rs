//! Pruning of row groups by bloom filters.

use std::ops::Range;

use arrow_schema::{DataType, Schema};
use parquet::basic::Type;
use parquet::bloom_filter::Sbbf;
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use tesselle_core::{Comparison, Predicate, Scalar};

use super::bounds::Converters;

/// A condition that only rows with one of some values satisfy, and the filter to test them with.
pub(super) struct BloomTest {
    /// Where the filter is in the file.
    pub(super) range: Range<u64>,
    values: Vec<Stored>,
}

/// A value in stored form, from which filters are built.
enum Stored {
    Int32(i32),
    Int64(i64),
    Bytes(Vec<u8>),
    /// The column's type cannot represent it.
    Nowhere,
}

impl BloomTest {
    /// Whether the filter excludes every value.
    pub(super) fn excludes(&self, filter: &[u8]) -> Result<bool, ParquetError> {
        let filter = Sbbf::from_bytes(filter)?;
        Ok(!self.values.iter().any(|value| match value {
            Stored::Int32(value) => filter.check(value),
            Stored::Int64(value) => filter.check(value),
            Stored::Bytes(value) => filter.check(value.as_slice()),
            Stored::Nowhere => false,
        }))
    }
}

/// The tests of a row group for a predicate; the row group matches only if none of them excludes it.
pub(super) fn bloom_tests(
    group: &RowGroupMetaData,
    predicate: &Predicate,
    schema: &Schema,
    find: &Converters<'_>,
) -> Vec<BloomTest> {
    let test = |condition: &Predicate| {
        let (name, wanted) = match condition {
            Predicate::Compare { column, op: Comparison::Eq, value } => (column, std::slice::from_ref(value)),
            Predicate::In { column, values } => (column, values.as_slice()),
            _ => return None,
        };
        let column = group.columns().get(find(name)?.parquet_column_index()?)?;
        let start = u64::try_from(column.bloom_filter_offset()?).ok()?;
        let length = u64::try_from(column.bloom_filter_length()?).ok()?;
        let kind = schema.field_with_name(name).ok()?.data_type();
        let values = wanted.iter().filter(|value| **value != Scalar::Null);
        let values = values.map(|value| stored(value, kind, column.column_type())).collect::<Option<_>>()?;
        Some(BloomTest { range: start..start.checked_add(length)?, values })
    };
    predicate.conjuncts().into_iter().filter_map(test).collect()
}

/// A literal in the stored type; `None` if its stored form is unknown.
fn stored(value: &Scalar, kind: &DataType, physical: Type) -> Option<Stored> {
    let fitting = match (value, kind, physical) {
        (Scalar::Int(v), DataType::Int8 | DataType::Int16 | DataType::Int32, Type::INT32) => {
            i32::try_from(*v).ok().map(Stored::Int32)
        }
        (Scalar::Int(v), DataType::UInt8 | DataType::UInt16 | DataType::UInt32, Type::INT32) => {
            u32::try_from(*v).ok().map(|v| Stored::Int32(v as i32))
        }
        (Scalar::Int(v), DataType::Int64, Type::INT64) => i64::try_from(*v).ok().map(Stored::Int64),
        (Scalar::Int(v), DataType::UInt64, Type::INT64) => {
            u64::try_from(*v).ok().map(|v| Stored::Int64(v as i64))
        }
        (Scalar::String(v), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View, Type::BYTE_ARRAY) => {
            Some(Stored::Bytes(v.as_bytes().to_vec()))
        }
        (Scalar::Bytes(v), DataType::Binary | DataType::LargeBinary, Type::BYTE_ARRAY) => {
            Some(Stored::Bytes(v.clone()))
        }
        _ => return None,
    };
    Some(fitting.unwrap_or(Stored::Nowhere))
}
