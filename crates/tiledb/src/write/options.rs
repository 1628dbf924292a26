//! The settings of a conversion into an array.

use arrow_schema::Schema;
use tesselle_core::{Action, Error, GridAxis, Location, Result, Scalar, Secret, Settings};

use crate::Datatype;
use crate::filter::{Filter, Key, Pipeline, filters_from_str};
use crate::meta::layout::Layout;
use crate::meta::schema::ArrayKind;
use crate::meta::value::{Bounds, write_scalar};
use crate::write::coordinate::{coordinate, extent};
use crate::write::label::NewLabel;
use crate::write::name::WRITE_VERSION;
use crate::write::schema_builder::DEFAULT_CAPACITY;

/// The settings of the whole array. Columns have `filters.NAME`, attributes also `fill.NAME`, dimensions `domain.NAME`,
/// `extent.NAME` and, if rows fill only a part of a dense domain, `box.NAME`.
pub(crate) const SETTINGS: [&str; 17] = [
    "kind",
    "dims",
    "capacity",
    "cell_order",
    "tile_order",
    "dups",
    "filters",
    "coords_filters",
    "offsets_filters",
    "validity_filters",
    "extent",
    "timestamp",
    "key",
    "key-file",
    "encryption",
    "labels",
    "version",
];

/// How the ends of a dimension of times are written.
const TIMES: &str =
    "write numbers in its unit, or dates and times that are a whole number of it: 2025-01-01:2025-12-31";

/// Parsed settings.
#[derive(Debug, Clone)]
pub(super) struct SinkSettings {
    pub(super) kind: ArrayKind,
    pub(super) dims: Vec<String>,
    pub(super) capacity: u64,
    pub(super) cell_order: Layout,
    pub(super) tile_order: Layout,
    pub(super) dups: bool,
    /// Tile extents: one for all dimensions, or one for each.
    extents: Vec<u64>,
    pub(super) timestamp: Option<u64>,
    pub(super) key: Option<Key>,
    filters: Option<Vec<Filter>>,
    /// Default domains and extents.
    axes: Vec<GridAxis>,
    raw: Settings,
}

impl SinkSettings {
    pub(super) fn parse(raw: &Settings, schema: &Schema, axes: Vec<GridAxis>) -> Result<Self> {
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let of_columns: Vec<String> = names
            .iter()
            .flat_map(|name| {
                ["filters", "domain", "extent", "box", "fill"].map(|what| format!("{what}.{name}"))
            })
            .collect();
        let known: Vec<&str> = SETTINGS.into_iter().chain(of_columns.iter().map(String::as_str)).collect();
        let dimension = raw.get("dims").and_then(|list| list.split(',').next()).map(str::trim);
        per_column(raw, dimension.filter(|name| names.contains(name)).or(names.first().copied()))?;
        raw.expect_only(&known)?;
        if let Some(version) = raw.get("version").filter(|version| *version != WRITE_VERSION.to_string()) {
            return Err(Error::unsupported(format!("new arrays have the format version {WRITE_VERSION}"))
                .hint(format!("omit version={version}; writes to an array keep its version")));
        }
        let dims: Vec<String> = raw
            .get("dims")
            .map(|list| {
                list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
            })
            .unwrap_or_default();
        if let Some(unknown) = dims.iter().find(|name| !names.contains(&name.as_str())) {
            return Err(Error::unknown_name("column", unknown, names.iter().copied()));
        }
        let kind = match raw.get("kind") {
            None if dims.is_empty() => ArrayKind::Dense,
            None | Some("sparse") => ArrayKind::Sparse,
            Some("dense") => ArrayKind::Dense,
            Some(other) => {
                return Err(Error::invalid(format!("kind={other} is not known; use dense or sparse")));
            }
        };
        Ok(Self {
            kind,
            dims,
            capacity: raw.parse("capacity", "a number of cells")?.unwrap_or(DEFAULT_CAPACITY),
            cell_order: layout(raw, "cell_order")?,
            tile_order: layout(raw, "tile_order")?,
            dups: raw.parse("dups", "true or false")?.unwrap_or(false),
            extents: extents(raw)?,
            timestamp: raw.parse("timestamp", "milliseconds since the epoch")?,
            key: key(raw)?,
            filters: raw.get("filters").map(filters_from_str).transpose()?,
            axes,
            raw: raw.clone(),
        })
    }

