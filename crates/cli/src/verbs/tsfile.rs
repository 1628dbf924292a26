//! `tess tsfile`: what only TsFiles have.

use std::fmt::Write as _;

use clap::{Args, Subcommand};
use serde_json::Value;
use tesselle::tsfile::tools;
use tesselle::{Result, Uri};

use crate::format::{Align, TextTable};
use crate::{Outcome, out};

/// TsFile tools: resource files, data directories, sequential dumps
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess tsfile resource data/sequence
  tess tsfile data-dir data
  tess tsfile read plant.tsfile --points --json")]
pub(crate) struct TsFile {
    #[command(subcommand)]
    tool: Tool,

    /// As JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
enum Tool {
    /// Show the time range of each device, from .tsfile.resource files
    #[command(after_help = "Example:\n  tess tsfile resource data/sequence/root.sg/1.tsfile.resource")]
    Resource {
        /// A resource file, or a folder with such files
        path: String,
    },
    /// List the files of a data directory in the order in which their points count
    #[command(after_help = "Example:\n  tess tsfile data-dir data")]
    DataDir {
        /// The folder with sequence and unsequence
        path: String,
    },
    /// Dump a file front to back: chunk groups, chunks, pages, and their points on request
    #[command(after_help = "Example:\n  tess tsfile read plant.tsfile --points")]
    Read {
        /// The file; one that was cut off is told up to there
        path: String,

        /// Also decode and list the points of every page
        #[arg(long)]
        points: bool,
    },
}

impl TsFile {
    pub(crate) fn run(self) -> Result<Outcome> {
        let (answer, text): (Value, fn(&Value) -> String) = match &self.tool {
            Tool::Resource { path } => (tools::resources(&Uri::parse(path)?.location)?, resource_text),
            Tool::DataDir { path } => (tools::data_directory(&Uri::parse(path)?.location)?, directory_text),
            Tool::Read { path, points } => (tools::read(&Uri::parse(path)?.location, *points)?, records_text),
        };
        if self.json {
            out::print_json(&answer)?;
        } else {
            out::print(&text(&answer))?;
        }
        Ok(Outcome::Fine)
    }
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn devices_text(text: &mut String, file: &Value) {
    let mut table =
        TextTable::new(&[("device", Align::Left), ("start", Align::Right), ("end", Align::Right)]);
    for (device, range) in file["devices"].as_object().into_iter().flatten() {
        table.row([device.clone(), word(&range[0]), word(&range[1])]);
    }
    text.push_str(&table.render("  "));
}

fn resource_text(answer: &Value) -> String {
    let mut text = String::new();
    for file in list(answer, "files") {
        let _ = writeln!(text, "{}", word(&file["file"]));
        devices_text(&mut text, file);
    }
    text
}

fn directory_text(answer: &Value) -> String {
    let mut text = String::new();
    for file in list(answer, "files") {
        let facts = file
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, value)| !matches!(key.as_str(), "file" | "devices") && !value.is_null());
        let facts: Vec<String> = facts.map(|(key, value)| format!("{key} {}", word(value))).collect();
        let _ = writeln!(text, "{}: {}", word(&file["file"]), facts.join(", "));
        devices_text(&mut text, file);
    }
    text
}

fn records_text(answer: &Value) -> String {
    let mut text = String::new();
    for record in list(answer, "records") {
        record_text(&mut text, record, 0);
    }
    if !answer["stopped"].is_null() {
        let _ = writeln!(text, "stopped: {}", word(&answer["stopped"]));
    }
    text
}

/// A record on a line, those inside it below, indented.
fn record_text(text: &mut String, record: &Value, depth: usize) {
    let Some(object) = record.as_object() else {
        let _ = writeln!(text, "{}{record}", "  ".repeat(depth));
        return;
    };
    let plain = object.iter().filter(|(_, value)| !value.is_array());
    let facts: Vec<String> = plain.map(|(key, value)| format!("{key} {}", word(value))).collect();
    let _ = writeln!(text, "{}{}", "  ".repeat(depth), facts.join(", "));
    for inner in object.values().filter_map(Value::as_array).flatten() {
        record_text(text, inner, depth + 1);
    }
}
