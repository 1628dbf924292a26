//! A fast hash for short strings, seeded per map so that colliding documents cannot be crafted.

use std::hash::{BuildHasher, Hasher, RandomState};

const FOLD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Builds hashers with one seed.
#[derive(Debug, Clone)]
pub(crate) struct TokenHash(u64);

impl Default for TokenHash {
    fn default() -> Self {
        Self(RandomState::new().build_hasher().finish())
    }
}

impl BuildHasher for TokenHash {
    type Hasher = TokenHasher;

    fn build_hasher(&self) -> TokenHasher {
        TokenHasher(self.0)
    }
}

/// Multiplies and folds eight bytes at a time.
#[derive(Debug)]
pub(crate) struct TokenHasher(u64);

impl TokenHasher {
    #[inline]
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * u128::from(FOLD | 1);
        self.0 = (product as u64 ^ (product >> 64) as u64).rotate_left(23) ^ FOLD;
    }
}

impl Hasher for TokenHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        let mut last = [0u8; 8];
        for (to, from) in last.iter_mut().zip(rest) {
            *to = *from;
        }
        self.mix(u64::from_le_bytes(last) ^ (bytes.len() as u64) << 56);
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.0 ^= u64::from(value);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
