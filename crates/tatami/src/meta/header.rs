//! The header, the first 64 bytes.
//!
//! ```text
//!  0  4  magic "TAT1"           16 16  file uuid
//!  4  2  version major          32  8  row count
//!  6  2  version minor          40  8  footer offset
//!  8  2  flags                  48  8  creation time, ms
//! 10  1  checksum algorithm     56  4  creator id
//! 11  1  default codec          60  4  CRC-32C of bytes 0..60
//! 12  4  page size hint
//! ```

use tesselle_codec::crc::crc32c;
use tesselle_core::{At, Cursor, Error, Result};

use super::reclass;

/// First and last four bytes of a file.
pub(crate) const MAGIC: [u8; 4] = *b"TAT1";
/// Bytes of the header.
pub(crate) const HEADER_LEN: u64 = 64;

/// Header flags.
pub(crate) mod flags {
    /// The schema has a sort key.
    pub(crate) const SORTED: u16 = 1;
    /// The footer describes blob columns.
    pub(crate) const BLOBS: u16 = 2;
    /// There is a dictionary region.
    pub(crate) const DICTIONARIES: u16 = 4;
    /// There is an index region.
    pub(crate) const INDEXES: u16 = 8;
    /// An inverted index is attached.
    pub(crate) const SEARCH: u16 = 16;
    /// Its term dictionary is a block tree.
    pub(crate) const BLOCK_TREE: u16 = 32;
    /// All flags that have a meaning.
    pub(crate) const KNOWN: u16 = 63;
}

/// The header of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) major: u16,
    pub(crate) minor: u16,
    pub(crate) flags: u16,
    pub(crate) checksum: u8,
    pub(crate) default_codec: u8,
    pub(crate) page_size_hint: u32,
    pub(crate) uuid: [u8; 16],
    pub(crate) rows: u64,
    pub(crate) footer_offset: u64,
    pub(crate) created_ms: u64,
    pub(crate) creator_id: u32,
}

impl Header {
    /// Parses and checks the first 64 bytes, up to the version.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes, 0, "header");
        Self::read(&mut cursor, bytes)
            .map_err(|e| if e.class_name() == "truncated" { reclass(&e, "too_small") } else { e })
    }

    fn read(cursor: &mut Cursor<'_>, bytes: &[u8]) -> Result<Self> {
        let magic: [u8; 4] = cursor.array()?;
        if magic != MAGIC {
            let found = magic.escape_ascii();
            return Err(Error::corrupt(format!("the file starts with \"{found}\", expected \"TAT1\""))
                .class("bad_magic")
                .offset(0));
        }
        let header = Self {
            major: cursor.u16_le()?,
            minor: cursor.u16_le()?,
            flags: cursor.u16_le()?,
            checksum: cursor.u8()?,
            default_codec: cursor.u8()?,
            page_size_hint: cursor.u32_le()?,
            uuid: cursor.array()?,
            rows: cursor.u64_le()?,
            footer_offset: cursor.u64_le()?,
            created_ms: cursor.u64_le()?,
            creator_id: cursor.u32_le()?,
        };
        let stored = cursor.u32_le()?;
        let computed = crc32c(bytes.part(..60)?);
        if stored != computed {
            return Err(Error::corrupt(format!(
                "header checksum mismatch: stored {stored:#010x}, computed {computed:#010x}"
            ))
            .class("header_checksum")
            .offset(60));
        }
        if header.major != 1 {
            return Err(Error::unsupported(format!(
                "format version {}.{} is not known",
                header.major, header.minor
            ))
            .class("unsupported_version")
            .offset(4)
            .hint("supported is version 1; the file may come from a newer writer"));
        }
        Ok(header)
    }

    /// The 64 bytes, checksum included.
    pub(crate) fn to_bytes(&self) -> [u8; 64] {
        let mut out = Vec::with_capacity(64);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&self.major.to_le_bytes());
        out.extend_from_slice(&self.minor.to_le_bytes());
        out.extend_from_slice(&self.flags.to_le_bytes());
        out.push(self.checksum);
        out.push(self.default_codec);
        out.extend_from_slice(&self.page_size_hint.to_le_bytes());
        out.extend_from_slice(&self.uuid);
        out.extend_from_slice(&self.rows.to_le_bytes());
        out.extend_from_slice(&self.footer_offset.to_le_bytes());
        out.extend_from_slice(&self.created_ms.to_le_bytes());
        out.extend_from_slice(&self.creator_id.to_le_bytes());
        let crc = crc32c(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        let mut bytes = [0; 64];
        bytes.copy_from_slice(&out);
        bytes
    }

    /// The names of the set flags; unknown ones by number.
    pub(crate) fn flag_names(&self) -> Vec<String> {
        const NAMES: [&str; 6] = ["sorted", "blobs", "dictionaries", "indexes", "search", "block_tree"];
        let set = (0..u16::BITS as usize).filter(|bit| self.has(1 << bit));
        set.map(|bit| NAMES.get(bit).map_or_else(|| format!("bit {bit}"), |name| (*name).to_owned()))
            .collect()
    }

    /// Whether a flag is set.
    pub(crate) fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }
}
