//! The bloom filter over `device.measurement`, which rules out series that a file does not have.
//!
//! Reads never rely on it, because the index of the file is exact; verification recomputes it.

use tesselle_core::{Cursor, Result, Within};

use super::primitive::Primitives as _;
use super::{PutPrimitives, Version, primitive::len32};

const SEEDS: [u64; 8] = [5, 7, 11, 19, 31, 37, 43, 59];
const MIN_BITS: u32 = 256;
/// The false positive rate of the original.
const ERROR_RATE: f64 = 0.05;

/// A bloom filter as stored: trailing zero bytes are cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BloomFilter {
    bytes: Vec<u8>,
    bits: u32,
    functions: u32,
    version: Version,
}

impl BloomFilter {
    /// Bytes that are stored.
    pub(crate) fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// A filter of the size the original chooses for `n` strings.
    pub(crate) fn with_capacity(n: usize, version: Version) -> Self {
        let ln2 = std::f64::consts::LN_2;
        let bits = (-(n as f64) * ERROR_RATE.ln() / ln2 / ln2) as u32;
        let functions = (-ERROR_RATE.ln() / ln2) as u32 + 1;
        Self {
            bytes: Vec::new(),
            bits: bits.saturating_add(1).max(MIN_BITS),
            functions: functions.min(8),
            version,
        }
    }

    /// Adds a series.
    pub(crate) fn insert(&mut self, path: &str) {
        for i in 0..self.functions as usize {
            let bit = self.bit(path, i);
            let (byte, mask) = ((bit / 8) as usize, 1 << (bit % 8));
            if self.bytes.len() <= byte {
                self.bytes.resize(byte + 1, 0);
            }
            if let Some(b) = self.bytes.get_mut(byte) {
                *b |= mask;
            }
        }
    }

    /// Whether the series may exist; `false` is certain.
    pub(crate) fn may_contain(&self, path: &str) -> bool {
        (0..self.functions as usize).all(|i| {
            let bit = self.bit(path, i);
            self.bytes.get((bit / 8) as usize).is_some_and(|b| b & (1 << (bit % 8)) != 0)
        })
    }

    /// Number of bits.
    pub(crate) fn bits(&self) -> u32 {
        self.bits
    }

    /// Number of hash functions.
    pub(crate) fn functions(&self) -> u32 {
        self.functions
    }

    /// An empty filter of the same size.
    #[must_use]
    pub(crate) fn cleared(&self) -> Self {
        Self { bytes: Vec::new(), ..self.clone() }
    }

    /// Counts the bits that are set here and not in `other`, a filter of the same size.
    pub(crate) fn surplus(&self, other: &Self) -> u32 {
        let there = other.bytes.iter().copied().chain(std::iter::repeat(0));
        self.bytes.iter().zip(there).map(|(mine, there)| (mine & !there).count_ones()).sum()
    }

    /// Number of bytes up to the last set bit.
    pub(crate) fn used_bytes(&self) -> usize {
        self.bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
    }

    fn bit(&self, path: &str, function: usize) -> u32 {
        let seed = SEEDS.value(function);
        let mut bytes = path.as_bytes();
        if self.version == Version::V1 {
            // Version 000001 hashes as many bytes as the string has UTF-16 code units.
            let units = path.encode_utf16().count();
            bytes = bytes.get(..units).unwrap_or(bytes);
        }
        let h = (murmur(bytes, seed) as u32).cast_signed();
        // The absolute value of the minimum integer overflows in Java; newer releases use 0.
        h.checked_abs().unwrap_or(0).cast_unsigned() % self.bits.max(1)
    }

