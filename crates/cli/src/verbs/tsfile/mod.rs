//! `tess tsfile`: TsFile-specific tools.

mod dump;
mod original;

use std::fmt::Write as _;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use tesselle::tsfile::{aggregate, tools, upkeep};
use tesselle::{Driver, Error, Location, Result, Settings, Uri};

use crate::args::ResourceArgs;
use crate::format::{self, Align, TextTable};
use crate::{Outcome, out};

/// TsFile tools: statistics of series, resource files, data directories, sequential dumps
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess tsfile stats plant.tsfile --from 1700000000000 --to 1700003600000
  tess tsfile resource data/sequence
  tess tsfile data-dir data
  tess tsfile read plant.tsfile --points --json
  tess tsfile print-tsfile-sketch plant.tsfile")]
pub(crate) struct TsFile {
    #[command(subcommand)]
    tool: Tool,

    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
enum Tool {
    /// Count, bounds, sum, first and last point of each series, from statistics if they cover the time range
    #[command(after_help = "\
Example:
  tess tsfile stats plant.tsfile --series root.plant.pump --from 2025-02-01 --to 2025-02-28

Only pages that statistics do not cover are decoded: those at the ends of the time range, with
deletions, overlapped by others, with NaN, or in a lossy encoding. Bounds exclude
NaN. The sum is exact for INT32, else a double as in statistics.")]
    Stats {
        /// File or data directory
        path: String,

        /// Only this series or device, by its dotted path; repeatable [default: all]
        #[arg(long, value_name = "PATH")]
        series: Vec<String>,

        /// First time to include: as stored, or ISO 8601
        #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = first_time)]
        from: Option<i64>,

        /// Last time to include; a date includes its whole day
        #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = last_time)]
        to: Option<i64>,
    },
    /// Show the time range of each device, from .tsfile.resource files
    #[command(after_help = "Example:\n  tess tsfile resource data/sequence/root.sg/1.tsfile.resource")]
    Resource {
        /// Resource file, or a folder with such files
        path: String,
    },
    /// List the files of a data directory in order of precedence
    #[command(after_help = "Example:\n  tess tsfile data-dir data")]
    DataDir {
        /// Folder with sequence and unsequence
        path: String,
    },
    /// Dump a file from start to end: chunk groups, chunks, pages, and their points on request
    #[command(after_help = "Example:\n  tess tsfile read plant.tsfile --points")]
    Read {
        /// File to dump; a truncated file is dumped up to the cut
        path: String,

        /// Also decode and list the points of every page
        #[arg(long)]
        points: bool,
    },
    /// Delete points of series: the deletion is recorded next to the file, as in IoTDB
    #[command(after_help = "\
Examples:
  tess tsfile delete plant.tsfile --series root.plant.pump.speed --to 1700000000000
  tess tsfile delete plant.tsfile --table weather --tag site=north --columns temperature

The file itself is not changed. Reads apply the deletion; 'tess convert' and
'tess tsfile compact' write files without the deleted points.")]
    Delete {
        /// File, or a data directory
        path: String,

        /// Series, by its dotted path; * matches one node, ** one or more
        #[arg(long, value_name = "PATH", required_unless_present = "table", conflicts_with = "table")]
        series: Option<String>,

        /// Table (version 4)
        #[arg(long)]
        table: Option<String>,

        /// Only rows with this value of a tag; repeatable
        #[arg(long, value_name = "NAME=VALUE", requires = "table")]
        tag: Vec<String>,

        /// Only these columns, separated by commas [default: whole rows]
        #[arg(long, value_delimiter = ',', requires = "table")]
        columns: Vec<String>,

        /// First time to delete: as stored, or ISO 8601 [default: from the start]
        #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = first_time)]
        from: Option<i64>,

        /// Last time to delete; a date includes its whole day [default: to the end]
        #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = last_time)]
        to: Option<i64>,
    },
    /// Merge a data directory into one file, without deleted points, and write its .resource file
    #[command(after_help = "\
Example:
  tess tsfile compact data all.tsfile

Of two points of a series with the same time, the later one is kept. The source is not changed.")]
    Compact {
        /// Data directory, or a file with deletions next to it
        path: String,

        /// File to write, with OUTPUT.resource next to it
        output: String,

        /// Setting of the output, e.g. version=4; repeatable
        #[arg(long = "set", value_name = "NAME=VALUE")]
        settings: Vec<String>,

        /// Overwrite OUTPUT if it exists
        #[arg(long)]
        force: bool,
    },
    /// Print the sketch of a file as IoTDB's tool of this name does, and save it
    #[command(after_help = "Example:\n  tess tsfile print-tsfile-sketch plant.tsfile")]
    PrintTsfileSketch {
        /// File
        path: String,

        /// Path of the saved sketch; an existing file is overwritten
        #[arg(default_value = original::SKETCH_FILE)]
        out: String,
    },
    /// Print the time range of each device as IoTDB's tool of this name does
    #[command(after_help = "\
Example:
  tess tsfile print-tsfile-resource-files data/sequence/root.sg

Times are printed in the time zone of the machine; TZ sets another one.")]
    PrintTsfileResourceFiles {
        /// Resource file, or a folder with such files
        path: String,
    },
    /// Print the tree of data directories as IoTDB's tool of this name does, and save it
    #[command(after_help = "\
Example:
  tess tsfile print-iotdb-data-dir data1,data2 overview.txt

Times are printed in the time zone of the machine; TZ sets another one.")]
    PrintIotdbDataDir {
        /// Data directories, separated by commas
        #[arg(value_name = "DIR,…")]
        directories: String,

        /// Path of the saved overview; an existing file is overwritten
        #[arg(default_value = original::OVERVIEW_FILE)]
        out: String,
    },
}

impl TsFile {
    pub(crate) fn run(self, resources: &ResourceArgs) -> Result<Outcome> {
        let (answer, text): (Value, fn(&Value) -> String) = match &self.tool {
            Tool::Stats { path, series, from, to } => {
                let whole = aggregate::Request::default();
                let request = aggregate::Request {
                    series: series.clone(),
                    from: from.unwrap_or(whole.from),
                    to: to.unwrap_or(whole.to),
                };
                let location = Uri::parse(path)?.location;
                let driver = resources.driver()?;
                let stats = tools::stats(&location, &request, &driver)?;
                driver.check_canceled()?;
                (stats, stats_text)
            }
            Tool::Resource { path } => (tools::resources(&Uri::parse(path)?.location)?, resource_text),
            Tool::DataDir { path } => (tools::data_directory(&Uri::parse(path)?.location)?, directory_text),
            Tool::Delete { .. } => (self.tool.delete()?, deleted_text),
            Tool::Compact { .. } => (self.tool.compact(&resources.driver()?)?, compacted_text),
            Tool::Read { path, points } => return fine(dump::dump(path, *points, self.json)),
            Tool::PrintTsfileSketch { path, out } => {
                return fine(original::sketch(path, out, &resources.driver()?));
            }
            Tool::PrintTsfileResourceFiles { path } => return fine(original::resources(path)),
            Tool::PrintIotdbDataDir { directories, out } => {
                return fine(original::overview(directories, out));
            }
        };
        out::report(self.json, &answer, &text(&answer))
    }
}

impl Tool {
    fn delete(&self) -> Result<Value> {
        let Self::Delete { path, series, table, tag, columns, from, to } = self else {
            return Err(Error::internal("not a deletion"));
        };
        let series = match (series, table) {
            (Some(path), _) => upkeep::Series::Path(path.clone()),
            (None, Some(table)) => {
                let pair = |pair: &String| {
                    let (name, value) = pair.split_once('=').ok_or_else(|| {
                        Error::invalid(format!("tag '{pair}' has no value")).hint("use NAME=VALUE")
                    })?;
                    Ok((name.to_owned(), value.to_owned()))
                };
                let tags = tag.iter().map(pair).collect::<Result<Vec<_>>>()?;
                upkeep::Series::Table { table: table.clone(), tags, columns: columns.clone() }
            }
            (None, None) => return Err(Error::invalid("a deletion needs --series or --table")),
        };
        let (from, to) = (from.unwrap_or(i64::MIN), to.unwrap_or(i64::MAX));
        let points = upkeep::Points { series, from, to };
        let deleted = upkeep::delete(&Uri::parse(path)?.location, &points)?;
        Ok(json!({ "files": deleted.files, "series": deleted.series }))
    }

