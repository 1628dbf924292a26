//! SQL over all files that the facade opens, on DataFusion.
//!
//! Files are tables (`FROM 'plant.tsfile#root.d1'`), predicates and projections use the format's pruning, row counts
//! and bounds that are exact in metadata answer aggregates without reading data, and `COPY … TO` writes every format
//! the facade can write.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("plant.csv");
//! # std::fs::write(&path, "time,speed\n1,80.5\n2,81\n3,79\n")?;
//! # let uri = path.to_str().ok_or("the path is UTF-8")?;
//! let session = tesselle_sql::Session::new(&tesselle_sql::SessionOptions::default())?;
//! for batch in session.query(&format!("SELECT max(speed) FROM '{uri}' WHERE time >= 2"))? {
//!     assert_eq!(batch?.num_rows(), 1);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Session`] has threads of its own and waits; [`AsyncSession`] runs statements on the tokio runtime of the caller.
//!
//! This crate must not know any single format.
#![forbid(unsafe_code)]

mod answer;
mod async_session;
mod bounds;
mod condition;
mod context;
mod copy;
mod decimals;
mod error;
mod files;
mod filter;
mod functions;
mod interrupt;
mod options;
mod provider;
mod runtime;
mod scan;
mod session;
mod statement;
mod statistics;
mod wording;

pub use answer::{Answer, AnswerStream};
pub use async_session::AsyncSession;
pub use condition::condition;
/// One parsed statement, as [`Session::parse`] gives and [`Session::run`] takes it.
pub use datafusion::sql::parser::Statement;
pub use error::{from_datafusion, to_datafusion};
pub use interrupt::Interrupt;
pub use options::SessionOptions;
pub use provider::TesselleTable;
pub use session::Session;
pub use wording::{explain, word};
