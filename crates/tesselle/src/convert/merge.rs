//! Conversion of several files with the same columns into one.

use tesselle_core::{Driver, Error, Result};

use super::place::refuse_same;
use super::{Conversion, convert_rows, encrypted, one_table};
use crate::create::WriteReport;
use crate::name::Uri;
use crate::open::DatasetTable;
use crate::registry;

/// Writes the rows of all `inputs`, in this order, to `output`. Their tables must have the same columns. The target
/// appears atomically.
pub(super) fn merge(
    inputs: &[String],
    output: &str,
    conversion: &Conversion,
    driver: &Driver,
) -> Result<WriteReport> {
    let target = Uri::target(output)?;
    let to = registry::target_format(conversion.to.as_deref(), target.name())?;
    target.refuse_existing(conversion.write.overwrite)?;
    let conversion = &encrypted(to, conversion);
    let mut tables: Vec<DatasetTable> = Vec::with_capacity(inputs.len());
    for input in inputs {
        let table = one_table(&conversion.opener.clone().used_by(to).open(input)?, to)?;
        refuse_same(table.location(), &target)?;
        if let Some(first) = tables.first() {
            refuse_other_columns(first, &table)?;
        }
        tables.push(table);
    }
    let Some(first) = tables.first() else { return Err(Error::invalid("there is nothing to convert")) };
    let mut facts = first.facts()?;
    facts.attributes.extend(conversion.attributes.iter().cloned());
    // Grids and statistics of one file are not those of all.
    facts.reduce();
    convert_rows(&tables, facts, target, to, conversion, driver)
}

fn refuse_other_columns(first: &DatasetTable, other: &DatasetTable) -> Result<()> {
    let columns = |table: &DatasetTable| -> Vec<String> {
        let schema = table.schema();
        schema.fields().iter().map(|field| format!("{} {}", field.name(), field.data_type())).collect()
    };
    let (wanted, found) = (columns(first), columns(other));
    if wanted == found {
        return Ok(());
    }
    let odd =
        found.iter().find(|column| !wanted.contains(column)).or(wanted.iter().find(|c| !found.contains(c)));
    let odd = odd.map_or_else(|| "they come in another order".to_owned(), |column| format!("'{column}'"));
    let (first, other) = (first.location().path(), other.location().path());
    Err(Error::invalid(format!("'{other}' has different columns than '{first}': {odd}"))
        .hint("convert them one by one, with the same columns and types"))
}