    fn compact(&self, driver: &Driver) -> Result<Value> {
        let Self::Compact { path, output, settings, force } = self else {
            return Err(Error::internal("not a compaction"));
        };
        let (source, target) = (Uri::parse(path)?.location, Location::local(output)?);
        let settings = Settings::from_pairs(settings)?;
        let done = upkeep::compact(&source, &target, &settings, *force, driver)?;
        let summary = done.summary;
        Ok(json!({
            "files": done.files, "rows": summary.rows, "bytes": summary.bytes, "lost": summary.lost,
        }))
    }
}

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// A time as files store it: a number, or ISO 8601 in milliseconds.
fn first_time(text: &str) -> std::result::Result<i64, String> {
    if let Ok(stored) = text.trim().parse() {
        return Ok(stored);
    }
    let nanos = arrow_cast::parse::string_to_timestamp_nanos(text.trim())
        .map_err(|_| "use the number that is stored, or ISO 8601 such as 2025-02-01T12:00:00".to_owned())?;
    Ok(nanos.div_euclid(1_000_000))
}

/// Like [`first_time`]; of a date, the end of the day.
fn last_time(text: &str) -> std::result::Result<i64, String> {
    let time = first_time(text)?;
    let is_date = text.trim().parse::<i64>().is_err() && !text.contains(':');
    Ok(if is_date { time + DAY - 1 } else { time })
}

fn deleted_text(answer: &Value) -> String {
    let files = format::counted(answer["files"].as_u64().unwrap_or_default(), "file");
    format!("deletions recorded: {} series in {files}\n", answer["series"])
}

fn compacted_text(answer: &Value) -> String {
    let number = |key: &str| answer[key].as_u64().unwrap_or_default();
    let (files, rows) = (format::counted(number("files"), "file"), format::counted(number("rows"), "row"));
    let mut text = format!("{files} merged: {rows}, {}\n", format::bytes(number("bytes")));
    for line in list(answer, "lost") {
        let _ = writeln!(text, "  not kept: {}", word(line));
    }
    text
}

fn fine(done: Result<()>) -> Result<Outcome> {
    done.map(|()| Outcome::Fine)
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn stats_text(answer: &Value) -> String {
    let left = ["series", "type"].map(|title| (title, Align::Left));
    let right = ["count", "min", "max", "sum", "first", "last", "pages decoded"];
    let titles: Vec<(&str, Align)> =
        left.into_iter().chain(right.map(|title| (title, Align::Right))).collect();
    let mut table = TextTable::new(&titles);
    let shown = |value: &Value| if value.is_null() { String::new() } else { word(value) };
    for series in list(answer, "series") {
        let name = format!("{}.{}", word(&series["device"]), word(&series["measurement"]));
        let numbers = ["count", "min", "max", "sum"].map(|key| shown(&series[key]));
        let points = ["first", "last"].map(|key| shown(&series[key]["value"]));
        let decoded = word(&series["effort"]["pages_decoded"]);
        let start = [name, word(&series["type"])].into_iter();
        table.row(start.chain(numbers).chain(points).chain([decoded]));
    }
    table.render("")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_stored_numbers_or_iso_8601() {
        assert_eq!(first_time("-5"), Ok(-5));
        assert_eq!(last_time("1700000000000"), Ok(1_700_000_000_000));
        assert_eq!(first_time("2025-02-01"), Ok(1_738_368_000_000));
        assert_eq!(last_time("2025-02-01"), Ok(1_738_368_000_000 + DAY - 1));
        assert_eq!(last_time("2025-02-01T00:00:00Z"), Ok(1_738_368_000_000));
        assert_eq!(first_time("1969-12-31T23:59:59.5"), Ok(-500));
        assert!(first_time("yesterday").is_err());
    }
}
