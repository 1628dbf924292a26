//! Writing fields of up to 64 bits.

use crate::Within;
use crate::word::low_mask;

/// Appends bits to a buffer, most significant first.
#[derive(Debug)]
pub struct BitWriter<'a> {
    dst: &'a mut Vec<u8>,
    /// Pending bits, left aligned.
    acc: u64,
    /// Number of pending bits, fewer than 64 between calls.
    have: u32,
}

impl<'a> BitWriter<'a> {
    /// A writer that begins on a byte boundary at the end of `dst`.
    pub fn new(dst: &'a mut Vec<u8>) -> Self {
        Self { dst, acc: 0, have: 0 }
    }

    /// Writes the low `n` bits of `value`, `n` at most 64.
    #[inline]
    pub fn write(&mut self, value: u64, n: u32) {
        if n == 0 {
            return;
        }
        let value = value & low_mask(n);
        let free = 64 - self.have;
        if n < free {
            self.acc |= value << (free - n);
            self.have += n;
            return;
        }
        // The word is full; the remaining bits start the next one.
        let rest = n - free;
        self.dst.extend_from_slice(&(self.acc | value >> rest).to_be_bytes());
        self.acc = if rest == 0 { 0 } else { value << (64 - rest) };
        self.have = rest;
    }

    /// Writes one bit.
    #[inline]
    pub fn write_bit(&mut self, bit: bool) {
        self.write(u64::from(bit), 1);
    }

    /// True on a byte boundary.
    pub fn is_aligned(&self) -> bool {
        self.have.is_multiple_of(8)
    }

    /// Pads the last byte with zero bits.
    pub fn finish(self) {
        let bytes = self.have.div_ceil(8) as usize;
        self.dst.extend_from_slice(self.acc.to_be_bytes().within(..bytes));
    }

    /// Pads the last byte with zero bits, and appends a zero byte if the stream ends on a boundary.
    pub fn finish_with_spare_byte(self) {
        let bytes = self.have as usize / 8 + 1;
        self.dst.extend_from_slice(self.acc.to_be_bytes().within(..bytes));
    }
}
