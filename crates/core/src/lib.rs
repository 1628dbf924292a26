//! The vocabulary shared by all formats of Tesselle.
//!
//! A read always has the same four steps: *open* parses metadata into a [`Container`], *plan* turns a [`Scan`] of a
//! [`Table`] into [`Task`]s without reading data, *fetch* reads the byte ranges a task needs, and *decode* runs without
//! I/O on any thread. The [`Driver`] owns the threads and the memory; [`Storage`] owns the bytes. A write is the mirror
//! image: batches go into a [`Sink`], which commits them atomically.
//!
//! This crate must not know any format, DataFusion, or the command line.

mod append;
pub mod array;
mod at;
mod container;
mod coordinate;
mod cursor;
pub mod driver;
mod error;
mod facts;
pub mod fit;
mod format;
mod free_list;
mod hint;
mod label;
mod layout_map;
mod limits;
mod options;
mod predicate;
pub mod reduce;
mod report;
mod request;
mod scalar;
mod scan;
mod selection;
mod setters;
mod sink;
mod size;
mod stats;
pub mod storage;
mod table;
mod task;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(feature = "serde")]
mod ticket;
mod types;
mod value_buffer;

pub use append::{AppendRequest, RowStream};
pub use array::{ArrayView, DType};
pub use at::{At, Within};
pub use container::{ColumnDescription, Container, Description, TableDescription};
pub use coordinate::{coordinate, coordinates_in, split_ends};
pub use cursor::Cursor;
pub use driver::{Driver, DriverOptions};
pub use error::{Context, Error, ErrorKind, Result};
pub use facts::{
    Attribute, AttributeScope, ColumnRole, GridAxis, GridFacts, GridKind, GridOrder, Native, TableFacts,
};
pub use fit::{Fit, TypeChange};
pub use format::{Confidence, Folder, FolderKind, Format, FormatFacts, Outcome, Probe, Repaired, Rewritten};
pub use hint::{Action, Hint, shown};
pub use label::Label;
pub use layout_map::{Extent, FileLayout, LayoutMap, Role};
pub use limits::Limits;
pub use options::{OpenOptions, Secret, Settings, TextOptions, WriteOptions};
pub use predicate::{ColumnBounds, Comparison, Condition, Custom, Leaf, Predicate, Verdict};
pub use report::{Depth, Finding, Report, Severity};
pub use request::{
    ArrayRequest, ArraysRequest, Capabilities, Created, Fitted, NamedArray, RepairRequest, RewriteRequest,
    WriteRequest, WriteTarget, Written,
};
pub use scalar::{Scalar, hex, json_bytes, json_float, unhex};
pub use scan::{Remainder, Scan};
pub use selection::{AxisSelection, Region, Selection, Span, SpanPart};
pub use sink::{Sink, Summary};
pub use size::parse_size;
pub use stats::{ColumnStats, Known, RunStats, TableStats};
pub use storage::{Location, Storage};
pub use table::{Pushdown, TYPE_KEY, Table};
pub use task::{ByteRange, Cost, Plan, Step, Task};
#[cfg(feature = "serde")]
pub use ticket::ScanTicket;
pub use types::{listed_name, parse_types, per_second, split_names, type_by_name, type_name};
pub use value_buffer::ValueBuffer;
