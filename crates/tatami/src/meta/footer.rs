//! The footer: a codec byte, then tagged sections in any order. Unknown tags are skipped.

use tesselle_codec::varint;
use tesselle_core::{Cursor, Error, Result};

use super::extension::{self, Extension};
use super::groups::RowGroup;
use super::inverted::{Inverted, Run};
use super::reclass;
use super::regions::{BlobColumn, BloomRef, DictionaryRef};
use super::schema::{RawField, Schema, read_bytes, write_bytes};

/// Section tags.
pub(crate) mod tags {
    pub(crate) const SCHEMA: u64 = 1;
    pub(crate) const ROW_GROUPS: u64 = 2;
    pub(crate) const BLOBS: u64 = 3;
    pub(crate) const DICTIONARIES: u64 = 4;
    pub(crate) const BLOOMS: u64 = 5;
    pub(crate) const KEY_VALUE: u64 = 6;
    pub(crate) const STATS: u64 = 7;
    pub(crate) const INVERTED: u64 = 8;
    /// The positions of an inverted index, which other readers skip: `uv` record offset, `uv` length.
    pub(crate) const POSITIONS: u64 = 0x7E56;
}

/// Whether a section of this tag is understood.
pub(crate) fn is_known_section(tag: u64) -> bool {
    (tags::SCHEMA..=tags::INVERTED).contains(&tag) || tag == extension::TAG || tag == tags::POSITIONS
}

/// Totals over the file: payload bytes without record headers and index records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Stats {
    pub(crate) rows: u64,
    pub(crate) uncompressed: u64,
    pub(crate) compressed: u64,
}

/// A footer with an unchecked schema: files are refused in the order of the original reader, which checks the
/// header between parsing and checking.
#[derive(Debug, Clone, Default)]
pub(crate) struct RawFooter {
    pub(crate) fields: Vec<RawField>,
    pub(crate) rest: Footer,
}

/// The contents of the footer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Footer {
    pub(crate) schema: Schema,
    pub(crate) groups: Vec<RowGroup>,
    pub(crate) blobs: Vec<BlobColumn>,
    pub(crate) dictionaries: Vec<DictionaryRef>,
    pub(crate) blooms: Vec<BloomRef>,
    pub(crate) inverted: Option<Inverted>,
    pub(crate) positions: Option<Run>,
    /// Keys may repeat; the first one wins. Raw bytes, by convention UTF-8.
    pub(crate) key_value: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) stats: Stats,
    pub(crate) extension: Extension,
    /// Tag, offset in the file and length of each section body, in file order.
    pub(crate) sections: Vec<(u64, u64, u64)>,
}

impl RawFooter {
    /// Parses the footer at `offset`; `minor` is the header's minor version.
    pub(crate) fn parse(bytes: &[u8], offset: u64, minor: u16) -> Result<Self> {
        let mut cursor = Cursor::new(bytes, offset, "footer");
        let bad = |e: Error| reclass(&e, "bad_footer");
        let codec = cursor.u8().map_err(bad)?;
        if codec != 0 {
            return Err(Error::unsupported(format!("footer codec {codec} is not known"))
                .class("unsupported_footer_codec")
                .offset(offset)
                .hint("supported is 0; the file may come from a newer writer"));
        }
        let mut footer = Self::default();
        let mut has_schema = false;
        while !cursor.is_empty() {
            has_schema |= footer.section(&mut cursor, minor).map_err(bad)?;
        }
        if !has_schema {
            return Err(Error::corrupt("the footer has no schema section")
                .class("missing_schema")
                .offset(offset));
        }
        Ok(footer)
    }

