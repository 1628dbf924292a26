//! The settings of a conversion into an array, typed.

use tesselle_core::{Scalar, Secret, hex, typed_options};

use crate::meta::layout::Layout;
use crate::meta::schema::ArrayKind;

typed_options! {
    /// Options of a new array. Options that are not set follow from the source.
    ///
    /// ```
    /// use tesselle_tiledb::write::WriteOptions;
    ///
    /// let options = WriteOptions::new().dims(["time"]).filters("double-delta,zstd:5").capacity(10_000);
    /// ```
    WriteOptions {
        /// Sets the cells of a tile of a sparse array `[default: 10000]`.
        capacity(cells: u64) => "capacity";
        /// Whether a sparse array may have several cells with the same coordinates `[default: no]`.
        duplicates(allowed: bool) => "dups";
        /// Sets the filters of all attributes, as [`filters_from_str`](crate::filter::filters_from_str) reads them `[default: byteshuffle,zstd:3 for numbers, zstd:3 for bytes and strings, dictionary,zstd:3 for strings that repeat]`.
        filters(filters: &str) => "filters";
        /// Sets the time of the write, in milliseconds since the epoch `[default: now]`.
        timestamp(millis: u64) => "timestamp";
        /// Encrypts the array with this key of 32 bytes.
        key(key: &Secret) => "key" as format!("hex:{}", hex(key.expose()));
        /// Sets the order of cells in a tile `[default: row-major]`.
        cell_order(order: Layout) => "cell_order" as order.name();
        /// Sets the order of tiles `[default: row-major]`.
        tile_order(order: Layout) => "tile_order" as order.name();
    }
}

impl WriteOptions {
    /// Sets whether the array is dense or sparse `[default: sparse where there are dimensions, else dense]`.
    pub fn kind(self, kind: ArrayKind) -> Self {
        let name = match kind {
            ArrayKind::Dense => "dense",
            ArrayKind::Sparse => "sparse",
        };
        Self(self.0.with("kind", name))
    }

    /// Sets the columns that are dimensions.
    pub fn dims<S: ToString>(self, columns: impl IntoIterator<Item = S>) -> Self {
        Self(self.0.with_list("dims", columns))
    }

    /// Sets the domain of a dimension, both ends included.
    pub fn domain(self, dimension: &str, low: impl Into<Scalar>, high: impl Into<Scalar>) -> Self {
        self.range("domain", dimension, [low.into(), high.into()])
    }

    /// Sets the part of the domain of a dimension that the rows of a dense array fill, both ends included.
    pub fn region(self, dimension: &str, low: impl Into<Scalar>, high: impl Into<Scalar>) -> Self {
        self.range("box", dimension, [low.into(), high.into()])
    }

    fn range(self, name: &str, dimension: &str, [low, high]: [Scalar; 2]) -> Self {
        Self(self.0.with(format!("{name}.{dimension}"), format!("{low}:{high}")))
    }

    /// Sets the tile extent of a dimension.
    pub fn extent(self, dimension: &str, extent: impl ToString) -> Self {
        Self(self.0.with(format!("extent.{dimension}"), extent))
    }

    /// Sets the filters of an attribute or a dimension.
    pub fn column_filters(self, column: &str, filters: &str) -> Self {
        Self(self.0.with(format!("filters.{column}"), filters))
    }

    /// Sets the fill value of an attribute.
    pub fn fill(self, attribute: &str, value: impl ToString) -> Self {
        Self(self.0.with(format!("fill.{attribute}"), value))
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::{DataType, Field, Schema};

    use super::*;
    use crate::write::options::SinkSettings;

    #[test]
    fn typed_options_are_read_as_they_were_set() {
        let schema = Schema::new(vec![
            Field::new("y", DataType::Int64, false),
            Field::new("v", DataType::Float64, false),
        ]);
        let options = WriteOptions::new()
            .kind(ArrayKind::Sparse)
            .dims(["y"])
            .domain("y", -5, 99)
            .extent("y", 10)
            .capacity(123)
            .cell_order(Layout::Hilbert)
            .tile_order(Layout::ColMajor)
            .duplicates(true)
            .filters("byteshuffle,zstd:9")
            .column_filters("v", "none")
            .fill("v", 1.5)
            .timestamp(77)
            .key(&Secret::new([7; 32]));
        let read = SinkSettings::parse(&options.into(), &schema, Vec::new()).unwrap();
        assert_eq!(
            (read.kind, read.dims.as_slice(), read.capacity),
            (ArrayKind::Sparse, &["y".to_owned()][..], 123)
        );
        assert_eq!((read.cell_order, read.tile_order, read.dups), (Layout::Hilbert, Layout::ColMajor, true));
        assert_eq!((read.timestamp, read.key.is_some()), (Some(77), true));
        let datatype = crate::Datatype::Int64;
        let filters = |column| read.filters(column, datatype).unwrap().len();
        assert_eq!((filters("y"), filters("v")), (2, 0));
        let domain = read.domain("y", datatype).unwrap().unwrap();
        assert_eq!((domain.low, domain.high), ((-5_i64).into(), 99_i64.into()));
        assert_eq!(read.extent("y", datatype).unwrap(), Some(10_i64.into()));
        for kind in [ArrayKind::Dense, ArrayKind::Sparse] {
            let options = WriteOptions::new().kind(kind).cell_order(Layout::RowMajor);
            assert_eq!(SinkSettings::parse(&options.into(), &schema, Vec::new()).unwrap().kind, kind);
        }
    }
}
