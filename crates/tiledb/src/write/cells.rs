//! Columns of cells to be written: bytes as TileDB stores them, regardless of their Arrow type.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, OffsetSizeTrait, PrimitiveArray};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::{DataType, TimeUnit};
use tesselle_core::Action;
use tesselle_core::Within;

use crate::meta::attribute::Attribute;
use crate::meta::dimension::{Dimension, VAR};
use crate::{Datatype, Error, Result};

/// The type of a field's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CellType {
    pub(crate) datatype: Datatype,
    pub(crate) cell_val_num: u32,
    pub(crate) nullable: bool,
}

impl CellType {
    pub(crate) fn of_attribute(attribute: &Attribute) -> Self {
        Self {
            datatype: attribute.datatype,
            cell_val_num: attribute.cell_val_num,
            nullable: attribute.nullable,
        }
    }

    pub(crate) fn of_dimension(dimension: &Dimension) -> Self {
        Self { datatype: dimension.datatype, cell_val_num: dimension.cell_val_num, nullable: false }
    }

    /// The timestamps and delete columns of consolidated fragments.
    pub(crate) fn special() -> Self {
        Self { datatype: Datatype::Uint64, cell_val_num: 1, nullable: false }
    }

    pub(crate) fn is_var(self) -> bool {
        self.cell_val_num == VAR
    }

    /// Bytes of a fixed-size cell; for variable-length cells those of one value.
    pub(crate) fn cell_size(self) -> usize {
        let values = if self.is_var() { 1 } else { self.cell_val_num as usize };
        self.datatype.size().saturating_mul(values)
    }
}

/// A column of cells.
#[derive(Debug, Clone)]
pub(crate) struct Cells {
    pub(crate) count: usize,
    /// Bytes of a fixed-size cell, or of one value.
    pub(crate) size: usize,
    pub(crate) data: Buffer,
    /// Where variable-length cells start; the last ends with the data.
    pub(crate) offsets: Option<Vec<u64>>,
    /// One byte per cell of a nullable field: 1 is valid.
    pub(crate) validity: Option<Vec<u8>>,
}

/// The cells of one tile, owned.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TileCells {
    pub(crate) data: Vec<u8>,
    pub(crate) offsets: Option<Vec<u64>>,
    pub(crate) validity: Option<Vec<u8>>,
}

impl Cells {
    /// The bytes of one cell.
    pub(crate) fn cell(&self, index: usize) -> &[u8] {
        let (start, end) = self.bounds(index);
        self.data.within(start..end)
    }

    fn bounds(&self, index: usize) -> (usize, usize) {
        match &self.offsets {
            None => (index * self.size, (index + 1) * self.size),
            Some(offsets) => {
                let at = |i: usize| offsets.get(i).map_or(self.data.len(), |offset| *offset as usize);
                (at(index), at(index + 1))
            }
        }
    }

    /// The cells at `indexes`, in that order.
    pub(crate) fn gather(&self, indexes: &[u32]) -> TileCells {
        let validity = self
            .validity
            .as_ref()
            .map(|validity| indexes.iter().map(|i| validity.value(*i as usize)).collect());
        let (data, offsets) = match &self.offsets {
            Some(_) => {
                let mut data = Vec::new();
                let mut offsets = Vec::with_capacity(indexes.len());
                for index in indexes {
                    offsets.push(data.len() as u64);
                    data.extend_from_slice(self.cell(*index as usize));
                }
                (data, Some(offsets))
            }
            None => (gather_fixed(&self.data, self.size, indexes), None),
        };
        TileCells { data, offsets, validity }
    }

