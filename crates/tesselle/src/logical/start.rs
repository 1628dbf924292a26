//! Starting a write whose columns the format may not have types for.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tesselle_core::fit::check_types;
use tesselle_core::{
    Action, Created, Driver, Error, ErrorKind, Fit, Format, Result, Sink, Summary, TypeChange, WriteRequest,
    WriteTarget,
};

use super::column::{stored_type, to_stored};
use super::{KEY, Logical};
use crate::cast::cast_column;

/// Starts a write. Columns of a type that the format does not have are stored in one that keeps every value, and come
/// back as they were; with `auto_cast` others get the type that the format suggests.
pub fn start(to: &dyn Format, request: WriteRequest, auto_cast: bool, driver: &Driver) -> Result<Created> {
    let WriteTarget::Location(location) = &request.target else { return to.start(request, driver) };
    let location = location.clone();
    let again = || WriteRequest {
        target: WriteTarget::Location(location.clone()),
        schema: Arc::clone(&request.schema),
        facts: request.facts.clone(),
        options: request.options.clone(),
        whole: request.whole,
        rows: request.rows,
    };
    let refused = match to.start(again(), driver) {
        Err(error) => error,
        started => return started,
    };
    if let Some(answer) = Answer::to(&refused, &request.schema, true, auto_cast) {
        match answer.start(to, again(), driver) {
            Ok(Some(created)) => return Ok(created),
            // Neither are the stored types those of the format.
            Err(error) if error.kind() != ErrorKind::Invalid => return Err(error),
            Ok(None) | Err(_) => {}
        }
    }
    // A format without a place for the note can still take what it suggests.
    let answer = if auto_cast { Answer::to(&refused, &request.schema, false, true) } else { None };
    match answer {
        Some(answer) => answer.start(to, again(), driver)?.ok_or(refused),
        None => Err(only_casts(to, &refused, again(), driver).unwrap_or(refused)),
    }
}

/// The refusal without the columns that would be stored so that they come back, if the others were cast; `None` if that
/// does not help.
fn only_casts(to: &dyn Format, refused: &Error, request: WriteRequest, driver: &Driver) -> Option<Error> {
    let schema = Arc::clone(&request.schema);
    let answer =
        Answer::to(refused, &schema, true, true).filter(|answer| !answer.logical.types.is_empty())?;
    let casts: Vec<TypeChange> = answer.changed.clone();
    answer.start(to, request, driver).ok().flatten()?;
    let fits = casts.iter().filter_map(|cast| {
        let field = schema.field_with_name(&cast.column).ok()?;
        Some((field, Fit::refused(cast.to.clone())))
    });
    check_types(to.name(), fits).err()
}

/// How the columns that a format refuses are stored.
#[derive(Default)]
struct Answer {
    logical: Logical,
    casts: Vec<(String, DataType)>,
    changed: Vec<TypeChange>,
}

impl Answer {
    /// The answer to a refusal: columns are stored so that they come back (`keep`), or cast; `None` where there is no
    /// answer for one of them.
    fn to(error: &Error, schema: &Schema, keep: bool, auto_cast: bool) -> Option<Self> {
        let mut answer = Self::default();
        for (name, instead) in suggested(error)? {
            let own = schema.field_with_name(&name).ok()?.data_type();
            match stored_type(own, &instead).filter(|_| keep) {
                Some(stored) => {
                    answer.logical.types.insert(name.clone(), own.clone());
                    answer.casts.push((name, stored));
                }
                None if auto_cast => {
                    let (column, from, to) = (name.clone(), own.clone(), instead.clone());
                    answer.changed.push(TypeChange { column, from, to });
                    answer.casts.push((name, instead));
                }
                None => return None,
            }
        }
        Some(answer)
    }

    /// Starts the write; `None` where the format has no place for the note.
    fn start(self, to: &dyn Format, mut request: WriteRequest, driver: &Driver) -> Result<Option<Created>> {
        let schema = self.schema(&request.schema);
        request.schema = Arc::clone(&schema);
        if !self.logical.types.is_empty() {
            request.facts.attributes.push(self.logical.attribute());
        }
        let Created { sink, mut fitted } = to.start(request, driver)?;
        if !self.logical.types.is_empty() && !fitted.kept.iter().any(|name| name == KEY) {
            // Without the note the columns would come back as something else.
            return Ok(None);
        }
        fitted.kept.retain(|name| name != KEY);
        fitted.changed.retain(|change| !self.casts.iter().any(|(name, _)| *name == change.column));
        fitted.changed.extend(self.changed);
        Ok(Some(Created { sink: Box::new(StoredSink { inner: sink, schema }), fitted }))
    }

    fn schema(&self, schema: &Schema) -> SchemaRef {
        let fields = schema.fields().iter().map(|field| {
            let cast = self.casts.iter().find(|(name, _)| name == field.name());
            cast.map_or_else(
                || (**field).clone(),
                |(_, to)| Field::new(field.name(), to.clone(), field.is_nullable()),
            )
        });
        Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone()))
    }
}

/// The casts that an error suggests.
fn suggested(error: &Error) -> Option<Vec<(String, DataType)>> {
    error.next_step()?.actions().iter().find_map(|action| match action {
        Action::Cast(casts) => Some(casts.clone()),
        _ => None,
    })
}

/// Hands batches on as they are stored.
struct StoredSink {
    inner: Box<dyn Sink>,
    schema: SchemaRef,
}

impl Sink for StoredSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = batch.columns().iter().zip(self.schema.fields()).map(|(column, field)| {
            if matches!((column.data_type(), field.data_type()), (DataType::Decimal128(..), DataType::Int64))
            {
                return to_stored(column, field);
            }
            cast_column(column, field.data_type()).map_err(|error| {
                Error::invalid(format!(
                    "column '{}' has a value that does not fit {}",
                    field.name(),
                    field.data_type()
                ))
                .source(error)
                .suggest(
                    "choose another type with {}",
                    [Action::Cast(vec![(field.name().clone(), DataType::Utf8)])],
                )
            })
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        self.inner.write(&RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }

    fn finish(self: Box<Self>) -> Result<Summary> {
        self.inner.finish()
    }
}
