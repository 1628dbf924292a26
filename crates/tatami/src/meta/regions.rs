//! The footer lists of blob columns, dictionaries and bloom filters, with the locations of their records.

use tesselle_codec::varint;
use tesselle_core::{Cursor, Result};

/// One run of a blob column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlobRun {
    pub(crate) offset: u64,
    pub(crate) compressed: u64,
    pub(crate) uncompressed: u64,
    pub(crate) values: u64,
}

/// The location of the values of a blob column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlobColumn {
    pub(crate) column: u64,
    /// 1-based index into the dictionaries; 0 is none.
    pub(crate) dictionary: u64,
    pub(crate) codec: u8,
    pub(crate) runs: Vec<BlobRun>,
}

impl BlobColumn {
    pub(crate) fn parse_all(cursor: &mut Cursor<'_>) -> Result<Vec<Self>> {
        let n = cursor.uvarint()?;
        let n = cursor.count(n, 4)?;
        (0..n).map(|_| Self::parse(cursor)).collect()
    }

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        let (column, dictionary, codec) = (cursor.uvarint()?, cursor.uvarint()?, cursor.u8()?);
        let n = cursor.uvarint()?;
        let n = cursor.count(n, 4)?;
        let runs = (0..n).map(|_| {
            Ok(BlobRun {
                offset: cursor.uvarint()?,
                compressed: cursor.uvarint()?,
                uncompressed: cursor.uvarint()?,
                values: cursor.uvarint()?,
            })
        });
        Ok(Self { column, dictionary, codec, runs: runs.collect::<Result<_>>()? })
    }

    pub(crate) fn write_all(columns: &[Self], out: &mut Vec<u8>) {
        varint::write(columns.len() as u64, out);
        for column in columns {
            varint::write(column.column, out);
            varint::write(column.dictionary, out);
            out.push(column.codec);
            varint::write(column.runs.len() as u64, out);
            for run in &column.runs {
                for n in [run.offset, run.compressed, run.uncompressed, run.values] {
                    varint::write(n, out);
                }
            }
        }
    }
}

/// A content dictionary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DictionaryRef {
    pub(crate) offset: u64,
    pub(crate) uncompressed: u64,
}

impl DictionaryRef {
    pub(crate) fn parse_all(cursor: &mut Cursor<'_>) -> Result<Vec<Self>> {
        let n = cursor.uvarint()?;
        let n = cursor.count(n, 2)?;
        (0..n).map(|_| Ok(Self { offset: cursor.uvarint()?, uncompressed: cursor.uvarint()? })).collect()
    }

    pub(crate) fn write_all(all: &[Self], out: &mut Vec<u8>) {
        varint::write(all.len() as u64, out);
        for one in all {
            varint::write(one.offset, out);
            varint::write(one.uncompressed, out);
        }
    }
}

/// A bloom filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BloomRef {
    pub(crate) offset: u64,
    pub(crate) len: u64,
    /// 0; others are reserved.
    pub(crate) kind: u8,
}

impl BloomRef {
    pub(crate) fn parse_all(cursor: &mut Cursor<'_>) -> Result<Vec<Self>> {
        let n = cursor.uvarint()?;
        let n = cursor.count(n, 3)?;
        (0..n)
            .map(|_| Ok(Self { offset: cursor.uvarint()?, len: cursor.uvarint()?, kind: cursor.u8()? }))
            .collect()
    }

    pub(crate) fn write_all(all: &[Self], out: &mut Vec<u8>) {
        varint::write(all.len() as u64, out);
        for one in all {
            varint::write(one.offset, out);
            varint::write(one.len, out);
            out.push(one.kind);
        }
    }
}
