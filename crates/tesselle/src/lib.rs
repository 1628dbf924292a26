//! One engine for chunked data files: TileDB arrays, TsFile, tet and tatami, next to Parquet, Arrow, CSV, JSON lines, npy
//! and Zarr.
//!
//! ```no_run
//! use tesselle::Scan;
//!
//! let table = tesselle::open("run.tet#temperature")?.default_table()?;
//! let driver = tesselle::Driver::new(&tesselle::DriverOptions::default())?;
//! for batch in table.rows(&Scan::all().limit(10), &driver)? {
//!     println!("{} rows", batch?.num_rows());
//! }
//! # Ok::<(), tesselle::Error>(())
//! ```
//!
//! This is the only crate that knows all formats; everything above it (SQL, command line, Python) goes through it.
#![forbid(unsafe_code)]

mod convert;
mod create;
mod diff;
pub mod foreign;
mod health;
pub mod name;
mod open;
mod registry;
mod run;
mod walk;
mod wide;

pub use convert::{Conversion, convert};
pub use create::{Create, CreateArray, WriteReport, Writer, create, create_array};
pub use diff::{DiffOptions, Difference, diff, diff_tables};
pub use health::{repair, repair_in_place, verify};
pub use name::Uri;
pub use open::{Dataset, DatasetTable, Opener, open};
pub use registry::{detect, format_by_extension, format_by_name, formats, target_format};
pub use tesselle_core::driver::{default_driver, set_default_driver};
pub use tesselle_core::*;
pub use tesselle_tatami::search;
pub use walk::{Found, find, find_where, is_container};
/// What only one format has.
pub use {
    tesselle_tatami as tatami, tesselle_tet as tet, tesselle_tiledb as tiledb, tesselle_tsfile as tsfile,
};

/// Runs `scan` over `table`, in the table's row order.
pub fn scan(table: &dyn Table, scan: &Scan, driver: &Driver) -> Result<driver::Rows> {
    driver::scan(table, scan, driver, driver::Order::Plan)
}
