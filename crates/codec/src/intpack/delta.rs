//! Differences: the first value as a varint, then the zig-zag differences in a frame of reference.

use super::{Int, bits, frame};
use crate::{Error, Result, varint};

const WHAT: &str = "delta values";

/// The zig-zag differences of neighbours, wrapping.
fn differences<T: Int>(values: &[T]) -> Vec<u64> {
    values
        .windows(2)
        .map(|pair| match pair {
            [a, b] => varint::zigzag(b.widen().wrapping_sub(a.widen()) as i64),
            _ => 0,
        })
        .collect()
}

/// The encoded form, computed once and measured before it is written.
pub struct Encoded {
    first: Option<u64>,
    differences: Vec<u64>,
}

impl Encoded {
    /// Computes the differences of `values`.
    pub fn of<T: Int>(values: &[T]) -> Self {
        Self { first: values.first().map(|v| v.widen()), differences: differences(values) }
    }

    /// Bytes that [`Encoded::write`] would append.
    pub fn len(&self) -> usize {
        self.first.map_or(0, |first| varint::len(first) + frame::encoded_len(&self.differences))
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Appends the encoded bytes.
    pub fn write(&self, dst: &mut Vec<u8>) {
        if let Some(first) = self.first {
            varint::write(first, dst);
            frame::encode(&self.differences, dst);
        }
    }
}

/// Bytes that [`encode`] would append.
pub fn encoded_len<T: Int>(values: &[T]) -> usize {
    Encoded::of(values).len()
}

/// Appends `values`; appends no bytes if there are none.
pub fn encode<T: Int>(values: &[T], dst: &mut Vec<u8>) {
    Encoded::of(values).write(dst);
}

/// Appends `n` values to `dst`.
pub fn decode<T: Int>(src: &[u8], n: usize, dst: &mut Vec<T>) -> Result<()> {
    if n == 0 {
        return Ok(());
    }
    let (first, len) = varint::read(src)?;
    let rest = src.get(len..).unwrap_or_default();
    let Some((&width, rest)) = rest.split_first() else {
        return Err(Error::truncated(WHAT, 1, 0));
    };
    let mut value = first;
    if n == 1 {
        dst.push(T::narrow(value));
        return Ok(());
    }
    let (base, len) = varint::read(rest)?;
    let stream = rest.get(len..).unwrap_or_default();
    bits::check(stream, u32::from(width), n - 1)?;
    dst.reserve(n);
    dst.push(T::narrow(value));
    bits::for_each_block(stream, u32::from(width), n - 1, |words| {
        dst.extend(words.iter().map(|word| {
            value = value.wrapping_add(varint::unzigzag(word.wrapping_add(base)) as u64);
            T::narrow(value)
        }));
    });
    Ok(())
}
