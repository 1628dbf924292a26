//! A dimension label of the schema (spec §7): another array that maps positions of a dimension to label values.
//!
//! ```text
//! u32 dimension | u32 len, name | bool relative | u64 len, uri | u32 len, attribute | u8 order | u8 datatype
//! | u32 cell_val_num | bool external
//! ```

use super::attribute::DataOrder;
use super::datatype::Datatype;
use super::wire::{flag, name32, name64, put_bytes32, put_bytes64};
use crate::{Cursor, Result};

/// A label on a dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct DimensionLabel {
    /// The dimension's position.
    pub dimension: u32,
    /// Its name.
    pub name: String,
    /// Whether the uri is relative to the array.
    pub relative: bool,
    /// Where the label's array is.
    pub uri: String,
    /// The attribute of that array with the label's values.
    pub attribute: String,
    /// The order of the values.
    pub order: DataOrder,
    /// Their datatype.
    pub datatype: Datatype,
    /// Values per label, or [`super::dimension::VAR`].
    pub cell_val_num: u32,
    /// Whether the label's array is managed outside this array.
    pub external: bool,
}

impl DimensionLabel {
    /// Reads a label.
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        Ok(Self {
            dimension: cursor.u32_le()?,
            name: name32(cursor)?,
            relative: flag(cursor)?,
            uri: name64(cursor)?,
            attribute: name32(cursor)?,
            order: DataOrder::parse(cursor)?,
            datatype: Datatype::from_id(cursor.u8()?)?,
            cell_val_num: cursor.u32_le()?,
            external: flag(cursor)?,
        })
    }

    /// Appends the label.
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&self.dimension.to_le_bytes());
        put_bytes32(out, self.name.as_bytes())?;
        out.push(u8::from(self.relative));
        put_bytes64(out, self.uri.as_bytes());
        put_bytes32(out, self.attribute.as_bytes())?;
        out.extend_from_slice(&[self.order.id(), self.datatype.id()]);
        out.extend_from_slice(&self.cell_val_num.to_le_bytes());
        out.push(u8::from(self.external));
        Ok(())
    }
}
