//! Blosc buffers (version 1): a header of 16 bytes, then blocks that are shuffled and compressed one by one.
//!
//! ```text
//! 0  version, 1 version of the compressor, 2 flags, 3 bytes per value
//! 4  decoded bytes, 8 decoded bytes per block, 12 bytes of the buffer     u32 little-endian
//! 16 start of each block; a block is one stream, or one per byte of a value: length i32, bytes
//! ```
//!
//! Decoding only; no format here writes Blosc buffers.

mod lz;

use crate::compress::{Compressor, decompress_into as expand};
use crate::shuffle::byteunshuffle;
use crate::{Error, Result, Within};

const WHAT: &str = "blosc buffer";
const HEADER: usize = 16;

const BYTE_SHUFFLE: u8 = 1;
const STORED: u8 = 2;
const BIT_SHUFFLE: u8 = 4;
const ONE_STREAM: u8 = 16;
/// The top three bits of the flags select the compressor; 4 (zstd) is the last defined value.
const LAST_FORMAT: u8 = 4;

/// The decoded size that a buffer states.
pub fn decoded_len(src: &[u8]) -> Result<usize> {
    number(src, 4)
}

/// Decodes a buffer so that it fills `dst` exactly.
pub fn decompress_into(src: &[u8], dst: &mut [u8]) -> Result<()> {
    let found = decoded_len(src)?;
    if found != dst.len() {
        return Err(Error::Length { what: WHAT, expected: dst.len() as u64, found: found as u64 });
    }
    let (flags, width) = (src[2], usize::from(src[3]).max(1));
    if flags >> 5 > LAST_FORMAT {
        return Err(Error::Unsupported { what: WHAT, why: format!("compressor {}", flags >> 5).into() });
    }
    if flags & STORED != 0 {
        let body = src.get(HEADER..HEADER + found).ok_or_else(|| short(HEADER + found, src))?;
        dst.copy_from_slice(body);
        return Ok(());
    }
    let block = number(src, 8)?;
    if block == 0 || dst.is_empty() {
        return if dst.is_empty() { Ok(()) } else { Err(Error::corrupt(WHAT, "the block size is 0")) };
    }
    let mut shuffled = vec![0; block.min(dst.len())];
    for (i, out) in dst.chunks_mut(block).enumerate() {
        let start = number(src, HEADER + 4 * i)?;
        let body = src.get(start..).ok_or_else(|| short(start, src))?;
        let is_short = out.len() < block;
        let streams =
            if flags & ONE_STREAM != 0 || is_short || !block.is_multiple_of(width) { 1 } else { width };
        let scratch = shuffled.within_mut(..out.len());
        let unshuffled = width == 1 || flags & (BYTE_SHUFFLE | BIT_SHUFFLE) == 0;
        decode_block(body, flags >> 5, streams, if unshuffled { &mut *out } else { &mut *scratch })?;
        if unshuffled {
            continue;
        }
        if flags & BYTE_SHUFFLE != 0 {
            let whole = out.len() - out.len() % width;
            let (values, rest) = out.split_at_mut(whole);
            byteunshuffle(width, &scratch[..whole], values)?;
            rest.copy_from_slice(&scratch[whole..]);
        } else {
            unshuffle_bits(width, scratch, out);
        }
    }
    Ok(())
}

fn decode_block(mut body: &[u8], format: u8, streams: usize, out: &mut [u8]) -> Result<()> {
    let each = out.len() / streams.max(1);
    for part in out.chunks_mut(each.max(1)) {
        let len = number(body, 0)?;
        let stream = body.get(4..).and_then(|rest| rest.get(..len)).ok_or_else(|| short(len, body))?;
        body = body.within(4 + len..);
        if len == part.len() {
            part.copy_from_slice(stream);
            continue;
        }
        match format {
            0 => lz::decompress_into(stream, part)?,
            1 => expand(Compressor::Lz4Block, stream, part)?,
            2 => expand(Compressor::Snappy, stream, part)?,
            3 => expand(Compressor::Zlib, stream, part)?,
            _ => expand(Compressor::Zstd, stream, part)?,
        }
    }
    Ok(())
}

