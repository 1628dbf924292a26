//! Building of array schemas: dimensions, attributes and the rules of the engine (spec §7).

use std::collections::HashSet;

use tesselle_core::Scalar;

use super::name::WRITE_VERSION;
use crate::filter::{Filter, Pipeline};
use crate::meta::attribute::{Attribute, DataOrder};
use crate::meta::datatype::Datatype;
use crate::meta::dimension::{Dimension, VAR};
use crate::meta::enumeration::Enumeration;
use crate::meta::layout::Layout;
use crate::meta::name::fresh_uuid;
use crate::meta::schema::{ArrayKind, ArraySchema};
use crate::meta::value::Bounds;
use crate::{Error, Result};

/// Default cells per tile of a sparse array.
pub const DEFAULT_CAPACITY: u64 = 10_000;

impl Dimension {
    /// A dimension of numbers or times over `low..=high`, in tiles of `extent`.
    pub fn new(
        name: impl Into<String>,
        datatype: Datatype,
        low: impl Into<Scalar>,
        high: impl Into<Scalar>,
        extent: impl Into<Scalar>,
    ) -> Self {
        Self {
            name: name.into(),
            datatype,
            cell_val_num: 1,
            filters: Pipeline::default(),
            domain: Some(Bounds { low: low.into(), high: high.into() }),
            extent: Some(extent.into()),
        }
    }

    /// A dimension of ASCII strings. Sparse arrays only.
    pub fn string(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            datatype: Datatype::StringAscii,
            cell_val_num: VAR,
            filters: Pipeline::default(),
            domain: None,
            extent: None,
        }
    }

    /// The same dimension without tiles. Sparse arrays only.
    #[must_use]
    pub fn without_extent(mut self) -> Self {
        self.extent = None;
        self
    }

    /// The same dimension with filters of its own.
    #[must_use]
    pub fn with_filters(mut self, filters: impl IntoIterator<Item = Filter>) -> Self {
        self.filters = Pipeline::new(filters);
        self
    }
}

impl Attribute {
    /// An attribute with one value per cell and the default fill value.
    pub fn new(name: impl Into<String>, datatype: Datatype) -> Self {
        Self {
            name: name.into(),
            datatype,
            cell_val_num: 1,
            filters: Pipeline::default(),
            fill: datatype.default_fill(),
            nullable: false,
            fill_valid: false,
            order: DataOrder::Unordered,
            enumeration: None,
        }
    }

    /// The same attribute with `n` values per cell, or [`VAR`]. Resets the fill value.
    #[must_use]
    pub fn with_values(mut self, n: u32) -> Self {
        self.cell_val_num = n;
        let repeat = if n == VAR { 1 } else { n as usize };
        self.fill = self.datatype.default_fill().repeat(repeat);
        self
    }

    /// The same attribute with cells of variable length.
    #[must_use]
    pub fn var(self) -> Self {
        self.with_values(VAR)
    }

    /// The same attribute with cells that can be null.
    #[must_use]
    pub fn nullable(mut self) -> Self {
        self.nullable = true;
        self
    }

    /// The same attribute with filters.
    #[must_use]
    pub fn with_filters(mut self, filters: impl IntoIterator<Item = Filter>) -> Self {
        self.filters = Pipeline::new(filters);
        self
    }

    /// The same attribute with this fill value: the bytes of a cell, and whether it counts as valid.
    #[must_use]
    pub fn with_fill(mut self, bytes: impl Into<Vec<u8>>, valid: bool) -> Self {
        self.fill = bytes.into();
        self.fill_valid = valid;
        self
    }

    /// The same attribute as positions into an enumeration.
    #[must_use]
    pub fn with_enumeration(mut self, name: impl Into<String>) -> Self {
        self.enumeration = Some(name.into());
        self
    }

    /// The same attribute with ordered values. Dense arrays of one dimension only.
    #[must_use]
    pub fn with_order(mut self, order: DataOrder) -> Self {
        self.order = order;
        self
    }
}

impl Enumeration {
    /// An enumeration of strings.
    pub fn of_strings<S: AsRef<str>>(
        name: impl Into<String>,
        values: impl IntoIterator<Item = S>,
        ordered: bool,
    ) -> Result<Self> {
        let (mut data, mut offsets) = (Vec::new(), Vec::new());
        for value in values {
            offsets.push(data.len() as u64);
            data.extend_from_slice(value.as_ref().as_bytes());
        }
        Self::of_bytes(name, Datatype::StringUtf8, VAR, data, offsets, ordered)
    }

