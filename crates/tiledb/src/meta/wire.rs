//! Field encodings shared by structures of the format: length-prefixed bytes and names, and n-dimensional ranges.

use super::dimension::Dimension;
use super::value::{Bounds, parse_scalar, string_or_bytes, write_scalar};
use crate::{Cursor, Error, Result};

/// Bytes with a 32-bit length in front.
pub(crate) fn bytes32<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8]> {
    let len = cursor.u32_le()?;
    cursor.bytes_u64(len.into())
}

/// Bytes with a 64-bit length in front.
pub(crate) fn bytes64<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8]> {
    let len = cursor.u64_le()?;
    cursor.bytes_u64(len)
}

/// A name with a 32-bit length in front.
pub(crate) fn name32(cursor: &mut Cursor<'_>) -> Result<String> {
    let len = cursor.u32_le()?;
    cursor.utf8(len.into()).map(str::to_owned)
}

/// A name with a 64-bit length in front.
pub(crate) fn name64(cursor: &mut Cursor<'_>) -> Result<String> {
    let len = cursor.u64_le()?;
    cursor.utf8(len).map(str::to_owned)
}

/// A flag byte: 0 or 1.
pub(crate) fn flag(cursor: &mut Cursor<'_>) -> Result<bool> {
    match cursor.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(cursor.corrupt(format!("a flag is {other}, expected 0 or 1"))),
    }
}

/// A count and that many 64-bit numbers.
pub(crate) fn numbers(cursor: &mut Cursor<'_>) -> Result<Vec<u64>> {
    let stated = cursor.u64_le()?;
    let count = cursor.count(stated, 8)?;
    let bytes = cursor.bytes(count.saturating_mul(8))?;
    Ok(bytes.chunks_exact(8).filter_map(|chunk| chunk.try_into().ok().map(u64::from_le_bytes)).collect())
}

/// `count` 64-bit numbers.
pub(crate) fn numbers_of(cursor: &mut Cursor<'_>, count: usize) -> Result<Vec<u64>> {
    cursor.count(count as u64, 8)?;
    (0..count).map(|_| cursor.u64_le()).collect()
}

/// Appends bytes with a 32-bit length in front.
pub(crate) fn put_bytes32(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    let len = u32::try_from(bytes.len()).map_err(|_| Error::invalid("a name or value exceeds 4 GiB"))?;
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(bytes);
    Ok(())
}

/// Appends bytes with a 64-bit length in front.
pub(crate) fn put_bytes64(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Appends a count and the numbers.
pub(crate) fn put_numbers(out: &mut Vec<u8>, numbers: &[u64]) {
    out.extend_from_slice(&(numbers.len() as u64).to_le_bytes());
    for number in numbers {
        out.extend_from_slice(&number.to_le_bytes());
    }
}

/// One range per dimension (spec §7 and §9.2): fixed dimensions low and high, string ones
/// `u64 total | u64 bytes of low | low | high`.
pub(crate) fn ranges(cursor: &mut Cursor<'_>, dims: &[Dimension]) -> Result<Vec<Bounds>> {
    dims.iter().map(|dim| range(cursor, dim)).collect()
}

fn range(cursor: &mut Cursor<'_>, dim: &Dimension) -> Result<Bounds> {
    if dim.is_var() {
        let total = cursor.u64_le()?;
        let low = cursor.u64_le()?;
        let high = total.checked_sub(low).ok_or_else(|| {
            cursor.corrupt(format!("a range of {total} bytes has a lower end of {low} bytes"))
        })?;
        let low = string_or_bytes(cursor.bytes_u64(low)?);
        Ok(Bounds { low, high: string_or_bytes(cursor.bytes_u64(high)?) })
    } else {
        let size = dim.datatype.size();
        let low = parse_scalar(dim.datatype, cursor.bytes(size)?)?;
        Ok(Bounds { low, high: parse_scalar(dim.datatype, cursor.bytes(size)?)? })
    }
}

/// Appends one range per dimension.
pub(crate) fn put_ranges(out: &mut Vec<u8>, dims: &[Dimension], ranges: &[Bounds]) -> Result<()> {
    for (dim, range) in dims.iter().zip(ranges) {
        if dim.is_var() {
            let (mut low, mut high) = (Vec::new(), Vec::new());
            write_scalar(&range.low, dim.datatype, &mut low)?;
            write_scalar(&range.high, dim.datatype, &mut high)?;
            out.extend_from_slice(&(low.len().saturating_add(high.len()) as u64).to_le_bytes());
            out.extend_from_slice(&(low.len() as u64).to_le_bytes());
            out.extend_from_slice(&low);
            out.extend_from_slice(&high);
        } else {
            write_scalar(&range.low, dim.datatype, out)?;
            write_scalar(&range.high, dim.datatype, out)?;
        }
    }
    Ok(())
}
