//! Values stored back to back: fixed width in either byte order, zigzag varints, and byte strings with a
//! length prefix.

#[cfg(test)]
mod tests;

use crate::word::Word;
use crate::zigzag::varint;
use crate::{Error, Result};

const WHAT: &str = "plain column";

/// Byte order of fixed-width values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    /// Most significant byte first.
    Big,
    /// Least significant byte first.
    Little,
}

/// Form of the length prefix of a byte string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LengthPrefix {
    /// Four bytes, most significant first.
    Big32,
    /// Four bytes, least significant first.
    Little32,
    /// A zigzag varint.
    Zigzag,
}

/// Appends `count` booleans, one byte each; any byte but 0 is true.
pub fn decode_bool(src: &[u8], count: usize, dst: &mut Vec<bool>) -> Result<()> {
    let bytes = src.get(..count).ok_or_else(|| Error::truncated(WHAT, count, src.len()))?;
    dst.extend(bytes.iter().map(|&b| b != 0));
    Ok(())
}

/// Appends one byte per boolean.
pub fn encode_bool(values: &[bool], dst: &mut Vec<u8>) {
    dst.extend(values.iter().map(|&v| u8::from(v)));
}

/// Appends `count` fixed-width values.
pub fn decode_fixed<T: Word>(src: &[u8], order: ByteOrder, count: usize, dst: &mut Vec<T>) -> Result<()> {
    let size = T::BITS as usize / 8;
    let needed = count.saturating_mul(size);
    let bytes = src.get(..needed).ok_or_else(|| Error::truncated(WHAT, needed, src.len()))?;
    match (order, T::BITS) {
        (ByteOrder::Big, 32) => {
            let (chunks, _) = bytes.as_chunks::<4>();
            dst.extend(chunks.iter().map(|c| T::from_word(u32::from_be_bytes(*c) as u64)));
        }
        (ByteOrder::Little, 32) => {
            let (chunks, _) = bytes.as_chunks::<4>();
            dst.extend(chunks.iter().map(|c| T::from_word(u32::from_le_bytes(*c) as u64)));
        }
        (ByteOrder::Big, _) => {
            let (chunks, _) = bytes.as_chunks::<8>();
            dst.extend(chunks.iter().map(|c| T::from_word(u64::from_be_bytes(*c))));
        }
        (ByteOrder::Little, _) => {
            let (chunks, _) = bytes.as_chunks::<8>();
            dst.extend(chunks.iter().map(|c| T::from_word(u64::from_le_bytes(*c))));
        }
    }
    Ok(())
}

/// Appends fixed-width values; every NaN becomes the canonical one.
pub fn encode_fixed<T: Word>(values: &[T], order: ByteOrder, dst: &mut Vec<u8>) {
    dst.reserve(values.len() * T::BITS as usize / 8);
    for &value in values {
        let word = value.to_canonical_word();
        match (order, T::BITS) {
            (ByteOrder::Big, 32) => dst.extend_from_slice(&(word as u32).to_be_bytes()),
            (ByteOrder::Little, 32) => dst.extend_from_slice(&(word as u32).to_le_bytes()),
            (ByteOrder::Big, _) => dst.extend_from_slice(&word.to_be_bytes()),
            (ByteOrder::Little, _) => dst.extend_from_slice(&word.to_le_bytes()),
        }
    }
}

/// Appends `count` integers written as zigzag varints.
pub fn decode_varint(src: &[u8], count: usize, dst: &mut Vec<i32>) -> Result<()> {
    if src.len() < count {
        return Err(Error::truncated(WHAT, count, src.len()));
    }
    let mut rest = src;
    dst.reserve(count);
    for _ in 0..count {
        dst.push(varint::read_i32(&mut rest, WHAT)?);
    }
    Ok(())
}

/// Appends integers as zigzag varints.
pub fn encode_varint(values: &[i32], dst: &mut Vec<u8>) {
    for &value in values {
        varint::write_i32(value, dst);
    }
}

/// Appends `count` byte strings: their bytes to `data`, the end of each to `offsets`.
///
/// Offsets count from the current start of `data`, including the bytes it already has. A caller that starts
/// with `offsets = [0]` and an empty `data` gets the two buffers of an Arrow string array.
pub fn decode_bytes(
    src: &[u8],
    prefix: LengthPrefix,
    count: usize,
    offsets: &mut Vec<i32>,
    data: &mut Vec<u8>,
) -> Result<()> {
    let smallest = if prefix == LengthPrefix::Zigzag { 1 } else { 4 };
    let needed = count.saturating_mul(smallest);
    if src.len() < needed {
        return Err(Error::truncated(WHAT, needed, src.len()));
    }
    offsets.reserve(count);
    data.reserve(src.len() - needed);
    let mut rest = src;
    for _ in 0..count {
        let value = take_bytes(&mut rest, prefix)?;
        push_bytes(value, offsets, data)?;
    }
    Ok(())
}

/// Appends one value to a pair of Arrow string buffers.
pub(crate) fn push_bytes(value: &[u8], offsets: &mut Vec<i32>, data: &mut Vec<u8>) -> Result<()> {
    let end = i32::try_from(data.len() + value.len()).map_err(|_| {
        Error::unsupported(WHAT, "the strings of one batch exceed 2 GiB; read smaller batches")
    })?;
    data.extend_from_slice(value);
    offsets.push(end);
    Ok(())
}

fn take_bytes<'a>(rest: &mut &'a [u8], prefix: LengthPrefix) -> Result<&'a [u8]> {
    let stated = match prefix {
        LengthPrefix::Zigzag => varint::read_i32(rest, WHAT)?,
        LengthPrefix::Big32 | LengthPrefix::Little32 => {
            let (head, tail) =
                rest.split_first_chunk::<4>().ok_or_else(|| Error::truncated(WHAT, 4, rest.len()))?;
            *rest = tail;
            if prefix == LengthPrefix::Big32 { i32::from_be_bytes(*head) } else { i32::from_le_bytes(*head) }
        }
    };
    let len =
        usize::try_from(stated).map_err(|_| Error::corrupt(WHAT, format!("a string of length {stated}")))?;
    let (value, tail) = rest.split_at_checked(len).ok_or_else(|| Error::truncated(WHAT, len, rest.len()))?;
    *rest = tail;
    Ok(value)
}

/// Appends byte strings, each with a length prefix.
pub fn encode_bytes<'a>(
    values: impl IntoIterator<Item = &'a [u8]>,
    prefix: LengthPrefix,
    dst: &mut Vec<u8>,
) -> Result<()> {
    for value in values {
        let len = i32::try_from(value.len())
            .map_err(|_| Error::unencodable(WHAT, format!("a string of {} bytes", value.len())))?;
        match prefix {
            LengthPrefix::Big32 => dst.extend_from_slice(&len.to_be_bytes()),
            LengthPrefix::Little32 => dst.extend_from_slice(&len.to_le_bytes()),
            LengthPrefix::Zigzag => varint::write_i32(len, dst),
        }
        dst.extend_from_slice(value);
    }
    Ok(())
}
