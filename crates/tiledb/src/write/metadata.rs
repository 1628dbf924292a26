//! Metadata of arrays and groups (spec §14): named values, one file per write.

use tesselle_core::Location;

use super::array::ArrayWriter;
use super::commit::put;
use super::name::{WRITE_VERSION, fresh, stamp};
use crate::filter::Key;
use crate::meta::generic_tile::GenericTile;
use crate::meta::key_value::{Entries, MetadataValue, write};
use crate::{Datatype, Error, Result};

impl MetadataValue {
    /// A UTF-8 string.
    pub fn string(text: &str) -> Result<Self> {
        Self::of(Datatype::StringUtf8, text.as_bytes().to_vec())
    }

    /// A 64-bit integer.
    pub fn integer(value: i64) -> Self {
        Self { datatype: Datatype::Int64, count: 1, bytes: value.to_le_bytes().to_vec() }
    }

    /// A 64-bit float.
    pub fn float(value: f64) -> Self {
        Self { datatype: Datatype::Float64, count: 1, bytes: value.to_le_bytes().to_vec() }
    }

    /// Values of any datatype, as bytes.
    pub fn of(datatype: Datatype, bytes: Vec<u8>) -> Result<Self> {
        let count = u32::try_from(bytes.len() / datatype.size()).ok();
        match count.filter(|_| bytes.len().is_multiple_of(datatype.size())) {
            Some(count) => Ok(Self { datatype, count, bytes }),
            None => {
                Err(Error::invalid(format!("{} bytes are not values of {}", bytes.len(), datatype.name())))
            }
        }
    }
}

impl ArrayWriter {
    /// Sets (or, with `None`, removes) named values of the array.
    pub fn write_metadata(&self, entries: &Entries, timestamp: Option<u64>) -> Result<()> {
        write_metadata(&self.location, entries, self.key.as_ref(), stamp(timestamp)).map(drop)
    }
}

/// Writes one metadata file of an array or group; returns its name.
pub(crate) fn write_metadata(
    location: &Location,
    entries: &Entries,
    key: Option<&Key>,
    timestamps: (u64, u64),
) -> Result<String> {
    let name = fresh(timestamps)?;
    let file = location.join("__meta").join(&name);
    put(&file, &GenericTile::write(&write(entries)?, WRITE_VERSION, key)?)?;
    Ok(name)
}
