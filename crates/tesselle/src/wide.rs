//! All arrays of a container as one table, if they have the same shape.

use std::collections::HashSet;
use std::sync::Arc;

use tesselle_core::array::{GridColumn, GridTable};
use tesselle_core::{AttributeScope, Container, Location, Native, Result, Table, TableFacts};

/// The axes, then a column for each array; `None` unless there are several arrays of one shape.
pub(crate) fn wide(container: &dyn Container, location: &Location) -> Result<Option<Arc<dyn Table>>> {
    let names = container.table_names();
    let distinct = names.iter().collect::<HashSet<_>>().len() == names.len();
    if names.len() < 2 || !distinct {
        return Ok(None);
    }
    let (mut columns, mut facts): (Vec<GridColumn>, Vec<TableFacts>) = (Vec::new(), Vec::new());
    for name in &names {
        let table = container.table(name)?;
        let Some(column) = GridColumn::of(&*table, name) else { return Ok(None) };
        if columns.first().is_some_and(|first| first.array.shape() != column.array.shape()) {
            return Ok(None);
        }
        facts.push(table.facts()?);
        columns.push(column);
    }
    let mut table = GridTable::try_new("*", columns, Arc::clone(location.storage()))?;
    let joined = table.facts_mut();
    joined.attributes.extend(container.attributes()?);
    join(joined, &names, facts);
    Ok(Some(Arc::new(table)))
}

/// Combines the facts of several tables. Attributes of a table get its name as a prefix.
fn join(all: &mut TableFacts, names: &[String], facts: Vec<TableFacts>) {
    let (mut lost, mut native) = (Vec::new(), None);
    for (name, own) in names.iter().zip(facts) {
        all.format = own.format;
        for mut attribute in own.attributes {
            if attribute.scope == AttributeScope::Table {
                attribute.name = format!("{name}.{}", attribute.name);
            }
            if all.attributes.iter().all(|known| known.name != attribute.name) {
                all.attributes.push(attribute);
            }
        }
        if let Some(own) = own.native {
            lost.extend(own.lost.into_iter().filter(|line| !lost.contains(line)).collect::<Vec<_>>());
            native.get_or_insert(own.value);
        }
    }
    all.native = native.map(|value| Native { value, lost });
}
