//! Decodes pages directly into the buffers of one Arrow array.
//!
//! Dispatch by type happens once per page; the inner loops are monomorphic.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::builder::BooleanBufferBuilder;
use arrow_array::types::*;
use arrow_array::{
    Array as _, ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, ListArray, PrimitiveArray,
    StringArray,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::FieldRef;
use tesselle_codec::compress::zstd::Front;
use tesselle_codec::intpack::Int;
use tesselle_core::{Action, Error, Result};

use super::dictionary::ValueDictionary;
use super::values::{self, short};
use crate::meta::record::Record;
use crate::meta::types::{Encoding, LogicalType};

/// The parameters of decoding the values of a page.
#[derive(Debug, Clone, Default)]
pub(crate) struct Decoding {
    /// Whether FSST pages, and DICTIONARY pages of `dictionary`, are legal.
    pub(crate) fsst: bool,
    pub(crate) dictionary: Option<Arc<ValueDictionary>>,
    /// Whether string columns are read as Binary.
    pub(crate) text_as_binary: bool,
    /// The maximum size of a decoded page, in bytes.
    pub(crate) limit: u64,
}

/// A page of which some rows are wanted.
pub(crate) enum Stored<'a> {
    /// All of it, decompressed.
    Whole(&'a [u8]),
    /// As far as it is needed.
    Front(Front<'a>),
}

/// Dense values of one type.
enum Values {
    Bool(BooleanBufferBuilder),
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Binary {
        offsets: Vec<i32>,
        bytes: Vec<u8>,
    },
    /// Only validity: the values are in the blob region.
    Blob,
    List {
        offsets: Vec<i32>,
        items: Box<ColumnBuilder>,
    },
}

/// Collects pages of one column.
pub(crate) struct ColumnBuilder {
    logical: LogicalType,
    values: Values,
    /// Created at the first null.
    validity: Option<BooleanBufferBuilder>,
    len: usize,
}

impl ColumnBuilder {
    /// An empty builder; `element` is the element type of a list.
    pub(crate) fn new(logical: LogicalType, element: Option<LogicalType>) -> Self {
        let values = match logical {
            LogicalType::Bool => Values::Bool(BooleanBufferBuilder::new(0)),
            LogicalType::Int8 => Values::I8(Vec::new()),
            LogicalType::Int16 => Values::I16(Vec::new()),
            LogicalType::Int32 => Values::I32(Vec::new()),
            LogicalType::Int64 | LogicalType::TimestampMicros => Values::I64(Vec::new()),
            LogicalType::UInt8 => Values::U8(Vec::new()),
            LogicalType::UInt16 => Values::U16(Vec::new()),
            LogicalType::UInt32 => Values::U32(Vec::new()),
            LogicalType::UInt64 => Values::U64(Vec::new()),
            LogicalType::Float32 => Values::F32(Vec::new()),
            LogicalType::Float64 => Values::F64(Vec::new()),
            LogicalType::String | LogicalType::Bytes => {
                Values::Binary { offsets: vec![0], bytes: Vec::new() }
            }
            LogicalType::BlobRef => Values::Blob,
            LogicalType::List => {
                let element = element.unwrap_or(LogicalType::Int64);
                Values::List { offsets: vec![0], items: Box::new(Self::new(element, None)) }
            }
        };
        Self { logical, values, validity: None, len: 0 }
    }

    /// Rows so far.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Decodes one page after the preceding ones.
    pub(crate) fn append_page(
        &mut self,
        record: &Record,
        payload: Cow<'_, [u8]>,
        decoding: &Decoding,
    ) -> Result<()> {
        let rows = record.values as usize;
        let width = self.logical.scalar_width().unwrap_or(4) as u64;
        if rows as u64 * width > decoding.limit {
            return Err(Error::limit(format!(
                "a page of {rows} rows exceeds the limit of {} bytes",
                decoding.limit
            )));
        }
        // The strings of the first page are decoded where they are.
        if let (Values::Binary { offsets, bytes }, Cow::Owned(_)) = (&mut self.values, &payload)
            && bytes.is_empty()
            && record.encoding == Encoding::Plain.id()
            && !record.has_nulls()
        {
            *bytes = payload.into_owned();
            values::strings(bytes, 0, rows, offsets)?;
            self.append_validity(rows, None);
            return Ok(());
        }
        let payload = &*payload;
        let (validity, body) = if record.has_nulls() {
            let len = rows.div_ceil(8);
            let Some((bits, body)) = payload.split_at_checked(len) else {
                return Err(short(format!("a validity bitmap of {len} bytes overruns its page")));
            };
            (Some(BooleanBuffer::new(bits.into(), 0, rows)), body)
        } else {
            (None, payload)
        };
        self.append(record.encoding, body, rows, validity.as_ref(), decoding)
    }

    /// Decodes the rows of a PLAIN page of strings without nulls that are set in `mask`.
    pub(crate) fn append_some(&mut self, page: Stored<'_>, mask: &BooleanBuffer) -> Result<()> {
        let Values::Binary { offsets, bytes } = &mut self.values else {
            return Err(Error::internal("only strings are decoded in part"));
        };
        match page {
            Stored::Whole(body) => values::strings_at(body, mask, offsets, bytes)?,
            Stored::Front(front) => values::some_strings(front, mask, offsets, bytes)?,
        }
        self.append_validity(mask.count_set_bits(), None);
        Ok(())
    }

    fn append(
        &mut self,
        encoding: u8,
        body: &[u8],
        rows: usize,
        validity: Option<&BooleanBuffer>,
        decoding: &Decoding,
    ) -> Result<()> {
        let present = validity.map_or(rows, BooleanBuffer::count_set_bits);
        match &mut self.values {
            Values::Bool(bits) => append_bools(bits, encoding, body, rows, present, validity)?,
            Values::I8(out) => append_ints(out, encoding, body, rows, present, validity)?,
            Values::I16(out) => append_ints(out, encoding, body, rows, present, validity)?,
            Values::I32(out) => append_ints(out, encoding, body, rows, present, validity)?,
            Values::I64(out) => append_ints(out, encoding, body, rows, present, validity)?,
            Values::U8(out) => append_ints(out, encoding, body, rows, present, validity)?,
            Values::U16(out) => append_ints(out, encoding, body, rows, present, validity)?,
            Values::U32(out) => append_ints(out, encoding, body, rows, present, validity)?,
            Values::U64(out) => append_ints(out, encoding, body, rows, present, validity)?,
            Values::F32(out) => {
                only_plain(encoding)?;
                values::plain(body, present, f32::from_le_bytes, out)?;
                spread(out, rows, present, validity);
            }
            Values::F64(out) => {
                only_plain(encoding)?;
                values::plain(body, present, f64::from_le_bytes, out)?;
                spread(out, rows, present, validity);
            }
            Values::Binary { offsets, bytes } => {
                match Encoding::from_id(encoding) {
                    Some(Encoding::Plain) => {
                        let start = bytes.len();
                        bytes.extend_from_slice(body);
                        values::strings(bytes, start, present, offsets)?;
                    }
                    Some(Encoding::Fsst) if decoding.fsst => values::fsst(body, present, offsets, bytes)?,
                    Some(Encoding::Dictionary) => match &decoding.dictionary {
                        Some(dictionary) => dictionary.decode(body, present, offsets, bytes)?,
                        None => return Err(unsupported_encoding(encoding)),
                    },
                    _ => return Err(unsupported_encoding(encoding)),
                }
                spread_offsets(offsets, rows, present, validity);
            }
            Values::Blob => only_plain(encoding)?,
            Values::List { offsets, items } => {
                only_plain(encoding)?;
                let page = values::ListPage::parse(body, present, offsets)?;
                let width = items.logical.scalar_width().unwrap_or(4) as u64;
                if page.items as u64 * width > decoding.limit {
                    let (items, limit) = (page.items, decoding.limit);
                    return Err(Error::limit(format!(
                        "a page of {items} list elements exceeds the limit of {limit} bytes"
                    )));
                }
                items.append(page.encoding, page.body, page.items, page.validity.as_ref(), decoding)?;
                spread_offsets(offsets, rows, present, validity);
            }
        }
        self.append_validity(rows, validity);
        Ok(())
    }

    fn append_validity(&mut self, rows: usize, validity: Option<&BooleanBuffer>) {
        match (validity, &mut self.validity) {
            (Some(bits), Some(all)) => all.append_buffer(bits),
            (Some(bits), None) => {
                let mut all = BooleanBufferBuilder::new(self.len + rows);
                all.append_n(self.len, true);
                all.append_buffer(bits);
                self.validity = Some(all);
            }
            (None, Some(all)) => all.append_n(rows, true),
            (None, None) => {}
        }
        self.len += rows;
    }

    /// The validity of all rows so far; the pages of a blob column have nothing else.
    pub(crate) fn into_validity(mut self) -> Option<BooleanBuffer> {
        self.validity.as_mut().map(BooleanBufferBuilder::finish)
    }

    /// Builds the array. `field` states whether nulls are legal and the type of strings.
    pub(crate) fn finish(mut self, field: &FieldRef, decoding: &Decoding) -> Result<ArrayRef> {
        let nulls =
            self.validity.as_mut().map(|bits| NullBuffer::new(bits.finish())).filter(|n| n.null_count() > 0);
        refuse_nulls(nulls.as_ref(), field)?;
        Ok(match self.values {
            Values::Bool(mut bits) => Arc::new(BooleanArray::new(bits.finish(), nulls)),
            Values::I8(values) => primitive::<Int8Type>(values, nulls)?,
            Values::I16(values) => primitive::<Int16Type>(values, nulls)?,
            Values::I32(values) => primitive::<Int32Type>(values, nulls)?,
            Values::I64(values) if self.logical == LogicalType::TimestampMicros => {
                primitive::<TimestampMicrosecondType>(values, nulls)?
            }
            Values::I64(values) => primitive::<Int64Type>(values, nulls)?,
            Values::U8(values) => primitive::<UInt8Type>(values, nulls)?,
            Values::U16(values) => primitive::<UInt16Type>(values, nulls)?,
            Values::U32(values) => primitive::<UInt32Type>(values, nulls)?,
            Values::U64(values) => primitive::<UInt64Type>(values, nulls)?,
            Values::F32(values) => primitive::<Float32Type>(values, nulls)?,
            Values::F64(values) => primitive::<Float64Type>(values, nulls)?,
            Values::Binary { offsets, bytes } => {
                let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
                if self.logical == LogicalType::String && !decoding.text_as_binary {
                    let array = StringArray::try_new(offsets, bytes.into(), nulls)
                        .map_err(|e| not_utf8(field.name(), e))?;
                    Arc::new(array)
                } else {
                    Arc::new(BinaryArray::try_new(offsets, bytes.into(), nulls)?)
                }
            }
            Values::Blob => return Err(Error::internal("a blob column was finished without its values")),
            Values::List { offsets, items } => {
                let arrow_schema::DataType::List(item) = field.data_type() else {
                    return Err(Error::internal("a list column without a list type"));
                };
                let items = items.finish(item, decoding)?;
                let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
                Arc::new(ListArray::try_new(Arc::clone(item), offsets, items, nulls)?)
            }
        })
    }
}

/// The values of a blob column in the type of its field.
pub(crate) fn blob_array(array: BinaryArray, field: &FieldRef) -> Result<ArrayRef> {
    refuse_nulls(array.nulls(), field)?;
    if field.data_type() != &arrow_schema::DataType::Utf8 {
        return Ok(Arc::new(array));
    }
    let (offsets, bytes, nulls) = array.into_parts();
    let strings = StringArray::try_new(offsets, bytes, nulls).map_err(|e| not_utf8(field.name(), e))?;
    Ok(Arc::new(strings))
}

/// Fails on nulls in a column that is not nullable.
fn refuse_nulls(nulls: Option<&NullBuffer>, field: &FieldRef) -> Result<()> {
    if field.is_nullable() || nulls.is_none_or(|nulls| nulls.null_count() == 0) {
        return Ok(());
    }
    Err(Error::corrupt(format!("column '{}' has nulls, but is not nullable", field.name()))
        .class("bad_values"))
}

fn not_utf8(column: &str, source: arrow_schema::ArrowError) -> Error {
    Error::corrupt(format!("a string of column '{column}' is not UTF-8"))
        .class("not_utf8")
        .source(source)
        .suggest("{} reads string columns as binary", [Action::StringsAsBinary])
}

fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    Ok(Arc::new(PrimitiveArray::<T>::try_new(ScalarBuffer::from(values), nulls)?))
}

pub(crate) fn unsupported_encoding(id: u8) -> Error {
    Error::unsupported(format!("page encoding {id} is not known for this type"))
        .class("unsupported_encoding")
        .hint("the file may come from a newer writer")
}

fn only_plain(encoding: u8) -> Result<()> {
    if encoding == Encoding::Plain.id() { Ok(()) } else { Err(unsupported_encoding(encoding)) }
}

fn append_ints<T: Int>(
    out: &mut Vec<T>,
    encoding: u8,
    body: &[u8],
    rows: usize,
    present: usize,
    validity: Option<&BooleanBuffer>,
) -> Result<()> {
    values::integers(encoding, body, present, out)?;
    spread(out, rows, present, validity);
    Ok(())
}

fn append_bools(
    bits: &mut BooleanBufferBuilder,
    encoding: u8,
    body: &[u8],
    rows: usize,
    present: usize,
    validity: Option<&BooleanBuffer>,
) -> Result<()> {
    if encoding != Encoding::Plain.id() && encoding != Encoding::Bitmap.id() {
        return Err(unsupported_encoding(encoding));
    }
    let Some(body) = body.get(..present.div_ceil(8)) else {
        return Err(short(format!("{present} booleans in {} bytes", body.len())));
    };
    match validity {
        None => bits.append_packed_range(0..rows, body),
        Some(validity) => {
            let dense = BooleanBuffer::new(body.into(), 0, present);
            let mut dense = dense.iter();
            validity.iter().for_each(|valid| bits.append(valid && dense.next().unwrap_or(false)));
        }
    }
    Ok(())
}

/// Moves the dense values at the end of `out` to the non-null rows; null rows become zero.
fn spread<T: Copy + Default>(
    out: &mut Vec<T>,
    rows: usize,
    present: usize,
    validity: Option<&BooleanBuffer>,
) {
    let Some(validity) = validity else { return };
    let start = out.len() - present;
    out.resize(start + rows, T::default());
    let Some(values) = out.get_mut(start..) else { return };
    let mut from = present;
    // From the end, so that no value is overwritten before it has moved.
    for row in (0..rows).rev() {
        if validity.value(row) {
            from -= 1;
            values[row] = values[from];
        } else {
            values[row] = T::default();
        }
    }
}

/// The same for strings: null rows are empty.
fn spread_offsets(offsets: &mut Vec<i32>, rows: usize, present: usize, validity: Option<&BooleanBuffer>) {
    let Some(validity) = validity else { return };
    let start = offsets.len() - present;
    let end = offsets.last().copied().unwrap_or(0);
    offsets.resize(start + rows, end);
    let Some(ends) = offsets.get_mut(start - 1..) else { return };
    // ends[0] is the start of the page; ends[i + 1] is the end of row i.
    let mut from = present;
    for row in (0..rows).rev() {
        ends[row + 1] = ends[from];
        if validity.value(row) {
            from -= 1;
        }
    }
}