    /// The cells at `indexes`, padded to `cells`: zero bytes, null, or one zero value in variable-length cells.
    pub(crate) fn gather_padded(&self, indexes: &[u32], cells: usize) -> TileCells {
        let mut tile = self.gather(indexes);
        let missing = cells.saturating_sub(indexes.len());
        match &mut tile.offsets {
            Some(offsets) => {
                for _ in 0..missing {
                    offsets.push(tile.data.len() as u64);
                    tile.data.resize(tile.data.len() + self.size, 0);
                }
            }
            None => tile.data.resize(cells * self.size, 0),
        }
        if let Some(validity) = &mut tile.validity {
            validity.resize(cells, 0);
        }
        tile
    }

    /// The cells from `start` to `end`.
    pub(crate) fn slice(&self, start: usize, end: usize) -> Self {
        let (from, _) = self.bounds(start);
        let (to, _) = self.bounds(end);
        let offsets = self.offsets.as_ref().and_then(|offsets| offsets.get(start..end));
        Self {
            count: end - start,
            size: self.size,
            data: self.data.slice_with_length(from, to - from),
            offsets: offsets.map(|offsets| offsets.iter().map(|offset| offset - from as u64).collect()),
            validity: self
                .validity
                .as_ref()
                .and_then(|validity| validity.get(start..end))
                .map(<[u8]>::to_vec),
        }
    }

    /// Joins columns of one type.
    pub(crate) fn concat(mut parts: Vec<Self>) -> Option<Self> {
        if parts.len() <= 1 {
            return parts.pop();
        }
        let first = parts.first()?;
        let size = first.size;
        let mut data = Vec::with_capacity(parts.iter().map(|part| part.data.len()).sum());
        let mut offsets = first.offsets.as_ref().map(|_| Vec::new());
        let mut validity = first.validity.as_ref().map(|_| Vec::new());
        let mut count = 0;
        for part in &parts {
            if let (Some(all), Some(own)) = (&mut offsets, &part.offsets) {
                let base = data.len() as u64;
                all.extend(own.iter().map(|offset| base + offset));
            }
            if let (Some(all), Some(own)) = (&mut validity, &part.validity) {
                all.extend_from_slice(own);
            }
            data.extend_from_slice(&part.data);
            count += part.count;
        }
        Some(Self { count, size, data: Buffer::from_vec(data), offsets, validity })
    }

    /// Bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.data.len()
            + self.offsets.as_ref().map_or(0, |offsets| offsets.len() * 8)
            + self.validity.as_ref().map_or(0, Vec::len)
    }
}

fn gather_fixed(data: &[u8], size: usize, indexes: &[u32]) -> Vec<u8> {
    fn by_width<const N: usize>(data: &[u8], indexes: &[u32]) -> Vec<u8> {
        let (cells, _) = data.as_chunks::<N>();
        // One size for all: a slice of a cell would be copied by a call each.
        let cell = |index: &u32| {
            let cell = cells.get(*index as usize);
            debug_assert!(cell.is_some(), "cell {index} of {}", cells.len());
            cell.copied().unwrap_or([0; N])
        };
        indexes.iter().map(cell).collect::<Vec<[u8; N]>>().into_flattened()
    }
    match size {
        1 => by_width::<1>(data, indexes),
        2 => by_width::<2>(data, indexes),
        4 => by_width::<4>(data, indexes),
        8 => by_width::<8>(data, indexes),
        _ => {
            let mut out = Vec::with_capacity(indexes.len() * size);
            for index in indexes {
                let start = *index as usize * size;
                out.extend_from_slice(data.within(start..start + size));
            }
            out
        }
    }
}

