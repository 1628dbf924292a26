//! An attribute of the schema (spec §7).
//!
//! ```text
//! u32 len, name | u8 datatype | u32 cell_val_num | pipeline | 6+: u64 fill bytes, fill | 7+: bool nullable, u8 fill validity
//! | 17+: u8 order | 20+: u32 len, enumeration name
//! ```

use super::datatype::Datatype;
use super::dimension::VAR;
use super::wire::{bytes64, flag, name32, put_bytes32, put_bytes64};
use crate::filter::Pipeline;
use crate::{Cursor, Result};

/// How the values of an attribute are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataOrder {
    /// Any order.
    Unordered,
    /// Values never fall.
    Increasing,
    /// Values never rise.
    Decreasing,
}

impl DataOrder {
    /// The order with this number.
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        match cursor.u8()? {
            0 => Ok(Self::Unordered),
            1 => Ok(Self::Increasing),
            2 => Ok(Self::Decreasing),
            other => Err(cursor.corrupt(format!("data order {other} is not known; known are 0 to 2"))),
        }
    }

    /// The number on disk.
    pub(crate) const fn id(self) -> u8 {
        match self {
            Self::Unordered => 0,
            Self::Increasing => 1,
            Self::Decreasing => 2,
        }
    }

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unordered => "unordered",
            Self::Increasing => "increasing",
            Self::Decreasing => "decreasing",
        }
    }
}

/// An attribute: a column of values.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    /// Its name; one attribute may be anonymous.
    pub name: String,
    /// Its datatype.
    pub datatype: Datatype,
    /// Values per cell, or [`VAR`].
    pub cell_val_num: u32,
    /// Its filters.
    pub filters: Pipeline,
    /// The fill value of a cell that was never written.
    pub fill: Vec<u8>,
    /// Whether cells can be null.
    pub nullable: bool,
    /// Whether the fill value counts as valid.
    pub fill_valid: bool,
    /// The order of its values.
    pub order: DataOrder,
    /// The enumeration whose positions the values are.
    pub enumeration: Option<String>,
}

impl Attribute {
    /// Whether cells are of variable length.
    pub fn is_var(&self) -> bool {
        self.cell_val_num == VAR
    }

    /// Bytes of one cell; `None` for variable length.
    pub fn cell_size(&self) -> Option<usize> {
        (!self.is_var()).then(|| self.datatype.size().saturating_mul(self.cell_val_num as usize))
    }

    /// Reads an attribute.
    pub(crate) fn parse(cursor: &mut Cursor<'_>, version: u32) -> Result<Self> {
        let name = name32(cursor)?;
        let datatype = Datatype::from_id(cursor.u8()?)?;
        let cell_val_num = cursor.u32_le()?;
        if cell_val_num == 0 {
            return Err(cursor.corrupt(format!("attribute '{name}' has 0 values per cell")));
        }
        let filters = Pipeline::parse(cursor, version)?;
        let is_var = cell_val_num == VAR;
        let size = datatype.size();
        let cell = (cell_val_num as usize).saturating_mul(size);
        let fill = if version >= 6 {
            let fill = bytes64(cursor)?;
            let fits = if is_var { fill.len() % size == 0 } else { fill.len() == cell };
            if !fits {
                return Err(
                    cursor.corrupt(format!("the fill value of attribute '{name}' has {} bytes", fill.len()))
                );
            }
            fill.to_vec()
        } else {
            // No file contains a cell of this size, so an absurdly large width is damage.
            let repeat = if is_var { 1 } else { cell_val_num as usize };
            if cell > (1 << 24) && !is_var {
                return Err(cursor.corrupt(format!("attribute '{name}' has {cell_val_num} values per cell")));
            }
            datatype.default_fill().repeat(repeat)
        };
        let (nullable, fill_valid) =
            if version >= 7 { (flag(cursor)?, cursor.u8()? != 0) } else { (false, false) };
        let order = if version >= 17 { DataOrder::parse(cursor)? } else { DataOrder::Unordered };
        let enumeration = if version >= 20 { name32(cursor)? } else { String::new() };
        let enumeration = (!enumeration.is_empty()).then_some(enumeration);
        Ok(Self { name, datatype, cell_val_num, filters, fill, nullable, fill_valid, order, enumeration })
    }

    /// Appends the attribute in the form of `version`.
    pub(crate) fn write(&self, version: u32, out: &mut Vec<u8>) -> Result<()> {
        put_bytes32(out, self.name.as_bytes())?;
        out.push(self.datatype.id());
        out.extend_from_slice(&self.cell_val_num.to_le_bytes());
        self.filters.write(version, out);
        if version >= 6 {
            put_bytes64(out, &self.fill);
        }
        if version >= 7 {
            out.extend_from_slice(&[u8::from(self.nullable), u8::from(self.fill_valid)]);
        }
        if version >= 17 {
            out.push(self.order.id());
        }
        if version >= 20 {
            put_bytes32(out, self.enumeration.as_deref().unwrap_or_default().as_bytes())?;
        }
        Ok(())
    }
}
