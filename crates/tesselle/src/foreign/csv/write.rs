//! Writing of CSV. An empty string is `""`, null is an empty field.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, Schema};
use tesselle_core::storage::Staged;
use tesselle_core::{Action, Error, Result, Settings, Sink, Summary, TextOptions};

/// How records are written.
#[derive(Debug, Clone)]
pub(super) struct Style {
    delimiter: char,
    header: bool,
    /// The null string.
    null: String,
}

impl Style {
    /// The settings `delimiter`, `header` and `null`.
    pub(super) fn from_settings(settings: &Settings, delimiter: u8) -> Result<Self> {
        settings.expect_only(&["delimiter", "header", "null"])?;
        let delimiter = settings.get("delimiter").map_or(Ok(delimiter), TextOptions::delimiter)?;
        let header = match settings.get("header") {
            None | Some("true") => true,
            Some("false") => false,
            Some(other) => return Err(Error::invalid(format!("'{other}' is neither true nor false"))),
        };
        let null = settings.get("null").unwrap_or_default().to_owned();
        if null.contains(['"', '\n', '\r', char::from(delimiter)]) {
            return Err(Error::invalid(format!("'{null}' cannot stand for null: it would need quotes")));
        }
        Ok(Self { delimiter: char::from(delimiter), header, null })
    }
}

struct CsvSink {
    out: Box<dyn Staged>,
    style: Style,
    /// The header line, until it is written.
    header: Option<String>,
    rows: u64,
    /// The column whose empty strings read as nulls, if there is one.
    mistaken: Option<String>,
}

/// Fails on columns whose values do not fit a CSV field.
pub(super) fn check(schema: &Schema) -> Result<()> {
    let mut misfits = Vec::new();
    let mut others = Vec::new();
    for field in schema.fields() {
        match nested(field.data_type()) {
            Some(values) => misfits.push(format!("column '{}' contains {values}", field.name())),
            None => others.push(field.name().clone()),
        }
    }
    if misfits.is_empty() {
        return Ok(());
    }
    let choice = if others.is_empty() { Action::Columns } else { Action::OnlyColumns(others) };
    Err(Error::invalid(format!("{}, which CSV cannot store", misfits.join(", ")))
        .suggest("write jsonl, arrow or parquet, or choose columns with {}", [choice]))
}

pub(super) fn sink(out: Box<dyn Staged>, schema: &Schema, style: Style) -> Box<dyn Sink> {
    let mut header = String::new();
    for (i, field) in schema.fields().iter().enumerate() {
        header.extend((i > 0).then_some(style.delimiter));
        push_field(&mut header, field.name(), style.delimiter, schema.fields().len() == 1);
    }
    header.push('\n');
    let header = style.header.then_some(header);
    Box::new(CsvSink { out, style, header, rows: 0, mistaken: None })
}

/// The kind of a type's values, if they do not fit a CSV field.
fn nested(data_type: &DataType) -> Option<&'static str> {
    match data_type {
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::FixedSizeList(..) => Some("lists"),
        DataType::Struct(_) => Some("structs"),
        DataType::Map(..) => Some("maps"),
        DataType::Union(..) => Some("unions"),
        DataType::RunEndEncoded(_, values) => nested(values.data_type()),
        DataType::Dictionary(_, values) => nested(values),
        _ => None,
    }
}

/// Appends a field, in quotes where it needs them or where they are asked for.
fn push_field(line: &mut String, field: &str, delimiter: char, quoted_if_empty: bool) {
    let needs_quotes = field.contains(['"', '\n', '\r', delimiter]);
    if !needs_quotes && (!field.is_empty() || !quoted_if_empty) {
        line.push_str(field);
        return;
    }
    line.push('"');
    for (i, part) in field.split('"').enumerate() {
        line.push_str(if i == 0 { "" } else { "\"\"" });
        line.push_str(part);
    }
    line.push('"');
}

/// An out-of-range time, as the stored number.
fn number(column: &ArrayRef, row: usize) -> Option<String> {
    let one = column.data_type().is_temporal().then(|| column.slice(row, 1))?;
    let number = arrow_cast::cast(&one, &DataType::Int64).ok()?;
    number.as_primitive_opt::<Int64Type>()?.iter().next()?.map(|number| number.to_string())
}

impl Sink for CsvSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let options = FormatOptions::default();
        let mut columns = Vec::with_capacity(batch.num_columns());
        for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            let formatter = ArrayFormatter::try_new(column.as_ref(), &options).map_err(|error| {
                let kind = field.data_type();
                Error::invalid(format!("column '{}' of type {kind} cannot be written as CSV", field.name()))
                    .source(error)
            })?;
            columns.push((field.name(), formatter, column.logical_nulls()));
        }
        // An empty line is not a record.
        let lone = columns.len() == 1 && self.style.null.is_empty();
        let null = if lone { "\"\"" } else { self.style.null.as_str() };
        let mut text = self.header.take().unwrap_or_default();
        let mut shown = String::new();
        for row in 0..batch.num_rows() {
            for (i, (name, formatter, nulls)) in columns.iter().enumerate() {
                text.extend((i > 0).then_some(self.style.delimiter));
                if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                    text.push_str(null);
                    continue;
                }
                shown.clear();
                if let Err(error) = formatter.value(row).write(&mut shown) {
                    shown = number(batch.column(i), row).ok_or_else(|| {
                        Error::invalid(format!("column '{name}' has a value that cannot be written as CSV"))
                            .source(error)
                    })?;
                }
                if !self.style.null.is_empty() && shown == self.style.null {
                    return Err(Error::invalid(format!(
                        "column '{name}' has the value '{shown}', which stands for null"
                    ))
                    .hint("choose another null string"));
                }
                push_field(&mut text, &shown, self.style.delimiter, true);
                if lone && shown.is_empty() && self.mistaken.is_none() {
                    self.mistaken = Some((*name).clone());
                }
            }
            text.push('\n');
        }
        self.rows += batch.num_rows() as u64;
        self.out.write(text.as_bytes())
    }

    fn finish(mut self: Box<Self>) -> Result<Summary> {
        // An empty table has a header line too.
        if let Some(header) = self.header.take() {
            self.out.write(header.as_bytes())?;
        }
        let lost = self.mistaken.iter().map(|name| {
            format!("the empty strings of column '{name}': as the only column, they read as nulls")
        });
        let lost = lost.collect();
        Ok(Summary { rows: self.rows, bytes: self.out.commit()?, pieces: 0, lost })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Fields are quoted as the library quotes them, except empty ones.
        #[test]
        fn fields_are_quoted_as_the_library_quotes_them(
            fields in prop::collection::vec("[a\",\n\r é\\\\;\t]{0,6}", 1..4),
        ) {
            let mut line = String::new();
            for (i, field) in fields.iter().enumerate() {
                line.push_str(if i == 0 { "" } else { "," });
                push_field(&mut line, field, ',', fields.len() == 1);
            }
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record(&fields).unwrap();
            prop_assert_eq!(line + "\n", String::from_utf8(writer.into_inner().unwrap()).unwrap());
        }
    }
}