    /// The same enumeration with further strings at its end.
    pub fn with_strings<S: AsRef<str>>(&self, more: &[S]) -> Result<Self> {
        if self.cell_val_num != VAR || self.datatype.size() != 1 {
            return Err(Error::invalid(format!("the values of enumeration '{}' are not strings", self.name)));
        }
        let (mut data, mut offsets) = (self.data.clone(), self.offsets.clone());
        for value in more {
            offsets.push(data.len() as u64);
            data.extend_from_slice(value.as_ref().as_bytes());
        }
        Self::of_bytes(self.name.clone(), self.datatype, VAR, data, offsets, self.ordered)
    }

    /// An enumeration of any values: `data` contains them one after the other, `offsets` their starts for variable
    /// length.
    pub fn of_bytes(
        name: impl Into<String>,
        datatype: Datatype,
        cell_val_num: u32,
        data: Vec<u8>,
        offsets: Vec<u64>,
        ordered: bool,
    ) -> Result<Self> {
        let file = format!("__{}_0", fresh_uuid(None)?);
        let out = Self { name: name.into(), file, datatype, cell_val_num, ordered, data, offsets };
        let mut values = out.values()?;
        let count = values.len();
        values.sort_unstable();
        values.dedup();
        if values.len() != count {
            return Err(Error::invalid(format!("enumeration '{}' has a duplicate value", out.name)));
        }
        Ok(out)
    }
}

/// Builds the schema of a new array.
#[derive(Debug, Clone)]
pub struct SchemaBuilder {
    pub(super) schema: ArraySchema,
    enumerations: Vec<Enumeration>,
}

/// A checked schema and the enumerations that belong to it.
#[derive(Debug, Clone)]
pub struct NewSchema {
    /// The schema.
    pub schema: ArraySchema,
    /// Its enumerations.
    pub enumerations: Vec<Enumeration>,
}

impl SchemaBuilder {
    /// A dense array: every cell of the domain has a value.
    pub fn dense() -> Self {
        Self::new(ArrayKind::Dense)
    }

    /// A sparse array: only written cells exist.
    pub fn sparse() -> Self {
        Self::new(ArrayKind::Sparse)
    }

    fn new(kind: ArrayKind) -> Self {
        let schema = ArraySchema {
            version: WRITE_VERSION,
            allows_dups: false,
            kind,
            tile_order: Layout::RowMajor,
            cell_order: Layout::RowMajor,
            capacity: DEFAULT_CAPACITY,
            coords_filters: Pipeline::new([Filter::zstd(-1)]),
            offsets_filters: Pipeline::new([Filter::zstd(-1)]),
            validity_filters: Pipeline::new([Filter::Rle { level: -1 }]),
            dimensions: Vec::new(),
            attributes: Vec::new(),
            labels: Vec::new(),
            enumerations: Vec::new(),
            current_domain: None,
        };
        Self { schema, enumerations: Vec::new() }
    }

    /// Adds a dimension.
    #[must_use]
    pub fn dimension(mut self, dimension: Dimension) -> Self {
        self.schema.dimensions.push(dimension);
        self
    }

    /// Adds an attribute.
    #[must_use]
    pub fn attribute(mut self, attribute: Attribute) -> Self {
        self.schema.attributes.push(attribute);
        self
    }

    /// Adds an enumeration for attributes to refer to.
    #[must_use]
    pub fn enumeration(mut self, enumeration: Enumeration) -> Self {
        self.schema.enumerations.push((enumeration.name.clone(), enumeration.file.clone()));
        self.enumerations.push(enumeration);
        self
    }

    /// The order of tiles.
    #[must_use]
    pub fn tile_order(mut self, order: Layout) -> Self {
        self.schema.tile_order = order;
        self
    }

    /// The order of cells in a tile.
    #[must_use]
    pub fn cell_order(mut self, order: Layout) -> Self {
        self.schema.cell_order = order;
        self
    }

    /// Cells per tile of a sparse array.
    #[must_use]
    pub fn capacity(mut self, cells: u64) -> Self {
        self.schema.capacity = cells;
        self
    }

    /// Whether several cells may share coordinates.
    #[must_use]
    pub fn allows_dups(mut self, allows: bool) -> Self {
        self.schema.allows_dups = allows;
        self
    }

    /// Filters of dimensions that have none of their own.
    #[must_use]
    pub fn coords_filters(mut self, filters: impl IntoIterator<Item = Filter>) -> Self {
        self.schema.coords_filters = Pipeline::new(filters);
        self
    }

    /// Filters of the offsets of variable-length fields.
    #[must_use]
    pub fn offsets_filters(mut self, filters: impl IntoIterator<Item = Filter>) -> Self {
        self.schema.offsets_filters = Pipeline::new(filters);
        self
    }

