//! The tables of an archive: one per device, one per table of the table model, and the long table.

mod brief;
mod device;
mod long;
mod model;
mod stats;

pub(crate) use device::DeviceTable;
pub(crate) use long::LongTable;
pub(crate) use model::ModelTableView;
pub(crate) use stats::exact_rows;
use tesselle_core::{Action, Error, Predicate, Pushdown, Result, Scan, TableFacts};

use crate::describe::attributes;
use crate::format::NAME;
use crate::open::Archive;
use crate::read::prune::interval_of;

/// Rows per batch where the scan leaves the choice.
pub(crate) const BATCH_ROWS: usize = 16 << 10;

/// The name of the long table.
pub(crate) const LONG: &str = "*";

/// What every table of an archive has in common.
pub(crate) fn facts(archive: &Archive, table: &str) -> TableFacts {
    TableFacts {
        format: NAME,
        table: Some(table.to_owned()),
        attributes: attributes(archive),
        ..TableFacts::default()
    }
}

/// The columns a scan asks for, or all.
pub(crate) fn wanted(scan: &Scan, schema: &arrow_schema::Schema) -> Result<Vec<usize>> {
    if scan.selection.is_some() {
        return Err(Error::invalid("a TsFile table has no grid to slice")
            .suggest("use {} with the time column", [Action::Filter]));
    }
    scan.column_indices(schema)
}

/// A stretch of time is cut out exactly. Every other predicate prunes: a page is kept or left out as a whole.
pub(crate) fn pushdown(predicate: &Predicate) -> Pushdown {
    if interval_of(predicate).is_some() { Pushdown::Exact } else { Pushdown::Inexact }
}
