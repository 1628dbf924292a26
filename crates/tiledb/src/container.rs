//! An array as a container.

use std::sync::Arc;

use serde_json::Value as Json;
use tesselle_core::{Container, Depth, Description, Driver, LayoutMap, Location, OpenOptions, Report, Table};

use crate::fragment::Fragment;
use crate::meta::slots::Field;
use crate::open::Array;
use crate::table::ArrayTable;
use crate::{Error, Result, describe, layout, stated, verify};

pub(crate) struct ArrayContainer {
    array: Arc<Array>,
}

/// Opens the array in the folder `location`.
pub(crate) fn open_array(location: &Location, options: &OpenOptions) -> Result<Arc<dyn Container>> {
    Ok(Arc::new(ArrayContainer { array: Arc::new(Array::open(location, options)?) }))
}

impl Container for ArrayContainer {
    fn describe(&self) -> Result<Description> {
        describe::describe(&self.array)
    }

    fn table_names(&self) -> Vec<String> {
        vec![String::new()]
    }

    fn table(&self, name: &str) -> Result<Arc<dyn Table>> {
        if !name.is_empty() {
            return Err(Error::unknown_name("table", name, [""]).hint("an array has a single, unnamed table"));
        }
        Ok(Arc::new(ArrayTable::new(Arc::clone(&self.array))))
    }

    fn chunks(&self, limit: Option<usize>) -> Result<Vec<Json>> {
        let limit = limit.unwrap_or(usize::MAX);
        let mut out = Vec::new();
        for fragment in &self.array.fragments {
            for field in stored_fields(fragment) {
                let left = limit.saturating_sub(out.len()) as u64;
                if left == 0 {
                    return Ok(out);
                }
                out.extend(stated::tiles(&self.array, fragment, field, left)?);
            }
        }
        Ok(out)
    }

    fn chunk_count(&self) -> Option<u64> {
        let counts = self.array.fragments.iter().map(|f| f.tiles.checked_mul(stored_fields(f).len() as u64));
        counts.into_iter().try_fold(0_u64, |sum, count| sum.checked_add(count?))
    }

    fn schema_json(&self) -> Result<Option<Json>> {
        describe::schema(&self.array).map(Some)
    }

    fn layout(&self) -> Result<LayoutMap> {
        layout::layout(&self.array)
    }

    fn verify(&self, depth: Depth, driver: &Driver, report: &mut Report) -> Result<()> {
        verify::verify(&self.array, depth, driver, report)
    }
}

/// The fields of a fragment that have files of their own.
pub(crate) fn stored_fields(fragment: &Fragment) -> Vec<Field> {
    let stored = |field: &Field| match field {
        Field::Coords => fragment.version() < 5 && !fragment.footer.dense,
        Field::Dimension(_) => !fragment.footer.dense,
        _ => true,
    };
    fragment.slots.fields().into_iter().filter(stored).collect()
}

/// The name of a field as the schema has it.
pub(crate) fn field_name(fragment: &Fragment, field: Field) -> String {
    let schema = &fragment.schema;
    match field {
        Field::Attribute(i) => schema.attributes.get(i).map(|a| a.name.clone()).unwrap_or_default(),
        Field::Dimension(i) => schema.dimensions.get(i).map(|d| d.name.clone()).unwrap_or_default(),
        Field::Coords => "__coords".to_owned(),
        Field::Timestamps => "__timestamps".to_owned(),
        Field::DeleteTimestamps => "__delete_timestamps".to_owned(),
        Field::DeleteCondition => "__delete_condition_index".to_owned(),
    }
}
