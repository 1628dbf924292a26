//! Writing fields of up to 64 bits.

/// Appends bits to a buffer, most significant first.
#[derive(Debug)]
pub struct BitWriter<'a> {
    dst: &'a mut Vec<u8>,
    /// Pending bits, left aligned; always fewer than 8 between calls.
    acc: u64,
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
        if n > 56 {
            self.put(value >> 32, n - 32);
            self.put(value, 32);
        } else if n > 0 {
            self.put(value, n);
        }
    }

    /// Writes one bit.
    #[inline]
    pub fn write_bit(&mut self, bit: bool) {
        self.put(u64::from(bit), 1);
    }

    #[inline]
    fn put(&mut self, value: u64, n: u32) {
        self.acc |= (value << (64 - n)) >> self.have;
        self.have += n;
        let whole = (self.have / 8) as usize;
        let bytes = self.acc.to_be_bytes();
        self.dst.extend_from_slice(bytes.get(..whole).unwrap_or(&bytes));
        self.acc = if whole == 8 { 0 } else { self.acc << (whole * 8) };
        self.have %= 8;
    }

    /// True on a byte boundary.
    pub fn is_aligned(&self) -> bool {
        self.have == 0
    }

    /// Fills the last byte with zero bits.
    pub fn finish(self) {
        if self.have > 0 {
            self.dst.push((self.acc >> 56) as u8);
        }
    }

    /// Fills the last byte with zero bits, and adds a zero byte where the stream ends on a boundary.
    pub fn finish_with_spare_byte(self) {
        self.dst.push((self.acc >> 56) as u8);
    }
}
