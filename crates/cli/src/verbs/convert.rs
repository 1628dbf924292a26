//! `tess convert`: any file into any other.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde_json::json;
use tesselle::name::file_names;
use tesselle::{Convert as Builder, Driver, Error, ErrorKind, Result, Settings, Uri, WriteReport};

use crate::args::{ReadArgs, ResourceArgs, RowArgs};
use crate::forms::refuse_terminal;
use crate::inputs::{self, Input, Inputs};
use crate::progress::Bar;
use crate::{Outcome, format, out, words};

/// Convert files into another format, or rewrite them with other settings
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess convert field.npy field.tet --set chunk=512,512 --set codec=zstd
  tess convert run.tet run.parquet
  tess convert 'run.tet#temperature' t.npy
  tess convert run.tet smaller.tet --set codec=zstd --set level=9
  tess convert plant.csv plant.tsfile --cast speed=float32
  tess convert old.tsfile new.tsfile --upgrade
  tess convert logs.jsonl logs.parquet --schema 'id=int64,at=timestamp_ms'
  tess convert measurements/ parquet/ --to parquet
  tess convert fleet.tsfile devices/ --to csv
  curl -s https://example.org/log.csv | tess convert - - --to parquet > log.parquet

Formats: tet, tiledb, tsfile, tatami; parquet, arrow, csv, jsonl, npy, zarr.
Several inputs, a folder of files or a quoted pattern are concatenated if
OUTPUT has the file name extension of a format. With --to, each input is
written to a file of its own in the folder OUTPUT, and so is each table of a
single container. A single table is written to the file OUTPUT, and so are all
arrays of a container if the format can contain several. A folder of TsFiles is
one container, merged by time; 'folder/*.tsfile' converts each file. A file
that fails does not stop the others; the exit code is then 1. If columns have
types that the target cannot store, one error lists all of them with the casts
that help; --auto-cast applies these casts. Decimals, dates and times keep
their types.")]
pub(crate) struct Convert {
    /// Inputs, each optionally with #TABLE, then the output; - is standard input and output
    #[arg(required = true, num_args = 2.., value_names = ["INPUT", "OUTPUT"])]
    paths: Vec<String>,

    /// Output format [default: from the name of OUTPUT]
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,

    /// Name of the table to write, if the format has named tables
    #[arg(long, value_name = "NAME")]
    into: Option<String>,

    #[command(flatten)]
    rows: RowArgs,

    /// Cast columns whose type the target lacks to the type that it suggests
    #[arg(long)]
    auto_cast: bool,

    /// Setting of the output format, e.g. chunk=512,512 or codec=zstd; repeatable
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,

    /// Write the newest version of the format of INPUT
    #[arg(long)]
    upgrade: bool,

    /// Overwrite OUTPUT if it exists
    #[arg(long)]
    force: bool,

    /// Report as JSON
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    read: ReadArgs,
}

impl Convert {
    pub(crate) fn run(self, resources: &ResourceArgs) -> Result<Outcome> {
        let started = Instant::now();
        let driver = resources.driver()?;
        let Some((output, inputs)) = self.paths.split_last() else {
            return Err(Error::invalid("a conversion needs an input and an output"));
        };
        let many = inputs::is_many(inputs)?;
        if output == "-" {
            out::refuse_report(self.json)?;
            refuse_terminal(tesselle::target_format(self.to.as_deref(), output)?, None)?;
        }
        if many && (self.to.is_none() && is_file_name(output) || output == "-") {
            return self.merge(inputs, output, &driver, started);
        }
        if many {
            return self.many(inputs, Path::new(output), &driver);
        }
        let input = inputs.first().map_or("", String::as_str);
        if let Some(tables) = self.tables(input, output, &driver)? {
            return self.each(&Inputs { list: tables, unreadable: Vec::new() }, Path::new(output), &driver);
        }
        let driver = driver.with_progress(Bar::new(""));
        let converted = out::again_if_changed(|| self.conversion(input, output)?.on(&driver).run())?;
        self.report(output, &converted, started)
    }