    /// The filters of an attribute. By default the bytes of numbers are grouped by their significance: they get smaller
    /// than the numbers, and are decompressed faster.
    pub(super) fn filters(&self, column: &str, datatype: Datatype) -> Result<Vec<Filter>> {
        if let Some(own) = self.raw.get(&format!("filters.{column}")) {
            return filters_from_str(own);
        }
        let default = || match datatype.size() {
            1 => vec![Filter::zstd(3)],
            _ => vec![Filter::Byteshuffle, Filter::zstd(3)],
        };
        Ok(self.filters.clone().unwrap_or_else(default))
    }

    /// Whether the filters of an attribute are left to the writer.
    pub(super) fn leaves_filters(&self, column: &str) -> bool {
        self.filters.is_none() && self.raw.get(&format!("filters.{column}")).is_none()
    }

    /// The filters of `name`, one of coords, offsets and validity, if set.
    pub(super) fn common_filters(&self, name: &str) -> Result<Option<Pipeline>> {
        let text = self.raw.get(&format!("{name}_filters"));
        text.map(|text| filters_from_str(text).map(Pipeline::new)).transpose()
    }

    /// The labels of dimensions, if set.
    pub(super) fn labels(&self) -> Result<Vec<NewLabel>> {
        self.raw.get("labels").map_or_else(|| Ok(Vec::new()), NewLabel::parse_list)
    }

    /// The fill value of an attribute, if set.
    pub(super) fn fill(&self, column: &str, datatype: Datatype) -> Result<Option<Vec<u8>>> {
        let Some(text) = self.raw.get(&format!("fill.{column}")) else { return Ok(None) };
        let value = if datatype.is_byte_string() || datatype.is_bytes() {
            Some(Scalar::from(text))
        } else {
            coordinate(text, datatype)
        };
        let mut bytes = Vec::new();
        let misfit = || Error::invalid(format!("fill.{column}={text} is not a value of {}", datatype.name()));
        write_scalar(&value.ok_or_else(misfit)?, datatype, &mut bytes).map_err(|_| misfit())?;
        Ok(Some(bytes))
    }

    /// The filters of a dimension, if set.
    pub(super) fn dimension_filters(&self, column: &str) -> Result<Vec<Filter>> {
        self.raw.get(&format!("filters.{column}")).map_or_else(|| Ok(Vec::new()), filters_from_str)
    }

    /// The domain of a dimension: `low:high`, both included.
    pub(super) fn domain(&self, column: &str, datatype: Datatype) -> Result<Option<Bounds>> {
        let range = self.range("domain", column, datatype)?;
        let own = || self.axis(column)?.domain.as_ref();
        Ok(range.or_else(|| own().and_then(|ends| range_of(ends, datatype))))
    }

    /// The part of the domain of a dimension that the rows of a dense array fill.
    pub(super) fn row_range(&self, column: &str, datatype: Datatype) -> Result<Option<Bounds>> {
        let range = self.range("box", column, datatype)?;
        let own = || self.axis(column)?.rows.as_ref();
        Ok(range.or_else(|| own().and_then(|ends| range_of(ends, datatype))))
    }

    fn axis(&self, column: &str) -> Option<&GridAxis> {
        self.axes.iter().find(|axis| axis.name == column)
    }

    fn range(&self, what: &str, column: &str, datatype: Datatype) -> Result<Option<Bounds>> {
        let Some(text) = self.raw.get(&format!("{what}.{column}")) else { return Ok(None) };
        let misfit = || {
            let error = Error::invalid(format!("{what}.{column}={text} is not low:high"));
            if datatype.is_time() { error.hint(TIMES) } else { error }
        };
        Bounds::parse(text, datatype).map(Some).ok_or_else(misfit)
    }

    /// The tile extent of the dimension number `at`, where the setting `extent` states it.
    pub(super) fn common_extent(&self, at: usize) -> Option<u64> {
        match self.extents.as_slice() {
            [only] => Some(*only),
            all => all.get(at).copied(),
        }
    }

    /// Fails if there are extents for another number of dimensions.
    pub(super) fn expect_extents(&self, dimensions: usize) -> Result<()> {
        let extents = self.extents.len();
        if extents > 1 && extents != dimensions {
            return Err(Error::invalid(format!("extent has {extents} numbers for {dimensions} dimensions"))
                .suggest("set one for all, as in {}", [Action::setting("extent", "10")]));
        }
        Ok(())
    }

