//! Dense values of one page, by encoding.

use arrow_buffer::BooleanBuffer;
use tesselle_codec::compress::zstd::Front;
use tesselle_codec::fsst::Decoder;
use tesselle_codec::intpack::{Int, delta, frame, group, pfor, rle};
use tesselle_codec::varint;
use tesselle_core::{At, Error, Result};

use super::column::unsupported_encoding;
use crate::meta::types::Encoding;

/// An error for values that end before the page's count is reached.
pub(crate) fn short(message: String) -> Error {
    Error::corrupt(message).class("short_values")
}

/// Maps a codec error to the error classes of the format: truncated input is short, the rest is bad.
fn refused(error: tesselle_codec::Error) -> Error {
    let class = match error {
        tesselle_codec::Error::Truncated { .. } => "short_values",
        _ => "bad_values",
    };
    Error::from(error).class(class)
}

/// Appends `n` integers.
pub(crate) fn integers<T: Int>(encoding: u8, body: &[u8], n: usize, out: &mut Vec<T>) -> Result<()> {
    match Encoding::from_id(encoding) {
        Some(Encoding::Plain) => plain_integers(body, n, out),
        Some(Encoding::Rle) => rle::decode(body, n, out).map_err(refused),
        Some(Encoding::BitpackFor) => frame::decode(body, n, out).map_err(refused),
        Some(Encoding::Delta) => delta::decode(body, n, out).map_err(refused),
        Some(Encoding::GroupVarint) => group::decode(body, n, out).map_err(refused),
        Some(Encoding::PforDelta) => pfor::decode(body, n, out).map_err(refused),
        _ => Err(unsupported_encoding(encoding)),
    }
}

fn plain_integers<T: Int>(body: &[u8], n: usize, out: &mut Vec<T>) -> Result<()> {
    match T::BYTES {
        1 => plain(body, n, |b: [u8; 1]| T::narrow(u64::from(u8::from_le_bytes(b))), out),
        2 => plain(body, n, |b: [u8; 2]| T::narrow(u64::from(u16::from_le_bytes(b))), out),
        4 => plain(body, n, |b: [u8; 4]| T::narrow(u64::from(u32::from_le_bytes(b))), out),
        _ => plain(body, n, |b: [u8; 8]| T::narrow(u64::from_le_bytes(b)), out),
    }
}

/// Appends `n` values of `N` bytes each.
pub(crate) fn plain<T, const N: usize>(
    body: &[u8],
    n: usize,
    from: impl Fn([u8; N]) -> T,
    out: &mut Vec<T>,
) -> Result<()> {
    let (values, _) = body.as_chunks::<N>();
    let Some(values) = values.get(..n) else {
        return Err(short(format!("{n} values of {N} bytes in {} bytes", body.len())));
    };
    out.extend(values.iter().map(|bytes| from(*bytes)));
    Ok(())
}

/// Bytes of a short string.
const SHORT: usize = 16;

/// Appends `n` strings, each with a length prefix.
pub(crate) fn strings(body: &[u8], n: usize, offsets: &mut Vec<i32>, bytes: &mut Vec<u8>) -> Result<()> {
    // A string takes at least its length byte: an impossible count is refused before allocation.
    if n > body.len() {
        return Err(short(format!("{n} strings in {} bytes", body.len())));
    }
    offsets.reserve(n);
    let mut end = bytes.len();
    offset(end.saturating_add(body.len()))?;
    // Room for all values, and for the copies of short ones, which are longer than they are.
    bytes.resize(end + body.len() - n + SHORT, 0);
    let mut pos = 0;
    for _ in 0..n {
        // Most strings are short: one byte of length, and a copy of constant size.
        if let Some((len, rest)) = body.get(pos..).and_then(<[u8]>::split_first)
            && usize::from(*len) <= SHORT
            && let Some(value) = rest.first_chunk::<SHORT>()
            && let Some(place) = bytes.get_mut(end..).and_then(<[u8]>::first_chunk_mut::<SHORT>)
        {
            *place = *value;
            pos += 1 + usize::from(*len);
            end += usize::from(*len);
            offsets.push(end as i32);
            continue;
        }
        let len = varint::take(body, &mut pos).map_err(|e| Error::from(e).class("short_values"))?;
        let value = usize::try_from(len).ok().and_then(|len| body.get(pos..pos.checked_add(len)?));
        let place = value.and_then(|value| bytes.get_mut(end..end + value.len()));
        let (Some(value), Some(place)) = (value, place) else {
            return Err(short(format!("a string of {len} bytes overruns its page")));
        };
        place.copy_from_slice(value);
        pos += value.len();
        end += value.len();
        offsets.push(end as i32);
    }
    bytes.truncate(end);
    Ok(())
}

