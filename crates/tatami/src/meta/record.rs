//! The 32-byte header before every payload between header and footer. It is not covered by a checksum.
//!
//! ```text
//!  0  1  kind          4  4  values             16  4  nulls
//!  1  1  encoding      8  4  uncompressed size  20  4  first row within the group
//!  2  1  codec        12  4  compressed size    24  4  CRC-32C of the payload as stored
//!  3  1  flags                                  28  4  reserved
//! ```

use tesselle_codec::crc::crc32c;
use tesselle_core::{Action, Cursor, Error, Result};

use super::types::{Codec, RecordKind};

/// Bytes of a record header.
pub(crate) const RECORD_LEN: u64 = 32;
/// Page flag: a validity bitmap precedes the values.
pub(crate) const NULLS_PRESENT: u8 = 2;

/// A record header. Its sizes are untrusted: the payload must be inside the file, and the decoded size is
/// checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) kind: u8,
    pub(crate) encoding: u8,
    pub(crate) codec: u8,
    pub(crate) flags: u8,
    pub(crate) values: u32,
    pub(crate) uncompressed: u32,
    pub(crate) compressed: u32,
    pub(crate) nulls: u32,
    pub(crate) first_row: u32,
    pub(crate) crc: u32,
}

impl Record {
    /// The header of a payload that is not a data page.
    pub(crate) fn new(
        kind: RecordKind,
        codec: Codec,
        values: u32,
        uncompressed: u32,
        payload: &[u8],
    ) -> Self {
        Self {
            kind: kind.id(),
            encoding: 0,
            codec: codec.id(),
            flags: 0,
            values,
            uncompressed,
            compressed: payload.len() as u32,
            nulls: 0,
            first_row: 0,
            crc: crc32c(payload),
        }
    }

    /// Parses the header at `offset`.
    pub(crate) fn parse(bytes: &[u8], offset: u64) -> Result<Self> {
        let mut cursor = Cursor::new(bytes, offset, "record header");
        Ok(Self {
            kind: cursor.u8()?,
            encoding: cursor.u8()?,
            codec: cursor.u8()?,
            flags: cursor.u8()?,
            values: cursor.u32_le()?,
            uncompressed: cursor.u32_le()?,
            compressed: cursor.u32_le()?,
            nulls: cursor.u32_le()?,
            first_row: cursor.u32_le()?,
            crc: cursor.u32_le()?,
        })
    }

    /// The 32 bytes.
    pub(crate) fn to_bytes(self) -> [u8; 32] {
        let mut out = [0; 32];
        let words = [self.values, self.uncompressed, self.compressed, self.nulls, self.first_row, self.crc];
        let head = [self.kind, self.encoding, self.codec, self.flags];
        let all = head.into_iter().chain(words.into_iter().flat_map(u32::to_le_bytes));
        out.iter_mut().zip(all).for_each(|(to, from)| *to = from);
        out
    }

    /// Whether the page starts with a validity bitmap.
    pub(crate) fn has_nulls(&self) -> bool {
        self.flags & NULLS_PRESENT != 0
    }

    /// Bytes of header and payload.
    pub(crate) fn stored_len(&self) -> u64 {
        RECORD_LEN + u64::from(self.compressed)
    }

    /// Checks the checksum of a stored payload.
    pub(crate) fn check(&self, payload: &[u8], offset: u64) -> Result<()> {
        let computed = crc32c(payload);
        if computed == self.crc {
            return Ok(());
        }
        let what = RecordKind::from_id(self.kind).map_or("record", RecordKind::name);
        Err(Error::corrupt(format!(
            "{what} checksum mismatch: stored {:#010x}, computed {computed:#010x}",
            self.crc
        ))
        .class("page_checksum")
        .offset(offset)
        .suggest("{} lists all damage, {} keeps the other row groups", [Action::Verify, Action::Repair]))
    }
}
