//! Value dictionaries of the extended profile: the strings that the DICTIONARY pages of a column share.

use tesselle_codec::intpack::{frame, rle};
use tesselle_core::{Error, Result};

use super::values;
use crate::meta::types::Encoding;

/// The distinct strings of a column, in the order of their codes.
#[derive(Debug)]
pub(crate) struct ValueDictionary {
    offsets: Vec<i32>,
    bytes: Vec<u8>,
}

impl ValueDictionary {
    /// Reads `entries` strings, each with a length prefix.
    pub(crate) fn parse(payload: &[u8], entries: u64) -> Result<Self> {
        let n =
            usize::try_from(entries).map_err(|_| values::short("a value dictionary is too large".into()))?;
        let (mut offsets, mut bytes) = (vec![0], payload.to_vec());
        values::strings(&mut bytes, 0, n, &mut offsets)?;
        Ok(Self { offsets, bytes })
    }

    fn get(&self, code: u32) -> Option<&[u8]> {
        let at = code as usize;
        let (start, end) = (*self.offsets.get(at)?, *self.offsets.get(at + 1)?);
        self.bytes.get(start as usize..end as usize)
    }

    /// Appends the `n` strings of a page: one byte of encoding (RLE or BITPACK_FOR), then the codes.
    pub(crate) fn decode(
        &self,
        body: &[u8],
        n: usize,
        offsets: &mut Vec<i32>,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        let Some((&encoding, packed)) = body.split_first() else {
            return if n == 0 { Ok(()) } else { Err(values::short("a dictionary page is empty".into())) };
        };
        let mut codes: Vec<u32> = Vec::new();
        match Encoding::from_id(encoding) {
            Some(Encoding::Rle) => rle::decode(packed, n, &mut codes),
            Some(Encoding::BitpackFor) => frame::decode(packed, n, &mut codes),
            _ => {
                return Err(
                    Error::corrupt(format!("dictionary codes have encoding {encoding}")).class("bad_values")
                );
            }
        }
        .map_err(|e| Error::from(e).class("short_values"))?;
        offsets.reserve(n);
        for code in codes {
            let Some(value) = self.get(code) else {
                let entries = self.offsets.len() - 1;
                return Err(Error::corrupt(format!(
                    "code {code} is out of range, the dictionary has {entries} entries"
                ))
                .class("bad_values"));
            };
            bytes.extend_from_slice(value);
            offsets.push(values::offset(bytes.len())?);
        }
        Ok(())
    }
}
