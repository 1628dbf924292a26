//! The trailer, the last 12 bytes: footer length, CRC-32C of the footer, magic.

use tesselle_codec::crc::crc32c;
use tesselle_core::{Action, Cursor, Error, Result};

use super::header::{HEADER_LEN, MAGIC};

/// Bytes of the trailer.
pub(crate) const TRAILER_LEN: u64 = 12;
/// The smallest file: a header and a trailer.
pub(crate) const MIN_FILE_LEN: u64 = HEADER_LEN + TRAILER_LEN;

/// The location of the footer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trailer {
    pub(crate) footer_offset: u64,
    pub(crate) footer_len: u32,
    pub(crate) footer_crc: u32,
}

impl Trailer {
    /// Parses the last 12 bytes of a file of `file_len` bytes.
    pub(crate) fn parse(bytes: &[u8], file_len: u64) -> Result<Self> {
        let at = file_len.saturating_sub(TRAILER_LEN);
        let mut cursor = Cursor::new(bytes, at, "trailer");
        let (footer_len, footer_crc, magic) = (cursor.u32_le()?, cursor.u32_le()?, cursor.array::<4>()?);
        if magic != MAGIC {
            let found = magic.escape_ascii();
            return Err(Error::corrupt(format!("the file ends with \"{found}\", expected \"TAT1\""))
                .class("bad_end_magic")
                .offset(file_len.saturating_sub(4))
                .suggest(
                    "the file is truncated or was never finished; {} recovers its intact records",
                    [Action::Repair],
                ));
        }
        let footer_offset = at.checked_sub(u64::from(footer_len)).filter(|offset| *offset >= HEADER_LEN);
        let Some(footer_offset) = footer_offset else {
            return Err(Error::corrupt(format!("a footer of {footer_len} bytes does not fit the file"))
                .class("bad_footer_length")
                .offset(at));
        };
        Ok(Self { footer_offset, footer_len, footer_crc })
    }

    /// Checks the checksum of the footer.
    pub(crate) fn check(&self, footer: &[u8]) -> Result<()> {
        let computed = crc32c(footer);
        if computed == self.footer_crc {
            return Ok(());
        }
        let stored = self.footer_crc;
        Err(Error::corrupt(format!(
            "footer checksum mismatch: stored {stored:#010x}, computed {computed:#010x}"
        ))
        .class("footer_checksum")
        .offset(self.footer_offset)
        .suggest("{} recovers the intact parts", [Action::Repair]))
    }

    /// The 12 bytes after `footer`.
    pub(crate) fn bytes_for(footer: &[u8]) -> [u8; 12] {
        let mut out = [0; 12];
        let words = [footer.len() as u32, crc32c(footer)].into_iter().flat_map(u32::to_le_bytes);
        out.iter_mut().zip(words.chain(MAGIC)).for_each(|(to, from)| *to = from);
        out
    }
}
