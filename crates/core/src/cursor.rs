//! The checked byte cursor that every parser uses.
//!
//! Nothing here indexes, overflows or allocates by a number read from the bytes: a length is first compared with the
//! remaining bytes, and every error carries the absolute offset.

use crate::Within;
use crate::error::{Error, Result};

/// Reads a slice front to back.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    data: &'a [u8],
    position: usize,
    base: u64,
    what: &'static str,
}

macro_rules! fixed_width {
    ($($(#[$doc:meta])* $name:ident, $type:ty, $from:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(&mut self) -> Result<$type> {
            Ok(<$type>::$from(self.array()?))
        }
    )*};
}

impl<'a> Cursor<'a> {
    /// A cursor over `data`, whose first byte is at `base` in its file. `what` names the structure in errors.
    pub fn new(data: &'a [u8], base: u64, what: &'static str) -> Self {
        Self { data, position: 0, base, what }
    }

    /// The absolute offset of the next byte.
    pub fn offset(&self) -> u64 {
        self.base.saturating_add(self.position as u64)
    }

    /// Bytes consumed so far.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Bytes left.
    pub fn remaining(&self) -> usize {
        self.data.len() - self.position
    }

    /// Whether all bytes are consumed.
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// The bytes left, without consuming them.
    pub fn rest(&self) -> &'a [u8] {
        self.data.within(self.position..)
    }

    /// An error about this structure at the current offset.
    pub fn corrupt(&self, message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
        Error::corrupt(message).offset(self.offset()).piece(self.what)
    }

    /// The next `n` bytes.
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8]> {
        let end = self.position.checked_add(n).filter(|end| *end <= self.data.len());
        match end.and_then(|end| self.data.get(self.position..end).map(|slice| (end, slice))) {
            Some((end, slice)) => {
                self.position = end;
                Ok(slice)
            }
            None => Err(self
                .corrupt(format!("{} ends early: {n} bytes needed, {} left", self.what, self.remaining()))
                .class("truncated")),
        }
    }

    /// The next `n` bytes, where `n` was read from the file.
    pub fn bytes_u64(&mut self, n: u64) -> Result<&'a [u8]> {
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        self.bytes(n)
    }

    /// Skips `n` bytes.
    pub fn skip(&mut self, n: usize) -> Result<()> {
        self.bytes(n).map(drop)
    }

    /// The next `N` bytes as an array.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.bytes(N)?);
        Ok(out)
    }

    fixed_width! {
        /// One byte.
        u8, u8, from_le_bytes;
        /// One signed byte.
        i8, i8, from_le_bytes;
        /// Two bytes, little-endian.
        u16_le, u16, from_le_bytes;
        /// Four bytes, little-endian.
        u32_le, u32, from_le_bytes;
        /// Four bytes, little-endian, signed.
        i32_le, i32, from_le_bytes;
        /// Eight bytes, little-endian.
        u64_le, u64, from_le_bytes;
        /// A little-endian single.
        f32_le, f32, from_le_bytes;
        /// A little-endian double.
        f64_le, f64, from_le_bytes;
        /// Two bytes, big-endian, signed.
        i16_be, i16, from_be_bytes;
        /// Four bytes, big-endian, signed.
        i32_be, i32, from_be_bytes;
        /// Eight bytes, big-endian, signed.
        i64_be, i64, from_be_bytes;
        /// A big-endian single.
        f32_be, f32, from_be_bytes;
        /// A big-endian double.
        f64_be, f64, from_be_bytes;
    }

    /// An unsigned LEB128 number of at most 64 bits.
    pub fn uvarint(&mut self) -> Result<u64> {
        // Most values take one byte.
        if let Some(byte) = self.data.get(self.position).filter(|byte| **byte < 0x80) {
            self.position += 1;
            return Ok(u64::from(*byte));
        }
        self.long_uvarint()
    }

    fn long_uvarint(&mut self) -> Result<u64> {
        let start = self.offset();
        let mut value = 0_u64;
        for shift in (0..70).step_by(7) {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Error::corrupt("variable-length integer exceeds 64 bits").offset(start).piece(self.what))
    }

    /// The next `n` bytes as UTF-8.
    pub fn utf8(&mut self, n: u64) -> Result<&'a str> {
        let start = self.offset();
        std::str::from_utf8(self.bytes_u64(n)?)
            .map_err(|e| Error::corrupt("string is not valid UTF-8").offset(start).piece(self.what).source(e))
    }

    /// Checks a count of items of at least `each` bytes: an impossible count is an error before allocation.
    pub fn count(&self, n: u64, each: usize) -> Result<usize> {
        let fits = usize::try_from(n)
            .ok()
            .filter(|n| n.checked_mul(each.max(1)).is_some_and(|b| b <= self.remaining()));
        fits.ok_or_else(|| {
            self.corrupt(format!(
                "{} states {n} items, but only {} bytes are left",
                self.what,
                self.remaining()
            ))
            .class("bad_count")
        })
    }

    /// A cursor over the next `n` bytes, which this one skips.
    pub fn sub(&mut self, n: u64, what: &'static str) -> Result<Cursor<'a>> {
        let base = self.offset();
        Ok(Cursor::new(self.bytes_u64(n)?, base, what))
    }

    /// Refuses bytes that are left over.
    pub fn expect_end(&self) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        Err(self.corrupt(format!("{} bytes are left over after {}", self.remaining(), self.what)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_read_names_its_offset_and_consumes_nothing() {
        let mut cursor = Cursor::new(&[1, 2, 3], 100, "header");
        cursor.u8().unwrap();
        let error = cursor.u32_le().unwrap_err();
        assert_eq!(error.byte_offset(), Some(101));
        assert_eq!(cursor.u16_le().unwrap(), 0x0302);
        cursor.expect_end().unwrap();
    }

    #[test]
    fn absurd_lengths_and_counts_are_refused() {
        let mut cursor = Cursor::new(&[0; 16], 0, "blob");
        assert!(cursor.bytes_u64(u64::MAX).is_err());
        assert!(cursor.count(u64::MAX, 8).is_err());
        assert!(cursor.count(3, 8).is_err());
        assert_eq!(cursor.count(2, 8).unwrap(), 2);
        assert!(cursor.sub(17, "part").is_err());
    }

    #[test]
    fn varints_read_back_and_overlong_ones_are_refused() {
        assert_eq!(Cursor::new(&[0xac, 0x02], 0, "n").uvarint().unwrap(), 300);
        let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(Cursor::new(&most, 0, "n").uvarint().unwrap(), u64::MAX);
        let mut too_large = most;
        too_large[9] = 2;
        assert!(Cursor::new(&too_large, 0, "n").uvarint().is_err());
    }
}
