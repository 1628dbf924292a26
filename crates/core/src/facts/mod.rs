//! Facts about a table besides the types of its columns: roles, grid, order, identity, attributes.
//!
//! A [`Table`](crate::Table) states its facts, `info` shows them, and the writer of another format keeps what it can.
//! Files with free metadata (Parquet, Arrow, tatami) store them as a note for the way back.

mod note;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use arrow_schema::Schema;
use serde_json::Value;

use crate::scalar::Scalar;

/// The role of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ColumnRole {
    /// A coordinate of an array, in the units of its domain.
    Dimension,
    /// A value of an array's cell.
    Attribute,
    /// A position along an axis, counted from 0.
    Axis,
    /// The cells of a tensor.
    Value,
    /// The time of a row.
    Time,
    /// A series of a device.
    Measurement,
    /// Part of the name of a device.
    Tag,
    /// A value column of a table of series.
    Field,
    /// None of these.
    Column,
}

impl ColumnRole {
    const ALL: [(Self, &'static str); 9] = [
        (Self::Dimension, "dimension"),
        (Self::Attribute, "attribute"),
        (Self::Axis, "axis"),
        (Self::Value, "value"),
        (Self::Time, "time"),
        (Self::Measurement, "measurement"),
        (Self::Tag, "tag"),
        (Self::Field, "field"),
        (Self::Column, "column"),
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(role, _)| *role == self).map_or("column", |(_, name)| name)
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(role, _)| *role)
    }

    /// Whether it is a coordinate of a grid.
    pub fn is_coordinate(self) -> bool {
        matches!(self, Self::Dimension | Self::Axis)
    }
}

/// Whether every cell of a grid has a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GridKind {
    /// Every cell.
    Dense,
    /// Only the cells that were written.
    Sparse,
}

/// An order of the cells or tiles of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GridOrder {
    /// The last axis varies fastest.
    RowMajor,
    /// The first axis varies fastest.
    ColMajor,
    /// Along a Hilbert curve.
    Hilbert,
}

impl GridOrder {
    /// The name in reports and settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::RowMajor => "row-major",
            Self::ColMajor => "col-major",
            Self::Hilbert => "hilbert",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        [Self::RowMajor, Self::ColMajor, Self::Hilbert].into_iter().find(|order| order.name() == name)
    }
}

/// One axis of a grid.
#[derive(Debug, Clone, PartialEq)]
pub struct GridAxis {
    /// The column with its coordinates.
    pub name: String,
    /// The first and last coordinate that cells may have, if bounded.
    pub domain: Option<(Scalar, Scalar)>,
    /// The first and last coordinate of the rows, if they are a part of the domain.
    pub rows: Option<(Scalar, Scalar)>,
    /// The extent of a tile.
    pub extent: Option<Scalar>,
}

impl GridAxis {
    /// An axis of `extent` positions counted from 0, in tiles of `tile`.
    pub fn positions(name: impl Into<String>, extent: u64, tile: u64) -> Self {
        let domain = extent.checked_sub(1).map(|last| (Scalar::Int(0), Scalar::from(last)));
        Self { name: name.into(), domain, rows: None, extent: Some(Scalar::from(tile)) }
    }

    /// The number of coordinates that the rows span, if they are integers.
    pub fn cells(&self) -> Option<u64> {
        let Some((Scalar::Int(low), Scalar::Int(high))) = self.rows.as_ref().or(self.domain.as_ref()) else {
            return None;
        };
        u64::try_from(high.checked_sub(*low)?.checked_add(1)?).ok()
    }
}

/// The grid of a table that is an array.
#[derive(Debug, Clone, PartialEq)]
pub struct GridFacts {
    /// Dense or sparse.
    pub kind: GridKind,
    /// Its axes, in order.
    pub axes: Vec<GridAxis>,
    /// Whether there are no rows, regardless of the domain.
    pub is_empty: bool,
    /// The order of cells in a tile, if the format has a choice.
    pub cell_order: Option<GridOrder>,
    /// The order of tiles, if the format has a choice.
    pub tile_order: Option<GridOrder>,
    /// Cells of a sparse tile.
    pub capacity: Option<u64>,
    /// Whether several cells may have the same coordinates.
    pub allows_duplicates: Option<bool>,
}

impl GridFacts {
    /// The number of cells that the rows span along each axis, if coordinates are integers.
    pub fn shape(&self) -> Option<Vec<u64>> {
        let cells = |axis: &GridAxis| if self.is_empty { Some(0) } else { axis.cells() };
        self.axes.iter().map(cells).collect()
    }

    /// The extents of tiles, no larger than the rows, if both count cells.
    pub fn tiles(&self) -> Option<Vec<u64>> {
        let shape = self.shape()?;
        let tile = |(axis, cells): (&GridAxis, u64)| {
            let Some(Scalar::Int(extent)) = axis.extent else { return None };
            Some(u64::try_from(extent).ok()?.min(cells).max(1))
        };
        self.axes.iter().zip(shape).map(tile).collect()
    }

    /// A dense grid with these axes.
    pub fn dense(axes: Vec<GridAxis>) -> Self {
        Self {
            kind: GridKind::Dense,
            axes,
            is_empty: false,
            cell_order: None,
            tile_order: None,
            capacity: None,
            allows_duplicates: None,
        }
    }
}

/// The owner of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AttributeScope {
    /// The whole container.
    #[default]
    Container,
    /// One table of it.
    Table,
}

/// A named value of free metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    /// Its owner.
    pub scope: AttributeScope,
    /// Its name.
    pub name: String,
    /// Its value, as far as JSON can express it.
    pub value: Value,
    /// The type name of its format, and the exact bytes.
    pub exact: Option<(String, Vec<u8>)>,
}

