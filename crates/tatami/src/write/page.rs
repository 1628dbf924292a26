//! Encodes one page; independent of other pages, on any thread.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::DataType;
use arrow_select::concat::concat;
use tesselle_codec::compress::{Compressor, compress, zstd};
use tesselle_codec::intpack::{Int, frame};
use tesselle_codec::varint;
use tesselle_core::{Action, Error, Result};

use super::options::Profile;
use super::{cascade, strings};
use crate::meta::record::{NULLS_PRESENT, Record};
use crate::meta::types::{Codec, Encoding, LogicalType, RecordKind};
use crate::meta::zone::Zone;
use crate::scalars::zone_of;

/// The frame of an empty payload, as the original writes it.
const EMPTY_FRAME: [u8; 9] = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0];

/// The compression of pages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packing {
    pub(crate) codec: Codec,
    pub(crate) level: i32,
    pub(crate) profile: Profile,
}

impl Packing {
    /// The payload as it is stored.
    pub(crate) fn pack(self, payload: &[u8]) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        match self.codec {
            Codec::None => out.extend_from_slice(payload),
            Codec::Lz4 => compress(Compressor::Lz4Block, None, payload, &mut out)?,
            Codec::Zstd | Codec::ZstdDict if payload.is_empty() => out.extend_from_slice(&EMPTY_FRAME),
            Codec::Zstd | Codec::ZstdDict => zstd::compress_with_checksum(self.level, payload, &mut out)?,
        }
        Ok(out)
    }
}

/// An encoded page without a position.
pub(crate) struct EncodedPage {
    pub(crate) record: Record,
    pub(crate) payload: Vec<u8>,
    pub(crate) zone: Option<Zone>,
    pub(crate) uses_dictionary: bool,
}

/// Encodes `array` as the page of a column that starts at `first_row` of its group.
pub(crate) fn encode(
    array: &dyn Array,
    logical: LogicalType,
    first_row: u32,
    codes: Option<&[u32]>,
    packing: Packing,
) -> Result<EncodedPage> {
    let nulls = array.logical_null_count();
    let mut head = Vec::new();
    if nulls > 0 {
        validity(array, &mut head);
    }
    let candidates = candidates(array, logical, codes, packing.profile)?;
    let mut best: Option<(Encoding, Vec<u8>, usize)> = None;
    for (encoding, body) in candidates {
        let mut payload = head.clone();
        payload.extend_from_slice(&body);
        let stored = packing.pack(&payload)?;
        if best.as_ref().is_none_or(|(_, smallest, _)| stored.len() < smallest.len()) {
            best = Some((encoding, stored, payload.len()));
        }
    }
    let Some((encoding, payload, uncompressed)) = best else {
        return Err(Error::internal("a page without a form"));
    };
    let uncompressed = u32::try_from(uncompressed).ok().filter(|_| u32::try_from(payload.len()).is_ok());
    let Some(uncompressed) = uncompressed else {
        return Err(Error::limit("a page exceeds 4 GiB")
            .suggest("write with fewer rows per page: {}", [Action::setting("page_rows", "N")]));
    };
    let mut record = Record::new(RecordKind::Data, packing.codec, array.len() as u32, uncompressed, &payload);
    record.encoding = encoding.id();
    record.flags = if nulls > 0 { NULLS_PRESENT } else { 0 };
    record.nulls = nulls as u32;
    record.first_row = first_row;
    let zone = zone_of(array, logical);
    Ok(EncodedPage { record, payload, zone, uses_dictionary: encoding == Encoding::Dictionary })
}

/// Appends one bit per row, set for non-null rows, padded with zeros.
fn validity(array: &dyn Array, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + array.len().div_ceil(8), 0);
    let nulls = array.logical_nulls();
    for row in 0..array.len() {
        if nulls.as_ref().is_none_or(|n| n.is_valid(row))
            && let Some(byte) = out.get_mut(start + row / 8)
        {
            *byte |= 1 << (row % 8);
        }
    }
}

/// The candidate forms of the values; only strings of the extended profile have several.
fn candidates(
    array: &dyn Array,
    logical: LogicalType,
    codes: Option<&[u32]>,
    profile: Profile,
) -> Result<Vec<(Encoding, Vec<u8>)>> {
    let mut out = Vec::new();
    if logical.is_binary() {
        strings::plain(array, &mut out);
        let mut all = vec![(Encoding::Plain, out)];
        if profile == Profile::Extended && array.len() > array.null_count() {
            let mut coded = Vec::new();
            strings::fsst(array, &mut coded);
            all.push((Encoding::Fsst, coded));
            if let Some(codes) = codes {
                let mut packed = Vec::new();
                strings::codes(codes, &mut packed);
                all.push((Encoding::Dictionary, packed));
            }
        }
        return Ok(all);
    }
    let encoding = values(array, logical, &mut out)?;
    Ok(vec![(encoding, out)])
}

