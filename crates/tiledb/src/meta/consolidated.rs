//! Consolidated fragment metadata (spec §16): the footers of several fragments in one generic tile. Only a cache.
//!
//! ```text
//! u32 count | per fragment: u64 len, name | u64 offset | footers      offsets count from the start of the payload
//! ```

use super::commits::stem;
use super::wire::bytes64;
use crate::{Cursor, Result};

/// The footers of several fragments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConsolidatedFooters {
    /// Names (or absolute URIs, from old writers) and where the footer starts in the payload.
    entries: Vec<(String, usize)>,
    payload: Vec<u8>,
}

impl ConsolidatedFooters {
    /// Reads the payload of a `.meta` file.
    pub(crate) fn parse(payload: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(payload, 0, "consolidated fragment metadata");
        let stated = cursor.u32_le()?;
        let count = cursor.count(stated.into(), 16)?;
        let mut entries = Vec::with_capacity(count);
        for _ in 0..count {
            let name = String::from_utf8_lossy(bytes64(&mut cursor)?).into_owned();
            let offset = cursor.u64_le()?;
            let offset = usize::try_from(offset).ok().filter(|offset| *offset <= payload.len());
            let offset =
                offset.ok_or_else(|| cursor.corrupt(format!("the footer of '{name}' lies outside")))?;
            entries.push((name, offset));
        }
        Ok(Self { entries, payload: payload.to_vec() })
    }

    /// The bytes from the footer of a fragment on.
    pub(crate) fn footer_of(&self, name: &str) -> Option<&[u8]> {
        let (_, offset) = self.entries.iter().find(|(entry, _)| stem(entry) == name)?;
        let end = self.entries.iter().map(|(_, other)| *other).filter(|other| other > offset).min();
        self.payload.get(*offset..end.unwrap_or(self.payload.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::wire::put_bytes64;

    /// The payload for these footers.
    fn payload_of(footers: &[(String, Vec<u8>)]) -> Vec<u8> {
        let mut out = (footers.len() as u32).to_le_bytes().to_vec();
        let mut offset = footers.iter().fold(4_u64, |sum, (name, _)| sum + 16 + name.len() as u64);
        for (name, footer) in footers {
            put_bytes64(&mut out, name.as_bytes());
            out.extend_from_slice(&offset.to_le_bytes());
            offset += footer.len() as u64;
        }
        for (_, footer) in footers {
            out.extend_from_slice(footer);
        }
        out
    }

    #[test]
    fn footers_are_found_by_name() {
        let footers =
            vec![("__1_1_a_22".to_owned(), b"first".to_vec()), ("__2_2_b_22".to_owned(), b"second".to_vec())];
        let payload = payload_of(&footers);
        let parsed = ConsolidatedFooters::parse(&payload).unwrap();
        assert_eq!(parsed.footer_of("__1_1_a_22"), Some(&b"first"[..]));
        assert_eq!(parsed.footer_of("__2_2_b_22"), Some(&b"second"[..]));
        assert_eq!(parsed.footer_of("__3_3_c_22"), None);
        assert!(ConsolidatedFooters::parse(&payload[..20]).is_err());
    }
}
