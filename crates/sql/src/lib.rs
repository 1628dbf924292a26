//! SQL over everything the facade opens, on DataFusion.
//!
//! Files are tables (`FROM 'plant.tsfile#root.d1'`), predicates and projections reach the format's own pruning,
//! row counts and bounds that metadata knows exactly answer aggregates without reading data, and `COPY … TO` writes
//! every format the facade can write.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("plant.csv");
//! # std::fs::write(&path, "time,speed\n1,80.5\n2,81\n3,79\n")?;
//! use tesselle_sql::{Session, SessionOptions};
//!
//! let session = Session::new(&SessionOptions::default())?;
//! session.register("plant", path.to_str().ok_or("the path is UTF-8")?)?;
//! for batch in session.query("SELECT avg(speed) FROM plant WHERE time > 1")? {
//!     assert_eq!(batch?.num_rows(), 1);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`AsyncSession`] runs statements on the caller's runtime. [`TesselleTable`] is a table provider for those who have a
//! `SessionContext` already.
//!
//! This crate must not know any single format.
#![forbid(unsafe_code)]

mod answer;
mod asynchronous;
mod bounds;
mod context;
mod copy;
mod error;
mod files;
mod filter;
mod functions;
mod interrupt;
mod provider;
mod scan;
mod session;
mod statistics;
mod wording;

pub use answer::Answer;
pub use asynchronous::AsyncSession;
/// One parsed statement, as [`Session::parse`] gives and [`Session::run`] takes it.
pub use datafusion::sql::parser::Statement;
pub use error::{from_datafusion, to_datafusion};
pub use interrupt::Interrupt;
pub use provider::TesselleTable;
pub use session::{Session, SessionOptions};
pub use wording::{explain, word};
