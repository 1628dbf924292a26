use super::ESCAPE;
use crate::{Error, Result};

const WHAT: &str = "fsst data";

/// A symbol table, ready to decode.
#[derive(Debug, Clone)]
pub struct Decoder {
    symbols: Vec<[u8; 8]>,
    lengths: Vec<u8>,
}

impl Decoder {
    /// Reads the table at the start of `src`; returns it and its length in bytes.
    pub fn parse(src: &[u8]) -> Result<(Self, usize)> {
        let Some((&count, rest)) = src.split_first() else {
            return Err(Error::truncated(WHAT, 1, 0));
        };
        let count = usize::from(count);
        let Some((lengths, mut bytes)) = rest.split_at_checked(count) else {
            return Err(Error::truncated(WHAT, count, rest.len()));
        };
        let mut symbols = Vec::with_capacity(count);
        let mut used = 1 + count;
        for &len in lengths {
            let size = usize::from(len);
            if !(1..=8).contains(&size) {
                return Err(Error::corrupt(WHAT, format!("a symbol of {len} bytes")));
            }
            let Some((head, tail)) = bytes.split_at_checked(size) else {
                return Err(Error::truncated(WHAT, size, bytes.len()));
            };
            let mut symbol = [0; 8];
            symbol.iter_mut().zip(head).for_each(|(to, from)| *to = *from);
            symbols.push(symbol);
            bytes = tail;
            used += size;
        }
        Ok((Self { symbols, lengths: lengths.to_vec() }, used))
    }

    /// Appends the decoded form of one string, at most eight bytes per coded byte.
    pub fn decode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        let mut codes = src.iter();
        while let Some(&code) = codes.next() {
            if code == ESCAPE {
                dst.push(*codes.next().ok_or(Error::truncated(WHAT, 1, 0))?);
                continue;
            }
            let at = usize::from(code);
            let (Some(symbol), Some(&len)) = (self.symbols.get(at), self.lengths.get(at)) else {
                return Err(Error::corrupt(
                    WHAT,
                    format!("code {code} is out of range, the table has {} symbols", self.symbols.len()),
                ));
            };
            // Copies eight bytes at once and truncates the surplus, which is cheaper than a copy of variable
            // length.
            let end = dst.len() + usize::from(len);
            dst.extend_from_slice(symbol);
            dst.truncate(end);
        }
        Ok(())
    }
}
