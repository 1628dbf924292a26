//! Conversion of decoded cells to Arrow arrays. Buffers are moved, not copied, where the layouts agree.

use std::sync::Arc;

use arrow_array::builder::BooleanBufferBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, DictionaryArray, FixedSizeBinaryArray,
    FixedSizeListArray, ListArray, PrimitiveArray, StringArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, TimeUnit};
use tesselle_core::Action;
use tesselle_core::At;

use super::schema::{Column, Presentation, element_type, item_field};
use crate::filter::Entries;
use crate::meta::datatype::Datatype;
use crate::meta::dimension::VAR;
use crate::meta::enumeration::Enumeration;
use crate::{Error, Result};

/// The cells of one column.
pub(crate) struct Cells {
    /// Fixed cells one after the other, or the values of variable-length ones.
    pub(crate) data: Buffer,
    /// Where variable-length cells start, and the end: byte offsets.
    pub(crate) offsets: Option<Vec<i32>>,
    /// One byte per cell, 0 is null; `None` when the field is not nullable.
    pub(crate) validity: Option<Vec<u8>>,
    /// How many cells.
    pub(crate) rows: usize,
}

/// Builds the array of a column.
pub(crate) fn array(column: &Column, cells: Cells) -> Result<ArrayRef> {
    let nulls = cells.validity.as_deref().map(null_buffer);
    let datatype = column.datatype;
    let raw = column.presentation.raw;
    let Cells { data, offsets, rows, .. } = cells;
    if let Some(values) = &column.dictionary {
        return encoded(column, data, rows, nulls.as_ref(), values);
    }
    if let Some(offsets) = offsets {
        return variable(column, data, offsets, nulls);
    }
    match column.field.data_type() {
        DataType::FixedSizeBinary(size) => Ok(Arc::new(FixedSizeBinaryArray::try_new(*size, data, nulls)?)),
        DataType::FixedSizeList(_, size) => {
            let values = elements(datatype, data, rows.saturating_mul(*size as usize), None, raw)?;
            Ok(Arc::new(FixedSizeListArray::try_new(item_field(datatype, raw), *size, values, nulls)?))
        }
        _ => elements(datatype, data, rows, nulls, raw),
    }
}

fn null_buffer(validity: &[u8]) -> NullBuffer {
    NullBuffer::new(bits(validity))
}

/// Packs bytes into bits: not zero is set.
fn bits(bytes: &[u8]) -> BooleanBuffer {
    BooleanBuffer::collect_bool(bytes.len(), |i| bytes.get(i).is_some_and(|byte| *byte != 0))
}

/// An array of single values.
fn elements(
    datatype: Datatype,
    data: Buffer,
    len: usize,
    nulls: Option<NullBuffer>,
    raw: bool,
) -> Result<ArrayRef> {
    fn primitive<T: ArrowPrimitiveType>(
        data: Buffer,
        len: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        Ok(Arc::new(PrimitiveArray::<T>::try_new(ScalarBuffer::new(data, 0, len), nulls)?))
    }
    if data.len() < len.saturating_mul(datatype.size()) {
        return Err(Error::internal("a column has fewer bytes than its cells need"));
    }
    match element_type(datatype, raw) {
        DataType::Boolean => Ok(Arc::new(BooleanArray::new(bits(data.part(..len)?), nulls))),
        DataType::Date32 => days(data, len, nulls.as_ref()),
        DataType::Int8 => primitive::<Int8Type>(data, len, nulls),
        DataType::Int16 => primitive::<Int16Type>(data, len, nulls),
        DataType::Int32 => primitive::<Int32Type>(data, len, nulls),
        DataType::Int64 => primitive::<Int64Type>(data, len, nulls),
        DataType::UInt8 => primitive::<UInt8Type>(data, len, nulls),
        DataType::UInt16 => primitive::<UInt16Type>(data, len, nulls),
        DataType::UInt32 => primitive::<UInt32Type>(data, len, nulls),
        DataType::UInt64 => primitive::<UInt64Type>(data, len, nulls),
        DataType::Float32 => primitive::<Float32Type>(data, len, nulls),
        DataType::Float64 => primitive::<Float64Type>(data, len, nulls),
        DataType::Timestamp(TimeUnit::Second, _) => primitive::<TimestampSecondType>(data, len, nulls),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            primitive::<TimestampMillisecondType>(data, len, nulls)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            primitive::<TimestampMicrosecondType>(data, len, nulls)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            primitive::<TimestampNanosecondType>(data, len, nulls)
        }
        DataType::Duration(TimeUnit::Second) => primitive::<DurationSecondType>(data, len, nulls),
        DataType::Duration(TimeUnit::Millisecond) => primitive::<DurationMillisecondType>(data, len, nulls),
        DataType::Duration(TimeUnit::Microsecond) => primitive::<DurationMicrosecondType>(data, len, nulls),
        DataType::Duration(TimeUnit::Nanosecond) => primitive::<DurationNanosecondType>(data, len, nulls),
        other => Err(Error::internal(format!("no column has elements of type {other}"))),
    }
}

