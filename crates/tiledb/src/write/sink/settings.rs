//! The settings of a conversion into an array.

use arrow_schema::Schema;
use tesselle_core::{Error, GridAxis, Result, Scalar, Secret, Settings};

use crate::Datatype;
use crate::filter::{Filter, Key};
use crate::meta::layout::Layout;
use crate::meta::schema::ArrayKind;
use crate::meta::value::Range;
use crate::write::schema::DEFAULT_CAPACITY;

/// The settings of the whole array. Columns have `filters.NAME`, dimensions also `domain.NAME`, `extent.NAME` and, where
/// rows fill only a part of a dense domain, `box.NAME`.
pub const SETTINGS: [&str; 10] =
    ["kind", "dims", "capacity", "cell_order", "tile_order", "dups", "filters", "extent", "timestamp", "key"];

/// Parsed settings.
#[derive(Debug, Clone)]
pub(super) struct SinkSettings {
    pub(super) kind: ArrayKind,
    pub(super) dims: Vec<String>,
    pub(super) capacity: u64,
    pub(super) cell_order: Layout,
    pub(super) tile_order: Layout,
    pub(super) dups: bool,
    pub(super) extent: Option<u64>,
    pub(super) timestamp: Option<u64>,
    pub(super) key: Option<Key>,
    filters: Vec<Filter>,
    /// Domains and extents that hold where no setting says otherwise.
    axes: Vec<GridAxis>,
    raw: Settings,
}

impl SinkSettings {
    pub(super) fn parse(raw: &Settings, schema: &Schema, axes: Vec<GridAxis>) -> Result<Self> {
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let of_columns: Vec<String> = names
            .iter()
            .flat_map(|name| ["filters", "domain", "extent", "box"].map(|what| format!("{what}.{name}")))
            .collect();
        let known: Vec<&str> = SETTINGS.into_iter().chain(of_columns.iter().map(String::as_str)).collect();
        raw.expect_only(&known)?;
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
            Some(other) => return Err(Error::invalid(format!("kind={other} is neither dense nor sparse"))),
        };
        let key = raw.get("key").map(|text| {
            let secret = Secret::from_text(text.as_bytes())?;
            let bytes = secret.expose().try_into().map_err(|_| Error::invalid("a key has 32 bytes"))?;
            Ok::<_, Error>(Key::new(bytes))
        });
        Ok(Self {
            kind,
            dims,
            capacity: raw.parse("capacity", "a number of cells")?.unwrap_or(DEFAULT_CAPACITY),
            cell_order: layout(raw, "cell_order")?,
            tile_order: layout(raw, "tile_order")?,
            dups: raw.parse("dups", "true or false")?.unwrap_or(false),
            extent: raw.parse("extent", "a number of cells")?,
            timestamp: raw.parse("timestamp", "milliseconds since the epoch")?,
            key: key.transpose()?,
            filters: raw.get("filters").map_or_else(|| Ok(vec![Filter::zstd(3)]), filters)?,
            axes,
            raw: raw.clone(),
        })
    }

    /// The filters of a column.
    pub(super) fn filters(&self, column: &str) -> Result<Vec<Filter>> {
        self.raw.get(&format!("filters.{column}")).map_or_else(|| Ok(self.filters.clone()), filters)
    }

    /// The filters of a dimension, where it has its own.
    pub(super) fn dimension_filters(&self, column: &str) -> Result<Vec<Filter>> {
        self.raw.get(&format!("filters.{column}")).map_or_else(|| Ok(Vec::new()), filters)
    }

    /// The domain of a dimension: `low:high`, both included.
    pub(super) fn domain(&self, column: &str, datatype: Datatype) -> Result<Option<Range>> {
        let range = self.range("domain", column, datatype)?;
        let own = || self.axis(column)?.domain.as_ref();
        Ok(range.or_else(|| own().and_then(|ends| range_of(ends, datatype))))
    }

    /// The part of the domain of a dimension that the rows of a dense array fill.
    pub(super) fn row_range(&self, column: &str, datatype: Datatype) -> Result<Option<Range>> {
        let range = self.range("box", column, datatype)?;
        let own = || self.axis(column)?.rows.as_ref();
        Ok(range.or_else(|| own().and_then(|ends| range_of(ends, datatype))))
    }

    fn axis(&self, column: &str) -> Option<&GridAxis> {
        self.axes.iter().find(|axis| axis.name == column)
    }

    fn range(&self, what: &str, column: &str, datatype: Datatype) -> Result<Option<Range>> {
        let Some(text) = self.raw.get(&format!("{what}.{column}")) else { return Ok(None) };
        let ends = text
            .split_once(':')
            .and_then(|(low, high)| Some((scalar(low, datatype)?, scalar(high, datatype)?)));
        let (low, high) =
            ends.ok_or_else(|| Error::invalid(format!("{what}.{column}={text} is not low:high")))?;
        Ok(Some(Range { low, high }))
    }

    /// The tile extent of a dimension.
    pub(super) fn extent(&self, column: &str, datatype: Datatype) -> Result<Option<Scalar>> {
        // The extent of one dimension, else that of all.
        let own = self.raw.get(&format!("extent.{column}"));
        let Some(text) = own.or_else(|| self.raw.get("extent")) else {
            let extent = self.axis(column).and_then(|axis| axis.extent.as_ref());
            return Ok(extent.and_then(|extent| number(extent, datatype)));
        };
        let extent = scalar(text, datatype);
        extent.map(Some).ok_or_else(|| Error::invalid(format!("extent {text} of '{column}' is not a number")))
    }
}

