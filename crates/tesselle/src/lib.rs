//! One engine for chunked data files: TileDB arrays, TsFile, tet and tatami, next to Parquet, Arrow, CSV, JSON lines, npy
//! and Zarr.
//!
//! # Read
//!
//! [`open`] takes any of them and returns a [`Dataset`] of tables. The rows of a scan are a
//! [`RecordBatchReader`](arrow::array::RecordBatchReader).
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("plant.csv");
//! # let uri = path.to_str().ok_or("the path is UTF-8")?;
//! # std::fs::write(uri, "time,speed\n1,80.5\n2,81\n3,79\n")?;
//! let table = tesselle::open(uri)?.default_table()?;
//! let mut rows = table.scan().columns(["speed"]).filter("time >= 2")?.limit(10).rows()?;
//! let batch = rows.next().ok_or("there are rows")??;
//! assert_eq!((batch.num_rows(), batch.num_columns()), (2, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Write rows
//!
//! [`create`] writes record batches to any format. The target appears atomically.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("plant.tsfile");
//! # let uri = path.to_str().ok_or("the path is UTF-8")?;
//! use std::sync::Arc;
//!
//! use tesselle::arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
//! use tesselle::tsfile;
//!
//! let time: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
//! let speed: ArrayRef = Arc::new(Float64Array::from(vec![80.5, 81.0, 79.5]));
//! let batch = RecordBatch::try_from_iter([("time", time), ("speed", speed)])?;
//!
//! let options = tsfile::WriteOptions::new().device("root.fleet.truck1");
//! let mut writer = tesselle::create(uri, batch.schema()).options(options).start()?;
//! writer.write(&batch)?;
//! assert_eq!(writer.finish()?.summary.rows, 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Write an array
//!
//! [`create_array`] writes an array from memory, or the array of another file, chunk by chunk.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("field.tet");
//! # let uri = path.to_str().ok_or("the path is UTF-8")?;
//! use tesselle::array::MemoryArray;
//! use tesselle::tet;
//!
//! let cells: Vec<f32> = (0..400 * 300).map(|i| i as f32).collect();
//! let field = MemoryArray::from_slice(&cells, [400, 300])?;
//! tesselle::create_array(uri, field).options(tet::WriteOptions::new().chunk([64, 64]).codec(tet::Codec::Zstd)).write()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Convert, compare, verify, repair
//!
//! [`convert`], [`diff`], [`verify`] and [`repair`] are builders as well: they take any format, and run with `run`.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
//! # let (csv, parquet) = (path("a.csv"), path("a.parquet"));
//! # std::fs::write(&csv, "id,speed\n1,80.5\n2,81\n")?;
//! tesselle::convert(&csv, &parquet).run()?;
//! assert!(tesselle::diff(&csv, &parquet).run()?.is_equal());
//! assert!(tesselle::verify(&parquet).run()?.ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Search
//!
//! [`index`](fn@index) builds a search segment from any table, [`search`](fn@search) finds documents in it: see the module
//! [`search`](mod@search).
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
//! # let (notes, segment) = (path("notes.csv"), path("notes.tatami"));
//! std::fs::write(&notes, "doc_id,body\na,a stone bridge\nb,the river\n")?;
//! tesselle::index(&notes, &segment).text(["body"]).run()?;
//! let found = tesselle::search(&segment, "bridge").k(5).run()?;
//! assert_eq!(found.hits[0].fields.doc_id.as_slice(), b"a");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # SQL
//!
//! The crate `tesselle-sql` runs SQL over all formats; a quoted file name is a table. This example is tested on its front page.
//!
//! ```ignore
//! let session = tesselle_sql::Session::try_new(&tesselle_sql::SessionOptions::default())?;
//! let mut answer = session.query("SELECT max(speed) FROM 'plant.csv' WHERE time >= 2")?;
//! let batch = answer.next().ok_or("there is a row")??;
//! assert_eq!((batch.num_rows(), batch.num_columns()), (1, 1));
//! ```
//!
//! # Threads and memory
//!
//! Calls run on [`default_driver`], unless a builder is given another [`Driver`] with `on`. Every builder also takes a
//! [`CancelToken`] with `cancel_with`.
//!
//! # Features
//!
//! All formats are on by default: `tiledb`, `tsfile`, `tet`, `tatami` (with search), `parquet`, `arrow-ipc`, `text` (CSV and JSON
//! lines) and `zarr` (with npy). `async`, on by default too, adds streams of batches for the caller's
//! runtime. `cloud` adds object stores, `serde` the plain form of read requests for other processes.
//!
//! This is the only crate that knows all formats; everything above it (SQL, command line, Python) goes through it.
#![forbid(unsafe_code)]

mod append;
mod cast;
mod compression;
mod convert;
mod create;
mod diff;
pub mod foreign;
mod health;
mod logical;
pub mod name;
mod open;
mod ranges;
mod registry;
mod run;
mod scan;
#[cfg(feature = "tatami")]
pub mod search;
mod several;
#[cfg(feature = "async")]
mod stream;
mod walk;
mod wide;

pub use append::{Append, Appended, append, append_array, append_rows};
pub use compression::Compression;
pub use convert::{Convert, convert};
pub use create::{
    Create, CreateArray, CreateArrays, WriteReport, Writer, create, create_array, create_arrays,
};
pub use diff::{Diff, Difference, DifferingValue, RowPlace, Tolerance, diff};
pub use health::{Repair, RepairedInPlace, Verify, repair, verify};
pub use logical::{StoredTypes, start as start_write};
pub use name::Uri;
pub use open::{Dataset, DatasetTable, Opener, open};
pub use ranges::NamedRange;
pub use registry::{detect, format_by_extension, format_by_name, formats, target_format};
pub use scan::TableScan;
#[cfg(feature = "tatami")]
pub use search::{Index, Search, index, search};
pub use several::files_in;
#[cfg(feature = "async")]
pub use stream::RowStream;
/// The traits that formats implement, for adding a format or using one directly.
pub use tesselle_core as core;
pub use tesselle_core::driver::{CancelToken, Rows, default_driver, set_default_driver};
pub use tesselle_core::{
    Action, ArrayView, Attribute, Container, DType, Depth, Description, Driver, DriverOptions, Error,
    ErrorKind, Finding, Format, Hint, Location, OpenOptions, Outcome, Predicate, Region, Repaired, Report,
    Result, RunStats, Scalar, Scan, Secret, Selection, Settings, Severity, Span, Summary, Table, TextOptions,
    TypeChange, WriteOptions, array, driver, parse_types, reduce, storage, type_by_name, type_name,
};
#[cfg(feature = "tatami")]
pub use tesselle_tatami as tatami;
#[cfg(feature = "tet")]
pub use tesselle_tet as tet;
#[cfg(feature = "tiledb")]
pub use tesselle_tiledb as tiledb;
#[cfg(feature = "tsfile")]
pub use tesselle_tsfile as tsfile;
pub use walk::{Found, find, find_where, is_container};

/// The crates of Arrow whose types are in this API, in the versions that fit it.
pub mod arrow {
    pub use {
        arrow_array as array, arrow_buffer as buffer, arrow_cast as cast, arrow_schema as schema,
        arrow_select as select,
    };
}
