//! Blocks of a posting list (spec §21.4): gaps between documents, then their frequencies.
//!
//! A block of 128 documents has a width byte and 127 packed gaps; a shorter one, always the last, has its gaps as
//! group varints. Frequencies are patched packing. The first document is only in the skip table.

use tesselle_codec::intblock::{decode_groups, decode_patched, unpack};
use tesselle_codec::intpack::{bits, group, pfor};
use tesselle_codec::{Error, Result};
use tesselle_core::Within;

use super::{BLOCK, SkipTable};

const WHAT: &str = "posting block";

/// Decodes the documents of a block of `out.len()` documents; returns the length of their bytes.
///
/// The gaps must be positive and lead from `first` to `last` exactly, so that ids always ascend.
pub(crate) fn decode_docs(src: &[u8], first: u32, last: u32, out: &mut [u32]) -> Result<usize> {
    let Some((start, gaps)) = out.split_first_mut() else { return Ok(0) };
    let len = if gaps.len() == BLOCK - 1 {
        let Some((&width, packed)) = src.split_first() else {
            return Err(Error::truncated(WHAT, 1, 0));
        };
        // Width 0 never occurs; the original engine reads it as 1.
        1 + unpack(packed, u32::from(width.max(1)), gaps)?
    } else {
        decode_groups(src, gaps)?
    };
    // Gaps below 2^25 cannot sum to more than 32 bits; then 32-bit vectors suffice.
    let (mut zero, mut wide) = (false, 0);
    for &gap in &*gaps {
        zero |= gap == 0;
        wide |= gap;
    }
    let sum = if wide < 1 << 25 {
        u64::from(first) + u64::from(gaps.iter().fold(0u32, |sum, gap| sum.wrapping_add(*gap)))
    } else {
        gaps.iter().fold(u64::from(first), |sum, gap| sum + u64::from(*gap))
    };
    if zero || sum != u64::from(last) {
        return Err(Error::corrupt(WHAT, format!("documents end at {sum}, the skip table states {last}")));
    }
    *start = first;
    let mut doc = first;
    let (fours, rest) = gaps.as_chunks_mut::<4>();
    // Four at a time: only one addition depends on the four before. Nothing wraps, because the sum has been
    // checked.
    for [a, b, c, d] in fours {
        let (ab, cd) = (a.wrapping_add(*b), c.wrapping_add(*d));
        let abc = ab.wrapping_add(*c);
        let all = ab.wrapping_add(cd);
        *a = doc.wrapping_add(*a);
        *b = doc.wrapping_add(ab);
        *c = doc.wrapping_add(abc);
        doc = doc.wrapping_add(all);
        *d = doc;
    }
    for gap in rest {
        doc = doc.wrapping_add(*gap);
        *gap = doc;
    }
    Ok(len)
}

/// The size of the documents of a block of `count`, if its first byte determines it: only in full blocks.
#[inline]
pub(crate) fn docs_len(src: &[u8], count: usize) -> Option<usize> {
    let width = src.first().copied().filter(|_| count == BLOCK)?.max(1);
    Some(1 + (usize::from(width) * (BLOCK - 1)).div_ceil(8))
}

/// Decodes the frequencies after the documents of a block; returns the length of their bytes.
pub(crate) fn decode_freqs(src: &[u8], out: &mut [u32]) -> Result<usize> {
    decode_patched(src, out)
}

/// Appends a whole list to the empty `payload` and returns its skip table.
pub(crate) fn encode_list(docs: &[u32], freqs: &[u32], payload: &mut Vec<u8>) -> Result<SkipTable> {
    let mut table = SkipTable { docs: docs.len() as u64, ..SkipTable::default() };
    let mut gaps = [0u32; BLOCK - 1];
    for (docs, freqs) in docs.chunks(BLOCK).zip(freqs.chunks(BLOCK)) {
        let (Some(&first), Some(&last)) = (docs.first(), docs.last()) else { continue };
        let offset = u32::try_from(payload.len())
            .map_err(|_| Error::unencodable(WHAT, "the posting list exceeds 4 GiB"))?;
        let gaps = gaps.within_mut(..docs.len() - 1);
        for (gap, pair) in gaps.iter_mut().zip(docs.windows(2)) {
            if let [before, after] = pair {
                *gap = after - before;
            }
        }
        if docs.len() == BLOCK {
            let width = bits::width_of(gaps.iter().copied().max().unwrap_or(1).into());
            payload.push(width as u8);
            bits::pack(gaps.iter().map(|&gap| u64::from(gap)), width, payload);
        } else {
            group::encode(gaps, payload)?;
        }
        pfor::encode(freqs, payload)?;
        let max_freq = freqs.iter().copied().max().unwrap_or(0);
        table.push(first, last, max_freq, offset, docs.len() as u8);
    }
    Ok(table)
}