/// Reverts a bit shuffle of a whole block: plane `8 j + k` has bit `k` of byte `j` of all values.
fn unshuffle_bits(width: usize, src: &[u8], dst: &mut [u8]) {
    let values = src.len() / width;
    if !values.is_multiple_of(8) {
        // The writer leaves such a block unshuffled.
        dst.copy_from_slice(src);
        return;
    }
    let plane = values / 8;
    let whole = values * width;
    for byte in 0..width {
        for group in 0..plane {
            let mut rows = [0_u8; 8];
            for (bit, row) in rows.iter_mut().enumerate() {
                *row = src[(byte * 8 + bit) * plane + group];
            }
            for value in 0..8 {
                let mut out = 0;
                for (bit, row) in rows.iter().enumerate() {
                    out |= (row >> value & 1) << bit;
                }
                dst[(group * 8 + value) * width + byte] = out;
            }
        }
    }
    dst[whole..].copy_from_slice(&src[whole..]);
}

fn number(src: &[u8], at: usize) -> Result<usize> {
    let bytes = src.get(at..).and_then(|rest| rest.first_chunk::<4>());
    bytes.map(|bytes| u32::from_le_bytes(*bytes) as usize).ok_or_else(|| short(at + 4, src))
}

fn short(needed: usize, src: &[u8]) -> Error {
    Error::Truncated { what: WHAT, needed, available: src.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(flags: u8, width: u8, block: u32, parts: &[&[u8]], decoded: u32) -> Vec<u8> {
        let mut out = vec![2, 1, flags, width];
        out.extend(decoded.to_le_bytes());
        out.extend(block.to_le_bytes());
        out.extend([0; 4]);
        let mut at = (HEADER + 4 * parts.len()) as u32;
        for part in parts {
            out.extend(at.to_le_bytes());
            at += 4 + part.len() as u32;
        }
        for part in parts {
            out.extend((part.len() as u32).to_le_bytes());
            out.extend(*part);
        }
        out
    }

    #[test]
    fn stored_blocks_are_unshuffled() {
        // Two values of two bytes, their low bytes first; one stream per block.
        let src = buffer(BYTE_SHUFFLE | ONE_STREAM, 2, 4, &[&[1, 3, 2, 4]], 4);
        let mut out = [0; 4];
        decompress_into(&src, &mut out).unwrap();
        assert_eq!(out, [1, 2, 3, 4]);
    }

    #[test]
    fn bit_shuffle_is_reverted() {
        let values: Vec<u8> = (0..16).map(|i| i * 13 + 7).collect();
        // The forward shuffle, bit by bit.
        let mut planes = vec![0_u8; 16];
        for (value, bytes) in values.chunks(2).enumerate() {
            for (byte, bits) in bytes.iter().enumerate() {
                for bit in 0..8 {
                    planes[byte * 8 + bit] |= (bits >> bit & 1) << value;
                }
            }
        }
        let mut out = vec![0; 16];
        unshuffle_bits(2, &planes, &mut out);
        assert_eq!(out, values);
    }

    #[test]
    fn damage_is_an_error() {
        let whole = buffer(ONE_STREAM, 1, 4, &[&[1, 2, 3, 4]], 4);
        for len in 0..whole.len() {
            assert!(decompress_into(&whole[..len], &mut [0; 4]).is_err(), "{len}");
        }
        assert!(decompress_into(&whole, &mut [0; 5]).is_err());
        for (at, value) in [(2, 0xf0_u8), (8, 0), (16, 255), (20, 3), (23, 255)] {
            let mut bad = whole.clone();
            bad[at] = value;
            assert!(decompress_into(&bad, &mut [0; 4]).is_err(), "byte {at}");
        }
    }
}
