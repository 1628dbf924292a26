//! The superblock.
//!
//! | off | size | field |
//! |---|---|---|
//! | 0 | 4 | magic `TETR` |
//! | 4 | 4 | layout_version, 1 |
//! | 8 | 4 | dataset_count |
//! | 12 | 4 | flags; bit 0: a footer is present, the others are ignored |
//! | 16 | 8 | chunk_index_offset |
//! | 24 | 8 | chunk_index_length |

use tesselle_core::{Cursor, Error, Result};

/// `TETR`.
pub(crate) const MAGIC: [u8; 4] = *b"TETR";

/// The only layout version.
pub(crate) const LAYOUT_VERSION: u32 = 1;

/// Flag bit 0: the file ends in a footer.
pub(crate) const FLAG_FOOTER: u32 = 1;

/// The first 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Superblock {
    pub(crate) dataset_count: u32,
    pub(crate) flags: u32,
    pub(crate) chunk_index_offset: u64,
    pub(crate) chunk_index_length: u64,
}

impl Superblock {
    /// Its size.
    pub(crate) const LEN: usize = 32;

    /// Whether a footer is promised.
    pub(crate) fn has_footer(&self) -> bool {
        self.flags & FLAG_FOOTER != 0
    }

    /// Parses the head of a file of `file_len` bytes, without the bounds of the index.
    pub(crate) fn parse(head: &[u8], file_len: u64) -> Result<Self> {
        let Some(head) = head.get(..Self::LEN) else {
            return Err(Error::corrupt(format!("the file has {file_len} bytes, a superblock takes 32"))
                .class("superblock_too_short")
                .offset(0)
                .piece("superblock"));
        };
        let mut cursor = Cursor::new(head, 0, "superblock");
        let magic = cursor.array::<4>()?;
        if magic != MAGIC {
            return Err(Error::corrupt(format!(
                "the file starts with {:?}, not with TETR",
                String::from_utf8_lossy(&magic)
            ))
            .class("bad_magic")
            .offset(0)
            .piece("superblock magic"));
        }
        let layout_version = cursor.u32_le()?;
        if layout_version != LAYOUT_VERSION {
            return Err(Error::unsupported(format!(
                "layout version {layout_version} is not known, only 1 is"
            ))
            .class("unsupported_layout_version")
            .offset(4)
            .piece("superblock layout_version")
            .hint("the file may come from a newer writer"));
        }
        Ok(Self {
            dataset_count: cursor.u32_le()?,
            flags: cursor.u32_le()?,
            chunk_index_offset: cursor.u64_le()?,
            chunk_index_length: cursor.u64_le()?,
        })
    }

    /// Fails for an index that is not inside the file.
    pub(crate) fn check_index_bounds(&self, file_len: u64) -> Result<()> {
        let end = self.chunk_index_offset.checked_add(self.chunk_index_length);
        if end.is_some_and(|end| end <= file_len) {
            return Ok(());
        }
        Err(Error::corrupt(format!(
            "the chunk index takes {} bytes at {}, but the file has {file_len}",
            self.chunk_index_length, self.chunk_index_offset
        ))
        .class("index_out_of_bounds")
        .offset(16)
        .piece("superblock chunk_index_offset"))
    }

    /// The bytes.
    pub(crate) fn to_bytes(self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        out[0..4].copy_from_slice(&MAGIC);
        out[4..8].copy_from_slice(&LAYOUT_VERSION.to_le_bytes());
        out[8..12].copy_from_slice(&self.dataset_count.to_le_bytes());
        out[12..16].copy_from_slice(&self.flags.to_le_bytes());
        out[16..24].copy_from_slice(&self.chunk_index_offset.to_le_bytes());
        out[24..32].copy_from_slice(&self.chunk_index_length.to_le_bytes());
        out
    }
}