/// Appends the non-null values in their smallest form.
fn values(array: &dyn Array, logical: LogicalType, out: &mut Vec<u8>) -> Result<Encoding> {
    let wrong = || Error::internal(format!("a {} column was given {}", logical.name(), array.data_type()));
    macro_rules! integers {
        ($type:ty) => {
            cascade::integers(&dense(array.as_primitive_opt::<$type>().ok_or_else(wrong)?), out)?
        };
    }
    Ok(match logical {
        LogicalType::Int8 => integers!(Int8Type),
        LogicalType::Int16 => integers!(Int16Type),
        LogicalType::Int32 => integers!(Int32Type),
        LogicalType::Int64 => integers!(Int64Type),
        LogicalType::TimestampMicros => integers!(TimestampMicrosecondType),
        LogicalType::UInt8 => integers!(UInt8Type),
        LogicalType::UInt16 => integers!(UInt16Type),
        LogicalType::UInt32 => integers!(UInt32Type),
        LogicalType::UInt64 => integers!(UInt64Type),
        LogicalType::Float32 => {
            let values = array.as_primitive_opt::<Float32Type>().ok_or_else(wrong)?;
            present(values).for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
            Encoding::Plain
        }
        LogicalType::Float64 => {
            let values = array.as_primitive_opt::<Float64Type>().ok_or_else(wrong)?;
            present(values).for_each(|v| out.extend_from_slice(&v.to_le_bytes()));
            Encoding::Plain
        }
        LogicalType::Bool => {
            let values = array.as_boolean_opt().ok_or_else(wrong)?;
            let start = out.len();
            out.resize(start + (array.len() - array.null_count()).div_ceil(8), 0);
            for (i, value) in values.iter().flatten().enumerate() {
                if let Some(byte) = out.get_mut(start + i / 8) {
                    *byte |= u8::from(value) << (i % 8);
                }
            }
            Encoding::Bitmap
        }
        LogicalType::String | LogicalType::Bytes => {
            strings::plain(array, out);
            Encoding::Plain
        }
        LogicalType::BlobRef => Encoding::Plain,
        LogicalType::List => {
            list(array, out)?;
            Encoding::Plain
        }
    })
}

fn present<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>) -> impl Iterator<Item = T::Native> {
    (0..array.len()).filter(|row| array.is_valid(*row)).map(|row| array.value(row))
}

fn dense<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>) -> std::borrow::Cow<'_, [T::Native]>
where
    T::Native: Int,
{
    if array.null_count() == 0 {
        return array.values().as_ref().into();
    }
    present(array).collect::<Vec<_>>().into()
}

/// Appends a list page: packed lengths with their own length prefix, a flag byte (1: element nulls), the
/// element encoding, element validity, elements.
fn list(array: &dyn Array, out: &mut Vec<u8>) -> Result<()> {
    let rows = (0..array.len()).filter(|row| array.is_valid(*row));
    let lists: Vec<ArrayRef> = match array.data_type() {
        DataType::List(_) => rows.map(|row| array.as_list::<i32>().value(row)).collect(),
        DataType::LargeList(_) => rows.map(|row| array.as_list::<i64>().value(row)).collect(),
        DataType::FixedSizeList(_, _) => rows.map(|row| array.as_fixed_size_list().value(row)).collect(),
        other => return Err(Error::internal(format!("a list column was given {other}"))),
    };
    let lengths: Vec<u32> = lists.iter().map(|l| l.len() as u32).collect();
    let mut packed = Vec::new();
    frame::encode(&lengths, &mut packed);
    varint::write(packed.len() as u64, out);
    out.append(&mut packed);
    let parts: Vec<&dyn Array> = lists.iter().map(AsRef::as_ref).collect();
    if parts.is_empty() {
        out.extend([0, Encoding::Plain.id()]);
        return Ok(());
    }
    let items = super::schema::normalize(&concat(&parts)?, "item")?;
    let logical = super::schema::element_logical(items.data_type())?;
    let has_nulls = items.null_count() > 0;
    let mut body = Vec::new();
    let encoding = values(items.as_ref(), logical, &mut body)?;
    out.extend([u8::from(has_nulls), encoding.id()]);
    if has_nulls {
        validity(items.as_ref(), out);
    }
    out.append(&mut body);
    Ok(())
}
