//! BloscLZ, Blosc's own compressor: literal runs, and matches given by distance and length.
//!
//! ```text
//! 000LLLLL                      L + 1 literal bytes follow
//! LLLOOOOO [255 … n] O'         a match of L + 2 bytes (L = 7: plus the numbers that follow) at distance
//!                               O * 256 + O' + 1; O = 31 and O' = 255: distance in two more bytes, plus 8192
//! ```

use crate::{Error, Result};

const WHAT: &str = "blosclz stream";
/// Larger distances take two more bytes.
const FAR: usize = 8191;

/// Decodes a stream so that it fills `dst` exactly.
pub(super) fn decompress_into(src: &[u8], dst: &mut [u8]) -> Result<()> {
    let short = || Error::Truncated { what: WHAT, needed: 1, available: 0 };
    let expected = dst.len();
    let mut bytes = src.iter().copied();
    let mut next = || bytes.next();
    let mut control = next().ok_or_else(short)? & 31;
    let mut at = 0;
    loop {
        if control < 32 {
            let run = usize::from(control) + 1;
            for _ in 0..run {
                let byte = next().ok_or_else(short)?;
                *dst.get_mut(at).ok_or_else(|| wrong_length(expected, expected + 1))? = byte;
                at += 1;
            }
        } else {
            let mut len = usize::from(control >> 5) - 1;
            let high = usize::from(control & 31) << 8;
            let mut low = next().ok_or_else(short)?;
            if len == 6 {
                loop {
                    len += usize::from(low);
                    let more = low == 255;
                    low = next().ok_or_else(short)?;
                    if !more {
                        break;
                    }
                }
            }
            len += 3;
            let mut distance = high + usize::from(low) + 1;
            if low == 255 && high == 31 << 8 {
                let far =
                    usize::from(next().ok_or_else(short)?) << 8 | usize::from(next().ok_or_else(short)?);
                distance = far + FAR + 1;
            }
            let from = at
                .checked_sub(distance)
                .ok_or_else(|| Error::corrupt(WHAT, "a match starts before the data"))?;
            if at + len > expected {
                return Err(wrong_length(expected, at + len));
            }
            for i in 0..len {
                dst[at + i] = dst[from + i];
            }
            at += len;
        }
        match next() {
            Some(byte) => control = byte,
            None => break,
        }
    }
    if at == expected {
        return Ok(());
    }
    Err(wrong_length(expected, at))
}

fn wrong_length(expected: usize, found: usize) -> Error {
    Error::Length { what: WHAT, expected: expected as u64, found: found as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_matches_are_decoded() {
        // "abc", then nine bytes at distance 3: 7 - 1 + 0 + 3.
        let src = [2, b'a', b'b', b'c', 7 << 5, 0, 2];
        let mut out = [0; 12];
        decompress_into(&src, &mut out).unwrap();
        assert_eq!(&out, b"abcabcabcabc");
    }

    #[test]
    fn damage_is_an_error() {
        let src = [2, b'a', b'b', b'c', 7 << 5, 0, 2];
        for len in 0..src.len() {
            assert!(decompress_into(&src[..len], &mut [0; 12]).is_err(), "{len}");
        }
        assert!(decompress_into(&src, &mut [0; 11]).is_err());
        assert!(decompress_into(&src, &mut [0; 13]).is_err());
        assert!(decompress_into(&[0, b'a', 1 << 5, 9], &mut [0; 4]).is_err());
    }
}
