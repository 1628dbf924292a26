//! `tess convert`: any file into any other.

use std::time::Instant;

use clap::Args;
use tesselle::{Conversion, Predicate, Result, Scan, Settings, WriteOptions};

use crate::args::{ReadArgs, ResourceArgs};
use crate::progress::Bar;
use crate::{Outcome, format, out};

/// Convert a file into another format, or rewrite it with other settings
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess convert field.npy field.tet --set chunk=512,512 --set codec=zstd
  tess convert run.tet run.parquet
  tess convert 'run.tet#temperature' t.npy
  tess convert run.tet smaller.tet --set codec=zstd --set level=9")]
pub(crate) struct Convert {
    /// What to read, perhaps with #TABLE
    input: String,

    /// What to write
    output: String,

    /// The format to write [default: by the name of OUTPUT]
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,

    /// The table to read
    #[arg(long, value_name = "NAME")]
    table: Option<String>,

    /// The name of the table to write, where the format has names
    #[arg(long, value_name = "NAME")]
    into: Option<String>,

    /// Only these columns, in this order
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    columns: Option<Vec<String>>,

    /// Only rows where this SQL condition holds
    #[arg(long = "where", value_name = "EXPR")]
    condition: Option<Predicate>,

    /// A setting of the target format, e.g. chunk=512,512 or codec=zstd; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,

    /// Replace OUTPUT if it exists
    #[arg(long)]
    force: bool,

    /// Report as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    read: ReadArgs,

    #[command(flatten)]
    resources: ResourceArgs,
}

impl Convert {
    pub(crate) fn run(self) -> Result<Outcome> {
        let started = Instant::now();
        let settings = Settings::from_pairs(&self.settings)?;
        let conversion = Conversion {
            from: self.read.format.clone(),
            to: self.to.clone(),
            table: self.table.clone(),
            scan: Scan {
                columns: self.columns.clone(),
                predicate: self.condition.clone(),
                ..Scan::default()
            },
            open: self.read.options()?,
            write: WriteOptions {
                overwrite: self.force,
                table: self.into.clone(),
                settings,
                ..WriteOptions::default()
            },
        };
        let driver = self.resources.driver()?.with_progress(Bar::new());
        let converted = tesselle::convert(&self.input, &self.output, &conversion, &driver)?;
        if self.json {
            out::print_json(&converted.to_json())?;
        } else {
            let summary = &converted.summary;
            out::note(&format!(
                "{}: {} rows, {}, {:.2} s",
                self.output,
                format::count(summary.rows),
                format::bytes(summary.bytes),
                started.elapsed().as_secs_f64()
            ));
        }
        Ok(Outcome::Fine)
    }
}
