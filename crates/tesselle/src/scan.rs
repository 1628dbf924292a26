//! Reading the rows of a table.

use tesselle_core::driver::{Order, Rows, scan};
use tesselle_core::{Context, Result, Scan};

use crate::open::DatasetTable;
use crate::run::{RunOn, run_methods};

/// The methods of every builder with a field `scan`.
macro_rules! scan_methods {
    () => {
        /// Keeps only these columns, in this order.
        pub fn columns<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
            self.scan = self.scan.columns(names);
            self
        }

        /// Keeps only rows where this SQL condition is true. Fails where the condition cannot be parsed.
        pub fn filter(self, condition: &str) -> tesselle_core::Result<Self> {
            Ok(self.matching(condition.parse()?))
        }

        /// Keeps only rows where this predicate is true.
        pub fn matching(mut self, predicate: tesselle_core::Predicate) -> Self {
            self.scan = self.scan.filter(predicate);
            self
        }

        /// Keeps only this part of an array. Tables that are not arrays refuse it.
        pub fn select(mut self, selection: tesselle_core::Selection) -> Self {
            self.scan = self.scan.select(selection);
            self
        }

        /// Keeps at most `rows` rows.
        pub fn limit(mut self, rows: u64) -> Self {
            self.scan = self.scan.limit(rows);
            self
        }
    };
}
pub(crate) use scan_methods;

/// A builder for a scan of a table `[default: all rows and columns]`. See [`DatasetTable::scan`].
#[derive(Clone)]
#[must_use = "nothing is read before `rows`"]
pub struct TableScan {
    table: DatasetTable,
    scan: Scan,
    order: Order,
    run: RunOn,
}

impl TableScan {
    pub(crate) fn new(table: DatasetTable) -> Self {
        Self { table, scan: Scan::all(), order: Order::Plan, run: RunOn::default() }
    }

    run_methods!();
    scan_methods!();

    /// Replaces columns, filter, region and limit by those of `scan`.
    pub fn with(mut self, scan: Scan) -> Self {
        self.scan = scan;
        self
    }

    /// Sets the rows of a batch, where the table can choose.
    pub fn batch_rows(mut self, rows: usize) -> Self {
        self.scan.batch_rows = Some(rows);
        self
    }

    /// Returns batches as they are ready, rather than in the table's order.
    pub fn unordered(mut self) -> Self {
        self.order = Order::Any;
        self
    }

    /// Starts reading.
    pub fn rows(&self) -> Result<Rows> {
        let driver = self.run.driver()?;
        let table = &self.table;
        scan(&**table.table(), &self.scan, &driver, self.order).in_file(table.location().path())
    }
}
