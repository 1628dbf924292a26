//! The array schema (spec §7): the payload of one generic tile.
//!
//! ```text
//! u32 version | 5+: bool dups | u8 array type | u8 tile order | u8 cell order | u64 capacity | coords, offsets pipelines
//! | 7+: validity pipeline | <5: u8 domain datatype | u32 n, dimensions | u32 n, attributes | 18+: u32 n, labels
//! | 20+: u32 n, enumerations | 22+: current domain
//! ```

use tesselle_core::Scalar;

use super::attribute::Attribute;
use super::datatype::Datatype;
use super::dimension::Dimension;
use super::label::DimensionLabel;
use super::layout::Layout;
use super::value::Bounds;
use super::wire::{flag, name32, put_bytes32, put_ranges, ranges};
use crate::filter::Pipeline;
use crate::order::grid::{Axis, CellBox, Grid};
use crate::{Cursor, Error, Result};

/// The supported versions.
pub(crate) const VERSIONS: std::ops::RangeInclusive<u32> = 1..=23;

/// Dense or sparse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrayKind {
    /// Every cell of the domain has a value.
    Dense,
    /// Only written cells exist.
    Sparse,
}

/// The schema of an array.
#[derive(Debug, Clone, PartialEq)]
pub struct ArraySchema {
    /// The format version it is written in.
    pub version: u32,
    /// Whether several cells may share coordinates.
    pub allows_dups: bool,
    /// Dense or sparse.
    pub kind: ArrayKind,
    /// The order of tiles.
    pub tile_order: Layout,
    /// The order of cells in a tile.
    pub cell_order: Layout,
    /// Cells per tile of a sparse fragment.
    pub capacity: u64,
    /// Filters of coordinates without dimension filters, and of the special columns.
    pub coords_filters: Pipeline,
    /// Filters of the offsets of variable-length fields.
    pub offsets_filters: Pipeline,
    /// Filters of validity.
    pub validity_filters: Pipeline,
    /// The dimensions.
    pub dimensions: Vec<Dimension>,
    /// The attributes.
    pub attributes: Vec<Attribute>,
    /// The dimension labels.
    pub labels: Vec<DimensionLabel>,
    /// Names of enumerations and their files.
    pub enumerations: Vec<(String, String)>,
    /// The part of the domain in use, one range per dimension.
    pub current_domain: Option<Vec<Bounds>>,
}

impl ArraySchema {
    /// Reads the payload of a schema file.
    pub(crate) fn parse(payload: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(payload, 0, "array schema");
        let cursor = &mut cursor;
        let version = cursor.u32_le()?;
        check_version(version)?;
        let allows_dups = version >= 5 && flag(cursor)?;
        let kind = match cursor.u8()? {
            0 => ArrayKind::Dense,
            1 => ArrayKind::Sparse,
            other => return Err(cursor.corrupt(format!("array type {other} is not known"))),
        };
        let tile_order = Layout::from_id(cursor.u8()?)?;
        let cell_order = Layout::from_id(cursor.u8()?)?;
        let capacity = cursor.u64_le()?;
        let coords_filters = Pipeline::parse(cursor, version)?;
        let offsets_filters = Pipeline::parse(cursor, version)?;
        let validity_filters =
            if version >= 7 { Pipeline::parse(cursor, version)? } else { Pipeline::default() };
        let domain_type = if version < 5 { Some(Datatype::from_id(cursor.u8()?)?) } else { None };
        let stated = cursor.u32_le()?;
        let count = cursor.count(stated.into(), 5)?;
        let dimensions =
            (0..count).map(|_| Dimension::parse(cursor, version, domain_type)).collect::<Result<_>>()?;
        let stated = cursor.u32_le()?;
        let count = cursor.count(stated.into(), 9)?;
        let attributes = (0..count).map(|_| Attribute::parse(cursor, version)).collect::<Result<_>>()?;
        let labels = if version >= 18 {
            let stated = cursor.u32_le()?;
            let count = cursor.count(stated.into(), 28)?;
            (0..count).map(|_| DimensionLabel::parse(cursor)).collect::<Result<_>>()?
        } else {
            Vec::new()
        };
        let enumerations = if version >= 20 {
            let stated = cursor.u32_le()?;
            let count = cursor.count(stated.into(), 8)?;
            (0..count).map(|_| Ok((name32(cursor)?, name32(cursor)?))).collect::<Result<_>>()?
        } else {
            Vec::new()
        };
        let mut schema = Self {
            version,
            allows_dups,
            kind,
            tile_order,
            cell_order,
            capacity,
            coords_filters,
            offsets_filters,
            validity_filters,
            dimensions,
            attributes,
            labels,
            enumerations,
            current_domain: None,
        };
        if version >= 22 {
            schema.current_domain = parse_current_domain(cursor, &schema.dimensions)?;
        }
        schema.check()?;
        Ok(schema)
    }