impl Attribute {
    /// Name of the attribute that lists the types of columns which a format stores in other types, as JSON:
    /// `{"price": "decimal128(15,2)"}`.
    pub const TYPES: &'static str = "tesselle.types";

    /// An attribute of a container.
    pub fn new(name: impl Into<String>, value: impl Into<Value>) -> Self {
        Self { scope: AttributeScope::Container, name: name.into(), value: value.into(), exact: None }
    }

    /// The value as a string; a string is itself, anything else is JSON.
    pub fn value_string(&self) -> String {
        self.value.as_str().map_or_else(|| self.value.to_string(), str::to_owned)
    }
}

/// Facts that only another container of the same format can store.
#[derive(Clone)]
pub struct Native {
    /// The typed value; its format knows the type.
    pub value: Arc<dyn Any + Send + Sync>,
    /// What other formats lose, one line each.
    pub lost: Vec<String>,
}

impl fmt::Debug for Native {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Native").field("lost", &self.lost).finish_non_exhaustive()
    }
}

/// Facts about a table besides the types of its columns. The default states nothing.
#[derive(Debug, Clone, Default)]
pub struct TableFacts {
    /// The format that states the facts; empty if none does.
    pub format: &'static str,
    /// The name of the table in its container.
    pub table: Option<String>,
    /// The columns that have a role.
    pub roles: Vec<(String, ColumnRole)>,
    /// The grid, where the table is an array.
    pub grid: Option<GridFacts>,
    /// Whether rows come in no particular order.
    pub unordered: bool,
    /// The columns that identify a row, if their roles do not.
    pub key: Vec<String>,
    /// Whether the series of a device share their timestamps.
    pub aligned: bool,
    /// The column that rows are sorted by in the file, which a writer can declare.
    pub sort_key: Option<String>,
    /// Columns that have a bloom filter.
    pub bloom: Vec<String>,
    /// Free metadata.
    pub attributes: Vec<Attribute>,
    /// Facts that only the same format can store.
    pub native: Option<Native>,
    /// What no conversion of rows keeps, one line each.
    pub unkept: Vec<String>,
}

impl TableFacts {
    /// The metadata key of the note in files of other formats.
    pub const NOTE_KEY: &'static str = "tesselle:layout";

    /// The facts of a table over a dense grid.
    pub fn of_grid(axes: Vec<GridAxis>) -> Self {
        let roles = axes.iter().map(|axis| (axis.name.clone(), ColumnRole::Axis)).collect();
        Self { roles, grid: Some(GridFacts::dense(axes)), ..Self::default() }
    }

    /// The facts in a schema's metadata: the note, and every foreign entry as an attribute.
    pub fn of_schema(schema: &Schema) -> Self {
        let mut facts =
            schema.metadata().get(Self::NOTE_KEY).map(|text| Self::from_note(text)).unwrap_or_default();
        let own = |name: &str| name.starts_with("tesselle:") || name.starts_with("ARROW:");
        let others = schema.metadata().iter().filter(|(name, _)| !own(name));
        facts.attributes = others.map(|(name, value)| Attribute::new(name, value.as_str())).collect();
        facts.attributes.sort_by(|a, b| a.name.cmp(&b.name));
        facts
    }

    /// The role of a column.
    pub fn role(&self, column: &str) -> ColumnRole {
        let known = self.roles.iter().find(|(name, _)| name == column);
        known.map_or(ColumnRole::Column, |(_, role)| *role)
    }

    /// The names of the columns in these roles.
    pub fn named(&self, roles: &[ColumnRole]) -> Vec<&str> {
        let of_role = self.roles.iter().filter(|(_, role)| roles.contains(role));
        of_role.map(|(name, _)| name.as_str()).collect()
    }

    /// The columns of `schema` in this role.
    pub fn present(&self, role: ColumnRole, schema: &Schema) -> Vec<&str> {
        let mut names = self.named(&[role]);
        names.retain(|name| schema.index_of(name).is_ok());
        names
    }

    /// The axes, if all of them are columns of `schema`.
    pub fn axes(&self, schema: &Schema) -> &[GridAxis] {
        let axes = self.grid.as_ref().map_or(&[][..], |grid| &grid.axes);
        if axes.iter().all(|axis| schema.index_of(&axis.name).is_ok()) { axes } else { &[] }
    }

    /// Whether the table is a dense array.
    pub fn is_dense(&self) -> bool {
        self.grid.as_ref().is_some_and(|grid| grid.kind == GridKind::Dense)
    }

    /// The natural key of the rows: the stated one, else coordinates, time, tags, sort key. Empty where nothing identifies
    /// a row.
    pub fn identity(&self) -> Vec<&str> {
        if !self.key.is_empty() {
            return self.key.iter().map(String::as_str).collect();
        }
        let key =
            |role: ColumnRole| role.is_coordinate() || matches!(role, ColumnRole::Time | ColumnRole::Tag);
        let roles = self.roles.iter().filter(|(_, role)| key(*role)).map(|(name, _)| name.as_str());
        roles.chain(self.sort_key.as_deref()).collect()
    }

    /// Drops facts of columns whose type has changed: the bounds of their axis.
    pub fn recast<'a>(&mut self, columns: impl IntoIterator<Item = &'a str>) {
        for column in columns {
            let axes = self.grid.iter_mut().flat_map(|grid| &mut grid.axes);
            for axis in axes.filter(|axis| axis.name == column) {
                (axis.domain, axis.rows, axis.extent) = (None, None, None);
            }
        }
    }

    /// Drops facts about the table as a whole, because a part of it is written.
    pub fn reduce(&mut self) {
        if let Some(native) = self.native.take() {
            self.unkept.extend(native.lost);
        }
    }
}