    /// Reads the filter; `None` if it has no bytes.
    pub(crate) fn parse(cursor: &mut Cursor<'_>, version: Version) -> Result<Option<Self>> {
        if cursor.is_empty() {
            return Ok(None);
        }
        let compact = version.is_compact();
        let bytes = if compact {
            let n = cursor.uvar()?;
            if n == 0 && version == Version::V4 {
                return Ok(None);
            }
            cursor.bytes_u64(u64::from(n))?.to_vec()
        } else {
            cursor.bin()?.to_vec()
        };
        let mut number = || if compact { cursor.uvar() } else { cursor.len32().map(|n| n as u32) };
        let (bits, functions) = (number()?, number()?);
        if bits == 0 || functions as usize > SEEDS.len() || bytes.len() as u64 > u64::from(bits).div_ceil(8) {
            let message = format!(
                "a bloom filter of {} bytes, {bits} bits and {functions} functions is not possible",
                bytes.len()
            );
            return Err(cursor.corrupt(message).class("bad_bloom_filter"));
        }
        Ok(Some(Self { bytes, bits, functions, version }))
    }

    /// Writes what [`BloomFilter::parse`] reads.
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        if self.version.is_compact() {
            out.put_uvar(len32(self.bytes.len())?.cast_unsigned());
            if self.bytes.is_empty() && self.version == Version::V4 {
                return Ok(());
            }
            out.extend_from_slice(&self.bytes);
            out.put_uvar(self.bits);
            out.put_uvar(self.functions);
        } else {
            out.put_bin(&self.bytes)?;
            out.put_i32(self.bits.cast_signed());
            out.put_i32(self.functions.cast_signed());
        }
        Ok(())
    }
}

/// The low half of the sum of both words of `MurmurHash3_x64_128`. Tail bytes are sign-extended, as in the original.
fn murmur(data: &[u8], seed: u64) -> u64 {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let mix1 = |k: u64| k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let mix2 = |k: u64| k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |w, b| (w << 8) | u64::from(*b));
    let (mut h1, mut h2) = (seed, seed);
    let blocks = data.chunks_exact(16);
    let tail = blocks.remainder();
    for block in blocks {
        let (low, high) = block.split_at(8);
        h1 ^= mix1(word(low));
        h1 = h1.rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 ^= mix2(word(high));
        h2 = h2.rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let signed = |bytes: &[u8]| {
        let shifted =
            bytes.iter().enumerate().map(|(i, b)| (i64::from(b.cast_signed()) << (8 * i)).cast_unsigned());
        shifted.fold(0_u64, |k, part| k ^ part)
    };
    let (low, high) = tail.split_at(tail.len().min(8));
    if !high.is_empty() {
        h2 ^= mix2(signed(high));
    }
    if !low.is_empty() {
        h1 ^= mix1(signed(low));
    }
    let length = data.len() as u64;
    h1 ^= length;
    h2 ^= length;
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1 = finish(h1);
    h2 = finish(h2);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    h1.wrapping_add(h2)
}

fn finish(mut k: u64) -> u64 {
    k ^= k >> 33;
    k = k.wrapping_mul(0xff51_afd7_ed55_8ccd);
    k ^= k >> 33;
    k = k.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    k ^ (k >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_example_has_nineteen_bytes() {
        // The one series of the 405-byte example: 19 bytes, 256 bits, 5 functions.
        let mut filter = BloomFilter::with_capacity(1, Version::V1);
        filter.insert("d.s");
        assert_eq!((filter.bytes.len(), filter.bits(), filter.functions()), (19, 256, 5));
        assert!(filter.may_contain("d.s"));
    }

    #[test]
    fn inserted_series_are_found_after_a_round_trip() {
        for version in [Version::V1, Version::V2, Version::V3, Version::V4] {
            let mut filter = BloomFilter::with_capacity(100, version);
            let names: Vec<String> = (0..100).map(|i| format!("root.βeta.d{i}.温度{i}")).collect();
            for name in &names {
                filter.insert(name);
            }
            let mut out = Vec::new();
            filter.write(&mut out).unwrap();
            let read = BloomFilter::parse(&mut Cursor::new(&out, 0, "bloom"), version).unwrap().unwrap();
            assert_eq!(read, filter);
            assert!(names.iter().all(|n| read.may_contain(n)));
        }
    }

    #[test]
    fn absurd_sizes_are_refused() {
        let mut out = Vec::new();
        out.put_uvar(1);
        out.push(1);
        out.put_uvar(0);
        out.put_uvar(5);
        assert!(BloomFilter::parse(&mut Cursor::new(&out, 0, "bloom"), Version::V3).is_err());
    }
}
