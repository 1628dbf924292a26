//! Rows for reading: tables with types under the names, at most as wide as the screen, lines and Markdown.

use std::fmt::Write as _;
use std::io::IsTerminal;

use arrow_array::RecordBatch;
use arrow_cast::display::{ArrayFormatter, DurationFormat, FormatOptions};
use arrow_schema::{DataType, SchemaRef};
use tesselle::{Error, Result};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::forms::Form;
use crate::out;

/// Default number of rows shown on the screen.
pub(crate) const SCREEN_ROWS: usize = 40;

/// Cells are not truncated below this width.
const LEAST_WIDTH: usize = 12;

/// Rows that were printed.
pub(crate) struct Shown {
    pub(crate) rows: usize,
    /// Whether there are more.
    pub(crate) more: bool,
    /// Columns that are not shown because the screen is too narrow, of how many.
    pub(crate) hidden: Option<(usize, usize)>,
}

impl Shown {
    /// The remark about hidden columns; `way` shows them.
    pub(crate) fn hidden_columns(&self, way: &str) -> Option<String> {
        self.hidden.map(|(hidden, all)| format!("{hidden} of {all} columns do not fit; {way} shows all"))
    }
}

/// Prints at most `most` of the rows in a form for reading, to `file` or to standard output.
pub(crate) fn show<E>(
    form: Form,
    schema: &SchemaRef,
    rows: impl Iterator<Item = std::result::Result<RecordBatch, E>>,
    most: usize,
    (file, force): (Option<&str>, bool),
) -> Result<Shown>
where
    Error: From<E>,
{
    let mut batches = Vec::new();
    let mut count = 0;
    for batch in rows {
        let batch = batch?;
        let surplus = (count + batch.num_rows()).saturating_sub(most);
        count += batch.num_rows() - surplus;
        batches.push(batch.slice(0, batch.num_rows() - surplus));
        if surplus > 0 {
            let hidden = print(form, schema, &batches, (file, force))?;
            return Ok(Shown { rows: count, more: true, hidden });
        }
    }
    let hidden = print(form, schema, &batches, (file, force))?;
    Ok(Shown { rows: count, more: false, hidden })
}

/// Prints the rows in a form for reading, to `file` or to standard output. Returns how many columns are not shown, of
/// how many.
pub(crate) fn print(
    form: Form,
    schema: &SchemaRef,
    batches: &[RecordBatch],
    (file, force): (Option<&str>, bool),
) -> Result<Option<(usize, usize)>> {
    let (text, hidden) = match form {
        Form::Line => (lines(schema, batches)?, 0),
        Form::Markdown => (markdown(schema, batches)?, 0),
        _ => table(schema, batches, if file.is_none() { screen_width() } else { None })?,
    };
    out::print_to(file, force, &text)?;
    Ok(if hidden > 0 { Some((hidden, schema.fields().len())) } else { None })
}

/// The width of the terminal; `None` without one.
fn screen_width() -> Option<usize> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
}

/// One column, formatted.
struct Column {
    name: String,
    kind: String,
    cells: Vec<String>,
    width: usize,
    /// Numbers are aligned to the right.
    number: bool,
    /// Cells that mean nothing if they are truncated: numbers and times.
    whole: bool,
}

impl Column {
    /// The placeholder for hidden columns.
    fn gap(rows: usize) -> Self {
        let dots = || "…".to_owned();
        Self { name: dots(), kind: dots(), cells: vec![dots(); rows], width: 1, number: false, whole: true }
    }

    fn cell(&self, text: &str) -> String {
        let text = fit(text, self.width);
        let pad = " ".repeat(self.width - text.width());
        if self.number { format!(" {pad}{text} ") } else { format!(" {text}{pad} ") }
    }
}

/// Renders a table; columns that exceed `width` are truncated, then hidden. Returns how many are hidden.
fn table(schema: &SchemaRef, batches: &[RecordBatch], width: Option<usize>) -> Result<(String, usize)> {
    if is_plan(schema) {
        return Ok((plans(batches)?, 0));
    }
    let mut columns = columns(schema, batches)?;
    if columns.is_empty() {
        return Ok(("no columns\n".to_owned(), 0));
    }
    let hidden = match width {
        Some(width) => squeeze(&mut columns, width),
        None => 0,
    };
    let mut text = String::new();
    let line = |text: &mut String, [left, middle, right]: [&str; 3]| {
        let parts: Vec<String> = columns.iter().map(|column| "─".repeat(column.width + 2)).collect();
        let _ = writeln!(text, "{left}{}{right}", parts.join(middle));
    };
    let row = |text: &mut String, cell: &dyn Fn(&Column) -> String| {
        let parts: Vec<String> = columns.iter().map(|column| column.cell(&cell(column))).collect();
        let _ = writeln!(text, "│{}│", parts.join("│"));
    };
    line(&mut text, ["┌", "┬", "┐"]);
    row(&mut text, &|column| column.name.clone());
    row(&mut text, &|column| column.kind.clone());
    line(&mut text, ["├", "┼", "┤"]);
    let rows = batches.iter().map(RecordBatch::num_rows).sum();
    for i in 0..rows {
        row(&mut text, &|column| column.cells.get(i).cloned().unwrap_or_default());
    }
    line(&mut text, ["└", "┴", "┘"]);
    Ok((text, hidden))
}

