//! A dimension of the schema (spec §7).
//!
//! ```text
//! u32 len, name | 5+: u8 datatype, u32 cell_val_num, pipeline | 5+: u64 domain bytes | domain low, high | u8 null extent | extent
//! ```

use tesselle_core::Scalar;

use super::datatype::{Datatype, Physical};
use super::value::{Bounds, parse_scalar, write_scalar};
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
    /// Its filters; empty means the schema's coordinate filters.
    pub filters: Pipeline,
    /// The domain; `None` for strings.
    pub domain: Option<Bounds>,
    /// The tile extent; optional in sparse arrays.
    pub extent: Option<Scalar>,
}

impl Dimension {
    /// Whether coordinates are of variable length.
    pub fn is_var(&self) -> bool {
        self.cell_val_num == VAR
    }

    /// Reads a dimension. `domain_type` is the type that all dimensions share before version 5.
    pub(crate) fn parse(
        cursor: &mut Cursor<'_>,
        version: u32,
        domain_type: Option<Datatype>,
    ) -> Result<Self> {
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
                Some(Bounds { low, high })
            }
            n => return Err(cursor.corrupt(format!("the domain of dimension '{name}' has {n} bytes"))),
        };
        let extent = match flag(cursor)? {
            true => None,
            false if is_var => {
                return Err(cursor.corrupt(format!("the string dimension '{name}' has an extent")));
            }
            false => {
                let stored = parse_scalar(datatype, cursor.bytes(datatype.size())?)?;
                let extent = domain.as_ref().and_then(|domain| actual_extent(stored, domain, datatype));
                Some(extent.ok_or_else(|| {
                    cursor.corrupt(format!("the tile extent of dimension '{name}' is not positive"))
                })?)
            }
        };
        Ok(Self { name, datatype, cell_val_num, filters, domain, extent })
    }

    /// Appends the dimension in the form of `version`.
    pub(crate) fn write(&self, version: u32, out: &mut Vec<u8>) -> Result<()> {
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
            write_scalar(&stored_extent(extent, self.datatype), self.datatype, out)?;
        }
        Ok(())
    }
}

/// How many values a signed integer type has; `None` for other types.
fn values_of_signed(datatype: Datatype) -> Option<i128> {
    match datatype.physical() {
        Physical::I8 => Some(1 << 8),
        Physical::I16 => Some(1 << 16),
        Physical::I32 => Some(1 << 32),
        Physical::I64 => Some(1 << 64),
        _ => None,
    }
}

/// The effective extent. The engine replaces a missing extent by the size of the domain, computed in the dimension's
/// type: a large size wraps around in a signed type and can be infinite in a float type.
fn actual_extent(stored: Scalar, domain: &Bounds, datatype: Datatype) -> Option<Scalar> {
    match (&stored, &domain.low, &domain.high) {
        (Scalar::Int(extent), ..) if *extent > 0 => Some(stored),
        (Scalar::Int(extent), Scalar::Int(low), Scalar::Int(high)) => {
            let size = extent + values_of_signed(datatype)?;
            (size == high - low + 1).then_some(Scalar::Int(size))
        }
        (Scalar::Float(extent), ..) if *extent > 0.0 && extent.is_finite() => Some(stored),
        (Scalar::Float(f64::INFINITY), Scalar::Float(low), Scalar::Float(high)) => {
            let span = if datatype == Datatype::Float32 {
                f64::from(*high as f32 - *low as f32)
            } else {
                high - low
            };
            (span == f64::INFINITY).then_some(stored)
        }
        _ => None,
    }
}

/// The stored form of an extent.
fn stored_extent(extent: &Scalar, datatype: Datatype) -> Scalar {
    match (extent, values_of_signed(datatype)) {
        (Scalar::Int(extent), Some(values)) if *extent >= values / 2 => Scalar::Int(extent - values),
        _ => extent.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_that_exceed_their_type_wrap_around_and_back() {
        let range = |low, high| Bounds { low: Scalar::Int(low), high: Scalar::Int(high) };
        for (stored, low, high, datatype, meant) in [
            (-55, -100, 100, Datatype::Int8, Some(201)),
            (-1, -128, 126, Datatype::Int8, Some(255)),
            (-56, -100, 100, Datatype::Int8, None),
            (0, -100, 100, Datatype::Int8, None),
            (-1, i64::MIN.into(), i128::from(i64::MAX) - 1, Datatype::DatetimeMs, Some((1 << 64) - 1)),
            (10, -100, 100, Datatype::Int8, Some(10)),
        ] {
            let actual = actual_extent(Scalar::Int(stored), &range(low, high), datatype);
            assert_eq!(actual, meant.map(Scalar::Int), "{stored}");
            if let Some(actual) = actual {
                assert_eq!(stored_extent(&actual, datatype), Scalar::Int(stored));
            }
        }
        let floats = |low, high| Bounds { low: Scalar::Float(low), high: Scalar::Float(high) };
        let endless = Scalar::Float(f64::INFINITY);
        let actual = |domain: Bounds, datatype| actual_extent(endless.clone(), &domain, datatype);
        assert_eq!(actual(floats(-1e308, 1e308), Datatype::Float64), Some(endless.clone()));
        assert_eq!(actual(floats(-1e308, 1e307), Datatype::Float64), None);
        assert_eq!(actual(floats(-3e38, 3e38), Datatype::Float32), Some(endless.clone()));
        assert_eq!(actual(floats(-3e38, 3e38), Datatype::Float64), None);
    }
}