    /// Filters of validity.
    #[must_use]
    pub fn validity_filters(mut self, filters: impl IntoIterator<Item = Filter>) -> Self {
        self.schema.validity_filters = Pipeline::new(filters);
        self
    }

    /// The part of the domain in use: one range per dimension.
    #[must_use]
    pub fn current_domain(mut self, ranges: impl IntoIterator<Item = Bounds>) -> Self {
        self.schema.current_domain = Some(ranges.into_iter().collect());
        self
    }

    /// The schema as it is, unchecked.
    pub(crate) fn draft(self) -> ArraySchema {
        self.schema
    }

    /// Checks the schema against the rules of the format.
    pub fn build(mut self) -> Result<NewSchema> {
        fit_images(&mut self.schema);
        check(&self.schema, &self.enumerations)?;
        Ok(NewSchema { schema: self.schema, enumerations: self.enumerations })
    }
}

/// Sets the tile size of image filters, which only the schema knows.
fn fit_images(schema: &mut ArraySchema) {
    let extent = |dimension: Option<&Dimension>| match dimension.and_then(|dim| dim.extent.as_ref()) {
        Some(Scalar::Int(extent)) => u16::try_from(*extent).unwrap_or(0),
        _ => 0,
    };
    let (rows, bytes) = (extent(schema.dimensions.first()), extent(schema.dimensions.get(1)));
    for filter in schema.attributes.iter_mut().flat_map(|attribute| &mut attribute.filters.filters) {
        if let Filter::Webp { y_extent, x_extent, .. } = filter {
            (*y_extent, *x_extent) = (rows, bytes);
        }
    }
}

/// Checks a schema against the rules that the engine enforces when an array is created.
pub(crate) fn check(schema: &ArraySchema, enumerations: &[Enumeration]) -> Result<()> {
    let fail = |why: String| Err(Error::invalid(why));
    if schema.dimensions.is_empty() {
        return fail("an array needs a dimension".to_owned());
    }
    let mut names: HashSet<&str> = HashSet::new();
    let fields = schema.dimensions.iter().map(|d| &d.name).chain(schema.attributes.iter().map(|a| &a.name));
    for name in fields.chain(schema.labels.iter().map(|label| &label.name)) {
        if name.starts_with("__") {
            return fail(format!("the name '{name}' is reserved: it begins with two underscores"));
        }
        if !names.insert(name) {
            return fail(format!("the name '{name}' occurs twice"));
        }
    }
    let dense = schema.kind == ArrayKind::Dense;
    if dense && schema.attributes.is_empty() {
        return fail("a dense array needs an attribute".to_owned());
    }
    if dense && (schema.cell_order == Layout::Hilbert || schema.allows_dups) {
        return fail("dense arrays have neither Hilbert order nor duplicates".to_owned());
    }
    if schema.tile_order == Layout::Hilbert {
        return fail("tiles cannot be in Hilbert order, only cells".to_owned());
    }
    if schema.cell_order == Layout::Hilbert && schema.dimensions.len() > 15 {
        return fail("Hilbert order takes at most 15 dimensions".to_owned());
    }
    super::label::check(schema)?;
    if schema.capacity == 0 {
        return fail("the capacity of tiles must not be 0".to_owned());
    }
    let first = schema.dimensions.first().map(|dim| dim.datatype);
    for dimension in &schema.dimensions {
        check_dimension(dimension, dense)?;
        if dense && Some(dimension.datatype) != first {
            return fail("the dimensions of a dense array must have one datatype".to_owned());
        }
    }
    if let Some(ranges) = &schema.current_domain {
        check_current_domain(schema, ranges)?;
    }
    for attribute in &schema.attributes {
        check_attribute(schema, attribute, enumerations)?;
    }
    Ok(())
}