    /// All inputs into one file, one after the other.
    fn merge(&self, inputs: &[String], output: &str, driver: &Driver, started: Instant) -> Result<Outcome> {
        let inputs = inputs::expand(inputs, |_| true)?;
        if let Some(error) = inputs.unreadable.into_iter().next() {
            return Err(error);
        }
        let mut uris = inputs.list.into_iter().map(|input| input.uri);
        let Some(first) = uris.next() else { return Err(Error::invalid("there is nothing to convert")) };
        let driver = driver.with_progress(Bar::new(""));
        let converted = self.conversion(&first, output)?.then(uris).on(&driver).run()?;
        self.report(output, &converted, started)
    }

    fn report(&self, output: &str, converted: &WriteReport, started: Instant) -> Result<Outcome> {
        if self.json {
            out::print_json(&converted.to_json())?;
        } else {
            out::note(&line(output, converted, started));
            for remark in remarks(converted) {
                out::note(&remark);
            }
        }
        Ok(Outcome::Fine)
    }

    fn conversion(&self, input: &str, output: &str) -> Result<Builder> {
        let mut conversion = tesselle::convert(input, output)
            .opener(self.rows.opener(&self.read)?)
            .scan(self.rows.scan())
            .casts(self.rows.casts()?)
            .auto_cast(self.auto_cast)
            .options(Settings::from_pairs(&self.settings)?)
            .upgrade(self.upgrade)
            .overwrite(self.force);
        if let Some(format) = &self.to {
            conversion = conversion.format(format);
        }
        if let Some(table) = &self.into {
            conversion = conversion.table(table);
        }
        Ok(conversion)
    }

    /// The tables of a container that has several, where each goes into a file of its own in the folder `output`.
    fn tables(&self, input: &str, output: &str, driver: &Driver) -> Result<Option<Vec<Input>>> {
        let Some(to) = self.to.as_deref().filter(|_| self.rows.table.is_none()) else { return Ok(None) };
        if output == "-" || tesselle::format_by_extension(output).is_some() {
            return Ok(None);
        }
        let dataset = self.read.opener(None)?.among_others(true).on(driver).open(input)?;
        let tables = dataset.separate_tables(tesselle::format_by_name(to)?);
        let input = |(table, name): (&String, String)| Input {
            name: format!("{name}.table"),
            uri: format!("{input}#{table}"),
        };
        let named = |tables: Vec<String>| tables.iter().zip(file_names(&tables)).map(input).collect();
        Ok(tables.map(named))
    }

    /// Converts each input into a separate file in the folder `output`.
    fn many(&self, uris: &[String], output: &Path, driver: &Driver) -> Result<Outcome> {
        if self.to.is_none() {
            return Err(Error::invalid("several inputs need an output format").hint("add --to FORMAT"));
        }
        let inputs = inputs::expand(uris, |_| true)?;
        if inputs.list.is_empty() && inputs.unreadable.is_empty() {
            return Err(Error::invalid("no input contains a container of a known format")
                .hint("known formats are in --help"));
        }
        self.each(&inputs, output, driver)
    }

    fn each(
        &self,
        Inputs { list: inputs, unreadable }: &Inputs,
        output: &Path,
        driver: &Driver,
    ) -> Result<Outcome> {
        let format = tesselle::target_format(self.to.as_deref(), "")?;
        let ending = format.extensions().first().copied().unwrap_or(format.name());
        let (mut reports, mut bad, mut rows, mut bytes) = (Vec::new(), 0, 0, 0);
        for error in unreadable {
            bad += 1;
            out::note(&format!("FAILED: {}", words::line(error)));
            reports.push(error.to_json(words::word));
        }
        let mut taken = sources(inputs);
        let started = Instant::now();
        for (number, input) in inputs.iter().enumerate() {
            driver.check_canceled()?;
            let begun = Instant::now();
            let target = place(output, input, ending, &mut taken);
            let shown = target.display().to_string();
            let bar = Bar::new(&format!("{}/{} {}", number + 1, inputs.len(), input.name));
            let run = driver.for_run().with_progress(bar);
            let opener = self.rows.opener(&self.read)?.among_others(true);
            let conversion = self.conversion(&input.uri, &shown)?.opener(opener).on(&run);
            let result = make_folder(&target).and_then(|()| conversion.run());
            // The bar is removed before the line is printed.
            drop(run);
            match result {
                Ok(converted) => {
                    (rows, bytes) = (rows + converted.summary.rows, bytes + converted.summary.bytes);
                    if !self.json {
                        out::note(&format!("{} -> {}", input.uri, line(&shown, &converted, begun)));
                        for remark in remarks(&converted) {
                            out::note(&remark);
                        }
                    }
                    let mut report = converted.to_json();
                    report["input"] = json!(input.uri);
                    report["output"] = json!(shown);
                    reports.push(report);
                }
                Err(error) if error.kind() == ErrorKind::Canceled => return Err(error),
                Err(error) => {
                    bad += 1;
                    out::note(&format!("{}: FAILED: {}", input.uri, words::line(&error)));
                    let mut report = error.to_json(words::word);
                    report["input"] = json!(input.uri);
                    reports.push(report);
                }
            }
        }
        if self.json {
            out::print_json(
                &json!({ "ok": bad == 0, "converted": inputs.len() + unreadable.len() - bad, "failed": bad, "files": reports }),
            )?;
        } else {
            out::note(&format!(
                "{} converted, {bad} failed: {}, {}, {:.2} s",
                inputs.len() + unreadable.len() - bad,
                format::counted(rows, "row"),
                format::bytes(bytes),
                started.elapsed().as_secs_f64()
            ));
        }
        Ok(if bad == 0 { Outcome::Fine } else { Outcome::BadData })
    }
}

