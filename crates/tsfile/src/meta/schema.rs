//! Stored schemas: measurements in 0.8 and 000001, tables in version 4.

use tesselle_core::{ColumnRole, Cursor, Error, Result};

use super::primitive::Primitives as _;
use super::{Compression, DataType, Encoding, PutPrimitives, primitive::len32};

/// Key-value properties of a schema, in file order.
pub type Properties = Vec<(String, String)>;

/// The schema of a measurement name (0.8 and 000001: shared by every device that has it).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasurementSchema {
    /// The measurement.
    pub name: String,
    /// The type of its values.
    pub data_type: DataType,
    /// The encoding of its values.
    pub encoding: Encoding,
    /// The compression of its pages.
    pub compression: Compression,
    /// Settings of the encoder, e.g. `max_point_number`.
    pub properties: Properties,
}

impl MeasurementSchema {
    /// Reads one entry of the map in 0.8 and 000001: the key, which repeats the name, and the schema itself.
    pub(crate) fn parse_entry(cursor: &mut Cursor<'_>) -> Result<(String, Self)> {
        let key = cursor.string()?.to_string();
        let name = cursor.string()?.to_string();
        let data_type = DataType::from_code(i32::from(cursor.i16_be()?))?;
        let encoding = Encoding::from_code(i32::from(cursor.i16_be()?))?;
        let compression = Compression::from_code(i32::from(cursor.i16_be()?))?;
        let properties = parse_properties(cursor)?;
        Ok((key, Self { name, data_type, encoding, compression, properties }))
    }

    /// Writes what [`MeasurementSchema::parse_entry`] reads.
    pub(crate) fn write_entry(&self, out: &mut Vec<u8>) -> Result<()> {
        out.put_string(&self.name)?;
        out.put_string(&self.name)?;
        out.put_i16(i16::from(self.data_type.code()));
        out.put_i16(i16::from(self.encoding.code()));
        out.put_i16(i16::from(self.compression.code()));
        write_properties(&self.properties, out)
    }
}

/// The category of a column of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    /// Part of the device.
    Tag,
    /// A measurement.
    Field,
    /// A property of the device, stored outside the file.
    Attribute,
    /// The time column, never stored.
    Time,
}

impl Category {
    const ALL: [Self; 4] = [Self::Tag, Self::Field, Self::Attribute, Self::Time];

    /// The category of a column.
    pub(crate) fn role(self) -> ColumnRole {
        match self {
            Self::Tag => ColumnRole::Tag,
            Self::Field => ColumnRole::Field,
            Self::Attribute => ColumnRole::Attribute,
            Self::Time => ColumnRole::Time,
        }
    }
}

/// A table of version 4.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableSchema {
    /// Its name.
    pub name: String,
    /// Its columns as declared.
    pub columns: Vec<(MeasurementSchema, Category)>,
}

impl TableSchema {
    /// Reads a table.
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        let name = cursor.vstr()?.to_string();
        let n = cursor.uvar()?;
        let mut columns = Vec::with_capacity(cursor.count(u64::from(n), 15)?);
        for _ in 0..n {
            let name = cursor.string()?.to_string();
            let data_type = DataType::from_code(i32::from(cursor.u8()?))?;
            let encoding = Encoding::from_code(i32::from(cursor.u8()?))?;
            let compression = Compression::from_code(i32::from(cursor.u8()?))?;
            let properties = parse_properties(cursor)?;
            let at = cursor.offset();
            let code = cursor.i32_be()?;
            let category = usize::try_from(code).ok().and_then(|i| Category::ALL.get(i)).copied();
            let category = category.ok_or_else(|| {
                Error::corrupt(format!("column category {code} is not known")).class("bad_schema").offset(at)
            })?;
            columns
                .push((MeasurementSchema { name, data_type, encoding, compression, properties }, category));
        }
        Ok(Self { name, columns })
    }

    /// Writes what [`TableSchema::parse`] reads.
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        out.put_vstr(Some(&self.name))?;
        out.put_uvar(len32(self.columns.len())?.cast_unsigned());
        for (column, category) in &self.columns {
            out.put_string(&column.name)?;
            out.extend([column.data_type.code(), column.encoding.code(), column.compression.code()]);
            write_properties(&column.properties, out)?;
            out.put_i32(*category as i32);
        }
        Ok(())
    }
}

fn parse_properties(cursor: &mut Cursor<'_>) -> Result<Properties> {
    let n = cursor.len32()?;
    let mut properties = Vec::with_capacity(cursor.count(n, 8)?);
    for _ in 0..n {
        properties.push((cursor.string()?.to_string(), cursor.string()?.to_string()));
    }
    Ok(properties)
}

fn write_properties(properties: &Properties, out: &mut Vec<u8>) -> Result<()> {
    out.put_i32(len32(properties.len())?);
    for (key, value) in properties {
        out.put_string(key)?;
        out.put_string(value)?;
    }
    Ok(())
}