fn range_of((low, high): &(Scalar, Scalar), datatype: Datatype) -> Option<Range> {
    Some(Range { low: number(low, datatype)?, high: number(high, datatype)? })
}

/// A coordinate of another source as one of this datatype.
fn number(value: &Scalar, datatype: Datatype) -> Option<Scalar> {
    match value {
        Scalar::Int(int) if datatype.is_float() => Some(Scalar::Float(*int as f64)),
        Scalar::Int(_) => Some(value.clone()),
        Scalar::Float(_) if datatype.is_float() => Some(value.clone()),
        _ => None,
    }
}

fn scalar(text: &str, datatype: Datatype) -> Option<Scalar> {
    if datatype.is_float() {
        return text.trim().parse().ok().map(Scalar::Float);
    }
    text.trim().parse().ok().map(Scalar::Int)
}

fn layout(raw: &Settings, name: &str) -> Result<Layout> {
    match raw.get(name) {
        None | Some("row" | "row-major") => Ok(Layout::RowMajor),
        Some("col" | "col-major") => Ok(Layout::ColMajor),
        Some("hilbert") => Ok(Layout::Hilbert),
        Some(other) => Err(Error::invalid(format!("{name}={other} is none of row, col and hilbert"))),
    }
}

/// Filters as a list of names, each with an optional level: `byteshuffle,zstd:5`.
fn filters(text: &str) -> Result<Vec<Filter>> {
    use tesselle_codec::digest::Digest;
    let one = |item: &str| {
        let (name, level) = item.split_once(':').map_or((item, None), |(name, level)| (name, Some(level)));
        let level: Option<i32> = level
            .map(|level| {
                level.parse().map_err(|_| Error::invalid(format!("'{item}' has no number as its level")))
            })
            .transpose()?;
        Ok(match name {
            "gzip" => Filter::gzip(level.unwrap_or(-1)),
            "zstd" => Filter::zstd(level.unwrap_or(3)),
            "lz4" => Filter::lz4(),
            "bzip2" => Filter::bzip2(level.unwrap_or(9)),
            "rle" => Filter::Rle { level: -1 },
            "dictionary" => Filter::Dictionary { level: -1 },
            "delta" => Filter::Delta { level: -1, reinterpret: None },
            "double-delta" => Filter::DoubleDelta { level: -1, reinterpret: None },
            "bit-width-reduction" => Filter::BitWidthReduction { max_window: 256 },
            "positive-delta" => Filter::PositiveDelta { max_window: 1024 },
            "bitshuffle" => Filter::Bitshuffle,
            "byteshuffle" => Filter::Byteshuffle,
            "xor" => Filter::Xor,
            "md5" => Filter::Checksum(Digest::Md5),
            "sha256" => Filter::Checksum(Digest::Sha256),
            _ => {
                return Err(Error::invalid(format!("'{name}' is not a filter")).hint(
                    "there are gzip, zstd, lz4, bzip2, rle, dictionary, delta, double-delta, bit-width-reduction, \
                     positive-delta, bitshuffle, byteshuffle, xor, md5 and sha256",
                ));
            }
        })
    };
    text.split(',').map(str::trim).filter(|item| !item.is_empty() && *item != "none").map(one).collect()
}
