//! Maps the columns of a table to the fields of a document.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tesselle_core::{Action, Error, Result, TYPE_KEY};

use super::options::IndexOptions;
use crate::meta::types::LogicalType;
use crate::read::schema::STRING_KEY;
use crate::search::segment::Shape;

/// Names of the columns that every segment has, except the fourth.
const FIXED: [&str; 8] = ["doc_id", "url", "title", "", "norm_body", "norm_title", "norm_anchor", "norm_url"];

/// The columns of the input by role.
#[derive(Debug)]
pub(super) struct Roles {
    pub(super) shape: Shape,
    id: Option<usize>,
    url: FieldColumns,
    title: FieldColumns,
    anchor: Option<usize>,
    body: Vec<usize>,
    extra: Vec<usize>,
    input: SchemaRef,
}

/// A field that may be searched, stored, or both.
#[derive(Debug, Clone, Copy, Default)]
struct FieldColumns {
    searched: Option<usize>,
    stored: Option<usize>,
}

/// The fields of a batch of documents; missing ones are empty.
#[derive(Debug)]
pub(super) struct Documents {
    pub(super) rows: usize,
    pub(super) id: Option<BinaryArray>,
    pub(super) stored_url: Option<BinaryArray>,
    pub(super) stored_title: Option<BinaryArray>,
    pub(super) url: Option<BinaryArray>,
    pub(super) title: Option<BinaryArray>,
    pub(super) anchor: Option<BinaryArray>,
    pub(super) body: Option<BinaryArray>,
    pub(super) extra: Vec<ArrayRef>,
}

impl Roles {
    pub(super) fn try_new(input: &SchemaRef, options: &IndexOptions) -> Result<Self> {
        let known = || input.fields().iter().map(|field| field.name().as_str());
        let find =
            |name: &str| input.index_of(name).map_err(|_| Error::unknown_name("column", name, known()));
        if options.text.is_empty() {
            return Err(Error::invalid("no column to search in is given")
                .suggest("specify {}", [Action::SearchColumns]));
        }
        let mut searched = Vec::new();
        for name in &options.text {
            let column = find(name)?;
            check_string(input.field(column))?;
            if searched.iter().all(|(_, known)| *known != column) {
                searched.push((name.as_str(), column));
            }
        }
        let field = |name: &str| searched.iter().find(|(n, _)| *n == name).map(|(_, column)| *column);
        let is_body = |name: &str| !["title", "url", "anchor"].contains(&name);
        let body: Vec<usize> =
            searched.iter().filter(|(name, _)| is_body(name)).map(|(_, column)| *column).collect();
        let place = |name: &str| -> Option<usize> {
            let wanted = options.stored.as_ref().is_none_or(|stored| stored.iter().any(|s| s == name));
            input.index_of(name).ok().filter(|column| wanted && check_string(input.field(*column)).is_ok())
        };
        let id = match &options.id {
            Some(name) => Some(find(name)?),
            None => input.index_of("doc_id").ok(),
        };
        let mut roles = Self {
            shape: Shape::Body,
            id,
            url: FieldColumns { searched: field("url"), stored: place("url") },
            title: FieldColumns { searched: field("title"), stored: place("title") },
            anchor: field("anchor"),
            body,
            extra: Vec::new(),
            input: Arc::clone(input),
        };
        if let Some(stored) = &options.stored {
            let mut whole_body = false;
            for name in stored {
                let column = find(name)?;
                whole_body |= roles.body.contains(&column);
                let placed = [roles.id, roles.url.stored, roles.title.stored].contains(&Some(column));
                if !placed && !roles.body.contains(&column) && !roles.extra.contains(&column) {
                    roles.extra.push(column);
                }
            }
            if !whole_body {
                roles.shape = Shape::Snippet;
            }
        }
        roles.check_names()?;
        Ok(roles)
    }

