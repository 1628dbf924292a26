//! Types that a format does not have, kept in types that it has.
//!
//! A decimal of up to 18 digits is stored as the 64-bit integer of its digits, a longer one as a string; dates and times of
//! other units become the type the format offers instead. An attribute of the container, [`KEY`], records what each column
//! is, and a table with this attribute is read back with its own types. Other readers see the stored columns and the
//! attribute.

mod column;
mod existing;
mod start;
mod table;

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema, SchemaRef};
use column::{from_stored, parse, spelled, stored_type};
pub use existing::StoredTypes;
pub use start::start;
use table::LogicalTable;
use tesselle_core::{Attribute, Error, Result, Table, TableFacts};

/// The attribute with the types of columns, as JSON: `{"price": "decimal128(15,2)"}`.
pub(crate) const KEY: &str = Attribute::TYPES;

/// The column of a table that is one tensor.
const VALUE: &str = "value";

/// Whether an attribute is the note, of the container or of one of its tables.
fn is_note(name: &str) -> bool {
    name == KEY || name.strip_suffix(KEY).is_some_and(|table| table.ends_with('.'))
}

/// Columns that are stored in another type, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Logical {
    types: BTreeMap<String, DataType>,
}

impl Logical {
    /// The attribute that goes with the stored columns.
    pub(crate) fn attribute(&self) -> Attribute {
        let types = self.types.iter().map(|(name, data_type)| (name.clone(), spelled(data_type).into()));
        Attribute::new(KEY, serde_json::Value::Object(types.collect()).to_string())
    }

    /// What the notes among the facts of a table state about its columns, as far as they are still stored that way. Fails
    /// if a note cannot be read: without it, dates and decimals would be returned as plain integers.
    fn of(facts: &TableFacts, schema: &Schema, table: &str) -> Result<Self> {
        let mut types = BTreeMap::new();
        for note in facts.attributes.iter().filter(|attribute| is_note(&attribute.name)) {
            let object: BTreeMap<String, String> =
                serde_json::from_str(&note.value_string()).map_err(|error| {
                    Error::corrupt(format!("attribute '{}' is not a list of types: {error}", note.name))
                        .class("bad_types")
                })?;
            // The column of a single tensor is called `value`, and the tensor has its name or none.
            let is_unnamed = table.is_empty()
                && object.len() == 1
                && facts.grid.as_ref().is_some_and(|grid| grid.axes.len() + 1 == schema.fields().len());
            types.extend(object.into_iter().filter_map(|(name, spelled)| {
                let is_tensor = (name == table || is_unnamed) && schema.index_of(&name).is_err();
                let name = if is_tensor { VALUE.to_owned() } else { name };
                let field = schema.field_with_name(&name).ok()?;
                let data_type = parse(&spelled)?;
                let fits = stored_type(&data_type, field.data_type()).as_ref() == Some(field.data_type());
                fits.then_some((name, data_type))
            }));
        }
        Ok(Self { types })
    }

    /// The schema with the types of this note.
    fn schema(&self, stored: &Schema) -> SchemaRef {
        let fields = stored.fields().iter().map(|field| match self.types.get(field.name()) {
            Some(own) => Arc::new((**field).clone().with_data_type(own.clone())),
            None => Arc::clone(field),
        });
        Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), stored.metadata().clone()))
    }

    /// A stored batch with its own types.
    fn restore(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let schema = self.schema(batch.schema_ref());
        let columns = batch.columns().iter().zip(schema.fields());
        let columns =
            columns.map(|(column, field)| from_stored(column, field)).collect::<Result<Vec<_>>>()?;
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
    }
}

/// The table with the types that its container notes for it, else the table itself.
pub(crate) fn restored(table: Arc<dyn Table>) -> Result<Arc<dyn Table>> {
    let logical = Logical::of(&table.facts()?, &table.schema(), table.name())?;
    if logical.types.is_empty() { Ok(table) } else { Ok(Arc::new(LogicalTable::new(table, logical))) }
}
