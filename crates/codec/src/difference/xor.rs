//! XOR of each value with the previous one; the first is stored unchanged.

use crate::Result;
use crate::int::{Int, same_length};
use crate::{Error, IntKind};

const WHAT: &str = "xor stream";

fn kind_of(width: usize, len: usize) -> Result<IntKind> {
    match IntKind::unsigned(width) {
        Some(kind) if len.is_multiple_of(width) => Ok(kind),
        Some(_) => Err(Error::corrupt(WHAT, format!("{len} bytes are not whole values of {width}"))),
        None => {
            Err(Error::unsupported(WHAT, format!("values of {width} bytes; 1, 2, 4 and 8 are supported")))
        }
    }
}

/// Writes the xor stream of `src`, values of `width` bytes, to `dst`.
pub fn encode(width: usize, src: &[u8], dst: &mut [u8]) -> Result<()> {
    same_length(WHAT, src, dst)?;
    match kind_of(width, src.len())? {
        IntKind::U8 => forward::<u8>(src, dst),
        IntKind::U16 => forward::<u16>(src, dst),
        IntKind::U32 => forward::<u32>(src, dst),
        _ => forward::<u64>(src, dst),
    }
    Ok(())
}

/// Reverts [`encode`].
pub fn decode(width: usize, src: &[u8], dst: &mut [u8]) -> Result<()> {
    same_length(WHAT, src, dst)?;
    match kind_of(width, src.len())? {
        IntKind::U8 => backward::<u8>(src, dst),
        IntKind::U16 => backward::<u16>(src, dst),
        IntKind::U32 => backward::<u32>(src, dst),
        _ => backward::<u64>(src, dst),
    }
    Ok(())
}

fn forward<T: Int>(src: &[u8], dst: &mut [u8]) {
    let mut last = T::default();
    for (out, value) in dst.chunks_exact_mut(T::SIZE).zip(src.chunks_exact(T::SIZE)) {
        let value = T::from_slice(value);
        value.xor(last).put(out);
        last = value;
    }
}

fn backward<T: Int>(src: &[u8], dst: &mut [u8]) {
    let mut last = T::default();
    for (out, value) in dst.chunks_exact_mut(T::SIZE).zip(src.chunks_exact(T::SIZE)) {
        last = last.xor(T::from_slice(value));
        last.put(out);
    }
}