    /// The tile extent of a dimension.
    pub(super) fn extent(&self, column: &str, datatype: Datatype) -> Result<Option<Scalar>> {
        // The extent of one dimension, else that of all.
        let own = self.raw.get(&format!("extent.{column}")).map(str::to_owned);
        let at = self.dims.iter().position(|name| name == column).unwrap_or(0);
        let Some(text) = own.or_else(|| self.common_extent(at).map(|extent| extent.to_string())) else {
            let extent = self.axis(column).and_then(|axis| axis.extent.as_ref());
            return Ok(extent.and_then(|extent| number(extent, datatype)));
        };
        let misfit = || {
            let error = Error::invalid(format!("extent {text} of '{column}' is not a number"));
            if datatype.is_time() {
                error.hint(
                    "write a number in its unit, or a length such as '7 days' that is a whole number of it",
                )
            } else {
                error
            }
        };
        extent(&text, datatype).map(Some).ok_or_else(misfit)
    }
}

/// The numbers of the setting `extent`.
fn extents(raw: &Settings) -> Result<Vec<u64>> {
    let Some(text) = raw.get("extent") else { return Ok(Vec::new()) };
    let number = |part: &str| part.trim().parse::<u64>().ok().filter(|cells| *cells > 0);
    text.split(',').map(number).collect::<Option<_>>().ok_or_else(|| {
        Error::invalid(format!("extent={text} is not a number of cells"))
            .hint("use one number for all dimensions, or one for each: 10, or 24,64,64")
    })
}

/// Refuses settings of single columns that name none.
fn per_column(raw: &Settings, example: Option<&str>) -> Result<()> {
    for (what, value) in [("domain", "LOW:HIGH"), ("box", "LOW:HIGH"), ("fill", "VALUE")] {
        if raw.get(what).is_some() {
            let name = format!("{what}.{}", example.unwrap_or("NAME"));
            return Err(Error::invalid(format!("setting '{what}' belongs to one column and needs its name"))
                .suggest("use {}", [Action::setting(name, value)]));
        }
    }
    Ok(())
}

fn range_of((low, high): &(Scalar, Scalar), datatype: Datatype) -> Option<Bounds> {
    Some(Bounds { low: number(low, datatype)?, high: number(high, datatype)? })
}

/// A coordinate of another source in this datatype.
fn number(value: &Scalar, datatype: Datatype) -> Option<Scalar> {
    match value {
        Scalar::Int(int) if datatype.is_float() => Some(Scalar::Float(*int as f64)),
        Scalar::Int(_) => Some(value.clone()),
        Scalar::Float(_) if datatype.is_float() => Some(value.clone()),
        _ => None,
    }
}

/// The key of the new array: given directly, or in a file, which process listings do not show.
fn key(raw: &Settings) -> Result<Option<Key>> {
    let text = match (raw.get("key"), raw.get("key-file")) {
        (Some(_), Some(_)) => return Err(Error::invalid("both key and key-file are set; use one of them")),
        (Some(text), None) => Some(text.as_bytes().to_vec()),
        (None, Some(path)) => {
            let bytes = Location::local(path)?.read_all(LONGEST_KEY)?.to_vec();
            // Editors end files with a newline; a raw key of 32 bytes is used as it is.
            Some(if bytes.len() == 32 { bytes } else { bytes.trim_ascii_end().to_vec() })
        }
        (None, None) => None,
    };
    match (raw.get("encryption"), &text) {
        (None | Some("aes-256-gcm"), Some(_)) | (None | Some("none"), None) => {}
        (Some("none"), Some(_)) => return Err(Error::invalid("encryption=none takes no key")),
        (Some("aes-256-gcm"), None) => {
            return Err(
                Error::invalid("encryption needs a key").hint("set key-file to the file that contains it")
            );
        }
        (Some(other), _) => {
            return Err(Error::invalid(format!("encryption={other} is neither aes-256-gcm nor none")));
        }
    }
    let Some(text) = text else { return Ok(None) };
    let secret = Secret::parse(&text)?;
    let bytes = secret.expose().try_into().map_err(|_| Error::invalid("a key has 32 bytes"))?;
    Ok(Some(Key::new(bytes)))
}

/// More than any form of a key.
const LONGEST_KEY: u64 = 1024;

fn layout(raw: &Settings, name: &str) -> Result<Layout> {
    match raw.get(name) {
        None | Some("row" | "row-major") => Ok(Layout::RowMajor),
        Some("col" | "col-major") => Ok(Layout::ColMajor),
        Some("hilbert") => Ok(Layout::Hilbert),
        Some(other) => Err(Error::invalid(format!("{name}={other} is not known; use row, col or hilbert"))),
    }
}