/// Days since the epoch; not-a-time is null.
fn days(data: Buffer, len: usize, nulls: Option<&NullBuffer>) -> Result<ArrayRef> {
    let stored = ScalarBuffer::<i64>::new(data, 0, len);
    let fits = i64::from(i32::MIN)..=i64::from(i32::MAX);
    if nulls.is_none() && stored.iter().all(|day| fits.contains(day)) {
        let days: ScalarBuffer<i32> = stored.iter().map(|day| *day as i32).collect();
        return Ok(Arc::new(PrimitiveArray::<Date32Type>::try_new(days, None)?));
    }
    let mut valid = BooleanBufferBuilder::new(len);
    let mut out = Vec::with_capacity(len);
    for (i, day) in stored.iter().enumerate() {
        let is_null = *day == i64::MIN || nulls.is_some_and(|nulls| nulls.is_null(i));
        valid.append(!is_null);
        out.push(if is_null {
            0
        } else {
            i32::try_from(*day).map_err(|_| {
                Error::corrupt(format!("day {day} does not fit a 32-bit date"))
                    .suggest("add {} to read the stored integers", [Action::Raw])
            })?
        });
    }
    let valid = NullBuffer::new(valid.finish());
    Ok(Arc::new(PrimitiveArray::<Date32Type>::try_new(
        out.into(),
        (valid.null_count() > 0).then_some(valid),
    )?))
}

/// An array of variable-length cells.
fn variable(column: &Column, data: Buffer, offsets: Vec<i32>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    match column.field.data_type() {
        DataType::Utf8 => text(&column.name, data, offsets, nulls),
        DataType::Binary => {
            Ok(Arc::new(BinaryArray::try_new(OffsetBuffer::new(offsets.into()), data, nulls)?))
        }
        _ => {
            let size = column.datatype.size();
            let unit = size as i32;
            if unit > 1 && offsets.iter().any(|offset| offset % unit != 0) {
                return Err(Error::corrupt(format!(
                    "a cell of column '{}' is not a multiple of {} values",
                    column.name,
                    column.datatype.name()
                )));
            }
            let scaled: Vec<i32> = offsets.into_iter().map(|offset| offset / unit).collect();
            let raw = column.presentation.raw;
            let len = data.len() / size;
            let values = elements(column.datatype, data, len, None, raw)?;
            let field = item_field(column.datatype, raw);
            Ok(Arc::new(ListArray::try_new(field, OffsetBuffer::new(scaled.into()), values, nulls)?))
        }
    }
}

fn text(name: &str, data: Buffer, offsets: Vec<i32>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let offsets = OffsetBuffer::new(offsets.into());
    let array = match &nulls {
        // Null cells keep arbitrary bytes, which must not make an otherwise valid UTF-8 column fail.
        Some(nulls) if nulls.null_count() > 0 && std::str::from_utf8(&data).is_err() => {
            let cells = BinaryArray::try_new(offsets, data, Some(nulls.clone()))?;
            let shown = cells.iter().map(|cell| cell.map(std::str::from_utf8).transpose());
            shown.collect::<std::result::Result<StringArray, _>>().map_err(arrow_schema::ArrowError::from)
        }
        _ => StringArray::try_new(offsets, data, nulls),
    };
    array.map(|array| Arc::new(array) as ArrayRef).map_err(|error| {
        Error::corrupt(format!("column '{name}' has a string that is not valid UTF-8"))
            .class("not_utf8")
            .source(error)
            .suggest("add {} to read the column as bytes", [Action::StringsAsBinary])
    })
}

