//! `tess index`: a search segment from any table.

use std::time::Instant;

use clap::Args;
use tesselle::Result;
use tesselle::search::IndexOptions;

use crate::args::{ReadArgs, ResourceArgs};
use crate::progress::Bar;
use crate::{Outcome, format, out};

/// Build a search segment from the rows of any table
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess index pages.parquet pages.tatami --text title,body --stored url,title
  tess index notes.csv notes.tatami --text note --id id
  tess search pages.tatami 'river stone'")]
pub(crate) struct Index {
    /// Table to read, optionally with #TABLE
    input: String,

    /// Segment to write
    output: String,

    /// Columns to search in; title, url and anchor are separate fields
    #[arg(long, value_name = "A,B", value_delimiter = ',', required = true)]
    text: Vec<String>,

    /// Columns shown in hits [default: doc_id, url, title and the text columns]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    stored: Option<Vec<String>>,

    /// Column with the stable id [default: doc_id, else derived from the url or the row number]
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,

    /// Table to read
    #[arg(long, value_name = "NAME")]
    table: Option<String>,

    /// Overwrite OUTPUT if it exists
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

impl Index {
    pub(crate) fn run(self) -> Result<Outcome> {
        let started = Instant::now();
        let driver = self.resources.driver()?.with_progress(Bar::new(""));
        let options = IndexOptions {
            text: self.text.clone(),
            stored: self.stored.clone(),
            id: self.id.clone(),
            overwrite: self.force,
            ..IndexOptions::default()
        };
        let index = tesselle::index(&self.input, &self.output).with(options);
        let summary = index.opener(self.read.opener(self.table.as_deref())?).on(&driver).run()?;
        if self.json {
            out::print_json(&serde_json::json!({ "documents": summary.rows, "bytes": summary.bytes }))?;
        } else {
            let (documents, bytes) = (format::count(summary.rows), format::bytes(summary.bytes));
            out::note(&format!(
                "{}: {documents} documents, {bytes}, {:.2} s",
                self.output,
                started.elapsed().as_secs_f64()
            ));
        }
        Ok(Outcome::Fine)
    }
}
