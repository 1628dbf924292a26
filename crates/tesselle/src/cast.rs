//! Casts of columns during a conversion or a write.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int64Type};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_cast::{CastOptions, can_cast_types, cast_with_options};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};
use tesselle_core::driver::Rows;
use tesselle_core::{Action, At, Error, Result, RowStream, per_second, type_name};

/// The methods of builders with casts.
macro_rules! cast_methods {
    () => {
        /// Casts a column to another type. A value that does not fit is an error.
        pub fn cast(mut self, column: impl Into<String>, to: arrow_schema::DataType) -> Self {
            self.casts.push((column.into(), to));
            self
        }

        /// Casts columns to other types.
        pub fn casts(mut self, casts: impl IntoIterator<Item = (String, arrow_schema::DataType)>) -> Self {
            self.casts.extend(casts);
            self
        }

        /// Casts columns whose type the target lacks to the type that it suggests.
        pub fn auto_cast(mut self, auto_cast: bool) -> Self {
            self.auto_cast = auto_cast;
            self
        }
    };
}
pub(crate) use cast_methods;

/// `rows` with these columns cast. A value that does not fit its new type ends the stream with an error.
pub(crate) fn cast(rows: Rows, casts: &[(String, DataType)]) -> Result<RowStream<'static>> {
    let schema = rows.schema();
    cast_stream(RowStream { schema, batches: Box::new(rows.into_batches()) }, casts)
}

/// Like [`cast`], for rows from anywhere.
pub(crate) fn cast_stream(
    rows: RowStream<'static>,
    casts: &[(String, DataType)],
) -> Result<RowStream<'static>> {
    if casts.is_empty() {
        return Ok(rows);
    }
    let casts = Casts::try_new(&rows.schema, casts)?;
    let schema = Arc::clone(&casts.schema);
    let batches = rows.batches.map(move |batch| casts.apply(&batch?));
    Ok(RowStream { schema, batches: Box::new(batches) })
}

/// Casts of some columns of a schema.
#[derive(Debug)]
pub(crate) struct Casts {
    /// The columns after the casts.
    pub(crate) schema: SchemaRef,
    /// The position, the name and the new type of each column.
    plan: Vec<(usize, String, DataType)>,
}

impl Casts {
    /// Fails if a column does not exist or cannot be cast.
    pub(crate) fn try_new(source: &Schema, casts: &[(String, DataType)]) -> Result<Self> {
        let mut fields: Vec<_> = source.fields().iter().cloned().collect();
        let mut plan = Vec::new();
        for (name, to) in casts {
            let known = source.fields().iter().map(|field| field.name().as_str());
            let at = source.index_of(name).map_err(|_| Error::unknown_name("column", name, known))?;
            // A column may be cast more than once, one after the other.
            let from = fields.at(at)?.data_type();
            if !can_cast_types(from, to) {
                return Err(Error::invalid(format!(
                    "column '{name}' of type {} cannot be cast to {}",
                    type_name(from),
                    type_name(to)
                )));
            }
            // The source's name of the type no longer applies.
            let field = source.field(at).clone().with_data_type(to.clone()).with_metadata([].into());
            if let Some(place) = fields.get_mut(at) {
                *place = Arc::new(field);
            }
            plan.push((at, name.clone(), to.clone()));
        }
        Ok(Self { schema: Arc::new(Schema::new_with_metadata(fields, source.metadata().clone())), plan })
    }

    /// The batch with its columns cast.
    pub(crate) fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let mut columns = batch.columns().to_vec();
        for (at, name, to) in &self.plan {
            if let Some(column) = columns.get_mut(*at) {
                *column = cast_column(column, to).map_err(|error| {
                    Error::invalid(format!("column '{name}' has a value that does not fit {}", type_name(to)))
                        .source(error)
                        .suggest("use a wider type, or exclude such rows with {}", [Action::Filter])
                })?;
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

/// Casts one column; a value that does not fit is an error. Floats go to the nearest integer, and times down to the unit
/// before, also before 1970. Arrow cuts both toward zero.
pub(crate) fn cast_column(column: &ArrayRef, to: &DataType) -> std::result::Result<ArrayRef, ArrowError> {
    let options = &CastOptions { safe: false, ..CastOptions::default() };
    match (column.data_type(), to) {
        (DataType::Float16, to) if to.is_integer() => {
            cast_column(&cast_with_options(column, &DataType::Float32, options)?, to)
        }
        (DataType::Float32, to) if to.is_integer() => {
            let rounded = column.as_primitive::<Float32Type>().unary::<_, Float32Type>(f32::round);
            cast_with_options(&rounded, to, options)
        }
        (DataType::Float64, to) if to.is_integer() => {
            let rounded = column.as_primitive::<Float64Type>().unary::<_, Float64Type>(f64::round);
            cast_with_options(&rounded, to, options)
        }
        (DataType::Timestamp(from, _), DataType::Timestamp(unit, _))
            if per_second(*from) > per_second(*unit) =>
        {
            let factor = per_second(*from) / per_second(*unit);
            let times = cast_with_options(column, &DataType::Int64, options)?;
            let floored =
                times.as_primitive::<Int64Type>().unary::<_, Int64Type>(|time| time.div_euclid(factor));
            cast_with_options(&floored, to, options)
        }
        _ => cast_with_options(column, to, options),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Float64Array, TimestampMillisecondArray};
    use arrow_schema::TimeUnit;

    use super::*;

    #[test]
    fn floats_are_rounded_and_times_go_down() {
        let options = CastOptions { safe: false, ..CastOptions::default() };
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.7), Some(-1.5), None, Some(0.4)]));
        let found = cast_column(&floats, &DataType::Int64).unwrap();
        let found: Vec<_> = found.as_primitive::<Int64Type>().iter().collect();
        assert_eq!(found, [Some(2), Some(-2), None, Some(0)]);
        let nan: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN]));
        assert!(cast_column(&nan, &DataType::Int64).is_err());
        let times: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![-1, 0, 1999]));
        let seconds = DataType::Timestamp(TimeUnit::Second, None);
        let found = cast_column(&times, &seconds).unwrap();
        let found = cast_with_options(&found, &DataType::Int64, &options).unwrap();
        assert_eq!(found.as_primitive::<Int64Type>().values(), &[-1, 0, 1]);
    }
}
