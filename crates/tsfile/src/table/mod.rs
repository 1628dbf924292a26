//! The tables of an archive: one per device, one per table of the table model, and the long table.

mod brief;
mod device;
mod long;
mod model;
mod stats;

pub(crate) use stats::exact_rows;

pub(crate) use device::DeviceTable;
pub(crate) use long::LongTable;
pub(crate) use model::ModelTableView;

use crate::read::prune::interval_of;
use tesselle_core::{Error, Predicate, Pushdown, Result, Scan};

/// Rows per batch where the scan leaves the choice.
pub(crate) const BATCH_ROWS: usize = 16 << 10;

/// The name of the long table.
pub(crate) const LONG: &str = "*";

/// The columns a scan asks for, or all.
pub(crate) fn wanted(scan: &Scan, schema: &arrow_schema::Schema) -> Result<Vec<usize>> {
    if scan.selection.is_some() {
        return Err(
            Error::invalid("a TsFile table has no grid to slice").hint("use --where with the time column")
        );
    }
    scan.column_indices(schema)
}

/// A stretch of time is cut out exactly. Every other predicate prunes: a page is kept or left out as a whole.
pub(crate) fn pushdown(predicate: &Predicate) -> Pushdown {
    if interval_of(predicate).is_some() { Pushdown::Exact } else { Pushdown::Inexact }
}
