//! Reading fields of up to 64 bits.

use crate::{Error, Result};

/// Reads bits, most significant first.
///
/// Reads past the end return zeros and are recorded: call [`BitReader::check`] once after a bounded number of
/// reads. This keeps end checks out of the inner loops.
#[derive(Debug, Clone)]
pub struct BitReader<'a> {
    src: &'a [u8],
    /// Next byte to load; may lie past the end, where bytes read as zero.
    pos: usize,
    /// Loaded bits, left aligned; bits below `have` may contain the start of the byte at `pos`.
    acc: u64,
    have: u32,
}

impl<'a> BitReader<'a> {
    /// A reader at the first bit of `src`.
    pub fn new(src: &'a [u8]) -> Self {
        Self { src, pos: 0, acc: 0, have: 0 }
    }

    /// Loads at least 56 bits.
    #[inline]
    fn refill(&mut self) {
        let word = match self.src.get(self.pos..).and_then(<[u8]>::first_chunk::<8>) {
            Some(chunk) => u64::from_be_bytes(*chunk),
            None => self.tail(),
        };
        self.acc |= word >> self.have;
        let bytes = (63 - self.have) >> 3;
        self.pos += bytes as usize;
        self.have += bytes * 8;
    }

    /// Loads the last bytes, padded with zeros.
    #[cold]
    fn tail(&self) -> u64 {
        let rest = self.src.get(self.pos..).unwrap_or_default();
        let mut chunk = [0u8; 8];
        for (to, from) in chunk.iter_mut().zip(rest) {
            *to = *from;
        }
        u64::from_be_bytes(chunk)
    }

    /// The next `n` bits, `n` in 1 to 56, without consuming them.
    #[inline]
    pub fn peek(&mut self, n: u32) -> u64 {
        debug_assert!((1..=56).contains(&n));
        if self.have < n {
            self.refill();
        }
        self.acc >> (64 - n)
    }

    /// Skips `n` bits that [`BitReader::peek`] has loaded.
    #[inline]
    pub fn consume(&mut self, n: u32) {
        debug_assert!(n <= self.have);
        self.acc <<= n;
        self.have -= n;
    }

    /// The next `n` bits, `n` at most 64.
    #[inline]
    pub fn read(&mut self, n: u32) -> u64 {
        if n == 0 {
            return 0;
        }
        if n <= 56 {
            let value = self.peek(n);
            self.consume(n);
            return value;
        }
        self.read_wide(n)
    }

    /// Kept separate so that the common case is small enough to inline.
    #[inline(never)]
    fn read_wide(&mut self, n: u32) -> u64 {
        let high = self.peek(32);
        self.consume(32);
        let low = self.peek(n - 32);
        self.consume(n - 32);
        (high << (n - 32)) | low
    }

    /// The next bit.
    #[inline]
    pub fn read_bit(&mut self) -> bool {
        let bit = self.peek(1) != 0;
        self.consume(1);
        bit
    }

    /// Number of bits read so far, including those past the end.
    pub fn position(&self) -> usize {
        (self.pos * 8).saturating_sub(self.have as usize)
    }

    /// True if more bits were read than the input has.
    pub fn overrun(&self) -> bool {
        self.position() > self.src.len().saturating_mul(8)
    }

    /// Number of bits left, 0 after an overrun.
    pub fn remaining(&self) -> usize {
        self.src.len().saturating_mul(8).saturating_sub(self.position())
    }

    /// Skips to the next byte boundary and returns the byte position.
    pub fn align(&mut self) -> usize {
        let odd = (self.position() % 8) as u32;
        if odd != 0 {
            self.read(8 - odd);
        }
        self.position() / 8
    }

    /// Returns an error if more bits were read than the input has.
    pub fn check(&self, what: &'static str) -> Result<()> {
        if self.overrun() {
            return Err(Error::truncated(what, self.position().div_ceil(8), self.src.len()));
        }
        Ok(())
    }
}
