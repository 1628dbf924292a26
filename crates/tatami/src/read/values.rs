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

/// Decodes the `n` strings, each with a length prefix, that `bytes` contains from `start` on: they are moved together in place.
pub(crate) fn strings(bytes: &mut Vec<u8>, start: usize, n: usize, offsets: &mut Vec<i32>) -> Result<()> {
    // A string takes at least its length byte: an impossible count is refused before allocation.
    let stored = bytes.len().saturating_sub(start);
    if n > stored {
        return Err(short(format!("{n} strings in {stored} bytes")));
    }
    offset(bytes.len())?;
    offsets.reserve(n);
    let (mut pos, mut end) = (start, start);
    for _ in 0..n {
        // Most strings are short: one byte of length, and a move of constant size.
        let len = match bytes.get(pos).copied() {
            Some(len) if len <= 16 && moved::<16>(bytes, pos + 1, end) => usize::from(len),
            Some(len) if len <= 64 && moved::<64>(bytes, pos + 1, end) => usize::from(len),
            _ => {
                let mut at = pos;
                let len = varint::take(bytes, &mut at).map_err(|e| Error::from(e).class("short_values"))?;
                let last = usize::try_from(len).ok().and_then(|len| at.checked_add(len));
                let Some(last) = last.filter(|last| *last <= bytes.len()) else {
                    return Err(short(format!("a string of {len} bytes overruns its page")));
                };
                bytes.copy_within(at..last, end);
                end += last - at;
                offsets.push(end as i32);
                pos = last;
                continue;
            }
        };
        end += len;
        offsets.push(end as i32);
        pos += 1 + len;
    }
    bytes.truncate(end);
    Ok(())
}

/// Moves `N` bytes to the front, if they are there and nothing that is still needed is overwritten.
#[inline]
fn moved<const N: usize>(bytes: &mut [u8], from: usize, to: usize) -> bool {
    let Some((done, rest)) = bytes.split_at_mut_checked(from) else { return false };
    match (done.get_mut(to..).and_then(<[u8]>::first_chunk_mut::<N>), rest.first_chunk::<N>()) {
        (Some(place), Some(value)) => {
            *place = *value;
            true
        }
        _ => false,
    }
}

/// Strings of at most this many bytes are appended by a copy of constant size.
const SHORT: usize = 16;

/// Strings with a length prefix, one after the other.
pub(crate) struct StringCursor<'a> {
    body: &'a [u8],
    pos: usize,
}

impl<'a> StringCursor<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Self {
        Self { body, pos: 0 }
    }

    /// The next string.
    #[inline]
    pub(crate) fn take(&mut self) -> Result<&'a [u8]> {
        // Most strings are short: one byte of length.
        let len = match self.body.get(self.pos) {
            Some(len) if *len < 0x80 => {
                self.pos += 1;
                usize::from(*len)
            }
            _ => self.long()?,
        };
        let end = self.pos.saturating_add(len);
        let Some(value) = self.body.get(self.pos..end) else {
            return Err(short(format!("a string of {len} bytes overruns its page")));
        };
        self.pos = end;
        Ok(value)
    }

    #[cold]
    fn long(&mut self) -> Result<usize> {
        let len = varint::take(self.body, &mut self.pos).map_err(|e| Error::from(e).class("short_values"))?;
        Ok(usize::try_from(len).unwrap_or(usize::MAX))
    }

    /// Appends the next string.
    #[inline]
    fn copy(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        let value = self.take()?;
        let rest = self.body.get(self.pos - value.len()..).and_then(<[u8]>::first_chunk::<SHORT>);
        match rest {
            // A copy of constant size is faster; what it copies too much is cut off.
            Some(start) if value.len() <= SHORT => {
                let end = bytes.len() + value.len();
                bytes.extend_from_slice(start);
                bytes.truncate(end);
            }
            _ => bytes.extend_from_slice(value),
        }
        Ok(())
    }

    /// Passes over the next strings.
    #[inline]
    pub(crate) fn skip(&mut self, strings: usize) -> Result<()> {
        (0..strings).try_for_each(|_| self.take().map(drop))
    }
}