fn check_dimension(dimension: &Dimension, dense: bool) -> Result<()> {
    let name = &dimension.name;
    let fail = |why: &str| Err(Error::invalid(format!("dimension '{name}' {why}")));
    if dimension.is_var() {
        return if dense {
            fail("has strings, which only sparse arrays support")
        } else if dimension.domain.is_some() || dimension.extent.is_some() {
            fail("has strings and takes neither domain nor extent")
        } else {
            Ok(())
        };
    }
    let datatype = dimension.datatype;
    if !(datatype.is_integer() || datatype.is_time() || (datatype.is_float() && !dense)) {
        return fail(&format!("cannot have the datatype {}", datatype.name()));
    }
    let Some(domain) = &dimension.domain else { return fail("needs a domain") };
    let mut bytes = Vec::new();
    crate::meta::value::write_scalar(&domain.low, datatype, &mut bytes)?;
    crate::meta::value::write_scalar(&domain.high, datatype, &mut bytes)?;
    match (&domain.low, &domain.high, &dimension.extent) {
        (Scalar::Int(low), Scalar::Int(high), extent) => {
            if low > high {
                return fail("has an empty domain");
            }
            match extent {
                Some(Scalar::Int(extent)) => {
                    if *extent < 1 || *extent > high - low + 1 {
                        return fail("has a tile extent that is not between 1 and the size of its domain");
                    }
                    let last = low + ((high - low) / extent + 1) * extent - 1;
                    crate::meta::value::write_scalar(&Scalar::Int(last), datatype, &mut bytes).map_err(|_| {
                        Error::invalid(format!(
                            "the last tile of dimension '{name}' exceeds {}",
                            datatype.name()
                        ))
                        .hint("lower the upper end of the domain or the tile extent")
                    })
                }
                Some(_) => fail("has a tile extent that is not an integer"),
                None if dense => fail("needs a tile extent"),
                None => Ok(()),
            }
        }
        (Scalar::Float(low), Scalar::Float(high), extent) => {
            if !(low.is_finite() && high.is_finite() && low <= high) {
                return fail("has an empty or infinite domain");
            }
            match extent {
                Some(Scalar::Float(extent)) if *extent > 0.0 && *extent <= high - low + 1.0 => Ok(()),
                None => Ok(()),
                Some(_) => fail("has a tile extent that does not fit its domain"),
            }
        }
        _ => fail("has a domain that does not match its datatype"),
    }
}

fn check_current_domain(schema: &ArraySchema, ranges: &[Bounds]) -> Result<()> {
    if ranges.len() != schema.dimensions.len() {
        return Err(Error::invalid("the current domain needs one range per dimension"));
    }
    for (range, dimension) in ranges.iter().zip(&schema.dimensions) {
        if range.low.compare(&range.high).is_none_or(std::cmp::Ordering::is_gt)
            || dimension.domain.as_ref().is_some_and(|domain| !domain.covers(range))
        {
            return Err(Error::invalid(format!(
                "the current domain of dimension '{}' is empty or exceeds its domain",
                dimension.name
            )));
        }
    }
    Ok(())
}

fn check_attribute(schema: &ArraySchema, attribute: &Attribute, enumerations: &[Enumeration]) -> Result<()> {
    let name = &attribute.name;
    let fail = |why: &str| Err(Error::invalid(format!("attribute '{name}' {why}")));
    if attribute.cell_val_num == 0 {
        return fail("has no values per cell");
    }
    if attribute.datatype == Datatype::Any && !attribute.is_var() {
        return fail("has the datatype ANY, which must be of variable length");
    }
    let fits = match attribute.cell_size() {
        Some(size) => attribute.fill.len() == size,
        None => !attribute.fill.is_empty() && attribute.fill.len().is_multiple_of(attribute.datatype.size()),
    };
    if !fits {
        return fail("has a fill value whose size differs from its cells");
    }
    if attribute.order != DataOrder::Unordered
        && (schema.kind == ArrayKind::Sparse || schema.dimensions.len() != 1)
    {
        return fail("can be ordered only in a dense array of one dimension");
    }
    if let Some(wanted) = &attribute.enumeration {
        if !attribute.datatype.is_integer() || attribute.cell_val_num != 1 {
            return fail("has an enumeration and must have one integer per cell");
        }
        if !schema.enumerations.iter().any(|(name, _)| name == wanted) {
            return fail(&format!("refers to the enumeration '{wanted}', which does not exist"));
        }
        if let Some(list) = enumerations.iter().find(|list| list.name == *wanted) {
            let count = list.values()?.len();
            let mut space = Vec::new();
            let last = Scalar::Int(count.saturating_sub(1) as i128);
            if crate::meta::value::write_scalar(&last, attribute.datatype, &mut space).is_err() {
                return fail(&format!("is too narrow for {count} values of its enumeration"));
            }
        }
    }
    check_filters(attribute, schema.version)
}

/// Fails on filters that do not support the datatype of their attribute.
pub(crate) fn check_filters(attribute: &Attribute, version: u32) -> Result<()> {
    super::fragment::data_codec(attribute, version, None).map(drop).map_err(|error| {
        // A failure to encode is an invalid call here, not damage.
        let name = &attribute.name;
        Error::invalid(format!("the filters of attribute '{name}' do not suit it: {}", error.message()))
    })
}
