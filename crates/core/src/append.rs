//! An append: rows, or an array, for an existing table.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_cast::{CastOptions, can_cast_types, cast_with_options};
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, Schema, SchemaRef, SortOptions};

use crate::array::ArrayView;
use crate::error::{Error, Result};
use crate::fit::plain_type;
use crate::hint::Action;
use crate::options::{OpenOptions, Settings};
use crate::storage::Location;
use crate::types::type_name;

/// Batches with the same schema.
pub struct RowStream<'a> {
    /// The columns.
    pub schema: SchemaRef,
    /// The rows.
    pub batches: Box<dyn Iterator<Item = Result<RecordBatch>> + 'a>,
}

/// Rows, or an array, to append to an existing table.
pub struct AppendRequest<'a> {
    /// The container.
    pub location: Location,
    /// The table to append to; `None` is the only one.
    pub table: Option<String>,
    /// The rows to append.
    pub rows: RowStream<'a>,
    /// The same as an array, if the source is a whole array.
    pub array: Option<Arc<dyn ArrayView>>,
    /// The axis along which an array grows, by name or number; `None` is the first one.
    pub axis: Option<String>,
    /// The format's own settings, by name.
    pub settings: Settings,
    /// How to open the container.
    pub open: OpenOptions,
}

impl std::fmt::Debug for AppendRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AppendRequest")
            .field("location", &self.location.path())
            .field("table", &self.table)
            .field("schema", &self.rows.schema)
            .finish_non_exhaustive()
    }
}

impl AppendRequest<'_> {
    /// The number of the axis that an array with axes of these names grows along.
    pub fn axis_of(&self, names: &[&str]) -> Result<usize> {
        let Some(axis) = &self.axis else { return Ok(0) };
        let by_name = names.iter().position(|name| name == axis);
        let number = || axis.parse().ok().filter(|number| *number < names.len());
        by_name.or_else(number).ok_or_else(|| Error::unknown_name("axis", axis, names.iter().copied()))
    }

    /// Refuses an axis, for tables that have none.
    pub fn refuse_axis(&self) -> Result<()> {
        if self.axis.is_some() {
            return Err(Error::invalid("only dense arrays grow along an axis"));
        }
        Ok(())
    }
}

impl RowStream<'_> {
    /// The same rows with the columns of `target`, in its order and types. A column that is missing is null where it may
    /// be; one that `target` does not have is refused, and so is a value that another type would change.
    pub fn conform(self, target: &SchemaRef) -> Result<Self> {
        let is_known = |name: &str| target.index_of(name).is_ok();
        if let Some(field) = self.schema.fields().iter().find(|field| !is_known(field.name())) {
            return Err(Error::invalid(format!("the table has no column '{}'", field.name()))
                .suggest("choose the columns to add with {}", [Action::Columns]));
        }
        let sources =
            target.fields().iter().map(|field| source_of(&self.schema, field)).collect::<Result<Vec<_>>>()?;
        let schema = Arc::clone(target);
        let batches = self.batches.map(move |batch| conformed(&batch?, &schema, &sources));
        Ok(Self { schema: Arc::clone(target), batches: Box::new(batches) })
    }
}

/// Where a column comes from; `None` where it is null.
fn source_of(schema: &Schema, field: &arrow_schema::Field) -> Result<Option<usize>> {
    let (name, to) = (field.name(), field.data_type());
    let Ok(at) = schema.index_of(name) else {
        if field.is_nullable() {
            return Ok(None);
        }
        return Err(Error::invalid(format!("the rows have no column '{name}', which must have a value")));
    };
    let from = schema.field(at).data_type();
    if keeps_meaning(&plain_type(from), &plain_type(to)) && can_cast_types(from, to) {
        return Ok(Some(at));
    }
    Err(Error::invalid(format!(
        "column '{name}' is {} in the rows, {} in the table",
        type_name(from),
        type_name(to)
    ))
    .suggest("add {}", [Action::Cast(vec![(name.clone(), to.clone())])]))
}

/// Whether a cast keeps what values mean; whether they fit is a question of each.
fn keeps_meaning(from: &DataType, to: &DataType) -> bool {
    let is_string = |kind: &DataType| matches!(kind, DataType::Utf8);
    let is_time = |kind: &DataType| {
        matches!(kind, DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 | DataType::Duration(_))
    };
    match (from, to) {
        (from, to) if from == to => true,
        (DataType::Null, _) => true,
        (from, to) if from.is_numeric() && to.is_numeric() => true,
        (
            DataType::Binary | DataType::FixedSizeBinary(_),
            DataType::Binary | DataType::FixedSizeBinary(_),
        ) => true,
        (from, DataType::Binary) => is_string(from),
        // Without a time zone a time is its count; integers count in the unit of the column.
        (from, to) if is_time(to) => is_time(from) || from.is_integer(),
        (
            DataType::List(a) | DataType::FixedSizeList(a, _),
            DataType::List(b) | DataType::FixedSizeList(b, _),
        ) => keeps_meaning(&plain_type(a.data_type()), &plain_type(b.data_type())),
        _ => false,
    }
}

