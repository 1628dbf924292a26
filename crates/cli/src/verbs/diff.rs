//! `tess diff`: the differences between two tables.

use std::fmt::Write as _;

use clap::Args;
use tesselle::{Difference, Result, RowPlace, Tolerance};

use crate::args::{Names, ReadArgs, ResourceArgs};
use crate::progress::Bar;
use crate::{Outcome, format, out};

/// Compare two tables, or all tables of two containers, of the same or of different formats
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess diff run.tet run.parquet
  tess diff 'a.tet#x' 'b.tet#x' --json
  tess diff a.csv b.csv --key id --columns price,stock
  tess diff old.tsfile new.tsfile
  tess diff run.tet again.tet --tolerance 0.001%

Rows are matched by position if both sides are ordered, else by their
dimensions, time, tags or sort key, or by --key. Values are compared regardless of
their type; a type difference counts as a column difference.
Containers of several tables are compared table by table, by their names. Exit
code 0 when they are equal, 1 when they differ.")]
pub(crate) struct Diff {
    /// Left side, optionally with #TABLE
    left: String,

    /// Right side, optionally with #TABLE
    right: String,

    /// Match rows by these columns [default: by position, or by the columns that identify a row if the rows are
    /// unordered]
    #[arg(long, value_name = "A,B")]
    key: Option<Vec<Names>>,

    /// Compare only these columns
    #[arg(long, value_name = "A,B")]
    columns: Option<Vec<Names>>,

    /// Maximum difference of floats that count as equal: a number, or a percentage of the value
    #[arg(long, value_name = "ABS|REL%")]
    tolerance: Option<Tolerance>,

    /// How many differing values to show
    #[arg(short, value_name = "N", default_value_t = 20)]
    n: usize,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    read: ReadArgs,
}

impl Diff {
    pub(crate) fn run(self, resources: &ResourceArgs) -> Result<Outcome> {
        let driver = resources.driver()?.with_progress(Bar::new(""));
        let difference = out::again_if_changed(|| {
            let diff = tesselle::diff(&self.left, &self.right).opener(self.read.opener(None)?);
            let mut diff = diff.shown(self.n).on(&driver);
            if let Some(key) = &self.key {
                diff = diff.key(Names::all(key));
            }
            if let Some(columns) = &self.columns {
                diff = diff.columns(Names::all(columns));
            }
            if let Some(tolerance) = self.tolerance {
                diff = diff.tolerance(tolerance);
            }
            diff.run()
        })?;
        if self.json {
            out::print_json(&difference.to_json())?;
        } else {
            out::print(&text(&difference))?;
        }
        Ok(if difference.is_equal() { Outcome::Fine } else { Outcome::BadData })
    }
}

fn text(difference: &Difference) -> String {
    if difference.is_equal() {
        let rows = format::counted(difference.rows.0, "row");
        return match difference.tables {
            1 => format!("equal: {rows}\n"),
            tables => format!("equal: {rows} in {} tables\n", format::count(tables)),
        };
    }
    let mut text = String::new();
    for line in &difference.schema {
        let _ = writeln!(text, "{line}");
    }
    if difference.rows.0 != difference.rows.1 {
        let (left, right) = (format::counted(difference.rows.0, "row"), format::count(difference.rows.1));
        let _ = writeln!(text, "{left} on the left, {right} on the right");
    }
    if difference.unmatched != (0, 0) {
        let (left, right) = difference.unmatched;
        let _ = writeln!(
            text,
            "{} only on the left, {} only on the right",
            format::counted(left, "row"),
            format::count(right)
        );
    }
    if difference.values > 0 {
        let verb = if difference.values == 1 { "differs" } else { "differ" };
        let _ = writeln!(text, "{} {verb}", format::counted(difference.values, "value"));
    }
    let same_rows = difference.rows.0 == difference.rows.1 && difference.unmatched == (0, 0);
    if same_rows && difference.values == 0 && difference.tables == 1 {
        let rows = format::counted(difference.rows.0, "row");
        let _ = writeln!(text, "the values of the columns that both have are equal: {rows}");
    }
    if let Some(column) = difference.rounded.first().filter(|_| difference.values > 0) {
        let _ = writeln!(
            text,
            "column {} has fewer digits on one side: --tolerance 0.00001% ignores the rounding of 32-bit floats",
            quoted(Some(column))
        );
    }
    for value in &difference.first {
        let place = match &value.row {
            RowPlace::Number(row) => format!("row {row}"),
            RowPlace::Key(cells) => format!("key {}", key(cells)),
        };
        let table = value
            .table
            .as_deref()
            .map_or_else(String::new, |table| format!("table {}, ", quoted(Some(table))));
        let (left, right) = (quoted(value.left.as_deref()), quoted(value.right.as_deref()));
        let column = quoted(Some(&value.column));
        let _ = writeln!(text, "  {table}{place}, {column}: {left} on the left, {right} on the right");
    }
    text
}

/// The values of a key, as `name=value`.
fn key(cells: &[(String, Option<String>)]) -> String {
    let cells = cells.iter().map(|(name, value)| format!("{name}={}", value.as_deref().unwrap_or("null")));
    cells.collect::<Vec<_>>().join(", ")
}

/// A string in quotes; null without.
fn quoted(text: Option<&str>) -> String {
    serde_json::json!(text).to_string()
}