/// Distinct strings as a dictionary; `None` if one of them is not text. A string that only null cells have does not matter,
/// and that of another cell is reported where cells are strings.
pub(crate) fn dictionary_of(entries: Entries, validity: Option<&[u8]>) -> Result<Option<ArrayRef>> {
    let Entries { data, ends, ids } = entries;
    let ends = std::iter::once(Ok(0)).chain(ends.into_iter().map(i32::try_from));
    let Ok(offsets) = ends.collect::<std::result::Result<Vec<i32>, _>>() else { return Ok(None) };
    let Ok(strings) = StringArray::try_new(OffsetBuffer::new(offsets.into()), data.into(), None) else {
        return Ok(None);
    };
    let nulls = validity.map(null_buffer).filter(|nulls| nulls.null_count() > 0);
    let ids = PrimitiveArray::<UInt16Type>::try_new(ids.into(), nulls)?;
    Ok(Some(Arc::new(DictionaryArray::try_new(ids, Arc::new(strings))?)))
}

/// Codes of an enumerated attribute; a code without a value is null.
fn encoded(
    column: &Column,
    data: Buffer,
    rows: usize,
    nulls: Option<&NullBuffer>,
    values: &ArrayRef,
) -> Result<ArrayRef> {
    fn keyed<K: ArrowDictionaryKeyType>(
        codes: &dyn Array,
        nulls: Option<&NullBuffer>,
        values: &ArrayRef,
    ) -> Result<ArrayRef>
    where
        K::Native: TryInto<u64>,
    {
        let codes = codes.as_primitive::<K>();
        let count = values.len() as u64;
        let known = |code: K::Native| code.try_into().is_ok_and(|code| code < count);
        let is_valid = |i: usize| {
            nulls.is_none_or(|nulls| nulls.is_valid(i)) && codes.values().get(i).is_some_and(|c| known(*c))
        };
        let valid = NullBuffer::new(BooleanBuffer::collect_bool(codes.len(), is_valid));
        let keys: ScalarBuffer<K::Native> = codes
            .values()
            .iter()
            .enumerate()
            .map(|(i, c)| if valid.is_valid(i) { *c } else { K::Native::default() })
            .collect();
        let keys = PrimitiveArray::<K>::try_new(keys, (valid.null_count() > 0).then_some(valid))?;
        Ok(Arc::new(DictionaryArray::try_new(keys, Arc::clone(values))?))
    }
    let codes = elements(column.datatype, data, rows, None, true)?;
    match codes.data_type() {
        DataType::Int8 => keyed::<Int8Type>(&codes, nulls, values),
        DataType::Int16 => keyed::<Int16Type>(&codes, nulls, values),
        DataType::Int32 => keyed::<Int32Type>(&codes, nulls, values),
        DataType::Int64 => keyed::<Int64Type>(&codes, nulls, values),
        DataType::UInt8 => keyed::<UInt8Type>(&codes, nulls, values),
        DataType::UInt16 => keyed::<UInt16Type>(&codes, nulls, values),
        DataType::UInt32 => keyed::<UInt32Type>(&codes, nulls, values),
        DataType::UInt64 => keyed::<UInt64Type>(&codes, nulls, values),
        other => Err(Error::corrupt(format!(
            "the enumerated attribute '{}' has codes of type {other}",
            column.name
        ))),
    }
}

/// The values of an enumeration.
pub(crate) fn dictionary(enumeration: &Enumeration, presentation: Presentation) -> Result<ArrayRef> {
    let datatype = enumeration.datatype;
    let one_byte = datatype.is_byte_string() || datatype.is_bytes();
    let values = enumeration.values()?;
    if enumeration.cell_val_num == VAR || one_byte {
        if !one_byte {
            return Err(Error::unsupported(format!(
                "enumeration '{}' has values of several {} each",
                enumeration.name,
                datatype.name()
            )));
        }
        let mut offsets = vec![0_i32];
        for value in &values {
            let end = i32::try_from(value.len()).ok().and_then(|len| offsets.last()?.checked_add(len));
            offsets.push(end.ok_or_else(|| Error::limit("an enumeration exceeds 2 GiB"))?);
        }
        let data = Buffer::from_vec(values.concat());
        if datatype.is_byte_string() && !presentation.text_as_binary {
            return text(&enumeration.name, data, offsets, None);
        }
        return Ok(Arc::new(BinaryArray::try_new(OffsetBuffer::new(offsets.into()), data, None)?));
    }
    if enumeration.cell_val_num != 1 {
        return Err(Error::unsupported(format!(
            "enumeration '{}' has several values per entry",
            enumeration.name
        )));
    }
    let mut data = MutableBuffer::with_capacity(enumeration.data.len());
    data.extend_from_slice(&enumeration.data);
    elements(datatype, data.into(), values.len(), None, presentation.raw)
}
