//! `tess tatami`: tatami-specific tools.

mod routing;
mod rows;
mod terms;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tesselle::search::{Deletion, delete, tatami_location};
use tesselle::tatami::{Collection, Tatami, WriterOptions};
use tesselle::{Error, Format, OpenOptions, Predicate, Result, Settings};

use crate::args::{ResourceArgs, parse_condition};
use crate::format::{self, Align, TextTable};
use crate::{Outcome, out};

/// tatami tools: single rows, terms, routing, collections of files, persisted deletes in search segments
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess tatami lookup crawl.tatami https://example.org/
  tess tatami take crawl.tatami 17,4 --columns url,title
  tess tatami terms pages.tatami --prefix riv
  tess tatami collection add crawl a.tatami b.tatami
  tess tatami collection list crawl
  tess tatami collection merge crawl all.tatami
  tess tatami delete pages.tatami --id d07")]
pub(crate) struct TatamiVerb {
    #[command(subcommand)]
    tool: Tool,

    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
enum Tool {
    Lookup(rows::Lookup),
    Take(rows::Take),
    Terms(terms::Terms),
    Routing(routing::Routing),
    /// Manage a folder of files as one collection
    #[command(subcommand, after_help = "Example:\n  tess tatami collection list crawl")]
    Collection(CollectionTool),
    /// Permanently delete documents of a search segment
    #[command(after_help = "\
Examples:
  tess tatami delete pages.tatami --id d07 --id d08
  tess tatami delete pages.tatami --where \"url = 'https://example.org/'\"
  tess tatami delete crawl --id d07

Concurrent deletions are serialized. Deleted documents are no longer rows; their bytes stay in the
file until the segment is merged.")]
    Delete {
        /// Segment, which is replaced atomically, or a collection of segments
        segment: String,

        /// Id of a document; repeatable
        #[arg(long, value_name = "DOC_ID")]
        id: Vec<String>,

        /// All documents whose stored columns match this SQL condition
        #[arg(long = "where", value_name = "EXPR", conflicts_with = "id", value_parser = parse_condition, allow_hyphen_values = true)]
        condition: Option<Predicate>,
    },
}

#[derive(Debug, Subcommand)]
enum CollectionTool {
    /// Add files inside the folder
    #[command(after_help = "Example:\n  tess tatami collection add crawl a.tatami b.tatami")]
    Add {
        /// Folder
        folder: String,
        /// Files, by their paths inside the folder
        #[arg(required = true)]
        files: Vec<String>,
    },
    /// Remove files from the collection; they stay on disk
    #[command(after_help = "Example:\n  tess tatami collection remove crawl a.tatami")]
    Remove {
        /// Folder
        folder: String,
        /// Files
        #[arg(required = true)]
        files: Vec<String>,
    },
    /// List the files with their rows, sizes, tiers and ranges of the sort key
    #[command(after_help = "Example:\n  tess tatami collection list crawl")]
    List {
        /// Folder, or a manifest
        folder: String,
    },
    /// Set the tier of files: a number from 0 to 255 with a meaning of your own
    #[command(after_help = "Example:\n  tess tatami collection tier crawl 2 a.tatami b.tatami")]
    Tier {
        /// Folder
        folder: String,
        /// Tier
        tier: u8,
        /// Files
        #[arg(required = true)]
        files: Vec<String>,
    },
    /// Rewrite the manifest as one entry per file
    #[command(after_help = "Example:\n  tess tatami collection compact crawl")]
    Compact {
        /// Folder
        folder: String,
    },
    /// Merge files into a new one, sorted by their key, and replace them by it
    ///
    /// Search segments become one search segment, without the deleted documents.
    #[command(after_help = "Example:\n  tess tatami collection merge crawl all.tatami a.tatami b.tatami")]
    Merge {
        /// Folder
        folder: String,
        /// New file, by its path inside the folder
        output: String,
        /// Files to merge [default: all]
        files: Vec<String>,
        /// Overwrite the new file if it exists and is not a member
        #[arg(long)]
        force: bool,
        /// Setting of the new file, e.g. level=9; repeatable
        #[arg(long = "set", value_name = "NAME=VALUE")]
        settings: Vec<String>,
    },
}

impl TatamiVerb {
    pub(crate) fn run(self, resources: &ResourceArgs) -> Result<Outcome> {
        match &self.tool {
            Tool::Lookup(lookup) => lookup.run(self.json),
            Tool::Take(take) => take.run(self.json, resources),
            Tool::Terms(terms) => terms.run(self.json),
            Tool::Routing(routing) => routing.run(self.json),
            Tool::Collection(tool) => self.collection(tool, resources),
            Tool::Delete { segment, id, condition } => {
                let deletion = match condition {
                    Some(predicate) => Deletion::Where(predicate.clone()),
                    None if id.is_empty() => {
                        return Err(Error::invalid("no documents to delete are given")
                            .hint("add --id DOC_ID or --where EXPR"));
                    }
                    None => Deletion::Ids(id.iter().map(|id| id.clone().into_bytes()).collect()),
                };
                let location = tatami_location(segment)?;
                let deleted = delete(&location, &location, &deletion, true, &resources.driver()?)?;
                self.report(
                    &json!({ "deleted": deleted.deleted, "live": deleted.live }),
                    &format!(
                        "{} deleted, {} live\n",
                        format::counted(u64::from(deleted.deleted), "document"),
                        deleted.live
                    ),
                )
            }
        }
    }

