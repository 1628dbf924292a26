//! A comparison that is put together.

use tesselle_core::Result;

use super::{DiffOptions, Difference, compare};
use crate::open::{DatasetTable, Opener};
use crate::run::{RunOn, run_methods};

/// Starts to put together a comparison of the tables at two uris, of any formats.
///
/// ```no_run
/// let difference = tesselle::diff("a.parquet", "b.tsfile").key(["id"]).run()?;
/// assert!(difference.is_equal());
/// # Ok::<(), tesselle::Error>(())
/// ```
pub fn diff(left: impl Into<String>, right: impl Into<String>) -> Diff {
    Diff::new(Side::Uri(left.into()), Side::Uri(right.into()))
}

impl DatasetTable {
    /// Starts to put together a comparison with another table.
    pub fn diff(&self, other: &Self) -> Diff {
        Diff::new(Side::Table(self.clone()), Side::Table(other.clone()))
    }
}

/// A comparison that is put together. See [`diff`].
#[derive(Clone)]
#[must_use = "nothing is compared before `run`"]
pub struct Diff {
    left: Side,
    right: Side,
    opener: Opener,
    options: DiffOptions,
    memory: Option<u64>,
    run: RunOn,
}

#[derive(Clone)]
enum Side {
    Uri(String),
    Table(DatasetTable),
}

impl Diff {
    fn new(left: Side, right: Side) -> Self {
        let (opener, options) = (Opener::new(), DiffOptions::default());
        Self { left, right, opener, options, memory: None, run: RunOn::default() }
    }

    run_methods!();

    /// Sets how both sides are opened.
    pub fn opener(mut self, opener: Opener) -> Self {
        self.opener = opener;
        self
    }

    /// Matches rows by these columns `[default: by position where both sides have an order, else by the columns that identify a row]`.
    pub fn key<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.options.key = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// Compares only these columns `[default: all that both sides have]`.
    pub fn columns<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.options.columns = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Sets how many differing values are shown `[default: 20]`.
    pub fn shown(mut self, values: usize) -> Self {
        self.options.shown = values;
        self
    }

    /// Sets the memory for matching by key, in bytes `[default: that of the driver]`. What does not fit waits in temporary files.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Compares.
    pub fn run(self) -> Result<Difference> {
        let driver = self.run.driver()?;
        let mut options = self.options;
        options.memory = self.memory.unwrap_or_else(|| driver.budget().total());
        let opener = self.opener.on(&driver);
        let (left, right) = (self.left.open(&opener)?, self.right.open(&opener)?);
        compare(&left, &right, &options, &driver)
    }
}

impl Side {
    fn open(self, opener: &Opener) -> Result<DatasetTable> {
        match self {
            Self::Uri(uri) => opener.open_table(&uri),
            Self::Table(table) => Ok(table),
        }
    }
}
