//! `tess index`: a search segment from any table.

use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use tesselle::Result;
use tesselle::search::IndexOptions;
use tesselle::{Driver, Error, Location, Uri};

use crate::args::{Names, ReadArgs, ResourceArgs};
use crate::progress::Bar;
use crate::{Outcome, format, forms, out};

/// Build a search segment from the rows of any table
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess index pages.parquet pages.tatami --text title,body --stored url,title
  tess index notes.csv notes.tatami --text note --id id
  tess index changed.parquet crawl/changed.tatami --text title,body --update
  tess search pages.tatami 'river stone'")]
pub(crate) struct Index {
    /// Table to read, optionally with #TABLE; or a folder or a quoted pattern of files with the same columns
    input: String,

    /// Segment to write; - is standard output
    output: String,

    /// Columns to search in; title, url and anchor are separate fields
    #[arg(long, value_name = "A,B", required = true)]
    text: Vec<Names>,

    /// Columns shown in hits [default: doc_id, url, title and the text columns]
    #[arg(long, value_name = "A,B")]
    stored: Option<Vec<Names>>,

    /// Column with the stable id [default: doc_id, else derived from the url or the row number]
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,

    /// Store the positions of words: phrases are found faster, the segment is larger
    #[arg(long)]
    positions: bool,

    /// Add OUTPUT to the collection of its folder, and delete older documents with the same ids there
    #[arg(long)]
    update: bool,

    /// The table to read
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
}

impl Index {
    pub(crate) fn run(self, resources: &ResourceArgs) -> Result<Outcome> {
        let started = Instant::now();
        if self.output == "-" {
            out::refuse_report(self.json)?;
            forms::refuse_bytes_on_terminal()?;
            if self.update {
                return Err(Error::invalid("--update needs a segment in a folder, not standard output"));
            }
        }
        let driver = resources.driver()?.with_progress(Bar::new(""));
        if self.update && self.id.is_none() {
            self.expect_ids(&driver)?;
        }
        let options = IndexOptions::text(Names::all(&self.text))
            .with_stored(self.stored.as_deref().map(Names::all))
            .with_id(self.id.clone())
            .with_positions(self.positions)
            .with_overwrite(self.force);
        let index = tesselle::index(&self.input, &self.output).with(options);
        let summary = index.opener(self.read.opener(self.table.as_deref())?).on(&driver).run()?;
        let replaced =
            if self.update { Some(replace_older(&Uri::target(&self.output)?, &driver)?) } else { None };
        if self.json {
            let mut report = serde_json::json!({ "documents": summary.rows, "bytes": summary.bytes });
            if let Some(replaced) = replaced {
                report["replaced"] = replaced.into();
            }
            out::print_json(&report)?;
        } else {
            let (documents, bytes) =
                (format::counted(summary.rows, "document"), format::bytes(summary.bytes));
            let replaced = replaced.map_or_else(String::new, |n| {
                format!(", {} deleted", format::counted(n.into(), "older one"))
            });
            out::note(&format!(
                "{}: {documents}{replaced}, {bytes}, {:.2} s",
                self.output,
                started.elapsed().as_secs_f64()
            ));
        }
        Ok(Outcome::Fine)
    }

    /// Fails if the ids of the documents would be the numbers of their rows: an update would delete other documents that
    /// have these numbers.
    fn expect_ids(&self, driver: &Driver) -> Result<()> {
        let schema = self.read.opener(self.table.as_deref())?.on(driver).open_table(&self.input)?.schema();
        let has_url = |lists: &[Names]| Names::all(lists).iter().any(|name| name == "url");
        let has_url = has_url(&self.text) || self.stored.as_deref().is_none_or(has_url);
        if schema.index_of("doc_id").is_ok() || has_url && schema.index_of("url").is_ok() {
            return Ok(());
        }
        Err(Error::invalid(
            "an update replaces documents by their ids, but the input has neither 'doc_id' nor 'url'",
        )
        .hint("name the column of the ids with --id"))
    }
}

/// Adds the new segment to the collection it lies in; returns how many older documents it replaces there.
fn replace_older(target: &Location, driver: &Driver) -> Result<u32> {
    let folder = target.parent().unwrap_or_else(|| Location::new(Arc::clone(target.storage()), ""));
    Ok(tesselle::search::update(&folder, target.name(), driver)?.deleted)
}
