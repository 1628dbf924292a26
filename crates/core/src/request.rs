//! A write request: the data, the target, and the format's response.

use arrow_schema::SchemaRef;

use crate::array::ArrayView;
use crate::error::{Error, Result};
use crate::facts::{Attribute, TableFacts};
use crate::fit::TypeChange;
use crate::options::{OpenOptions, Settings, WriteOptions};
use crate::selection::Region;
use crate::sink::{Sink, Summary};
use crate::storage::{Location, Staged};

/// The capabilities of a format, for choosing among formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Capabilities {
    /// Rows can be written.
    pub rows_in: bool,
    /// Whole arrays can be written, tile by tile.
    pub arrays_in: bool,
    /// Rows of its arrays keep more than the arrays do: the types of coordinates.
    pub rows_keep_more: bool,
    /// It can be written to a pipe.
    pub stream_out: bool,
    /// Its bytes are for programs, not for a terminal.
    pub binary: bool,
    /// Its files do not state column types: they are given, or inferred from all values.
    pub infers_types: bool,
    /// Tables of the same shape in one container form one wide table.
    pub joins_tables: bool,
    /// Its files have structures and statistics to verify, besides decoding them.
    pub verifies: bool,
    /// A repair fills lost elements with a value.
    pub fills_lost: bool,
    /// Its containers can be encrypted with a key.
    pub encrypts: bool,
    /// Its containers keep earlier states, which can be read as of a time.
    pub keeps_history: bool,
    /// One container can contain several arrays of different shapes.
    pub several_arrays: bool,
}

impl Capabilities {
    /// A format that takes rows.
    pub const ROWS: Self = Self {
        rows_in: true,
        arrays_in: false,
        rows_keep_more: false,
        stream_out: false,
        binary: true,
        infers_types: false,
        joins_tables: false,
        verifies: false,
        fills_lost: false,
        encrypts: false,
        keeps_history: false,
        several_arrays: false,
    };
    /// A format that takes rows and whole arrays.
    pub const ARRAYS: Self = Self { arrays_in: true, ..Self::ROWS };
    /// A format of one file that is written front to back.
    pub const STREAM: Self = Self { stream_out: true, ..Self::ROWS };
    /// A stream of text records without types.
    pub const TEXT: Self = Self { binary: false, infers_types: true, ..Self::STREAM };
}

/// The target of a write.
pub enum WriteTarget {
    /// A file or folder.
    Location(Location),
    /// A file that has already been started, or a pipe.
    Stream(Box<dyn Staged>),
}

impl std::fmt::Debug for WriteTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Location(location) => f.debug_tuple("Location").field(&location.path()).finish(),
            Self::Stream(_) => f.write_str("Stream"),
        }
    }
}

impl WriteTarget {
    /// The location, for formats that need one.
    pub fn location(&self, format: &str) -> Result<&Location> {
        match self {
            Self::Location(location) => Ok(location),
            Self::Stream(_) => Err(Error::invalid(format!("{format} cannot be written to a stream"))
                .hint("convert to a file or folder instead")),
        }
    }

    /// The staged file, for formats of one file.
    pub fn stage(self, overwrite: bool) -> Result<Box<dyn Staged>> {
        match self {
            Self::Location(location) => location.create(overwrite),
            Self::Stream(staged) => Ok(staged),
        }
    }
}

/// A container that is to be rewritten as another one of its format.
#[derive(Debug, Clone, Copy)]
pub struct RewriteRequest<'a> {
    /// The container.
    pub source: &'a Location,
    /// Where the new one goes.
    pub target: &'a Location,
    /// How the source is opened.
    pub open: &'a OpenOptions,
    /// What changes.
    pub write: &'a WriteOptions,
}

impl<'a> RewriteRequest<'a> {
    /// The container at `source`, written to `target`.
    pub fn new(
        source: &'a Location,
        target: &'a Location,
        open: &'a OpenOptions,
        write: &'a WriteOptions,
    ) -> Self {
        Self { source, target, open, write }
    }
}

