//! Patched packing for at most 256 values up to 2^32 - 1: a width that fits most of them, exceptions
//! (position, full value), then the low bits of all.

use super::{Int, bits};
use crate::{Error, Result, varint};

/// The maximum number of values in one stream: positions are bytes.
pub const MAX_VALUES: usize = 256;

const WHAT: &str = "patched values";
const LIMIT: u64 = u32::MAX as u64;

/// The cheapest width (the smallest on ties) and the bytes it costs, header included.
fn choose<T: Int>(values: &[T]) -> Option<(u32, usize)> {
    if values.len() > MAX_VALUES || values.iter().any(|v| v.widen() > LIMIT) {
        return None;
    }
    // The cost of the values of each width as exceptions.
    let mut cost = [0usize; 33];
    for value in values {
        let word = value.widen();
        if let Some(slot) = cost.get_mut(bits::width_of(word) as usize) {
            *slot += 1 + varint::len(word);
        }
    }
    let mut best = (0, usize::MAX);
    for width in 1..=32u32 {
        let exceptions: usize = cost.iter().skip(width as usize + 1).sum();
        let total = 2 + (values.len() * width as usize).div_ceil(8) + exceptions;
        if total < best.1 {
            best = (width, total);
        }
    }
    Some(best)
}

/// Bytes that [`encode`] would append; `None` when there are too many values or one is too large.
pub fn encoded_len<T: Int>(values: &[T]) -> Option<usize> {
    choose(values).map(|(_, len)| len)
}

/// Appends `values`; refuses more than 256 values and values above 2^32 - 1.
pub fn encode<T: Int>(values: &[T], dst: &mut Vec<u8>) -> Result<()> {
    let Some((width, _)) = choose(values) else {
        return Err(Error::unencodable(WHAT, "more than 256 values, or a value above 4294967295"));
    };
    let is_exception = |word: u64| bits::width_of(word) > width;
    let exceptions = values.iter().filter(|v| is_exception(v.widen())).count();
    let Ok(exceptions) = u8::try_from(exceptions) else {
        return Err(Error::unencodable(WHAT, "more than 255 exceptions"));
    };
    dst.push(width as u8);
    dst.push(exceptions);
    for (position, value) in values.iter().enumerate().filter(|(_, v)| is_exception(v.widen())) {
        dst.push(position as u8);
        varint::write(value.widen(), dst);
    }
    bits::pack(values.iter().map(|v| v.widen()), width, dst);
    Ok(())
}

/// Appends `n` values to `dst`.
pub fn decode<T: Int>(src: &[u8], n: usize, dst: &mut Vec<T>) -> Result<()> {
    let &[width, count, ref rest @ ..] = src else {
        return Err(Error::truncated(WHAT, 2, src.len()));
    };
    let mut exceptions = Vec::with_capacity(usize::from(count));
    let mut pos = 0;
    for _ in 0..count {
        let Some(&position) = rest.get(pos) else {
            return Err(Error::truncated(WHAT, 1, 0));
        };
        pos += 1;
        let value = varint::take(rest, &mut pos)?;
        if usize::from(position) >= n {
            return Err(Error::corrupt(WHAT, format!("exception at position {position} of {n} values")));
        }
        exceptions.push((usize::from(position), value));
    }
    let start = dst.len();
    bits::unpack(rest.get(pos..).unwrap_or_default(), u32::from(width), 0, n, dst)?;
    for (position, value) in exceptions {
        if let Some(slot) = dst.get_mut(start + position) {
            *slot = T::narrow(value);
        }
    }
    Ok(())
}
