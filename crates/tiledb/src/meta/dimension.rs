//! A dimension of the schema (spec §7).
//!
//! ```text
//! u32 len, name | 5+: u8 datatype, u32 cell_val_num, pipeline | 5+: u64 domain bytes | domain low, high | u8 null extent | extent
//! ```

use tesselle_core::Scalar;

use super::datatype::Datatype;
use super::value::{Range, parse_scalar, write_scalar};
use super::wire::{flag, name32, put_bytes32};
use crate::filter::Pipeline;
use crate::{Cursor, Error, Result};

/// The `cell_val_num` of variable-length fields.
pub const VAR: u32 = u32::MAX;

/// A dimension: an axis of the array.
#[derive(Debug, Clone, PartialEq)]
pub struct Dimension {
    /// Its name.
    pub name: String,
    /// Its datatype.
    pub datatype: Datatype,
    /// 1, or [`VAR`] for strings.
    pub cell_val_num: u32,
    /// Its own filters; empty means those of the schema's coordinates.
    pub filters: Pipeline,
    /// The domain; strings have none.
    pub domain: Option<Range>,
    /// The tile extent; sparse dimensions may lack it.
    pub extent: Option<Scalar>,
}

impl Dimension {
    /// Whether coordinates are of variable length.
    pub fn is_var(&self) -> bool {
        self.cell_val_num == VAR
    }

    /// Reads a dimension. `domain_type` is the type that all dimensions share before version 5.
    pub fn parse(cursor: &mut Cursor<'_>, version: u32, domain_type: Option<Datatype>) -> Result<Self> {
        let name = name32(cursor)?;
        let (datatype, cell_val_num, filters) = if let Some(datatype) = domain_type {
            (datatype, 1, Pipeline::default())
        } else {
            let datatype = Datatype::from_id(cursor.u8()?)?;
            (datatype, cursor.u32_le()?, Pipeline::parse(cursor, version)?)
        };
        let is_var = cell_val_num == VAR;
        let fits = if is_var {
            datatype == Datatype::StringAscii
        } else {
            cell_val_num == 1 && !datatype.is_string()
        };
        if !fits {
            return Err(cursor.corrupt(format!(
                "dimension '{name}' has datatype {} with {cell_val_num} values per coordinate",
                datatype.name()
            )));
        }
        let size = datatype.size() as u64;
        let domain_bytes = if version >= 5 { cursor.u64_le()? } else { size * 2 };
        let domain = match domain_bytes {
            0 if is_var => None,
            n if n == size * 2 && !is_var => {
                let low = parse_scalar(datatype, cursor.bytes(datatype.size())?)?;
                let high = parse_scalar(datatype, cursor.bytes(datatype.size())?)?;
                if low.compare(&high).is_none_or(std::cmp::Ordering::is_gt) {
                    return Err(
                        cursor.corrupt(format!("dimension '{name}' has the empty domain [{low}, {high}]"))
                    );
                }
                Some(Range { low, high })
            }
            n => return Err(cursor.corrupt(format!("the domain of dimension '{name}' has {n} bytes"))),
        };
        let extent = match flag(cursor)? {
            true => None,
            false if is_var => {
                return Err(cursor.corrupt(format!("the string dimension '{name}' has an extent")));
            }
            false => Some(parse_scalar(datatype, cursor.bytes(datatype.size())?)?),
        };
        let positive = match &extent {
            None => true,
            Some(Scalar::Int(extent)) => *extent > 0,
            // A whole-range extent of a signed type is stored as a negative number by nobody; floats must be finite.
            Some(Scalar::Float(extent)) => *extent > 0.0 && extent.is_finite(),
            Some(_) => false,
        };
        if !positive {
            return Err(cursor.corrupt(format!("the tile extent of dimension '{name}' is not positive")));
        }
        Ok(Self { name, datatype, cell_val_num, filters, domain, extent })
    }

    /// Appends the dimension in the form of `version`.
    pub fn write(&self, version: u32, out: &mut Vec<u8>) -> Result<()> {
        put_bytes32(out, self.name.as_bytes())?;
        if version >= 5 {
            out.push(self.datatype.id());
            out.extend_from_slice(&self.cell_val_num.to_le_bytes());
            self.filters.write(version, out);
            let bytes = if self.domain.is_some() { 2 * self.datatype.size() as u64 } else { 0 };
            out.extend_from_slice(&bytes.to_le_bytes());
        }
        match &self.domain {
            Some(domain) => {
                write_scalar(&domain.low, self.datatype, out)?;
                write_scalar(&domain.high, self.datatype, out)?;
            }
            None if version < 5 => {
                return Err(Error::invalid(format!("version {version} has no string dimensions")));
            }
            None => {}
        }
        out.push(u8::from(self.extent.is_none()));
        if let Some(extent) = &self.extent {
            write_scalar(extent, self.datatype, out)?;
        }
        Ok(())
    }
}