/// A container that is to be repaired.
#[derive(Debug, Clone, Copy)]
pub struct RepairRequest<'a> {
    /// The damaged container.
    pub source: &'a Location,
    /// Where the repaired one goes.
    pub target: &'a Location,
    /// How the source is opened, and what replaces lost values.
    pub options: &'a OpenOptions,
}

impl<'a> RepairRequest<'a> {
    /// The container at `source`, repaired to `target`.
    pub fn new(source: &'a Location, target: &'a Location, options: &'a OpenOptions) -> Self {
        Self { source, target, options }
    }
}

/// Rows that are to be written.
#[derive(Debug)]
pub struct WriteRequest {
    /// Where they go.
    pub target: WriteTarget,
    /// Their columns.
    pub schema: SchemaRef,
    /// Facts about their source.
    pub facts: TableFacts,
    /// How to write them.
    pub options: WriteOptions,
    /// Whether all rows of the source are written, in their order.
    pub whole: bool,
    /// How many rows come, where that is known.
    pub rows: Option<u64>,
}

impl WriteRequest {
    /// Rows with known columns only.
    pub fn new(target: WriteTarget, schema: SchemaRef, options: WriteOptions) -> Self {
        Self { target, schema, facts: TableFacts::default(), options, whole: false, rows: None }
    }

    /// Fills the settings of a tensor that follow from the source: axes, shape, chunk and the order of rows. `most` is
    /// the maximum number of axes of the format.
    pub fn fill_tensor(&mut self, most: usize) {
        let settings = &mut self.options.settings;
        let (axes, fields) = (self.facts.axes(&self.schema), self.schema.fields());
        let leading = axes
            .iter()
            .zip(fields)
            .all(|(axis, field)| axis.name == *field.name() && field.data_type().is_integer());
        let grid = self.facts.grid.as_ref().filter(|_| !axes.is_empty() && leading && axes.len() <= most);
        let Some(grid) = grid.filter(|_| settings.get("axes").is_none()) else {
            // Each column is a vector; if its length is known, it can be streamed.
            let axes = settings.get("axes").is_some() || fields.iter().any(|field| field.name() == "value");
            if let Some(rows) = self.rows.filter(|rows| self.whole && !axes && *rows > 0) {
                settings.fill("shape", rows.to_string());
            }
            return;
        };
        settings.fill("axes", axes.len().to_string());
        if !self.whole || !self.facts.is_dense() {
            settings.fill("order", "any");
            return;
        }
        let list = |numbers: Vec<u64>| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        if let Some(shape) = grid.shape() {
            settings.fill("shape", list(shape));
        }
        if let Some(tiles) = grid.tiles() {
            settings.fill("chunk", list(tiles));
        }
    }
}

/// An array that is to be written.
pub struct ArrayRequest<'a> {
    /// The target.
    pub target: WriteTarget,
    /// Its cells.
    pub array: &'a dyn ArrayView,
    /// The part of it that is written; `None` is all.
    pub region: Option<Region>,
    /// Facts about its source.
    pub facts: TableFacts,
    /// How to write it.
    pub options: WriteOptions,
}

impl<'a> ArrayRequest<'a> {
    /// A whole array with known cells only.
    pub fn new(target: WriteTarget, array: &'a dyn ArrayView, options: WriteOptions) -> Self {
        Self { target, array, region: None, facts: TableFacts::default(), options }
    }

    /// Fails for a region, in formats that write whole arrays only.
    pub fn expect_whole(&self, format: &str) -> Result<()> {
        if self.region.is_some() {
            return Err(Error::invalid(format!("{format} can store only a whole array, not a region")));
        }
        Ok(())
    }

    /// The loss of formats that count positions from 0 for an array whose axes start elsewhere.
    pub fn lost_origin(&self) -> Option<String> {
        has_origin(self.array).then(|| LOST_ORIGIN.to_owned())
    }
}

const LOST_ORIGIN: &str = "the start of the axes: the target counts positions from 0";

fn has_origin(array: &dyn ArrayView) -> bool {
    array.origin().iter().any(|origin| *origin != 0)
}

