//! SQL over all files that the facade opens, on DataFusion.
//!
//! Files are tables (`FROM 'plant.tsfile#root.d1'`), predicates and projections use the format's pruning, row counts
//! and bounds that are exact in metadata answer aggregates without reading data, and `COPY … TO` writes every format
//! the facade can write.
//!
//! ```standalone_crate
//! # let folder = tempfile::tempdir()?;
//! # std::env::set_current_dir(folder.path())?;
//! # std::fs::write("plant.csv", "time,speed\n1,80.5\n2,81\n3,79\n")?;
//! let session = tesselle_sql::Session::try_new(&tesselle_sql::SessionOptions::default())?;
//! let mut answer = session.query("SELECT max(speed) FROM 'plant.csv' WHERE time >= 2")?;
//! let batch = answer.next().ok_or("there is a row")??;
//! assert_eq!((batch.num_rows(), batch.num_columns()), (1, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Session`] has its own threads and blocks; [`AsyncSession`] runs statements on the tokio runtime of the caller.
//!
//! This crate must not know any single format.
#![forbid(unsafe_code)]

mod answer;
mod async_session;
mod bounds;
mod compact;
mod condition;
mod context;
mod copy;
mod decimals;
mod error;
mod files;
mod filter;
mod functions;
mod interrupt;
mod lists;
mod options;
mod parts;
mod pool;
mod provider;
mod runtime;
mod scan;
mod session;
mod spill;
mod statement;
mod statistics;
mod tables;
mod times;
mod wording;

pub use answer::{Answer, AnswerStream};
pub use async_session::AsyncSession;
pub use condition::condition;
/// A parsed statement: the result of [`Session::parse`], the input of [`Session::run`].
pub use datafusion::sql::parser::Statement;
pub use error::{external as to_datafusion, ours as from_datafusion};
pub use interrupt::Interrupt;
pub use options::SessionOptions;
pub use provider::TesselleTable;
pub use session::Session;
pub use wording::{explain, word};

/// Compiles the example of the front page of the repository.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