/// Each value on its own line, after the name of its column; an empty line between rows.
fn lines(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<String> {
    if is_plan(schema) {
        return plans(batches);
    }
    let columns = columns(schema, batches)?;
    let width = columns.iter().map(|column| column.name.width()).max().unwrap_or(0);
    let mut text = String::new();
    for row in 0..batches.iter().map(RecordBatch::num_rows).sum() {
        text.push_str(if row == 0 { "" } else { "\n" });
        for column in &columns {
            let pad = " ".repeat(width - column.name.width());
            let cell = column.cells.get(row).map_or("", String::as_str);
            let _ = writeln!(text, "{pad}{} = {cell}", column.name);
        }
    }
    Ok(text)
}

/// A table in Markdown, numbers to the right.
fn markdown(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<String> {
    let columns = columns(schema, batches)?;
    let escaped = |cell: &str| cell.replace('|', "\\|");
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = row(columns.iter().map(|column| escaped(&column.name)).collect());
    let rule = |column: &Column| if column.number { "---:" } else { "---" }.to_owned();
    text.push_str(&row(columns.iter().map(rule).collect()));
    for i in 0..batches.iter().map(RecordBatch::num_rows).sum() {
        let cell = |column: &Column| escaped(column.cells.get(i).map_or("", String::as_str));
        text.push_str(&row(columns.iter().map(cell).collect()));
    }
    Ok(text)
}

fn columns(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<Vec<Column>> {
    let options = FormatOptions::new()
        .with_null("∅")
        .with_display_error(true)
        .with_duration_format(DurationFormat::Pretty);
    let mut columns = Vec::with_capacity(schema.fields().len());
    for (i, field) in schema.fields().iter().enumerate() {
        let mut cells = Vec::new();
        for batch in batches {
            let array = batch.column(i);
            let formatter = ArrayFormatter::try_new(array, &options)?;
            cells.extend((0..array.len()).map(|row| one_line(&formatter.value(row).to_string())));
        }
        let (name, kind) = (one_line(field.name()), field.data_type().to_string());
        let width = cells.iter().chain([&name, &kind]).map(|text| text.width()).max().unwrap_or(0);
        let number = field.data_type().is_numeric() && !matches!(field.data_type(), DataType::Dictionary(..));
        let whole = number || field.data_type().is_temporal();
        columns.push(Column { name, kind, cells, width, number, whole });
    }
    Ok(columns)
}

/// Fits the columns into `width`: first the widest cells are truncated, then columns in the middle are hidden. Returns
/// how many.
fn squeeze(columns: &mut Vec<Column>, width: usize) -> usize {
    let total = |columns: &[Column]| columns.iter().map(|column| column.width + 3).sum::<usize>() + 1;
    while total(columns) > width {
        let excess = total(columns) - width;
        let widest = columns.iter_mut().filter(|c| !c.whole && c.width > LEAST_WIDTH).max_by_key(|c| c.width);
        let Some(column) = widest else { break };
        // Not below the next widest at once, so that they shrink together.
        column.width -= excess.min(column.width - LEAST_WIDTH).min(column.width.div_ceil(4));
    }
    let all = columns.len();
    if total(columns) <= width {
        return 0;
    }
    let gap = Column::gap(columns.first().map_or(0, |column| column.cells.len()));
    while columns.len() > 1 && total(columns) + gap.width + 3 > width {
        columns.remove(columns.len() / 2);
    }
    let hidden = all - columns.len();
    if hidden > 0 {
        columns.insert(columns.len().div_ceil(2), gap);
    }
    hidden
}

/// Truncates a cell to a width.
fn fit(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut used = 1;
    let kept: String = text
        .chars()
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= width
        })
        .collect();
    format!("{kept}…")
}

/// The text on one line, with control characters escaped.
fn one_line(text: &str) -> String {
    out::plain(&text.replace('\n', "↵").replace('\t', "\\t")).into_owned()
}

/// EXPLAIN returns text of many lines, which is shown unchanged.
fn is_plan(schema: &SchemaRef) -> bool {
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    names == ["plan_type", "plan"]
}

fn plans(batches: &[RecordBatch]) -> Result<String> {
    let options = FormatOptions::new();
    let mut text = String::new();
    for batch in batches {
        let [kinds, plans] = batch.columns() else { continue };
        let kinds = ArrayFormatter::try_new(kinds, &options)?;
        let plans = ArrayFormatter::try_new(plans, &options)?;
        for row in 0..batch.num_rows() {
            let _ = writeln!(text, "{}:", kinds.value(row));
            for line in plans.value(row).to_string().lines() {
                let _ = writeln!(text, "  {line}");
            }
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{
        ArrayRef, DurationMillisecondArray, Int64Array, StringArray, TimestampMillisecondArray,
    };

    use super::*;

    fn sample(columns: usize) -> RecordBatch {
        let numbers = Arc::new(Int64Array::from(vec![Some(1), None])) as ArrayRef;
        let strings = Arc::new(StringArray::from(vec!["a longer text than fits", "日本\nx"])) as ArrayRef;
        RecordBatch::try_from_iter(
            (0..columns).map(|i| {
                (format!("c{i}"), if i % 2 == 0 { Arc::clone(&numbers) } else { Arc::clone(&strings) })
            }),
        )
        .unwrap()
    }

    #[test]
    fn every_line_is_as_wide_as_the_others() {
        for columns in [1, 2, 3, 9] {
            for width in [None, Some(200), Some(60), Some(30), Some(10)] {
                let batch = sample(columns);
                let (text, hidden) = table(&batch.schema(), &[batch], width).unwrap();
                assert_eq!(hidden > 0, text.contains("│ … │"), "{text}");
                let lines: Vec<usize> =
                    text.lines().filter(|l| l.starts_with(['│', '┌'])).map(UnicodeWidthStr::width).collect();
                assert!(lines.iter().all(|line| *line == lines[0]), "{text}");
                if let Some(width) = width.filter(|width| *width >= 30) {
                    assert!(lines[0] <= width, "{columns} columns, {width}:\n{text}");
                }
            }
        }
    }

    #[test]
    fn times_are_shown_whole_and_control_characters_escaped() {
        let times = Arc::new(TimestampMillisecondArray::from(vec![0])) as ArrayRef;
        let long = Arc::new(StringArray::from(vec!["a\tb\u{1b}[31m and more than fits"])) as ArrayRef;
        let batch = RecordBatch::try_from_iter([("t", times), ("s", long)]).unwrap();
        let (text, _) = table(&batch.schema(), std::slice::from_ref(&batch), Some(40)).unwrap();
        assert!(text.contains("│ 1970-01-01T00:00:00 │ a\\tb\\u001b[31… │"), "{text}");
        let empty = RecordBatch::new_empty(Arc::new(arrow_schema::Schema::empty()));
        assert_eq!(table(&empty.schema(), &[empty], None).unwrap().0, "no columns\n");
    }

    #[test]
    fn durations_are_shown_in_days_and_hours() {
        let waits = Arc::new(DurationMillisecondArray::from(vec![234_300_102])) as ArrayRef;
        let batch = RecordBatch::try_from_iter([("wait", waits)]).unwrap();
        let shown = lines(&batch.schema(), &[batch]).unwrap();
        assert_eq!(shown, "wait = 2 days 17 hours 5 mins 0.102 secs\n");
    }

    #[test]
    fn lines_and_markdown_show_every_value() {
        let batch = sample(2);
        let shown = lines(&batch.schema(), std::slice::from_ref(&batch)).unwrap();
        assert_eq!(shown, "c0 = 1\nc1 = a longer text than fits\n\nc0 = ∅\nc1 = 日本↵x\n");
        let shown = markdown(&batch.schema(), &[batch]).unwrap();
        let want = "| c0 | c1 |\n| ---: | --- |\n| 1 | a longer text than fits |\n| ∅ | 日本↵x |\n";
        assert_eq!(shown, want);
    }

    #[test]
    fn a_table_shows_types_nulls_and_line_ends() {
        let batch = sample(2);
        let (text, _) = table(&batch.schema(), &[batch], None).unwrap();
        let want = "\
┌───────┬─────────────────────────┐
│    c0 │ c1                      │
│ Int64 │ Utf8                    │
├───────┼─────────────────────────┤
│     1 │ a longer text than fits │
│     ∅ │ 日本↵x                  │
└───────┴─────────────────────────┘
";
        assert_eq!(text, want);
    }
}
