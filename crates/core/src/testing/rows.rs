//! Rows in a form that compares.

use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_select::concat::concat_batches;

use crate::driver::{Driver, Order, scan};
use crate::scan::Scan;
use crate::table::Table;

/// The complete result of `request`, as one batch.
pub fn read_all(table: &dyn Table, request: &Scan, driver: &Driver) -> RecordBatch {
    let rows = scan(table, request, driver, Order::Plan).expect("the table can be scanned");
    let schema = rows.schema();
    let batches: Vec<RecordBatch> = rows.map(|batch| batch.expect("every batch can be read")).collect();
    for batch in &batches {
        assert_eq!(batch.schema(), schema, "every batch has the schema of the scan");
    }
    concat_batches(&schema, &batches).expect("batches of one schema can be concatenated")
}

/// Each row as a string, with nulls distinguished from empty values.
pub fn rows_as_strings(batch: &RecordBatch) -> Vec<String> {
    let options = FormatOptions::new().with_null("NULL");
    let columns: Vec<ArrayFormatter<'_>> =
        batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
    let nulls: Vec<_> = batch.columns().iter().map(|column| column.logical_nulls()).collect();
    (0..batch.num_rows())
        .map(|row| {
            let cells = columns.iter().zip(&nulls).map(|(column, nulls)| {
                if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                    "∅".to_owned()
                } else {
                    format!("{:?}", column.value(row).to_string())
                }
            });
            cells.collect::<Vec<_>>().join("|")
        })
        .collect()
}

/// The rows in a canonical order, to compare unordered results.
pub(super) fn sorted_rows(batch: &RecordBatch) -> Vec<String> {
    let mut rows = rows_as_strings(batch);
    rows.sort();
    rows
}
