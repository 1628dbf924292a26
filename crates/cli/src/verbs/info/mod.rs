//! `tess info`: the contents of a container, from its metadata only.

pub(crate) mod chunks;
pub(crate) mod render;

use std::fmt::Write as _;

use chunks::Chunks;
use clap::Args;
use render::{is_empty, is_unset, plain, stated, tree};
use serde_json::Value;
use tesselle::{Dataset, Error, Result};

use crate::args::{ReadArgs, ResourceArgs};
use crate::format::{self, Align, TextTable};
use crate::{Outcome, out};

/// Show the contents of a file: format, tables, columns, counts, sizes
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess info run.tet
  tess info run.tet --chunks -n 5      also the first five chunks
  tess info run.tet --json | jq '.tables[].name'
  tess info points.tiledb --schema > schema.json")]
pub(crate) struct Info {
    /// Container, optionally with #TABLE
    uri: String,

    /// Only this table
    #[arg(long, value_name = "NAME")]
    table: Option<String>,

    /// Also list chunks, pages or tiles with offset, sizes and encoding
    #[arg(long)]
    chunks: bool,

    /// Number of chunks, pages or tiles to list; 0 is all [default: 32, with --all all of them]
    #[arg(short, value_name = "N")]
    n: Option<usize>,

    /// Show everything: all chunks with their pages, structures of the file, full metadata, all tables and columns
    #[arg(long)]
    all: bool,

    /// Print the schema of a TileDB array as JSON, for 'tess tiledb create --schema'
    #[arg(long, conflicts_with_all = ["chunks", "all", "table"])]
    schema: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    read: ReadArgs,
}

/// Facts about the structure of a file, shown with `--all`.
const STRUCTURE: [&str; 4] = ["superblock", "directory", "footer", "file_metadata"];

/// Chunks listed without `-n` and `--all`.
const CHUNKS: usize = 32;

/// Tables and columns listed without `--all`.
const LISTED: usize = 50;

impl Info {
    pub(crate) fn run(self, resources: &ResourceArgs) -> Result<Outcome> {
        let opened = self.read.open(&self.uri, self.table.as_deref(), resources)?;
        if self.schema {
            let schema = opened.container().schema_json()?.ok_or_else(|| {
                Error::invalid(format!("'{}' is not a TileDB array", self.uri))
                    .hint("--json prints the metadata of a file of any format")
            })?;
            out::print_json(&schema)?;
            return Ok(Outcome::Fine);
        }
        let mut info = opened.describe()?.to_json();
        if let Some(name) = opened.chosen_table() {
            opened.table(name)?;
            if let Some(tables) = info["tables"].as_array_mut() {
                tables.retain(|table| table["name"] == name);
            }
        }
        let chunks = if self.chunks || self.all {
            let n = self.n.unwrap_or(if self.all { 0 } else { CHUNKS });
            Some(Chunks::list(&**opened.container(), (n > 0).then_some(n))?)
        } else {
            None
        };
        if self.json {
            if let Some(chunks) = chunks {
                info["chunk_count"] = chunks.total.into();
                info["chunks"] = Value::Array(chunks.listed);
            }
            out::print_json(&info)?;
        } else {
            out::print(&self.text(&opened, &info, chunks.as_ref())?)?;
        }
        Ok(Outcome::Fine)
    }

    fn text(&self, opened: &Dataset, info: &Value, chunks: Option<&Chunks>) -> Result<String> {
        let mut text = String::new();
        let size = if opened.location().is_file()? {
            format!(", {}", format::bytes(opened.location().size()?))
        } else {
            String::new()
        };
        let version = info["version"].as_str().unwrap_or_default();
        let _ = writeln!(
            text,
            "{}: {} version {version}{size}",
            opened.location().path(),
            opened.format().name()
        );
        let members = render::members(&info["members"]);
        for (key, value) in info.as_object().into_iter().flatten() {
            let value = if key == "members" { &members } else { value };
            let hidden = !self.all && STRUCTURE.contains(&key.as_str());
            let hidden = hidden || is_unset(key, value);
            if !matches!(key.as_str(), "format" | "version" | "tables") && !hidden && !is_empty(value) {
                self.facts(&mut text, key, value);
            }
        }
        let tables = info["tables"].as_array().map_or(&[] as &[Value], Vec::as_slice);
        let shown = if self.all { tables.len() } else { tables.len().min(LISTED) };
        for table in &tables[..shown] {
            self.table_text(&mut text, table);
        }
        if shown < tables.len() {
            let _ = writeln!(text, "\n… {} more tables; --all lists them", tables.len() - shown);
        }
        if let Some(chunks) = chunks {
            chunks.render(&mut text, self.all);
        }
        Ok(text)
    }

    /// A top-level fact on one or a few lines.
    fn facts(&self, text: &mut String, key: &str, value: &Value) {
        if STRUCTURE.contains(&key) {
            tree(text, key, value, "");
            return;
        }
        let (shown, more) = match value {
            Value::Array(items) if !self.all && items.len() > 8 => (items.len(), true),
            Value::Object(items) if !self.all && items.len() > 16 => (items.len(), true),
            _ => (0, false),
        };
        if more {
            let _ = writeln!(text, "{key}: {shown} entries; --all or --json shows them");
            return;
        }
        match value {
            Value::Object(items) => {
                let _ = writeln!(text, "{key}:");
                for (name, item) in items {
                    let _ = writeln!(text, "  {name}: {}", plain(item));
                }
            }
            Value::Array(items) if items.iter().any(Value::is_object) => {
                let _ = writeln!(text, "{key}:");
                for item in items {
                    let _ = writeln!(text, "  {}", plain(item));
                }
            }
            _ => {
                let _ = writeln!(text, "{key}: {}", plain(value));
            }
        }
    }

    fn table_text(&self, text: &mut String, table: &Value) {
        let name = table["name"].as_str().unwrap_or_default();
        let title = if name.is_empty() { "table".to_owned() } else { format!("table {name}") };
        let rows = table["rows"]
            .as_u64()
            .map_or("rows unknown until read".to_owned(), |n| format::counted(n, "row"));
        let _ = writeln!(text, "\n{title}: {rows}");
        for (key, value) in table.as_object().into_iter().flatten() {
            if !matches!(key.as_str(), "name" | "rows" | "columns") && !is_empty(value) {
                let _ = writeln!(text, "  {key}: {}", plain(value));
            }
        }
        let columns = table["columns"].as_array().map_or(&[] as &[Value], Vec::as_slice);
        let shown = if self.all { columns.len() } else { columns.len().min(LISTED) };
        let mut lines = TextTable::new(&[
            ("column", Align::Left),
            ("type", Align::Left),
            ("role", Align::Left),
            ("", Align::Left),
        ]);
        for column in &columns[..shown] {
            let word = |key: &str| column[key].as_str().unwrap_or_default().to_owned();
            let nullable = column["nullable"] == true;
            let extra = column.as_object().into_iter().flatten().filter(|(key, value)| {
                let shown = self.all || key.as_str() != "statistics";
                !matches!(key.as_str(), "name" | "type" | "role" | "nullable") && shown && !is_empty(value)
            });
            let mut notes: Vec<String> = extra.map(|(key, value)| stated(key, value)).collect();
            if nullable {
                notes.insert(0, "nullable".to_owned());
            }
            lines.row([word("name"), word("type"), word("role"), notes.join(", ")]);
        }
        text.push_str(&lines.render("  "));
        if shown < columns.len() {
            let _ = writeln!(text, "  … {} more columns; --all lists them", columns.len() - shown);
        }
    }
}