    /// Reads one section; returns true if it was the schema.
    fn section(&mut self, cursor: &mut Cursor<'_>, minor: u16) -> Result<bool> {
        let (tag, len) = (cursor.uvarint()?, cursor.uvarint()?);
        let rest = &mut self.rest;
        rest.sections.push((tag, cursor.offset(), len));
        let body = &mut cursor.sub(len, "footer section")?;
        match tag {
            tags::SCHEMA => self.fields = Schema::parse(body)?,
            tags::ROW_GROUPS => rest.groups = RowGroup::parse_all(body, minor)?,
            tags::BLOBS => rest.blobs = BlobColumn::parse_all(body)?,
            tags::DICTIONARIES => rest.dictionaries = DictionaryRef::parse_all(body)?,
            tags::BLOOMS => rest.blooms = BloomRef::parse_all(body)?,
            tags::KEY_VALUE => rest.key_value = read_pairs(body)?,
            tags::STATS => {
                rest.stats = Stats {
                    rows: body.uvarint()?,
                    uncompressed: body.uvarint()?,
                    compressed: body.uvarint()?,
                };
            }
            tags::INVERTED => rest.inverted = Some(Inverted::parse(body)?),
            tags::POSITIONS => rest.positions = Some(Run { offset: body.uvarint()?, len: body.uvarint()? }),
            extension::TAG => rest.extension = Extension::parse(body)?,
            _ => {}
        }
        Ok(tag == tags::SCHEMA)
    }

    /// Checks the rules of the schema.
    pub(crate) fn check(self) -> Result<Footer> {
        Ok(Footer { schema: Schema::check(self.fields)?, ..self.rest })
    }
}

impl Footer {
    /// The footer bytes, with sections in the order of the original writer. Minor version 0 has no indexes.
    pub(crate) fn to_bytes(&self, minor: u16) -> Vec<u8> {
        let mut out = vec![0];
        let mut section = |tag: u64, write: &dyn Fn(&mut Vec<u8>)| {
            let mut body = Vec::new();
            write(&mut body);
            varint::write(tag, &mut out);
            write_bytes(&body, &mut out);
        };
        section(tags::SCHEMA, &|body| self.schema.write(body));
        section(tags::ROW_GROUPS, &|body| RowGroup::write_all(&self.groups, minor, body));
        if !self.blobs.is_empty() {
            section(tags::BLOBS, &|body| BlobColumn::write_all(&self.blobs, body));
        }
        if !self.dictionaries.is_empty() {
            section(tags::DICTIONARIES, &|body| DictionaryRef::write_all(&self.dictionaries, body));
        }
        if !self.blooms.is_empty() {
            section(tags::BLOOMS, &|body| BloomRef::write_all(&self.blooms, body));
        }
        if let Some(inverted) = &self.inverted {
            section(tags::INVERTED, &|body| inverted.write(body));
        }
        section(tags::KEY_VALUE, &|body| write_pairs(&self.key_value, body));
        section(tags::STATS, &|body| {
            for n in [self.stats.rows, self.stats.uncompressed, self.stats.compressed] {
                varint::write(n, body);
            }
        });
        if self.extension.features != 0 {
            section(extension::TAG, &|body| self.extension.write(body));
        }
        if let Some(run) = self.positions {
            section(tags::POSITIONS, &|body| {
                varint::write(run.offset, body);
                varint::write(run.len, body);
            });
        }
        out
    }

    /// The descriptor of a blob column.
    pub(crate) fn blob_column(&self, column: usize) -> Option<&BlobColumn> {
        self.blobs.iter().find(|b| b.column == column as u64)
    }
}

fn read_pairs(cursor: &mut Cursor<'_>) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let n = cursor.uvarint()?;
    let n = cursor.count(n, 2)?;
    (0..n).map(|_| Ok((read_bytes(cursor)?.to_vec(), read_bytes(cursor)?.to_vec()))).collect()
}

fn write_pairs(pairs: &[(Vec<u8>, Vec<u8>)], out: &mut Vec<u8>) {
    varint::write(pairs.len() as u64, out);
    for (key, value) in pairs {
        write_bytes(key, out);
        write_bytes(value, out);
    }
}
