//! The builder of a comparison.

use tesselle_core::{Error, Result};

use super::{DiffOptions, Difference, Tolerance, compare, containers};
use crate::open::{Dataset, DatasetTable, Opener};
use crate::run::{RunOn, run_methods};

/// Memory for matching rows by key. More is not faster with files, and equal rows in the same order need none.
const MATCHING: u64 = 192 << 20;

/// Builds a comparison of two tables of any formats, or of all tables of two containers by name.
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
    /// Builds a comparison with another table.
    pub fn diff(&self, other: &Self) -> Diff {
        Diff::new(Side::Table(self.clone()), Side::Table(other.clone()))
    }
}

/// A builder for a comparison. See [`diff`].
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

    /// Matches rows by these columns `[default: by position if both sides are ordered, else by the natural key]`.
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

    /// Sets the memory for matching by key, in bytes `[default: that of the driver, at most 192 MiB]`. Rows that do not fit are spilled to temporary files.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Lets floats differ by this much `[default: not at all]`.
    pub fn tolerance(mut self, tolerance: Tolerance) -> Self {
        self.options.tolerance = Some(tolerance);
        self
    }

    /// Compares.
    pub fn run(self) -> Result<Difference> {
        let driver = self.run.driver()?;
        let mut options = self.options;
        options.memory = self.memory.unwrap_or_else(|| driver.budget().total().min(MATCHING));
        // A time applies to the sides that keep earlier states: at least to one of them.
        let opener = self.opener.on(&driver).among_others(true);
        let left = self.left.open(&opener)?;
        let right = self.right.open(&opener.among_others(left.keeps_history()))?;
        match (left, right) {
            (Opened::Table(left), Opened::Table(right)) => compare(&left, &right, &options, &driver),
            (Opened::Container(left, _), Opened::Container(right, _)) => {
                containers::diff(&left, &right, &options, &driver)
            }
            // One table against several: one of them has to be named.
            (Opened::Container(_, error), _) | (_, Opened::Container(_, error)) => Err(error),
        }
    }
}

/// An opened side.
enum Opened {
    Table(DatasetTable),
    /// Several tables, and why none of them is the one.
    Container(Dataset, Error),
}

impl Opened {
    fn keeps_history(&self) -> bool {
        let format = match self {
            Self::Table(table) => table.format(),
            Self::Container(dataset, _) => dataset.format(),
        };
        format.capabilities().keeps_history
    }
}

impl Side {
    fn open(self, opener: &Opener) -> Result<Opened> {
        let dataset = match self {
            Self::Uri(uri) => opener.open(&uri)?,
            Self::Table(table) => return Ok(Opened::Table(table)),
        };
        match dataset.default_table() {
            Ok(table) => Ok(Opened::Table(table)),
            Err(error) if dataset.chosen_table().is_none() => Ok(Opened::Container(dataset, error)),
            Err(error) => Err(error),
        }
    }
}