    /// The payload of a schema file.
    pub(crate) fn write(&self) -> Result<Vec<u8>> {
        let version = self.version;
        let out = &mut Vec::new();
        out.extend_from_slice(&version.to_le_bytes());
        if version >= 5 {
            out.push(u8::from(self.allows_dups));
        }
        let kind = u8::from(self.kind == ArrayKind::Sparse);
        out.extend_from_slice(&[kind, self.tile_order.id(), self.cell_order.id()]);
        out.extend_from_slice(&self.capacity.to_le_bytes());
        self.coords_filters.write(version, out);
        self.offsets_filters.write(version, out);
        if version >= 7 {
            self.validity_filters.write(version, out);
        }
        if version < 5 {
            let first =
                self.dimensions.first().ok_or_else(|| Error::invalid("a schema needs a dimension"))?;
            out.push(first.datatype.id());
        }
        put_count(out, self.dimensions.len())?;
        self.dimensions.iter().try_for_each(|dim| dim.write(version, out))?;
        put_count(out, self.attributes.len())?;
        self.attributes.iter().try_for_each(|attribute| attribute.write(version, out))?;
        if version >= 18 {
            put_count(out, self.labels.len())?;
            self.labels.iter().try_for_each(|label| label.write(out))?;
        }
        if version >= 20 {
            put_count(out, self.enumerations.len())?;
            for (name, file) in &self.enumerations {
                put_bytes32(out, name.as_bytes())?;
                put_bytes32(out, file.as_bytes())?;
            }
        }
        if version >= 22 {
            out.extend_from_slice(&0_u32.to_le_bytes());
            out.push(u8::from(self.current_domain.is_none()));
            if let Some(ranges) = &self.current_domain {
                out.push(0);
                put_ranges(out, &self.dimensions, ranges)?;
            }
        }
        Ok(std::mem::take(out))
    }

    /// Checks the rules that every schema accepted by an engine satisfies; the rest of the crate relies on them.
    fn check(&self) -> Result<()> {
        let fail = |why: String| Err(Error::corrupt(format!("the array schema is not valid: {why}")));
        if self.dimensions.is_empty() {
            return fail("it has no dimensions".to_owned());
        }
        let mut names: Vec<&str> = self.dimensions.iter().map(|dim| dim.name.as_str()).collect();
        names.extend(self.attributes.iter().map(|attribute| attribute.name.as_str()));
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair.first() == pair.last()) {
            return fail(format!("the name '{}' occurs twice", pair.first().unwrap_or(&"")));
        }
        if self.version < 5 && self.dimensions.iter().any(Dimension::is_var) {
            return fail(format!("version {} has no string dimensions", self.version));
        }
        match self.kind {
            ArrayKind::Dense => {
                if self.cell_order == Layout::Hilbert {
                    return fail("a dense array is in Hilbert order".to_owned());
                }
                self.grid().map(drop)
            }
            ArrayKind::Sparse if self.capacity == 0 => {
                fail("its tiles have a capacity of 0 cells".to_owned())
            }
            ArrayKind::Sparse => Ok(()),
        }
    }

    /// The tile grid of a dense array.
    pub(crate) fn grid(&self) -> Result<Grid> {
        let axis = |dim: &Dimension| -> Result<Axis> {
            let (Some(domain), Some(Scalar::Int(extent))) = (&dim.domain, &dim.extent) else {
                return Err(Error::corrupt(format!(
                    "dimension '{}' of a dense array has no integer domain and extent",
                    dim.name
                )));
            };
            let (Scalar::Int(low), Scalar::Int(high)) = (&domain.low, &domain.high) else {
                return Err(Error::corrupt(format!(
                    "dimension '{}' of a dense array has no integer domain",
                    dim.name
                )));
            };
            let last = u64::try_from(high - low).unwrap_or(u64::MAX);
            Ok(Axis { low: *low, last, extent: u64::try_from(*extent).unwrap_or(u64::MAX).max(1) })
        };
        let axes = self.dimensions.iter().map(axis).collect::<Result<_>>()?;
        Ok(Grid { axes, tile_order: self.tile_order, cell_order: self.cell_order })
    }

    /// The part of the domain that reads cover by default: the current domain if set, else the whole domain.
    pub(crate) fn readable(&self, grid: &Grid) -> Result<CellBox> {
        match &self.current_domain {
            Some(ranges) => grid.region_of(ranges),
            None => Ok(grid.domain()),
        }
    }

    /// The position of the attribute with this name.
    pub fn attribute(&self, name: &str) -> Option<(usize, &Attribute)> {
        self.attributes.iter().enumerate().find(|(_, attribute)| attribute.name == name)
    }

    /// The position of the dimension with this name.
    pub fn dimension(&self, name: &str) -> Option<(usize, &Dimension)> {
        self.dimensions.iter().enumerate().find(|(_, dim)| dim.name == name)
    }
}

/// Refuses versions that are not known.
pub(crate) fn check_version(version: u32) -> Result<()> {
    if VERSIONS.contains(&version) {
        return Ok(());
    }
    Err(Error::unsupported(format!(
        "format version {version} is not known; known are {} to {}",
        VERSIONS.start(),
        VERSIONS.end()
    ))
    .class("unsupported_version")
    .hint("the array may come from a newer engine"))
}

fn put_count(out: &mut Vec<u8>, count: usize) -> Result<()> {
    let count = u32::try_from(count).map_err(|_| Error::invalid("too many fields for a schema"))?;
    out.extend_from_slice(&count.to_le_bytes());
    Ok(())
}

fn parse_current_domain(cursor: &mut Cursor<'_>, dims: &[Dimension]) -> Result<Option<Vec<Bounds>>> {
    let version = cursor.u32_le()?;
    if version != 0 {
        return Err(Error::unsupported(format!("current domain version {version} is not known; known is 0"))
            .offset(cursor.offset()));
    }
    if flag(cursor)? {
        return Ok(None);
    }
    match cursor.u8()? {
        0 => ranges(cursor, dims).map(Some),
        other => Err(Error::unsupported(format!("current domain type {other} is not known; known is 0"))
            .offset(cursor.offset())),
    }
}
