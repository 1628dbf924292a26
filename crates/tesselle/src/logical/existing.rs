//! Containers that exist: what goes into their columns, and rows that were read from them as they are stored.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tesselle_core::{Error, Result, RowStream, Scalar, Table};

use super::Logical;
use super::column::{spelled, to_stored};

/// The columns of a table that are stored in other types than they have, such as decimals in a format without them.
///
/// Tables that [`open`](crate::open()) returns have their own types already. This is for whoever reads or writes a
/// container with the tools of its format.
#[derive(Debug, Clone)]
pub struct StoredTypes {
    logical: Logical,
    stored: SchemaRef,
}

impl StoredTypes {
    /// Those of a table as its format has it.
    pub fn of(table: &dyn Table) -> Result<Self> {
        let stored = table.schema();
        let logical = Logical::of(&table.facts()?, &stored, table.name())?;
        Ok(Self { logical, stored })
    }

    /// The type of a column, if it is stored in another one.
    pub fn own(&self, column: &str) -> Option<&DataType> {
        self.logical.types.get(column)
    }

    /// The value of a column that `text` spells, as it is stored; `None` if the column is stored in its own type.
    pub fn parse(&self, column: &str, text: &str) -> Result<Option<Scalar>> {
        let Some(own) = self.own(column) else { return Ok(None) };
        let refused = || {
            Error::invalid(format!("'{text}' is not a value of column '{column}', which is {}", spelled(own)))
        };
        let options = CastOptions { safe: false, ..CastOptions::default() };
        let spelling: ArrayRef = Arc::new(StringArray::from(vec![text.trim()]));
        let value = cast_with_options(&spelling, own, &options).map_err(|error| refused().source(error))?;
        let stored = to_stored(&value, self.stored.field_with_name(column)?)?;
        let number = |to: &DataType| Ok::<_, Error>(cast_with_options(&stored, to, &options)?);
        Ok(Some(match stored.data_type() {
            DataType::Utf8 => Scalar::from(stored.as_string::<i32>().value(0)),
            _ => Scalar::from(number(&DataType::Int64)?.as_primitive::<Int64Type>().value(0)),
        }))
    }

    /// Fails if one of these columns is stored in another type: `purpose` works on stored values.
    pub fn refuse<'a>(&self, columns: impl IntoIterator<Item = &'a str>, purpose: &str) -> Result<()> {
        let Some((column, own)) = columns.into_iter().find_map(|name| Some((name, self.own(name)?))) else {
            return Ok(());
        };
        Err(Error::invalid(format!(
            "column '{column}' is {}, which this format stores in another form; {purpose} cannot use it",
            spelled(own)
        )))
    }

    /// A batch that was read as it is stored, with the types that its columns have.
    pub fn restore(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        self.logical.restore(batch)
    }

    /// Rows as they are stored in the table. A value that its column cannot have is an error.
    pub fn store<'a>(&self, rows: RowStream<'a>) -> Result<RowStream<'a>> {
        let touched = |field: &Field| self.own(field.name()).is_some();
        if !rows.schema.fields().iter().any(|field| touched(field)) {
            return Ok(rows);
        }
        let with = |types: &dyn Fn(&str) -> Option<DataType>| {
            let fields = rows.schema.fields().iter().map(|field| match types(field.name()) {
                Some(data_type) => Arc::new(Field::new(field.name(), data_type, true)),
                None => Arc::clone(field),
            });
            Arc::new(Schema::new(fields.collect::<Vec<_>>()))
        };
        let own = with(&|name| self.own(name).cloned());
        let stored = with(&|name| {
            self.own(name)?;
            self.stored.field_with_name(name).ok().map(|field| field.data_type().clone())
        });
        let RowStream { batches, .. } = rows.conform(&own)?;
        let schema = Arc::clone(&stored);
        let batches = batches.map(move |batch| {
            let batch = batch?;
            let columns = batch.columns().iter().zip(schema.fields());
            let columns =
                columns.map(|(column, field)| to_stored(column, field)).collect::<Result<Vec<_>>>()?;
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            Ok(RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options)?)
        });
        Ok(RowStream { schema: stored, batches: Box::new(batches) })
    }
}
