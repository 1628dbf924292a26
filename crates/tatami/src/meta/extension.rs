//! The extended profile: a footer section that declares the features outside the original format that a file
//! uses.
//!
//! Readers of the plain format skip the section and refuse the pages that use a feature, because their ids
//! are reserved there. Without the section the ids are refused here as well, so that damage is not read as an
//! extension.
//!
//! ```text
//! uv  feature bits     1 DICTIONARY pages, 2 FSST pages, 4 LZ4 records, 8 LIST columns
//! uv  value dictionaries; each: uv column, uv record offset, uv stored size, uv entries
//! ```

use tesselle_codec::varint;
use tesselle_core::{Cursor, Result};

/// The footer tag of the section, well above those of the original.
pub(crate) const TAG: u64 = 0x7E55;

/// Feature bits.
pub(crate) mod features {
    /// Pages of codes into a value dictionary.
    pub(crate) const DICTIONARY: u64 = 1;
    /// Pages of strings coded with a symbol table.
    pub(crate) const FSST: u64 = 2;
    /// Records compressed with LZ4.
    pub(crate) const LZ4: u64 = 4;
    /// List columns with rows.
    pub(crate) const LIST: u64 = 8;
}

/// The values that the DICTIONARY pages of a column share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DictionaryEntry {
    pub(crate) column: u64,
    pub(crate) offset: u64,
    /// Size of the stored payload in bytes.
    pub(crate) stored: u64,
    pub(crate) entries: u64,
}

/// Features in use; the default is the plain format.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Extension {
    pub(crate) features: u64,
    pub(crate) dictionaries: Vec<DictionaryEntry>,
}

impl Extension {
    /// Whether a feature is declared.
    pub(crate) fn has(&self, feature: u64) -> bool {
        self.features & feature != 0
    }

    /// The value dictionary of a column.
    pub(crate) fn dictionary(&self, column: usize) -> Option<&DictionaryEntry> {
        self.dictionaries.iter().find(|d| d.column == column as u64)
    }

    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        let features = cursor.uvarint()?;
        let n = cursor.uvarint()?;
        let n = cursor.count(n, 4)?;
        let dictionaries = (0..n).map(|_| {
            Ok(DictionaryEntry {
                column: cursor.uvarint()?,
                offset: cursor.uvarint()?,
                stored: cursor.uvarint()?,
                entries: cursor.uvarint()?,
            })
        });
        Ok(Self { features, dictionaries: dictionaries.collect::<Result<_>>()? })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        varint::write(self.features, out);
        varint::write(self.dictionaries.len() as u64, out);
        for one in &self.dictionaries {
            for n in [one.column, one.offset, one.stored, one.entries] {
                varint::write(n, out);
            }
        }
    }
}