/// Converts an Arrow column to cells of `kind`. `name` is used in errors.
pub(crate) fn from_arrow(name: &str, array: &ArrayRef, kind: CellType) -> Result<Cells> {
    let misfit = || {
        let cells = match kind.cell_val_num {
            VAR => " of variable length".to_owned(),
            1 => String::new(),
            n => format!(" with {n} values per cell"),
        };
        Error::invalid(format!(
            "column '{name}' is {}, which does not fit {}{cells}",
            array.data_type(),
            kind.datatype.name()
        ))
    };
    let count = array.len();
    if array.data_type() == &DataType::Null {
        return only_nulls(name, count, kind);
    }
    let size = kind.datatype.size();
    let (data, offsets) = if kind.is_var() {
        let (data, offsets) = var_values(name, array, kind.datatype).ok_or_else(misfit)??;
        (data, Some(offsets))
    } else if kind.cell_val_num == 1 {
        (values(array, kind.datatype).ok_or_else(misfit)??, None)
    } else {
        (fixed_values(name, array, kind).ok_or_else(misfit)??, None)
    };
    // Dates represent not-a-time as null although the field itself is not nullable.
    let not_a_time = kind.datatype == Datatype::DatetimeDay && !kind.nullable && array.null_count() > 0;
    let nulls = array.logical_nulls();
    let validity = match (&nulls, kind.nullable) {
        (_, false) if not_a_time => None,
        (Some(nulls), false) if nulls.null_count() > 0 => {
            return Err(Error::invalid(format!("column '{name}' has nulls, but its field is not nullable")));
        }
        (_, false) => None,
        (nulls, true) => Some(validity_bytes(nulls.as_ref(), count)),
    };
    let size = if kind.is_var() { size } else { kind.cell_size() };
    let data = if not_a_time { with_not_a_time(&data, nulls.as_ref()) } else { data };
    Ok(Cells { count, size, data, offsets, validity })
}

/// A column of type Null, which fits every nullable field.
fn only_nulls(name: &str, count: usize, kind: CellType) -> Result<Cells> {
    if !kind.nullable && count > 0 {
        return Err(Error::invalid(format!("column '{name}' has nulls, but its field is not nullable")));
    }
    let size = if kind.is_var() { kind.datatype.size() } else { kind.cell_size() };
    let bytes = if kind.is_var() { Some(0) } else { count.checked_mul(size) };
    let bytes = bytes.ok_or_else(|| Error::limit("a column has too many cells"))?;
    Ok(Cells {
        count,
        size,
        data: Buffer::from_vec(vec![0_u8; bytes]),
        offsets: kind.is_var().then(|| vec![0; count]),
        validity: kind.nullable.then(|| vec![0; count]),
    })
}

fn validity_bytes(nulls: Option<&NullBuffer>, count: usize) -> Vec<u8> {
    nulls.map_or_else(|| vec![1; count], |nulls| nulls.iter().map(u8::from).collect())
}

fn with_not_a_time(data: &[u8], nulls: Option<&NullBuffer>) -> Buffer {
    let mut out = data.to_vec();
    if let Some(nulls) = nulls {
        for (valid, cell) in nulls.iter().zip(out.chunks_exact_mut(8)) {
            if !valid {
                cell.copy_from_slice(&i64::MIN.to_le_bytes());
            }
        }
    }
    Buffer::from_vec(out)
}

fn primitive<T: ArrowPrimitiveType>(array: &dyn Array) -> Option<Buffer> {
    let array: &PrimitiveArray<T> = array.as_primitive_opt()?;
    Some(array.values().inner().clone())
}

