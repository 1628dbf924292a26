//! A checked cursor.
use crate::{Error, Result};

/// Reads little-endian fields.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    data: &'a [u8],
    pos: usize,
}

impl<'a> Cursor<'a> {
    /// Over these bytes.
    pub fn new(data: &'a [u8]) -> Self {
        Self { data, pos: 0 }
    }
    /// Bytes left.
    pub fn remaining(&self) -> usize {
        self.data.len() - self.pos
    }
    /// Position.
    pub fn position(&self) -> usize {
        self.pos
    }
    /// Next n bytes.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let end = self.pos.checked_add(n).filter(|end| *end <= self.data.len());
        let Some(end) = end else { return Err(Error::corrupt("ends early")) };
        let out = &self.data[self.pos..end];
        self.pos = end;
        Ok(out)
    }
    /// One byte.
    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }
}