/// Appends the strings, each with a length prefix, that are set in `mask`.
pub(crate) fn strings_at(
    body: &[u8],
    mask: &BooleanBuffer,
    offsets: &mut Vec<i32>,
    bytes: &mut Vec<u8>,
) -> Result<()> {
    if let Some(len) = common_length(body, mask.len()) {
        return equal_strings_at(body, len, mask, offsets, bytes);
    }
    let (mut strings, mut row) = (StringCursor::new(body), 0);
    offsets.reserve(mask.count_set_bits());
    for wanted in mask.set_indices() {
        strings.skip(wanted - row)?;
        strings.copy(bytes)?;
        offsets.push(offset(bytes.len())?);
        row = wanted + 1;
    }
    Ok(())
}

/// The length of `n` strings, each with a length prefix, if all have the same and nothing follows them.
fn common_length(body: &[u8], n: usize) -> Option<usize> {
    let prefix = body.first().filter(|len| **len < 0x80)?;
    let len = usize::from(*prefix);
    let whole = n.checked_mul(1 + len)? == body.len();
    (whole && body.iter().step_by(1 + len).all(|found| found == prefix)).then_some(len)
}

/// Appends those strings of `len` bytes, each with a length prefix, that are set in `mask`: runs of them at once.
fn equal_strings_at(
    body: &[u8],
    len: usize,
    mask: &BooleanBuffer,
    offsets: &mut Vec<i32>,
    bytes: &mut Vec<u8>,
) -> Result<()> {
    let (start, count) = (bytes.len(), mask.count_set_bits());
    let size = count.saturating_mul(len);
    offset(start.saturating_add(size))?;
    bytes.reserve(size);
    for (first, end) in mask.set_slices() {
        let pos = first * (1 + len);
        if len == 1 {
            let rows = body.part(pos..end * 2)?;
            bytes.extend(rows.as_chunks::<2>().0.iter().map(|[_, byte]| *byte));
        } else {
            let mut strings = StringCursor { body, pos };
            (first..end).try_for_each(|_| strings.copy(bytes))?;
        }
    }
    offsets.extend((1..=count).map(|strings| (start + strings * len) as i32));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn page(strings: &[Vec<u8>]) -> Vec<u8> {
        let mut body = Vec::new();
        for string in strings {
            varint::write(string.len() as u64, &mut body);
            body.extend_from_slice(string);
        }
        body
    }

    /// Reads the strings of `mask` after one that is there already.
    fn read(body: &[u8], mask: &BooleanBuffer) -> Result<Vec<Vec<u8>>> {
        let (mut offsets, mut bytes) = (vec![0, 5], b"first".to_vec());
        strings_at(body, mask, &mut offsets, &mut bytes)?;
        assert_eq!(offsets.last().copied(), Some(bytes.len() as i32));
        let ends = offsets.windows(2).skip(1);
        Ok(ends.map(|pair| bytes[pair[0] as usize..pair[1] as usize].to_vec()).collect())
    }

    #[test]
    fn strings_of_equal_and_of_different_lengths_are_selected() {
        let lengths: [&dyn Fn(usize) -> usize; 8] =
            [&|_| 0, &|_| 1, &|_| 5, &|_| 40, &|_| 200, &|i| i % 3, &|i| i % 40, &|i| usize::from(i == 99)];
        let masks: [&dyn Fn(usize) -> bool; 5] =
            [&|_| true, &|_| false, &|i| i % 7 != 3, &|i| i % 11 == 10, &|i| i >= 64];
        for length in lengths {
            let strings: Vec<_> = (0..100).map(|i| vec![i as u8; length(i)]).collect();
            let body = page(&strings);
            for wanted in masks {
                let mask = BooleanBuffer::collect_bool(strings.len(), wanted);
                let expected: Vec<_> = mask.set_indices().map(|i| strings[i].clone()).collect();
                assert_eq!(read(&body, &mask).expect("a whole page"), expected);
            }
        }
    }

    #[test]
    fn a_page_with_too_few_bytes_is_refused() {
        for len in [1, 5, 40] {
            let body = page(&vec![vec![7; len]; 10]);
            let all = BooleanBuffer::new_set(10);
            let error = read(&body[..body.len() - 1], &all).expect_err("the last string is cut");
            assert_eq!(error.class_name(), "short_values");
            assert!(read(&body, &BooleanBuffer::new_set(11)).is_err());
            // The length of the last string does not fit.
            let mut body = body;
            let at = body.len() - 1 - len;
            body[at] += 1;
            assert!(read(&body, &all).is_err());
        }
    }
}
