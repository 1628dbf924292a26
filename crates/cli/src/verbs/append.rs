//! `tess append`: rows, or an array, for a container that exists.

use std::time::Instant;

use clap::Args;
use tesselle::{OpenOptions, Predicate, Result, Scan, Settings};

use crate::args::{ReadArgs, ResourceArgs, parse_condition};
use crate::progress::Bar;
use crate::{Outcome, format, out};

/// Add rows to a container that exists, or an array along an axis
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess append today.csv plant.tsfile
  tess append more.parquet 'fleet.tsfile#root.fleet.car7'
  tess append events.jsonl events.tatami
  tess append frame.npy 'run.tet#temperature' --axis time
  tess append cells.parquet points.tiledb

A TsFile gets new chunk groups, whose times follow those it has; a tatami file
new row groups; a sparse array a fragment; a dense array and a tensor grow along
--axis. Columns are matched by name, and a value that the type of its column
would change is refused. Readers see the old state or the new one.")]
pub(crate) struct Append {
    /// What to add, perhaps with #TABLE
    input: String,

    /// The container that grows, perhaps with #TABLE
    target: String,

    /// The table to read
    #[arg(long, value_name = "NAME")]
    table: Option<String>,

    /// The axis that an array grows along, by name or number [default: the first]
    #[arg(long, value_name = "AXIS")]
    axis: Option<String>,

    /// Only these columns, in this order
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    columns: Option<Vec<String>>,

    /// Only rows where this SQL condition holds
    #[arg(long = "where", value_name = "EXPR", value_parser = parse_condition)]
    condition: Option<Predicate>,

    /// At most this many rows
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    /// Give a column another type, e.g. time=timestamp_ms; may be repeated
    #[arg(long = "cast", value_name = "COLUMN=TYPE")]
    casts: Vec<String>,

    /// The types of columns of CSV and JSON lines: COLUMN=TYPE,… or a file with them [default: inferred]
    #[arg(long, value_name = "TYPES")]
    schema: Option<String>,

    /// A setting of the target format, e.g. order=sort or timestamp=1700000000000; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,

    /// Report as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    read: ReadArgs,

    #[command(flatten)]
    resources: ResourceArgs,
}

impl Append {
    pub(crate) fn run(self) -> Result<Outcome> {
        let started = Instant::now();
        let driver = self.resources.driver()?.with_progress(Bar::new(""));
        let mut append = tesselle::append(&self.input, &self.target)
            .opener(
                self.read.opener(self.table.as_deref())?.types(crate::args::types(self.schema.as_deref())?),
            )
            .target_options(OpenOptions { key: self.read.options()?.key, ..OpenOptions::default() })
            .scan(Scan {
                columns: self.columns.clone(),
                predicate: self.condition.clone(),
                limit: self.limit,
                ..Scan::default()
            })
            .casts(tesselle::parse_types(&self.casts.join(","))?)
            .options(Settings::from_pairs(&self.settings)?);
        if let Some(axis) = &self.axis {
            append = append.axis(axis);
        }
        let appended = append.on(&driver).run()?;
        if self.json {
            out::print_json(&appended.to_json())?;
            return Ok(Outcome::Fine);
        }
        out::note(&format!(
            "{}: {} added, {:.2} s",
            self.target,
            format::counted(appended.summary.rows, "row"),
            started.elapsed().as_secs_f64()
        ));
        if !appended.summary.lost.is_empty() {
            out::note(&format!("  not carried over: {}", appended.summary.lost.join("; ")));
        }
        Ok(Outcome::Fine)
    }
}
