//! Comparison of two tables or containers of any formats: columns, row counts, values.

mod builder;
mod common;
mod containers;
mod digest;
mod found;
mod names;
mod rows;
mod sort;
mod tolerance;

use std::sync::Arc;

use arrow_schema::Schema;
pub use builder::{Diff, diff};
pub use found::{Difference, DifferingValue, RowPlace};
use names::Names;
use rows::{Batches, Comparison};
use tesselle_core::fit::plain_type;
use tesselle_core::{Driver, Error, Result, Scan, TableFacts};
pub use tolerance::Tolerance;

use crate::open::DatasetTable;

/// How to compare.
#[derive(Debug, Clone)]
struct DiffOptions {
    /// The columns by which rows are matched; `None` matches by position if both sides are ordered, and otherwise by
    /// the columns that identify a row.
    key: Option<Vec<String>>,
    /// Only these columns are compared; `None` is all that both sides have.
    columns: Option<Vec<String>>,
    /// How many differing values are shown.
    shown: usize,
    /// Maximum memory for matching by key; the rest is spilled to temporary files.
    memory: u64,
    /// How far floats may be apart and still be equal; `None` is not at all.
    tolerance: Option<Tolerance>,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self { key: None, columns: None, shown: 20, memory: 4 << 30, tolerance: None }
    }
}

/// Compares two opened tables.
fn compare(
    left: &DatasetTable,
    right: &DatasetTable,
    options: &DiffOptions,
    driver: &Driver,
) -> Result<Difference> {
    let names = Arc::new(Names::of(left, right));
    let options = &names.options(options);
    let (left_schema, right_schema) = (left.schema(), names.schema(&right.schema()));
    let wanted = |name: &str| {
        let own = options.columns.iter().flatten().chain(options.key.iter().flatten());
        options.columns.is_none() || own.into_iter().any(|wanted| wanted == name)
    };
    for name in options.columns.iter().flatten() {
        if left_schema.index_of(name).is_err() && right_schema.index_of(name).is_err() {
            let known = left_schema.fields().iter().map(|field| field.name().as_str());
            return Err(Error::unknown_name("column", name, known));
        }
    }
    let schema = compare_schemas(&left_schema, &right_schema, wanted);
    let shared: Vec<String> = left_schema
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .filter(|name| right_schema.index_of(name).is_ok() && wanted(name))
        .collect();
    let key = match &options.key {
        Some(key) => {
            if let Some(missing) = key.iter().find(|name| !shared.contains(name)) {
                return Err(Error::unknown_name("key column", missing, shared.iter().map(String::as_str)));
            }
            Some(key.clone())
        }
        None => identity([(&left.facts()?, &left_schema), (&right.facts()?, &right_schema)], &shared),
    };
    let comparison = Comparison::try_new(&left_schema, &right_schema, &shared, options, driver)?;
    let batches = |table: &DatasetTable, columns: Vec<String>| -> Result<Batches> {
        let scan = Scan::all().columns(columns);
        Ok(Box::new(table.scan().with(scan).on(driver).rows()?.into_batches()))
    };
    let from_left = || batches(left, shared.clone());
    let from_right = || -> Result<Batches> {
        let own = shared.iter().map(|name| names.on_right(name).to_owned());
        let (rows, names) = (batches(right, own.collect())?, Arc::clone(&names));
        Ok(Box::new(rows.map(move |batch| batch.and_then(|batch| names.rows(batch)))))
    };
    let found = match key {
        None => comparison.by_position(from_left()?, from_right()?)?,
        Some(key) => {
            // A type change may change the order, so only columns of the same type count as sorted.
            let right_order = right.table().sort_columns();
            let right_order = right_order.iter().map(|name| names.on_left(name));
            let in_order =
                schema.is_empty() && left.table().sort_columns() == key && right_order.eq(key.iter());
            comparison.by_key(&from_left, &from_right, in_order, &key)?
        }
    };
    let rounded = if options.tolerance.is_none() {
        shared.into_iter().filter(|name| is_rounded(&left_schema, &right_schema, name)).collect()
    } else {
        Vec::new()
    };
    Ok(Difference { tables: 1, schema, rounded, ..found })
}

/// Whether a column is a float on both sides, with fewer digits on one of them.
fn is_rounded(left: &Schema, right: &Schema, name: &str) -> bool {
    let of = |schema: &Schema| schema.field_with_name(name).ok().map(|field| field.data_type().clone());
    let (Some(left), Some(right)) = (of(left), of(right)) else { return false };
    left.is_floating() && right.is_floating() && left != right
}

/// The columns by which rows are matched; `None` matches by position, if both sides are ordered. A side without a key of its
/// own, such as CSV, is matched by that of the other.
fn identity([left, right]: [(&TableFacts, &Schema); 2], shared: &[String]) -> Option<Vec<String>> {
    if !left.0.unordered && !right.0.unordered {
        return None;
    }
    let own = [left, right].into_iter().find_map(|(facts, schema)| {
        let own = facts.identity().into_iter().filter(|name| schema.index_of(name).is_ok());
        let own: Vec<String> = own.map(str::to_owned).collect();
        Some(own).filter(|own| !own.is_empty() && own.iter().all(|name| shared.contains(name)))
    });
    Some(own.unwrap_or_else(|| shared.to_vec()))
}

fn compare_schemas(left: &Schema, right: &Schema, wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let mut lines = Vec::new();
    for field in left.fields().iter().filter(|field| wanted(field.name())) {
        match right.field_with_name(field.name()) {
            Err(_) => lines.push(format!("column '{}' is only on the left", field.name())),
            Ok(other) => {
                let (a, b) = (plain_type(field.data_type()), plain_type(other.data_type()));
                if a != b {
                    lines.push(format!("column '{}' is {a} on the left and {b} on the right", field.name()));
                }
            }
        }
    }
    let only_right = right
        .fields()
        .iter()
        .filter(|field| left.field_with_name(field.name()).is_err() && wanted(field.name()));
    lines.extend(only_right.map(|field| format!("column '{}' is only on the right", field.name())));
    lines
}
