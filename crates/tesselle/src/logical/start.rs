//! Starting a write whose columns the format may not have types for.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tesselle_core::{
    Action, Created, Driver, Error, ErrorKind, Format, Hint, Result, Sink, Summary, TypeChange, WriteRequest,
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
    let fail = |error: Error| Err(with_columns(error, &request.schema));
    let mut answer = Answer::to(&refused, &request.schema, auto_cast);
    while answer.changes_a_column() {
        let error = match answer.start(to, again(), driver) {
            Ok(Some(created)) => return Ok(created),
            // A format without a place for the note can still take what it suggests.
            Ok(None) => {
                answer.keep_only(|_| false);
                continue;
            }
            Err(error) => error,
        };
        if error.kind() != ErrorKind::Invalid || !answer.keeps_a_column() {
            return fail(error);
        }
        let still = error.refused_columns();
        if !still.is_empty() && !answer.keeps_one_of(still) {
            // Only about columns that have no stored form: the others need no cast.
            return fail(error);
        }
        answer.keep_only(|name| !still.is_empty() && !still.iter().any(|column| column == name));
    }
    fail(refused)
}

/// An error about columns that the format cannot store in any type names the columns to choose instead.
fn with_columns(error: Error, schema: &Schema) -> Error {
    let casts = suggested(&error);
    let is_out = |name: &String| {
        error.refused_columns().contains(name) && !casts.iter().any(|(column, _)| column == name)
    };
    let names = schema.fields().iter().map(|field| field.name());
    let others: Vec<String> = names.filter(|name| !is_out(name)).cloned().collect();
    if others.is_empty() || others.len() == schema.fields().len() {
        return error;
    }
    let hint = error.next_step().map(|hint| hint.clone().with_columns(&others));
    match hint {
        Some(hint) => error.replace_hint(hint),
        None => error,
    }
}

/// How the columns that a format refuses are stored, decided for each.
struct Answer {
    columns: Vec<Refused>,
    auto_cast: bool,
}

/// A column that a format refuses.
struct Refused {
    name: String,
    own: DataType,
    /// The time zone in which its times are shown, which is lost: they stay the same instants.
    zone: Option<Arc<str>>,
    /// The type in which it is stored so that it comes back, if there is one that the format may have.
    kept: Option<DataType>,
    /// The type that the format suggests.
    instead: DataType,
}

impl Answer {
    fn to(error: &Error, schema: &Schema, auto_cast: bool) -> Self {
        let columns = suggested(error).into_iter().filter_map(|(name, instead)| {
            let own = schema.field_with_name(&name).ok()?.data_type().clone();
            let (own, zone) = match own {
                DataType::Timestamp(unit, zone) => (DataType::Timestamp(unit, None), zone),
                own => (own, None),
            };
            Some(Refused { kept: stored_type(&own, &instead), name, own, zone, instead })
        });
        Self { columns: columns.collect(), auto_cast }
    }

    /// The type in which a column is written, if it is not its own.
    fn target<'a>(&self, column: &'a Refused) -> Option<&'a DataType> {
        column.kept.as_ref().or_else(|| self.auto_cast.then_some(&column.instead))
    }

    fn changes_a_column(&self) -> bool {
        self.columns.iter().any(|column| self.target(column).is_some())
    }

    fn kept(&self) -> impl Iterator<Item = &Refused> {
        self.columns.iter().filter(|column| column.kept.is_some())
    }

    fn keeps_a_column(&self) -> bool {
        self.kept().next().is_some()
    }

    fn keeps_one_of(&self, names: &[String]) -> bool {
        self.kept().any(|column| names.contains(&column.name))
    }

    /// Gives up the stored form of columns other than these.
    fn keep_only(&mut self, stays: impl Fn(&str) -> bool) {
        for column in self.columns.iter_mut().filter(|column| !stays(&column.name)) {
            column.kept = None;
        }
    }

    /// Starts the write; `None` where the format has no place for the note.
    fn start(&self, to: &dyn Format, mut request: WriteRequest, driver: &Driver) -> Result<Option<Created>> {
        let mut logical = Logical::default();
        logical.types.extend(self.kept().map(|column| (column.name.clone(), column.own.clone())));
        let schema = self.schema(&request.schema);
        request.schema = Arc::clone(&schema);
        if !logical.types.is_empty() {
            request.facts.attributes.push(logical.attribute());
        }
        let Created { sink, mut fitted } = to.start(request, driver)?;
        if !logical.types.is_empty() && !fitted.kept.iter().any(|name| name == KEY) {
            // Without the note the columns would come back as something else.
            return Ok(None);
        }
        fitted.kept.retain(|name| name != KEY);
        let changed = self.columns.iter().filter(|column| self.target(column).is_some());
        let zones = changed.filter_map(|column| Some((column.zone.as_ref()?, &column.name)));
        fitted.lost.extend(zones.map(|(zone, name)| format!("the time zone {zone} of column '{name}'")));
        let changed_here =
            |name: &str| self.columns.iter().any(|c| c.name == name && self.target(c).is_some());
        fitted.changed.retain(|change| !changed_here(&change.column));
        let cast = self.columns.iter().filter(|column| self.auto_cast && column.kept.is_none());
        fitted.changed.extend(cast.map(|column| TypeChange {
            column: column.name.clone(),
            from: column.own.clone(),
            to: column.instead.clone(),
        }));
        Ok(Some(Created { sink: Box::new(StoredSink { inner: sink, schema }), fitted }))
    }

    fn schema(&self, schema: &Schema) -> SchemaRef {
        let fields = schema.fields().iter().map(|field| {
            let column = self.columns.iter().find(|column| column.name == *field.name());
            column.and_then(|column| self.target(column)).map_or_else(
                || (**field).clone(),
                |to| Field::new(field.name(), to.clone(), field.is_nullable()),
            )
        });
        Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone()))
    }
}

/// The casts that an error suggests.
fn suggested(error: &Error) -> Vec<(String, DataType)> {
    let actions = error.next_step().map_or(&[][..], Hint::actions);
    let casts = actions.iter().find_map(|action| match action {
        Action::Cast(casts) => Some(casts.clone()),
        _ => None,
    });
    casts.unwrap_or_default()
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