/// Bytes of a page that are decompressed at a time if not all are needed.
const FRONT: usize = 1 << 16;

/// Appends the strings, each with a length prefix, that are set in `mask`; nothing after the last one is
/// read.
pub(crate) fn some_strings(
    mut front: Front<'_>,
    mask: &BooleanBuffer,
    offsets: &mut Vec<i32>,
    bytes: &mut Vec<u8>,
) -> Result<()> {
    let (mut pos, mut row) = (0usize, 0usize);
    for wanted in mask.set_indices() {
        while row <= wanted {
            // Reads the string at `pos`, as soon as enough bytes are available.
            let there = front.bytes();
            let mut start = pos;
            let len = varint::take(there, &mut start).ok().and_then(|len| usize::try_from(len).ok());
            let end = len.and_then(|len| start.checked_add(len));
            let Some(value) = end.and_then(|end| there.get(start..end)) else {
                if front.extend(FRONT).map_err(|e| Error::from(e).class("bad_zstd"))? {
                    continue;
                }
                return Err(short(format!("string {row} of a page overruns it")));
            };
            if row == wanted {
                bytes.extend_from_slice(value);
                offsets.push(offset(bytes.len())?);
            }
            pos = start + value.len();
            row += 1;
        }
    }
    Ok(())
}

/// Converts to an Arrow offset; batches are much smaller than this limit.
pub(crate) fn offset(len: usize) -> Result<i32> {
    i32::try_from(len)
        .map_err(|_| Error::limit("the strings of one batch exceed 2 GiB").hint("read fewer rows at once"))
}

/// Appends `n` strings of an FSST page: symbol table, packed lengths with their own length prefix, codes.
pub(crate) fn fsst(body: &[u8], n: usize, offsets: &mut Vec<i32>, bytes: &mut Vec<u8>) -> Result<()> {
    let (decoder, mut pos) = Decoder::parse(body).map_err(refused)?;
    let lengths = lengths(body, &mut pos, n)?;
    for len in lengths {
        let Some(coded) = body.get(pos..pos + len as usize) else {
            return Err(short(format!("a coded string of {len} bytes overruns its page")));
        };
        decoder.decode(coded, bytes).map_err(refused)?;
        offsets.push(offset(bytes.len())?);
        pos += len as usize;
    }
    Ok(())
}

/// Reads `n` packed lengths with a length prefix.
fn lengths(body: &[u8], pos: &mut usize, n: usize) -> Result<Vec<u32>> {
    let len = varint::take(body, pos).map_err(refused)?;
    let packed = usize::try_from(len).ok().and_then(|len| body.get(*pos..pos.checked_add(len)?));
    let Some(packed) = packed else {
        return Err(short(format!("{len} bytes of lengths overrun their page")));
    };
    let mut out = Vec::new();
    frame::decode(packed, n, &mut out).map_err(refused)?;
    *pos += packed.len();
    Ok(out)
}

/// The value bytes of a list page: packed lengths, a flag byte (1: element nulls), the element encoding, then
/// the elements as a page of their own.
pub(crate) struct ListPage<'a> {
    pub(crate) items: usize,
    pub(crate) validity: Option<BooleanBuffer>,
    pub(crate) encoding: u8,
    pub(crate) body: &'a [u8],
}

impl<'a> ListPage<'a> {
    /// Reads everything but the elements; appends the end of each list to `offsets`.
    pub(crate) fn parse(body: &'a [u8], lists: usize, offsets: &mut Vec<i32>) -> Result<Self> {
        let mut pos = 0;
        let start = offsets.last().copied().unwrap_or(0) as usize;
        let mut end = start;
        for len in lengths(body, &mut pos, lists)? {
            end = end.saturating_add(len as usize);
            offsets.push(offset(end)?);
        }
        let items = end - start;
        let &[flags, encoding, ref rest @ ..] = body.part(pos..)? else {
            return Err(short("a list page ends before its elements".into()));
        };
        if flags & 1 == 0 {
            return Ok(Self { items, validity: None, encoding, body: rest });
        }
        let Some((bits, rest)) = rest.split_at_checked(items.div_ceil(8)) else {
            return Err(short("a list page ends in its element validity".into()));
        };
        Ok(Self { items, validity: Some(BooleanBuffer::new(bits.into(), 0, items)), encoding, body: rest })
    }
}
