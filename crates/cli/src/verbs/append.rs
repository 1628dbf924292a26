//! `tess append`: adds rows, or an array, to an existing container.

use std::time::Instant;

use clap::Args;
use tesselle::{OpenOptions, Result, Settings};

use crate::args::{ReadArgs, ResourceArgs, RowArgs};
use crate::progress::Bar;
use crate::{Outcome, format, out};

/// Add rows to an existing container, or an array along an axis
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess append today.csv plant.tsfile
  tess append more.parquet 'fleet.tsfile#root.fleet.car7'
  tess append events.jsonl events.tatami
  tess append frame.npy 'run.tet#temperature' --axis time
  tess append cells.parquet points.tiledb

A TsFile gets new chunk groups, whose times must follow the existing ones; a
tatami file gets new row groups, and a sparse array a new fragment. Dense arrays
and tensors grow along --axis. Columns are matched by name. A value that does not
fit the type of its column is an error. Readers see the old state or the new one.")]
pub(crate) struct Append {
    /// Rows or array to append, optionally with #TABLE
    input: String,

    /// Container to append to, optionally with #TABLE
    target: String,

    /// Axis along which an array grows, by name or number [default: the first]
    #[arg(long, value_name = "AXIS")]
    axis: Option<String>,

    #[command(flatten)]
    rows: RowArgs,

    /// Setting of the target format, e.g. order=sort or timestamp=1700000000000; repeatable
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,

    /// Report as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    read: ReadArgs,
}

impl Append {
    pub(crate) fn run(self, resources: &ResourceArgs) -> Result<Outcome> {
        let started = Instant::now();
        let driver = resources.driver()?.with_progress(Bar::new(""));
        let mut append = tesselle::append(&self.input, &self.target)
            .opener(self.rows.opener(&self.read)?)
            .target_options(OpenOptions::default().with_key(self.read.options()?.key))
            .scan(self.rows.scan())
            .casts(self.rows.casts()?)
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
            out::note(&format!("  not kept: {}", appended.summary.lost.join("; ")));
        }
        Ok(Outcome::Fine)
    }
}
