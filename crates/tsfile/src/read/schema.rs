//! Mapping of types and columns to Arrow.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Float32Array, Float64Array, Int32Array, Int64Array,
    StringArray, TimestampMillisecondArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer, ToByteSlice as _};
use arrow_schema::{DataType as ArrowType, Field, TimeUnit};
use bytes::Bytes;
use tesselle_core::{Action, Error, OpenOptions, Result, TYPE_KEY};

use super::column::{DecodedValues, Strings};
use super::date;
use crate::meta::DataType;

/// How values map to Arrow.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Show {
    /// Strings as binary.
    pub(crate) text_as_binary: bool,
    /// Stored integers instead of times and dates.
    pub(crate) raw: bool,
}

impl Show {
    /// The mapping that the open options select.
    pub(crate) fn new(options: &OpenOptions) -> Self {
        Self { text_as_binary: options.text_as_binary, raw: options.raw }
    }

    /// The Arrow type of a column.
    pub(crate) fn arrow_type(self, data_type: DataType) -> ArrowType {
        match data_type {
            DataType::Boolean => ArrowType::Boolean,
            DataType::Int32 => ArrowType::Int32,
            DataType::Int64 => ArrowType::Int64,
            DataType::Float => ArrowType::Float32,
            DataType::Double => ArrowType::Float64,
            DataType::Text | DataType::String if self.text_as_binary => ArrowType::Binary,
            DataType::Text | DataType::String => ArrowType::Utf8,
            DataType::Blob => ArrowType::Binary,
            DataType::Timestamp | DataType::Vector | DataType::Date if self.raw => ArrowType::Int64,
            DataType::Timestamp | DataType::Vector => ArrowType::Timestamp(TimeUnit::Millisecond, None),
            DataType::Date => ArrowType::Date32,
        }
    }

    /// The field of a column.
    pub(crate) fn field(self, name: &str, data_type: DataType, nullable: bool) -> Field {
        let shown = if data_type == DataType::Vector { DataType::Timestamp } else { data_type };
        let metadata = HashMap::from([(TYPE_KEY.to_string(), shown.name().to_string())]);
        Field::new(name, self.arrow_type(data_type), nullable).with_metadata(metadata)
    }

    /// The array of a time column; shared if other columns have the same times.
    pub(crate) fn times(self, times: Arc<Vec<i64>>) -> ArrayRef {
        let values = match Arc::try_unwrap(times) {
            Ok(times) => ScalarBuffer::from(times),
            Err(shared) => {
                let rows = shared.len();
                ScalarBuffer::new(Buffer::from(Bytes::from_owner(SharedTimes(shared))), 0, rows)
            }
        };
        if self.raw {
            Arc::new(Int64Array::new(values, None))
        } else {
            Arc::new(TimestampMillisecondArray::new(values, None))
        }
    }

    /// The array of a column; a string that is not UTF-8 is an error that names the row.
    pub(crate) fn array(
        self,
        column: DecodedValues,
        data_type: DataType,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        Ok(match (column, data_type) {
            (DecodedValues::Boolean(v), _) => Arc::new(BooleanArray::new(BooleanBuffer::from(v), nulls)),
            (DecodedValues::Int32(v), DataType::Date) if self.raw => {
                Arc::new(Int64Array::new(v.into_iter().map(i64::from).collect(), nulls))
            }
            (DecodedValues::Int32(v), DataType::Date) => {
                Arc::new(Date32Array::new(days(&v, nulls.as_ref())?, nulls))
            }
            (DecodedValues::Int32(v), _) => Arc::new(Int32Array::new(v.into(), nulls)),
            (DecodedValues::Int64(v), DataType::Timestamp) if !self.raw => {
                Arc::new(TimestampMillisecondArray::new(v.into(), nulls))
            }
            (DecodedValues::Int64(v), _) => Arc::new(Int64Array::new(v.into(), nulls)),
            (DecodedValues::Float(v), _) => Arc::new(Float32Array::new(v.into(), nulls)),
            (DecodedValues::Double(v), _) => Arc::new(Float64Array::new(v.into(), nulls)),
            (DecodedValues::Binary(strings), data_type) => {
                let Strings { offsets, data } = strings;
                let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
                let data = Buffer::from(data);
                if data_type.is_string() && !self.text_as_binary {
                    return StringArray::try_new(offsets, data, nulls)
                        .map(|a| Arc::new(a) as ArrayRef)
                        .map_err(|e| {
                            Error::corrupt("a string is not UTF-8")
                                .class("not_utf8")
                                .suggest("read it with {}", [Action::StringsAsBinary])
                                .source(e)
                        });
                }
                Arc::new(BinaryArray::try_new(offsets, data, nulls)?)
            }
        })
    }
}

/// Times as the bytes of an Arrow buffer.
struct SharedTimes(Arc<Vec<i64>>);

impl AsRef<[u8]> for SharedTimes {
    fn as_ref(&self) -> &[u8] {
        self.0.to_byte_slice()
    }
}

fn days(dates: &[i32], nulls: Option<&NullBuffer>) -> Result<ScalarBuffer<i32>> {
    let day = |(row, stored): (usize, &i32)| {
        if nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return Ok(0);
        }
        date::days(*stored).ok_or_else(|| {
            Error::corrupt(format!("{stored} is not a date"))
                .class("bad_date")
                .suggest("read it with {}", [Action::Raw])
        })
    };
    let days: Result<Vec<i32>> = dates.iter().enumerate().map(day).collect();
    Ok(days?.into())
}