/// One value per cell, as the bytes of `datatype`. `None` where the types do not match.
#[allow(clippy::unnecessary_wraps, reason = "one shape for all conversions")]
fn values(array: &ArrayRef, datatype: Datatype) -> Option<Result<Buffer>> {
    use Datatype as T;
    let array: &dyn Array = array;
    let buffer = match (datatype, array.data_type()) {
        (T::Int8 | T::Char, DataType::Int8) => primitive::<Int8Type>(array)?,
        (T::Int16, DataType::Int16) => primitive::<Int16Type>(array)?,
        (T::Int32, DataType::Int32) => primitive::<Int32Type>(array)?,
        (T::Int64, DataType::Int64) => primitive::<Int64Type>(array)?,
        (
            T::Uint8 | T::Blob | T::Any | T::StringAscii | T::StringUtf8 | T::GeomWkb | T::GeomWkt,
            DataType::UInt8,
        ) => primitive::<UInt8Type>(array)?,
        (T::Uint16 | T::StringUtf16 | T::StringUcs2, DataType::UInt16) => primitive::<UInt16Type>(array)?,
        (T::Uint32 | T::StringUtf32 | T::StringUcs4, DataType::UInt32) => primitive::<UInt32Type>(array)?,
        (T::Uint64, DataType::UInt64) => primitive::<UInt64Type>(array)?,
        (T::Float32, DataType::Float32) => primitive::<Float32Type>(array)?,
        (T::Float64, DataType::Float64) => primitive::<Float64Type>(array)?,
        (T::Bool, DataType::Boolean) => {
            Buffer::from_vec(array.as_boolean_opt()?.values().iter().map(u8::from).collect::<Vec<u8>>())
        }
        (T::Bool, DataType::UInt8) => primitive::<UInt8Type>(array)?,
        (T::DatetimeSec, DataType::Timestamp(TimeUnit::Second, _)) => {
            primitive::<TimestampSecondType>(array)?
        }
        (T::DatetimeMs, DataType::Timestamp(TimeUnit::Millisecond, _)) => {
            primitive::<TimestampMillisecondType>(array)?
        }
        (T::DatetimeUs, DataType::Timestamp(TimeUnit::Microsecond, _)) => {
            primitive::<TimestampMicrosecondType>(array)?
        }
        (T::DatetimeNs, DataType::Timestamp(TimeUnit::Nanosecond, _)) => {
            primitive::<TimestampNanosecondType>(array)?
        }
        (T::DatetimeDay, DataType::Date32) => {
            let days = array.as_primitive_opt::<arrow_array::types::Date32Type>()?;
            Buffer::from_vec(days.values().iter().map(|day| i64::from(*day)).collect::<Vec<i64>>())
        }
        (T::TimeSec, DataType::Duration(TimeUnit::Second)) => primitive::<DurationSecondType>(array)?,
        (T::TimeMs, DataType::Duration(TimeUnit::Millisecond)) => {
            primitive::<DurationMillisecondType>(array)?
        }
        (T::TimeUs, DataType::Duration(TimeUnit::Microsecond)) => {
            primitive::<DurationMicrosecondType>(array)?
        }
        (T::TimeNs, DataType::Duration(TimeUnit::Nanosecond)) => primitive::<DurationNanosecondType>(array)?,
        (time, DataType::Int64) if time.is_time() => primitive::<Int64Type>(array)?,
        (one, DataType::FixedSizeBinary(1)) if one.size() == 1 => {
            let array = array.as_fixed_size_binary_opt()?;
            Buffer::from(array.value_data())
        }
        _ => return None,
    };
    Some(Ok(buffer))
}

/// Several values per cell.
fn fixed_values(name: &str, array: &ArrayRef, kind: CellType) -> Option<Result<Buffer>> {
    match array.data_type() {
        DataType::FixedSizeBinary(n) if kind.datatype.size() == 1 && *n as usize == kind.cell_size() => {
            Some(Ok(Buffer::from(array.as_fixed_size_binary_opt()?.value_data())))
        }
        DataType::FixedSizeList(_, n) if u32::try_from(*n).ok() == Some(kind.cell_val_num) => {
            let list = array.as_fixed_size_list_opt()?;
            let start = list.value_offset(0) as usize;
            let inner = list.values().slice(start, list.len() * *n as usize);
            let n = *n as usize;
            match refuse_inner_nulls(name, list, &inner, |cell| cell * n..(cell + 1) * n) {
                Ok(()) => values(&inner, kind.datatype),
                Err(error) => Some(Err(error)),
            }
        }
        _ => None,
    }
}

