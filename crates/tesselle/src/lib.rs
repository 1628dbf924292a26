//! One engine for chunked data files: TileDB arrays, TsFile, tet and tatami.
//!
//! ```no_run
//! use tesselle::{OpenOptions, Scan};
//!
//! let opened = tesselle::open("run.tet#temperature", None, &OpenOptions::default())?;
//! let table = opened.table()?;
//! let driver = tesselle::Driver::new(&tesselle::DriverOptions::default())?;
//! for batch in tesselle::scan(&*table, &Scan::all().limit(10), &driver)? {
//!     println!("{} rows", batch?.num_rows());
//! }
//! # Ok::<(), tesselle::Error>(())
//! ```
//!
//! This is the only crate that knows all formats; everything above it (SQL, command line, Python) goes through it.
#![forbid(unsafe_code)]

mod convert;
mod diff;
pub mod foreign;
mod health;
mod layout;
mod open;
mod registry;
mod source;
mod types;
mod uri;
mod walk;

pub use convert::{Conversion, Converted, Target, TypeChange, convert};
pub use diff::{DiffOptions, Difference, diff, diff_sources};
pub use health::{repair, repair_in_place, verify};
pub use open::{Opened, open};
pub use registry::{detect, format_by_extension, format_by_name, formats};
pub use source::{RowStream, Source, SourceOptions};
pub use tesselle_core::*;
pub use tesselle_tatami::search;
pub use types::{parse_types, type_by_name};
pub use uri::{Uri, keep_pipes};
pub use walk::{Found, Wanted, find, is_container};
/// What only one format has.
pub use {
    tesselle_tatami as tatami, tesselle_tet as tet, tesselle_tiledb as tiledb, tesselle_tsfile as tsfile,
};

/// Runs `scan` over `table`, in the table's row order.
pub fn scan(table: &dyn Table, scan: &Scan, driver: &Driver) -> Result<driver::Rows> {
    driver::scan(table, scan, driver, driver::Order::Plan)
}