fn conformed(batch: &RecordBatch, schema: &SchemaRef, sources: &[Option<usize>]) -> Result<RecordBatch> {
    let columns = schema.fields().iter().zip(sources).map(|(field, source)| {
        let Some(source) = source else {
            return Ok(new_null_array(field.data_type(), batch.num_rows()));
        };
        let column = batch
            .columns()
            .get(*source)
            .ok_or_else(|| Error::internal(format!("column '{}' is missing from a batch", field.name())))?;
        if !field.is_nullable() && column.logical_null_count() > 0 {
            return Err(Error::invalid(format!(
                "column '{}' has a null, which the table does not allow",
                field.name()
            )));
        }
        exact_cast(column, field.name(), field.data_type())
    });
    let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// A column in another type, which must hold every value as it is.
fn exact_cast(column: &ArrayRef, name: &str, to: &DataType) -> Result<ArrayRef> {
    if column.data_type() == to {
        return Ok(Arc::clone(column));
    }
    let changed = |row: Option<usize>| {
        let place = row.map(|row| format!(" (row {row} of a batch)")).unwrap_or_default();
        Error::invalid(format!("column '{name}' has a value that does not fit {}{place}", type_name(to)))
            .suggest("{} rounds it", [Action::Cast(vec![(name.to_owned(), to.clone())])])
    };
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let cast = cast_with_options(column, to, &strict).map_err(|error| changed(None).source(error))?;
    let back =
        cast_with_options(&cast, column.data_type(), &strict).map_err(|error| changed(None).source(error))?;
    let compare = make_comparator(column, &back, SortOptions::default())?;
    match (0..column.len()).find(|row| compare(*row, *row).is_ne()) {
        Some(row) => Err(changed(Some(row))),
        None => Ok(cast),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float32Type, Int32Type};
    use arrow_array::{Float64Array, Int64Array, StringArray};
    use arrow_schema::Field;

    use super::*;

    fn stream(columns: Vec<(&str, ArrayRef)>) -> RowStream<'static> {
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        RowStream { schema: batch.schema(), batches: Box::new(std::iter::once(Ok(batch))) }
    }

    fn target(fields: Vec<Field>) -> SchemaRef {
        Arc::new(Schema::new(fields))
    }

    #[test]
    fn rows_take_the_columns_of_the_table() {
        let wanted = target(vec![
            Field::new("b", DataType::Float32, true),
            Field::new("a", DataType::Int32, false),
            Field::new("c", DataType::Utf8, true),
        ]);
        let rows = stream(vec![
            ("a", Arc::new(Int64Array::from(vec![1, -7]))),
            ("b", Arc::new(Float64Array::from(vec![0.5, f64::NAN]))),
        ]);
        let mut rows = rows.conform(&wanted).unwrap();
        let batch = rows.batches.next().unwrap().unwrap();
        assert_eq!(batch.schema(), wanted);
        assert_eq!(batch.column(1).as_primitive::<Int32Type>().values(), &[1, -7]);
        assert!(batch.column(0).as_primitive::<Float32Type>().value(1).is_nan());
        assert_eq!(batch.column(2).null_count(), 2);
    }

    #[test]
    fn a_value_that_would_change_is_refused() {
        let wanted = target(vec![Field::new("a", DataType::Float32, true)]);
        let mut rows = stream(vec![("a", Arc::new(Float64Array::from(vec![0.1])))]).conform(&wanted).unwrap();
        assert!(rows.batches.next().unwrap().unwrap_err().to_string().contains("does not fit"));
        let wanted = target(vec![Field::new("a", DataType::Int8, true)]);
        let mut rows = stream(vec![("a", Arc::new(Int64Array::from(vec![300])))]).conform(&wanted).unwrap();
        assert!(rows.batches.next().unwrap().is_err());
    }

    #[test]
    fn columns_that_do_not_belong_are_refused_at_once() {
        let wanted = target(vec![Field::new("a", DataType::Int64, false)]);
        let more = stream(vec![
            ("a", Arc::new(Int64Array::from(vec![1]))),
            ("x", Arc::new(Int64Array::from(vec![1]))),
        ]);
        assert!(more.conform(&wanted).is_err());
        let less = stream(vec![("x", Arc::new(Int64Array::from(vec![1])))]);
        assert!(less.conform(&wanted).is_err());
        let strings = stream(vec![("a", Arc::new(StringArray::from(vec!["1"])))]);
        assert!(strings.conform(&wanted).is_err());
    }
}
