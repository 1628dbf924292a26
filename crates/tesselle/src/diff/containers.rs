//! Comparing all tables of two containers, by their names.

use std::collections::HashSet;

use tesselle_core::{Driver, Result};

use super::{DiffOptions, Difference, DifferingValue, compare};
use crate::open::Dataset;

/// Compares the tables that both have; those of one side alone are differences.
pub(super) fn diff(
    left: &Dataset,
    right: &Dataset,
    options: &DiffOptions,
    driver: &Driver,
) -> Result<Difference> {
    let (left_names, right_names) = (left.table_names(), right.table_names());
    let on_left: HashSet<&String> = left_names.iter().collect();
    let on_right: HashSet<&String> = right_names.iter().collect();
    let mut all = Difference::default();
    for name in &left_names {
        driver.check_canceled()?;
        if !on_right.contains(name) {
            all.schema.push(format!("table '{}' is only on the left", name.escape_debug()));
            continue;
        }
        let options = DiffOptions { shown: options.shown.saturating_sub(all.first.len()), ..options.clone() };
        let found = compare(&left.table(name)?, &right.table(name)?, &options, &driver.for_run())?;
        all.add(name, found);
    }
    let others = right_names.iter().filter(|name| !on_left.contains(name));
    all.schema.extend(others.map(|name| format!("table '{}' is only on the right", name.escape_debug())));
    Ok(all)
}

impl Difference {
    /// Adds what differs in one table.
    fn add(&mut self, table: &str, found: Self) {
        self.tables += found.tables;
        let name = table.escape_debug();
        self.schema.extend(found.schema.into_iter().map(|line| format!("table '{name}': {line}")));
        self.rounded.extend(
            found.rounded.into_iter().filter(|column| !self.rounded.contains(column)).collect::<Vec<_>>(),
        );
        self.rows = (self.rows.0 + found.rows.0, self.rows.1 + found.rows.1);
        self.values += found.values;
        self.unmatched = (self.unmatched.0 + found.unmatched.0, self.unmatched.1 + found.unmatched.1);
        let named = |value| DifferingValue { table: Some(table.to_owned()), ..value };
        self.first.extend(found.first.into_iter().map(named));
    }
}