    fn report(&self, object: &Value, text: &str) -> Result<Outcome> {
        out::report(self.json, object, text)
    }

    fn collection(&self, tool: &CollectionTool, resources: &ResourceArgs) -> Result<Outcome> {
        let open = |folder: &str| Collection::open(&tatami_location(folder)?, &OpenOptions::default());
        let names = |files: &[String]| format::counted(files.len() as u64, "file");
        match tool {
            CollectionTool::Add { folder, files } => {
                let paths: Vec<&str> = files.iter().map(String::as_str).collect();
                open(folder)?.add(&paths)?;
                self.report(&json!({ "added": files }), &format!("{} added\n", names(files)))
            }
            CollectionTool::Remove { folder, files } => {
                let paths: Vec<&str> = files.iter().map(String::as_str).collect();
                open(folder)?.remove(&paths)?;
                self.report(&json!({ "removed": files }), &format!("{} removed\n", names(files)))
            }
            CollectionTool::Tier { folder, tier, files } => {
                let paths: Vec<&str> = files.iter().map(String::as_str).collect();
                open(folder)?.set_tier(&paths, *tier)?;
                let text = format!("{} in tier {tier}\n", names(files));
                self.report(&json!({ "tier": tier, "files": files }), &text)
            }
            CollectionTool::List { folder } => self.list(folder),
            CollectionTool::Compact { folder } => {
                let mut collection = open(folder)?;
                collection.compact()?;
                let members = collection.members().len();
                self.report(
                    &json!({ "members": members }),
                    &format!("{}\n", format::counted(members as u64, "file")),
                )
            }
            CollectionTool::Merge { folder, output, files, force, settings } => {
                let mut collection = open(folder)?;
                let inputs: Vec<&str> = files.iter().map(String::as_str).collect();
                let settings = Settings::from_pairs(settings)?;
                let merged = collection.merge(
                    &inputs,
                    output,
                    WriterOptions::from_settings(&settings)?,
                    *force,
                    &resources.driver()?,
                )?;
                let (rows, bytes) = (merged.summary.rows, merged.summary.bytes);
                self.report(
                    &json!({ "output": output, "rows": rows, "bytes": bytes }),
                    &format!("{output}: {} rows, {}\n", format::count(rows), format::bytes(bytes)),
                )
            }
        }
    }

    fn list(&self, folder: &str) -> Result<Outcome> {
        let description = Tatami.open(&tatami_location(folder)?, &OpenOptions::default())?.describe()?;
        let Some(members) = description.extra.get("members") else {
            return Err(Error::invalid(format!("'{folder}' is not a collection"))
                .hint("use a folder with tatami.manifest"));
        };
        let right = Align::Right;
        let mut table = TextTable::new(&[
            ("path", Align::Left),
            ("rows", right),
            ("bytes", right),
            ("tier", right),
            ("sorted by", Align::Left),
            ("first key", Align::Left),
            ("last key", Align::Left),
        ]);
        for member in members.as_array().into_iter().flatten() {
            let number = |key: &str| member[key].as_u64().map_or_else(String::new, format::count);
            let word = |key: &str| member[key].as_str().unwrap_or_default().to_owned();
            let key = |i: usize| match &member["keys"][i] {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let (path, column) = (word("path"), word("sort_column"));
            table.row([path, number("rows"), number("bytes"), number("tier"), column, key(0), key(1)]);
        }
        self.report(&json!({ "members": members }), &table.render(""))
    }
}
