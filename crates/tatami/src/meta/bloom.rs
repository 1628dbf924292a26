//! Bloom filters: `u32` probes, `u32` bits (a power of two), the bits.

use tesselle_core::{Cursor, Error, Result};

use super::types::LogicalType;

const BITS_PER_KEY: u64 = 10;
const PROBES: u32 = 7;
const MIN_BITS: u64 = 64;

/// 32-bit FNV-1a.
fn fnv1a(key: &[u8]) -> u32 {
    key.iter().fold(2_166_136_261, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(16_777_619))
}

/// The bits that a key sets or tests.
fn positions(key: &[u8], probes: u32, bits: u32) -> impl Iterator<Item = u32> {
    let hash = fnv1a(key);
    let step = hash.rotate_right(17);
    (0..probes).map(move |i| hash.wrapping_add(i.wrapping_mul(step)) & (bits - 1))
}

/// A filter over borrowed bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bloom<'a> {
    probes: u32,
    bits: u32,
    data: &'a [u8],
}

impl<'a> Bloom<'a> {
    /// Parses the payload of the record at `offset`; inconsistent fields are refused.
    pub(crate) fn parse(payload: &'a [u8], offset: u64) -> Result<Self> {
        let mut cursor = Cursor::new(payload, offset, "bloom filter");
        let (probes, bits) = (cursor.u32_le()?, cursor.u32_le()?);
        let data = cursor.rest();
        if !bits.is_power_of_two() || u64::from(bits).div_ceil(8) != data.len() as u64 {
            return Err(Error::corrupt(format!("a bloom filter states {bits} bits in {} bytes", data.len()))
                .class("bad_bloom")
                .offset(offset));
        }
        Ok(Self { probes, bits, data })
    }

    /// Whether a key may have been added.
    pub(crate) fn may_contain(&self, key: &[u8]) -> bool {
        // A hostile number of probes only costs time: past the number of bits they repeat.
        positions(key, self.probes.min(self.bits), self.bits)
            .all(|bit| self.data.get(bit as usize / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1))
    }

    /// Whether a value may be present; zeros of either sign are tested as both, because they compare equal.
    pub(crate) fn may_contain_value(&self, logical: LogicalType, scalar: &[u8]) -> bool {
        let float = matches!(logical, LogicalType::Float32 | LogicalType::Float64);
        let is_zero =
            scalar.split_last().is_some_and(|(top, rest)| top << 1 == 0 && rest.iter().all(|b| *b == 0));
        if float && is_zero {
            let mut other = scalar.to_vec();
            if let Some(top) = other.last_mut() {
                *top ^= 0x80;
            }
            return self.may_contain(scalar) || self.may_contain(&other);
        }
        self.may_contain(scalar)
    }
}

/// Collects keys and builds the payload.
#[derive(Debug, Default)]
pub(crate) struct BloomBuilder {
    hashes: Vec<u32>,
}

impl BloomBuilder {
    /// Adds one non-null value; duplicates count.
    pub(crate) fn add(&mut self, key: &[u8]) {
        self.hashes.push(fnv1a(key));
    }

    /// The payload; `None` without keys.
    pub(crate) fn finish(self) -> Option<Vec<u8>> {
        if self.hashes.is_empty() {
            return None;
        }
        let bits = (self.hashes.len() as u64)
            .saturating_mul(BITS_PER_KEY)
            .max(MIN_BITS)
            .next_power_of_two()
            .min(1 << 31);
        let bits = bits as u32;
        let mut data = vec![0u8; bits as usize / 8];
        for hash in self.hashes {
            let step = hash.rotate_right(17);
            for i in 0..PROBES {
                let bit = hash.wrapping_add(i.wrapping_mul(step)) & (bits - 1);
                if let Some(byte) = data.get_mut(bit as usize / 8) {
                    *byte |= 1 << (bit % 8);
                }
            }
        }
        let mut out = Vec::with_capacity(8 + data.len());
        out.extend_from_slice(&PROBES.to_le_bytes());
        out.extend_from_slice(&bits.to_le_bytes());
        out.append(&mut data);
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(keys: &[&[u8]]) -> Vec<u8> {
        let mut builder = BloomBuilder::default();
        for key in keys {
            builder.add(key);
        }
        builder.finish().unwrap()
    }

    #[test]
    fn the_published_example_matches() {
        let bytes = filter(&[b"a", b"hello", b"tatami"]);
        assert_eq!(bytes, [7, 0, 0, 0, 64, 0, 0, 0, 0x30, 6, 0xf9, 3, 0x80, 0x18, 0x44, 0x45]);
        let bloom = Bloom::parse(&bytes, 0).unwrap();
        assert!(bloom.may_contain(b"hello") && !bloom.may_contain(b"absent"));
    }

    #[test]
    fn zeros_of_both_signs_are_one_value() {
        let bytes = filter(&[&(-0.0f64).to_le_bytes()]);
        let bloom = Bloom::parse(&bytes, 0).unwrap();
        assert!(bloom.may_contain_value(LogicalType::Float64, &0.0f64.to_le_bytes()));
        assert!(!bloom.may_contain(&0.0f64.to_le_bytes()));
    }

    #[test]
    fn inconsistent_filters_are_refused() {
        for bad in
            [&[][..], &[7, 0, 0, 0, 0, 0, 0, 0], &[7, 0, 0, 0, 3, 0, 0, 0, 0], &[7, 0, 0, 0, 64, 0, 0, 0, 1]]
        {
            assert!(Bloom::parse(bad, 0).is_err());
        }
        let mut hostile = filter(&[b"x"]);
        hostile[..4].copy_from_slice(&u32::MAX.to_le_bytes());
        let _ = Bloom::parse(&hostile, 0).unwrap().may_contain(b"x");
    }
}
