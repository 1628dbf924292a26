//! The primitives of the format: reading through the checked cursor, and writing.
//!
//! | name | bytes |
//! |---|---|
//! | `str`, `bin` | `i32` length, bytes |
//! | `uvar` | unsigned LEB128, 32 bits |
//! | `svar` | zigzag, then `uvar` |
//! | `vstr` | `svar` length (-1 is null), UTF-8 |

use tesselle_core::{Cursor, Error, Result};

/// Reads the format's primitives. Implemented only for the cursor of `tesselle_core`.
pub(crate) trait Primitives<'a> {
    /// A big-endian 32-bit length or count that must not be negative.
    fn len32(&mut self) -> Result<u64>;
    /// A big-endian 64-bit offset or length that must not be negative.
    fn offset64(&mut self) -> Result<u64>;
    /// `bin`.
    fn bin(&mut self) -> Result<&'a [u8]>;
    /// `str`.
    fn string(&mut self) -> Result<&'a str>;
    /// `uvar`.
    fn uvar(&mut self) -> Result<u32>;
    /// `svar`.
    fn svar(&mut self) -> Result<i32>;
    /// `vstr`, nullable.
    fn vstr_or_null(&mut self) -> Result<Option<&'a str>>;
    /// `vstr`, not null.
    fn vstr(&mut self) -> Result<&'a str>;
}

impl<'a> Primitives<'a> for Cursor<'a> {
    fn len32(&mut self) -> Result<u64> {
        let start = self.offset();
        let n = self.i32_be()?;
        u64::try_from(n).map_err(|_| negative(i64::from(n), start))
    }

    fn offset64(&mut self) -> Result<u64> {
        let start = self.offset();
        let n = self.i64_be()?;
        u64::try_from(n).map_err(|_| negative(n, start))
    }

    fn bin(&mut self) -> Result<&'a [u8]> {
        let n = self.len32()?;
        self.bytes_u64(n)
    }

    fn string(&mut self) -> Result<&'a str> {
        let n = self.len32()?;
        self.utf8(n)
    }

    fn uvar(&mut self) -> Result<u32> {
        let start = self.offset();
        let n = self.uvarint()?;
        u32::try_from(n).map_err(|_| Error::corrupt("variable-length integer exceeds 32 bits").offset(start))
    }

    fn svar(&mut self) -> Result<i32> {
        let n = self.uvar()?;
        Ok((n >> 1).cast_signed() ^ -(n & 1).cast_signed())
    }

    fn vstr_or_null(&mut self) -> Result<Option<&'a str>> {
        let start = self.offset();
        match self.svar()? {
            -1 => Ok(None),
            n => match u64::try_from(n) {
                Ok(n) => self.utf8(n).map(Some),
                Err(_) => Err(negative(i64::from(n), start)),
            },
        }
    }

    fn vstr(&mut self) -> Result<&'a str> {
        let start = self.offset();
        self.vstr_or_null()?.ok_or_else(|| Error::corrupt("a name is missing").offset(start))
    }
}

fn negative(n: i64, offset: u64) -> Error {
    Error::corrupt(format!("length {n} is invalid")).class("bad_length").offset(offset)
}

/// Writes the format's primitives. Implemented only for byte vectors.
pub(crate) trait PutPrimitives {
    /// A big-endian 16-bit number.
    fn put_i16(&mut self, n: i16);
    /// A big-endian 32-bit number.
    fn put_i32(&mut self, n: i32);
    /// A big-endian 64-bit number.
    fn put_i64(&mut self, n: i64);
    /// A big-endian double.
    fn put_f64(&mut self, n: f64);
    /// `bin`; a length over 31 bits is refused.
    fn put_bin(&mut self, bytes: &[u8]) -> Result<()>;
    /// `str`.
    fn put_string(&mut self, value: &str) -> Result<()>;
    /// `uvar`.
    fn put_uvar(&mut self, n: u32);
    /// `svar`.
    fn put_svar(&mut self, n: i32);
    /// `vstr`.
    fn put_vstr(&mut self, value: Option<&str>) -> Result<()>;
}

impl PutPrimitives for Vec<u8> {
    fn put_i16(&mut self, n: i16) {
        self.extend_from_slice(&n.to_be_bytes());
    }

    fn put_i32(&mut self, n: i32) {
        self.extend_from_slice(&n.to_be_bytes());
    }

    fn put_i64(&mut self, n: i64) {
        self.extend_from_slice(&n.to_be_bytes());
    }

    fn put_f64(&mut self, n: f64) {
        self.extend_from_slice(&n.to_be_bytes());
    }

    fn put_bin(&mut self, bytes: &[u8]) -> Result<()> {
        self.put_i32(len32(bytes.len())?);
        self.extend_from_slice(bytes);
        Ok(())
    }

    fn put_string(&mut self, value: &str) -> Result<()> {
        self.put_bin(value.as_bytes())
    }

    fn put_uvar(&mut self, mut n: u32) {
        while n >= 0x80 {
            self.push((n & 0x7f) as u8 | 0x80);
            n >>= 7;
        }
        self.push(n as u8);
    }

    fn put_svar(&mut self, n: i32) {
        self.put_uvar(((n << 1) ^ (n >> 31)).cast_unsigned());
    }

    fn put_vstr(&mut self, value: Option<&str>) -> Result<()> {
        match value {
            None => self.put_svar(-1),
            Some(value) => {
                self.put_svar(len32(value.len())?);
                self.extend_from_slice(value.as_bytes());
            }
        }
        Ok(())
    }
}

/// A length or count as the format's 32-bit number.
pub(crate) fn len32(n: usize) -> Result<i32> {
    i32::try_from(n).map_err(|_| Error::limit(format!("length {n} does not fit the format's 32 bits")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_match_the_format() {
        for (n, bytes) in [(0, &[0x00][..]), (-1, &[0x01]), (1, &[0x02]), (-2, &[0x03]), (300, &[0xd8, 0x04])]
        {
            let mut out = Vec::new();
            out.put_svar(n);
            assert_eq!(out, bytes);
            assert_eq!(Cursor::new(bytes, 0, "n").svar().unwrap(), n);
        }
        for n in [i32::MIN, i32::MAX] {
            let mut out = Vec::new();
            out.put_svar(n);
            assert_eq!(Cursor::new(&out, 0, "n").svar().unwrap(), n);
        }
        assert!(Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0x7f], 0, "n").uvar().is_err());
    }

    #[test]
    fn a_null_string_is_not_an_empty_one() {
        let mut out = Vec::new();
        out.put_vstr(None).unwrap();
        out.put_vstr(Some("")).unwrap();
        assert_eq!(out, [1, 0]);
        let mut cursor = Cursor::new(&out, 0, "s");
        assert_eq!(cursor.vstr_or_null().unwrap(), None);
        assert_eq!(cursor.vstr_or_null().unwrap(), Some(""));
        assert!(Cursor::new(&[1], 0, "s").vstr().is_err());
    }

    #[test]
    fn negative_lengths_are_refused() {
        assert!(Cursor::new(&[0xff, 0xff, 0xff, 0xff, 0], 0, "s").bin().is_err());
        assert!(Cursor::new(&[3, 0], 0, "s").vstr_or_null().is_err());
    }
}