/// Whether all inputs go into one file: its name determines its format.
fn is_file_name(output: &str) -> bool {
    tesselle::format_by_extension(output).is_some() && !Path::new(output).is_dir()
}

fn make_folder(target: &Path) -> Result<()> {
    let Some(parent) = target.parent() else { return Ok(()) };
    std::fs::create_dir_all(parent).map_err(|e| Error::io(format!("cannot create '{}'", parent.display()), e))
}

/// The inputs themselves, which no output may replace.
fn sources(inputs: &[Input]) -> HashSet<PathBuf> {
    let path = |uri: &str| std::fs::canonicalize(uri).ok();
    let of = |input: &Input| path(&input.uri).or_else(|| path(Uri::split(&input.uri).0));
    inputs.iter().filter_map(of).collect()
}

/// A path in the form of [`sources`], even if nothing exists yet.
fn real(path: &Path) -> PathBuf {
    let in_folder = || Some(std::fs::canonicalize(path.parent()?).ok()?.join(path.file_name()?));
    std::fs::canonicalize(path).ok().or_else(in_folder).unwrap_or_else(|| path.to_owned())
}

/// The output path of an input; two that differ only in their extensions keep them, and no input is replaced.
fn place(output: &Path, input: &Input, ending: &str, taken: &mut HashSet<PathBuf>) -> PathBuf {
    let plain = output.join(&input.name).with_extension(ending);
    if taken.insert(real(&plain)) {
        return plain;
    }
    let mut full = output.join(format!("{}.{ending}", input.name));
    let mut number = 2;
    while !taken.insert(real(&full)) {
        full = output.join(format!("{}.{number}.{ending}", input.name));
        number += 1;
    }
    full
}

fn line(output: &str, converted: &WriteReport, started: Instant) -> String {
    let summary = &converted.summary;
    format!(
        "{output}: {}, {}, {:.2} s",
        format::counted(summary.rows, "row"),
        format::bytes(summary.bytes),
        started.elapsed().as_secs_f64()
    )
}

/// Notes about types and metadata.
fn remarks(converted: &WriteReport) -> Vec<String> {
    let mut lines = Vec::new();
    if !converted.changed.is_empty() {
        let list = converted
            .changed
            .iter()
            .map(|change| format!("{} {} as {}", change.column, change.from, change.to));
        lines.push(format!("  stored in another type: {}", list.collect::<Vec<_>>().join(", ")));
    }
    if !converted.kept.is_empty() {
        lines.push(format!("  metadata kept: {}", converted.kept.join(", ")));
    }
    if !converted.lost.is_empty() {
        lines.push(format!("  not kept: {}", converted.lost.join("; ")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_with_the_same_name_get_separate_outputs() {
        let mut taken = HashSet::new();
        let mut at = |name: &str| {
            let input = Input { uri: name.to_owned(), name: name.to_owned() };
            place(Path::new("out"), &input, "tet", &mut taken).display().to_string()
        };
        assert_eq!(at("a/x.csv"), "out/a/x.tet");
        assert_eq!(at("a/x.npy"), "out/a/x.npy.tet");
        assert_eq!(at("a/x.npy"), "out/a/x.npy.2.tet");
        assert_eq!(at("x.csv"), "out/x.tet");
    }
}