/// One of several arrays that are written into one container.
pub struct NamedArray<'a> {
    /// Its name in the container.
    pub name: String,
    /// Its cells.
    pub array: &'a dyn ArrayView,
    /// Its own attributes.
    pub attributes: Vec<Attribute>,
    /// Settings of this array, in addition to those of all.
    pub settings: Settings,
}

impl NamedArray<'_> {
    /// The options of this array among those of all.
    pub fn options(&self, all: &WriteOptions) -> WriteOptions {
        let mut options = all.clone();
        options.settings.extend(self.settings.clone());
        options.table = Some(self.name.clone());
        options
    }

    /// Its attributes as the facts about a source.
    pub fn facts(&self) -> TableFacts {
        TableFacts { attributes: self.attributes.clone(), ..TableFacts::default() }
    }

    /// Like [`ArrayRequest::lost_origin`], with the name of the array.
    pub fn lost_origin(&self) -> Option<String> {
        has_origin(self.array).then(|| format!("of '{}', {LOST_ORIGIN}", self.name))
    }
}

/// Several arrays that are to be written into one container.
pub struct ArraysRequest<'a> {
    /// The target.
    pub location: Location,
    /// The arrays, each under a name of its own.
    pub arrays: Vec<NamedArray<'a>>,
    /// The attributes of the container.
    pub attributes: Vec<Attribute>,
    /// How to write all of them.
    pub options: WriteOptions,
}

impl ArraysRequest<'_> {
    /// The response of a format that keeps all attributes and whose axes count from 0.
    pub fn kept(&self) -> Fitted {
        let own = self.arrays.iter().flat_map(|array| &array.attributes);
        let kept = self.attributes.iter().chain(own).map(|attribute| attribute.name.clone()).collect();
        let lost = self.arrays.iter().filter_map(NamedArray::lost_origin).collect();
        Fitted { kept, lost, ..Fitted::default() }
    }
}

/// The format's response to a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fitted {
    /// Columns stored in a wider type; every value is kept.
    pub changed: Vec<TypeChange>,
    /// The names of the attributes that it keeps.
    pub kept: Vec<String>,
    /// What it cannot keep, one line each.
    pub lost: Vec<String>,
}

impl Fitted {
    /// A format that keeps attributes.
    pub fn keeping(facts: &TableFacts) -> Self {
        let kept = facts.attributes.iter().map(|attribute| attribute.name.clone()).collect();
        Self { changed: Vec::new(), kept, lost: lost(facts) }
    }

    /// A format without attributes.
    pub fn losing(facts: &TableFacts) -> Self {
        let attributes =
            facts.attributes.iter().map(|attribute| format!("the attribute '{}'", attribute.name));
        let lost = lost(facts).into_iter().chain(attributes).collect();
        Self { changed: Vec::new(), kept: Vec::new(), lost }
    }

    /// Adds the result of [`check_types`](crate::fit::check_types).
    #[must_use]
    pub fn with_types(mut self, (changed, lost): (Vec<TypeChange>, Vec<String>)) -> Self {
        self.changed = changed;
        self.lost.extend(lost);
        self
    }
}

fn lost(facts: &TableFacts) -> Vec<String> {
    let native = facts.native.iter().flat_map(|native| &native.lost);
    facts.unkept.iter().chain(native).cloned().collect()
}

/// A write that has begun.
pub struct Created {
    /// Takes the rows.
    pub sink: Box<dyn Sink>,
    /// The format's response to the request.
    pub fitted: Fitted,
}

/// A write that is complete.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// What was written.
    pub summary: Summary,
    /// The format's response to the request.
    pub fitted: Fitted,
}

impl Written {
    /// Adds the write of another array to the same container.
    pub fn add(&mut self, other: Self) {
        let Self { summary, fitted } = other;
        self.summary.rows += summary.rows;
        self.summary.bytes += summary.bytes;
        self.summary.pieces += summary.pieces;
        self.summary.lost.extend(summary.lost);
        self.fitted.changed.extend(fitted.changed);
        self.fitted.kept.extend(fitted.kept);
        self.fitted.lost.extend(fitted.lost);
    }
}