/// Fails on nulls among the values of a cell, except in cells that are null themselves.
fn refuse_inner_nulls(
    name: &str,
    cells: &dyn Array,
    values: &ArrayRef,
    range: impl Fn(usize) -> Range<usize>,
) -> Result<()> {
    let Some(nulls) = values.logical_nulls().filter(|nulls| nulls.null_count() > 0) else { return Ok(()) };
    let has_null = |cell| cells.is_valid(cell) && range(cell).any(|at| nulls.is_null(at));
    match (0..cells.len()).find(|cell| has_null(*cell)) {
        Some(_) => Err(Error::invalid(format!("column '{name}' has a null among the values of a cell"))
            .suggest("only whole cells can be null; exclude such rows with {}", [Action::Filter])),
        None => Ok(()),
    }
}

/// The cells of a list: bytes and starts.
fn list_values<O: OffsetSizeTrait>(
    name: &str,
    array: &ArrayRef,
    datatype: Datatype,
) -> Option<Result<(Buffer, Vec<u64>)>> {
    let list = array.as_list_opt::<O>()?;
    let offsets = list.value_offsets();
    let whole = refuse_inner_nulls(name, list, list.values(), |cell| {
        offsets[cell].as_usize()..offsets[cell + 1].as_usize()
    });
    let inner = match whole.and(values(list.values(), datatype)?) {
        Ok(inner) => inner,
        Err(error) => return Some(Err(error)),
    };
    Some(Ok(sliced(&inner, offsets.iter().map(|offset| offset.as_usize() as u64), datatype.size())))
}

/// Variable-length cells: their bytes and starts.
fn var_values(name: &str, array: &ArrayRef, datatype: Datatype) -> Option<Result<(Buffer, Vec<u64>)>> {
    let bytes = datatype.size() == 1;
    Some(Ok(match array.data_type() {
        DataType::Utf8 if bytes => {
            let array = array.as_string_opt::<i32>()?;
            sliced(array.values(), array.value_offsets().iter().map(|o| *o as u64), 1)
        }
        DataType::LargeUtf8 if bytes => {
            let array = array.as_string_opt::<i64>()?;
            sliced(array.values(), array.value_offsets().iter().map(|o| *o as u64), 1)
        }
        DataType::Binary if bytes => {
            let array = array.as_binary_opt::<i32>()?;
            sliced(array.values(), array.value_offsets().iter().map(|o| *o as u64), 1)
        }
        DataType::LargeBinary if bytes => {
            let array = array.as_binary_opt::<i64>()?;
            sliced(array.values(), array.value_offsets().iter().map(|o| *o as u64), 1)
        }
        DataType::Utf8View if bytes => {
            collected(array.as_string_view_opt()?.iter().map(|s| s.map(str::as_bytes)))
        }
        DataType::BinaryView if bytes => collected(array.as_binary_view_opt()?.iter()),
        DataType::FixedSizeBinary(_) if bytes => collected(array.as_fixed_size_binary_opt()?.iter()),
        DataType::List(_) => return list_values::<i32>(name, array, datatype),
        DataType::LargeList(_) => return list_values::<i64>(name, array, datatype),
        _ => return None,
    }))
}

/// The part of `values` that `offsets` (in values of `size` bytes, one more than cells) cover, offsets from 0.
fn sliced(values: &Buffer, offsets: impl Iterator<Item = u64>, size: usize) -> (Buffer, Vec<u64>) {
    let mut starts: Vec<u64> = offsets.map(|offset| offset * size as u64).collect();
    let end = starts.pop().unwrap_or_default();
    let base = starts.first().copied().unwrap_or(end);
    for start in &mut starts {
        *start -= base;
    }
    (values.slice_with_length(base as usize, (end - base) as usize), starts)
}

fn collected<'a>(cells: impl Iterator<Item = Option<&'a [u8]>>) -> (Buffer, Vec<u64>) {
    let (mut data, mut starts) = (Vec::new(), Vec::new());
    for cell in cells {
        starts.push(data.len() as u64);
        data.extend_from_slice(cell.unwrap_or_default());
    }
    (Buffer::from_vec(data), starts)
}
