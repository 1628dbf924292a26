//! Byte strings as indexes into a list of distinct strings.
//!
//! ```text
//! svar entries | per entry: svar length, bytes (in order of first appearance) | indexes, see `rle_hybrid`
//! ```

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use crate::zigzag::varint;
use crate::{Error, Result, plain, rle_hybrid};

const WHAT: &str = "dictionary column";

/// Appends the first `count` strings of the column `src` as [`plain::decode_bytes`] does.
///
/// A few bytes can expand to many long strings; `max_bytes` bounds the bytes appended to `data`.
pub fn decode(
    src: &[u8],
    count: usize,
    max_bytes: usize,
    offsets: &mut Vec<i32>,
    data: &mut Vec<u8>,
) -> Result<()> {
    let mut rest = src;
    if count == 0 && src.is_empty() {
        return Ok(());
    }
    let stated = varint::read_i32(&mut rest, WHAT)?;
    let n = usize::try_from(stated)
        .ok()
        .filter(|&n| n <= rest.len())
        .ok_or_else(|| Error::corrupt(WHAT, format!("{stated} entries in {} bytes", rest.len())))?;
    let mut entries = Vec::with_capacity(n);
    for _ in 0..n {
        let stated = varint::read_i32(&mut rest, WHAT)?;
        let len = usize::try_from(stated)
            .map_err(|_| Error::corrupt(WHAT, format!("an entry of length {stated}")))?;
        let (entry, tail) =
            rest.split_at_checked(len).ok_or_else(|| Error::truncated(WHAT, len, rest.len()))?;
        entries.push(entry);
        rest = tail;
    }
    let mut indexes = Vec::<i32>::new();
    rle_hybrid::decode(rest, count, &mut indexes)?;
    let entry = |index: i32| {
        usize::try_from(index).ok().and_then(|i| entries.get(i).copied()).ok_or_else(|| {
            Error::corrupt(WHAT, format!("index {index} is out of range, the dictionary has {n} entries"))
        })
    };
    let mut total = 0usize;
    for &index in &indexes {
        total = total.saturating_add(entry(index)?.len());
    }
    if total > max_bytes {
        return Err(Error::Length { what: WHAT, expected: max_bytes as u64, found: total as u64 });
    }
    offsets.reserve(count);
    data.reserve(total);
    for &index in &indexes {
        plain::push_bytes(entry(index)?, offsets, data)?;
    }
    Ok(())
}

/// Appends the column of `values` to `dst`.
pub fn encode<'a>(values: impl IntoIterator<Item = &'a [u8]>, dst: &mut Vec<u8>) -> Result<()> {
    let mut seen = HashMap::new();
    let mut entries = Vec::new();
    let mut indexes = Vec::new();
    let too_many = || Error::unencodable(WHAT, "more than 2^31 distinct strings");
    for value in values {
        let next = i32::try_from(entries.len()).map_err(|_| too_many())?;
        let index = *seen.entry(value).or_insert_with(|| {
            entries.push(value);
            next
        });
        indexes.push(index);
    }
    if indexes.is_empty() {
        return Ok(());
    }
    varint::write_i32(i32::try_from(entries.len()).map_err(|_| too_many())?, dst);
    plain::encode_bytes(entries, plain::LengthPrefix::Zigzag, dst)?;
    rle_hybrid::encode(&indexes, dst);
    Ok(())
}
