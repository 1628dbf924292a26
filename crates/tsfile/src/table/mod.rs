//! The tables of an archive: one per device, one per table of the table model, those of several devices, and the long
//! table.

mod brief;
mod device;
mod devices;
mod long;
mod model;
mod rows;
mod stats;

pub(crate) use device::DeviceTable;
pub(crate) use devices::{DevicesTable, is_pattern};
pub(crate) use long::LongTable;
pub(crate) use model::ModelTableView;
pub(crate) use stats::exact_rows;
use tesselle_core::{Action, Error, Predicate, Pushdown, Result, Scan, TableFacts};

use crate::describe::attributes;
use crate::format::NAME;
use crate::open::Archive;
use crate::read::prune::interval_of;

/// Rows per batch unless the scan sets them.
pub(crate) const BATCH_ROWS: usize = 16 << 10;

/// The name of the long table.
pub(crate) const LONG: &str = "*";

/// State common to all tables of an archive.
pub(crate) fn facts(archive: &Archive, table: &str) -> TableFacts {
    TableFacts {
        format: NAME,
        table: Some(table.to_owned()),
        attributes: attributes(archive),
        ..TableFacts::default()
    }
}

/// The columns that a scan selects, or all.
pub(crate) fn wanted(scan: &Scan, schema: &arrow_schema::Schema) -> Result<Vec<usize>> {
    if scan.selection.is_some() {
        return Err(Error::invalid("a TsFile table has no grid to slice")
            .suggest("use {} with the time column", [Action::Filter]));
    }
    scan.column_indices(schema)
}

/// A time range is applied exactly. Every other predicate only prunes: whole pages are kept or skipped.
pub(crate) fn pushdown(predicate: &Predicate) -> Pushdown {
    if interval_of(predicate).is_some() { Pushdown::Exact } else { Pushdown::Inexact }
}