    fn fourth(&self) -> &'static str {
        if self.shape == Shape::Body { "body" } else { "snippet" }
    }

    fn check_names(&self) -> Result<()> {
        for column in &self.extra {
            let name = self.input.field(*column).name();
            if FIXED.contains(&name.as_str()) || name == self.fourth() {
                return Err(Error::invalid(format!("a stored column cannot be called '{name}'"))
                    .hint("segments use that name themselves; rename the column"));
            }
        }
        Ok(())
    }

    /// The columns of the segment.
    pub(super) fn schema(&self) -> SchemaRef {
        // Strings may contain bytes that are not UTF-8, so they are passed as Binary; the metadata makes them
        // strings in the file.
        let metadata = HashMap::from([(TYPE_KEY.to_owned(), LogicalType::String.name().to_owned())]);
        let text = |name: &str| Field::new(name, DataType::Binary, false).with_metadata(metadata.clone());
        let norm = |name: &str| Field::new(name, DataType::UInt16, false);
        let mut fields: Vec<Field> = FIXED.iter().take(3).map(|name| text(name)).collect();
        fields.push(match self.shape {
            Shape::Body => {
                let strings = self.body.iter().all(|column| is_string(self.input.field(*column).data_type()));
                let note = strings.then(|| (STRING_KEY.to_owned(), "true".to_owned()));
                Field::new("body", DataType::Binary, false).with_metadata(note.into_iter().collect())
            }
            Shape::Snippet => text("snippet"),
        });
        fields.extend(FIXED.iter().skip(4).map(|name| norm(name)));
        fields.extend(self.extra.iter().map(|column| self.input.field(*column).clone()));
        Arc::new(Schema::new(fields))
    }

    /// Splits a batch into fields.
    pub(super) fn documents(&self, batch: &RecordBatch) -> Result<Documents> {
        let text = |column: Option<usize>| column.map(|column| as_bytes(batch, column)).transpose();
        let parts = self.body.iter().map(|column| as_bytes(batch, *column)).collect::<Result<Vec<_>>>()?;
        Ok(Documents {
            rows: batch.num_rows(),
            id: text(self.id)?,
            stored_url: text(self.url.stored)?,
            stored_title: text(self.title.stored)?,
            url: text(self.url.searched)?,
            title: text(self.title.searched)?,
            anchor: text(self.anchor)?,
            body: join(parts),
            extra: self.extra.iter().map(|column| Arc::clone(batch.column(*column))).collect(),
        })
    }
}

fn is_string(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_string(values),
        other => matches!(other, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View),
    }
}

fn check_string(field: &Field) -> Result<()> {
    let is_text = |data_type: &DataType| {
        matches!(
            data_type,
            // A column without values has no type in a text file.
            DataType::Null
                | DataType::Utf8
                | DataType::LargeUtf8
                | DataType::Utf8View
                | DataType::Binary
                | DataType::LargeBinary
                | DataType::BinaryView
        )
    };
    let fits = match field.data_type() {
        DataType::Dictionary(_, values) => is_text(values),
        other => is_text(other),
    };
    if fits {
        return Ok(());
    }
    Err(Error::invalid(format!("column '{}' of type {} is not a string", field.name(), field.data_type()))
        .suggest("{} must be string or binary columns", [Action::SearchColumns]))
}

/// A column as bytes: strings of any layout unchanged, everything else as it is printed.
fn as_bytes(batch: &RecordBatch, column: usize) -> Result<BinaryArray> {
    let Some(array) = batch.columns().get(column) else {
        return Err(Error::invalid(format!(
            "a batch has {} columns, column {column} is needed",
            batch.num_columns()
        )));
    };
    if let Some(array) = array.as_binary_opt::<i32>() {
        return Ok(array.clone());
    }
    if let Some(array) = array.as_string_opt::<i32>() {
        return Ok(BinaryArray::from(array.clone()));
    }
    let text = match array.data_type() {
        DataType::LargeBinary | DataType::BinaryView => arrow_cast::cast(array, &DataType::Binary)?,
        DataType::Dictionary(_, values) if matches!(**values, DataType::Binary) => {
            arrow_cast::cast(array, &DataType::Binary)?
        }
        _ => arrow_cast::cast(array, &DataType::Utf8)?,
    };
    match (text.as_binary_opt::<i32>(), text.as_string_opt::<i32>()) {
        (Some(array), _) => Ok(array.clone()),
        (_, Some(array)) => Ok(BinaryArray::from(array.clone())),
        _ => Err(Error::internal("a cast to string returned another type")),
    }
}

/// Joins the parts of the body with line breaks; a single part is unchanged.
fn join(mut parts: Vec<BinaryArray>) -> Option<BinaryArray> {
    if parts.len() <= 1 {
        return parts.pop();
    }
    let rows = parts.iter().map(Array::len).min().unwrap_or(0);
    let mut builder = BinaryBuilder::with_capacity(rows, 0);
    let mut text = Vec::new();
    for row in 0..rows {
        text.clear();
        for part in parts.iter().filter(|part| part.is_valid(row) && !part.value(row).is_empty()) {
            if !text.is_empty() {
                text.push(b'\n');
            }
            text.extend_from_slice(part.value(row));
        }
        builder.append_value(&text);
    }
    Some(builder.finish())
}
