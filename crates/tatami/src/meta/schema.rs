//! The schema section: fields with their type and flags.

use tesselle_codec::varint;
use tesselle_core::{Cursor, Error, Result};

use super::types::LogicalType;

/// Field flags.
pub(crate) mod flags {
    /// Values may be null.
    pub(crate) const NULLABLE: u8 = 1;
    /// The file is sorted by this field.
    pub(crate) const SORT_KEY: u8 = 2;
    /// A hint that values are large; has no effect.
    pub(crate) const BLOB_SEPARATED: u8 = 4;
    /// A bloom filter is written per row group.
    pub(crate) const BLOOM: u8 = 16;
}

/// One column of the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    /// Raw bytes; by convention UTF-8.
    pub(crate) name: Vec<u8>,
    pub(crate) logical: LogicalType,
    pub(crate) flags: u8,
    /// The element type of a list, 0 otherwise.
    pub(crate) element: u8,
}

impl Field {
    /// Whether a flag is set.
    pub(crate) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The name as a string; bytes that are not UTF-8 are replaced.
    pub(crate) fn display_name(&self) -> String {
        String::from_utf8_lossy(&self.name).into_owned()
    }

    /// The element type of a list.
    pub(crate) fn element_type(&self) -> Option<LogicalType> {
        LogicalType::from_id(self.element)
    }
}

/// The columns of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Schema {
    pub(crate) fields: Vec<Field>,
}

impl Schema {
    /// Parses the section; [`Schema::check`] applies the rules later, after the header is checked.
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Vec<RawField>> {
        let n = cursor.uvarint()?;
        let n = cursor.count(n, 4)?;
        (0..n).map(|_| RawField::parse(cursor)).collect()
    }

    /// Checks the rules of a valid schema.
    pub(crate) fn check(raw: Vec<RawField>) -> Result<Self> {
        let refuse = |message: String| Err(Error::corrupt(message).class("bad_schema"));
        if raw.is_empty() {
            return refuse("the schema has no fields".into());
        }
        let mut fields: Vec<Field> = Vec::with_capacity(raw.len());
        let mut names = std::collections::HashSet::new();
        for (i, field) in raw.into_iter().enumerate() {
            let name = String::from_utf8_lossy(&field.name).into_owned();
            if field.name.is_empty() {
                return refuse(format!("field {i} of the schema has no name"));
            }
            if !names.insert(field.name.clone()) {
                return refuse(format!("the schema has two fields named '{name}'"));
            }
            let Some(logical) = LogicalType::from_id(field.logical) else {
                return refuse(format!("field '{name}' has the unknown type {}", field.logical));
            };
            fields.push(Field { name: field.name, logical, flags: field.flags, element: field.element });
        }
        let keys = fields.iter().filter(|f| f.has(flags::SORT_KEY)).count();
        if keys > 1 {
            return refuse(format!("the schema declares {keys} sort keys, at most one is allowed"));
        }
        Ok(Self { fields })
    }

    /// Appends the section body.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        varint::write(self.fields.len() as u64, out);
        for field in &self.fields {
            write_bytes(&field.name, out);
            out.extend([field.logical.id(), field.flags, field.element]);
        }
    }

    /// The column the file is sorted by.
    pub(crate) fn sort_key(&self) -> Option<usize> {
        self.fields.iter().position(|f| f.has(flags::SORT_KEY))
    }
}

/// A field as stored, not yet checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RawField {
    name: Vec<u8>,
    logical: u8,
    flags: u8,
    element: u8,
}

impl RawField {
    fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        Ok(Self {
            name: read_bytes(cursor)?.to_vec(),
            logical: cursor.u8()?,
            flags: cursor.u8()?,
            element: cursor.u8()?,
        })
    }
}

/// Reads a length and that many bytes.
pub(crate) fn read_bytes<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8]> {
    let n = cursor.uvarint()?;
    cursor.bytes_u64(n)
}

/// Appends a length and the bytes.
pub(crate) fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    varint::write(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}
