//! An enumeration (spec §7.1): the list of values that an attribute's integers are positions in.
//!
//! ```text
//! u32 version 0 | u32 len, name | u32 len, file name | u8 datatype | u32 cell_val_num | bool ordered | u64 len, data
//! | u64 len, offsets (only of variable length)
//! ```

use super::datatype::Datatype;
use super::dimension::VAR;
use super::value::{parse_scalar, string_or_bytes};
use super::wire::{bytes64, flag, name32, put_bytes32, put_bytes64};
use crate::{Cursor, Error, Result};

/// A list of values with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enumeration {
    /// Its name.
    pub name: String,
    /// The file that contains it.
    pub file: String,
    /// The datatype of its values.
    pub datatype: Datatype,
    /// Values per entry, or [`VAR`].
    pub cell_val_num: u32,
    /// Whether the order of the values is significant.
    pub ordered: bool,
    /// The values one after the other.
    pub data: Vec<u8>,
    /// Where the values start, for variable length.
    pub offsets: Vec<u64>,
}

impl Enumeration {
    /// Reads the payload of an enumeration file.
    pub(crate) fn parse(payload: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(payload, 0, "enumeration");
        let cursor = &mut cursor;
        let version = cursor.u32_le()?;
        if version != 0 {
            return Err(Error::unsupported(format!(
                "enumeration version {version} is not known; known is 0"
            )));
        }
        let name = name32(cursor)?;
        let file = name32(cursor)?;
        let datatype = Datatype::from_id(cursor.u8()?)?;
        let cell_val_num = cursor.u32_le()?;
        let ordered = flag(cursor)?;
        let data = bytes64(cursor)?.to_vec();
        let offsets = if cell_val_num == VAR {
            let bytes = bytes64(cursor)?;
            bytes.chunks_exact(8).filter_map(|c| c.try_into().ok().map(u64::from_le_bytes)).collect()
        } else {
            Vec::new()
        };
        let out = Self { name, file, datatype, cell_val_num, ordered, data, offsets };
        out.values()?;
        Ok(out)
    }

    /// The payload of an enumeration file.
    pub(crate) fn write(&self) -> Result<Vec<u8>> {
        let mut out = 0_u32.to_le_bytes().to_vec();
        put_bytes32(&mut out, self.name.as_bytes())?;
        put_bytes32(&mut out, self.file.as_bytes())?;
        out.push(self.datatype.id());
        out.extend_from_slice(&self.cell_val_num.to_le_bytes());
        out.push(u8::from(self.ordered));
        put_bytes64(&mut out, &self.data);
        if self.cell_val_num == VAR {
            out.extend_from_slice(&(self.offsets.len() as u64 * 8).to_le_bytes());
            out.extend(self.offsets.iter().flat_map(|offset| offset.to_le_bytes()));
        }
        Ok(out)
    }

    /// The bytes of each value.
    pub fn values(&self) -> Result<Vec<&[u8]>> {
        let damaged =
            || Error::corrupt(format!("the values of enumeration '{}' lie outside its data", self.name));
        if self.cell_val_num == VAR {
            let at = |index: usize| {
                self.offsets.get(index).map_or(Some(self.data.len()), |offset| usize::try_from(*offset).ok())
            };
            let ranges = (0..self.offsets.len()).map(|index| at(index).zip(at(index + 1)));
            return ranges.map(|r| r.and_then(|(a, b)| self.data.get(a..b)).ok_or_else(damaged)).collect();
        }
        let size = self.datatype.size().checked_mul(self.cell_val_num as usize).filter(|size| *size > 0);
        let size = size.filter(|size| self.data.len().is_multiple_of(*size)).ok_or_else(damaged)?;
        Ok(self.data.chunks_exact(size).collect())
    }

    /// The values in JSON.
    pub(crate) fn values_json(&self) -> Result<Vec<serde_json::Value>> {
        let single = self.cell_val_num == 1 && !self.datatype.is_byte_string() && !self.datatype.is_bytes();
        let values = self.values()?.into_iter();
        values
            .map(|bytes| {
                if single {
                    Ok(parse_scalar(self.datatype, bytes)?.to_json())
                } else if self.datatype.size() == 1 {
                    Ok(string_or_bytes(bytes).to_json())
                } else {
                    let parts = bytes.chunks_exact(self.datatype.size());
                    parts.map(|part| Ok(parse_scalar(self.datatype, part)?.to_json())).collect()
                }
            })
            .collect()
    }
}
