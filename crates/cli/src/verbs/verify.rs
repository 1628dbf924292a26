//! `tess verify`: a health report at three depths.

use std::fmt::Write as _;

use clap::Args;
use serde_json::{Value, json};
use tesselle::{Depth, Error, ErrorKind, Report, Result, Severity};

use crate::args::{ReadArgs, ResourceArgs};
use crate::progress::Bar;
use crate::{Outcome, format, inputs, out, words};

/// Check files: structure, checksums, and with --deep every value and statistic
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess verify run.tet
  tess verify --deep *.tet
  tess verify --deep --json run.tet | jq .findings
  tess verify archive/

A folder that is not a container itself is walked, and every container in it is
checked. A bad one does not stop the others. The exit code is 1 when data is
damaged, else 3 when something could not be read.")]
pub(crate) struct Verify {
    /// Containers, folders with containers, or quoted patterns
    #[arg(required = true)]
    uris: Vec<String>,

    /// Only the structure: nothing is decoded
    #[arg(long, conflicts_with = "deep")]
    quick: bool,

    /// Decode every chunk, page or tile and recompute every stored statistic
    #[arg(long)]
    deep: bool,

    /// Print JSON: one report, or an object with `ok` and a list `reports` for several containers
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    read: ReadArgs,
}

impl Verify {
    pub(crate) fn run(self, resources: &ResourceArgs) -> Result<Outcome> {
        let depth = match (self.quick, self.deep) {
            (true, _) => Depth::Quick,
            (_, true) => Depth::Deep,
            _ => Depth::Pieces,
        };
        let driver = resources.driver()?;
        let opener = self.read.opener(None)?;
        let many = inputs::is_many(&self.uris)?;
        let (all, unreadable): (Vec<String>, Vec<Error>) = if many {
            let inputs = inputs::expand(&self.uris, |format| format.verifies)?;
            (inputs.list.into_iter().map(|input| input.uri).collect(), inputs.unreadable)
        } else {
            (self.uris.clone(), Vec::new())
        };
        if all.is_empty() && unreadable.is_empty() {
            return Err(
                Error::invalid("no containers found").hint("give a file, or a folder with containers")
            );
        }
        let mut reports: Vec<Checked> = Vec::new();
        let mut failed: Option<u8> = None;
        let mut fail = |uri: String, error: &Error, reports: &mut Vec<Checked>| {
            out::note(&format!("tess: {}", words::line(error)));
            reports.push((uri, Err(error.to_json(words::word))));
            let code = error.kind().exit_code();
            failed = Some(failed.map_or(code, |worst| worst.max(code)));
        };
        for error in unreadable {
            fail(error.file_name().unwrap_or_default().to_owned(), &error, &mut reports);
        }
        for uri in &all {
            let run = driver.for_run().with_progress(Bar::new(if many { uri } else { "" }));
            let result =
                tesselle::verify(uri).opener(opener.clone().among_others(many)).depth(depth).on(&run).run();
            drop(run);
            match result {
                Ok(report) => {
                    if !self.json {
                        out::print(&text(uri, &report))?;
                    }
                    reports.push((uri.clone(), Ok(report)));
                }
                // One failing container does not stop the others; its error is reported in order.
                Err(error) if many && error.kind() != ErrorKind::Canceled => {
                    fail(uri.clone(), &error, &mut reports);
                }
                Err(error) => return Err(error),
            }
        }
        let damaged =
            reports.iter().filter(|(_, report)| report.as_ref().is_ok_and(|report| !report.ok())).count();
        if self.json {
            out::print_json(&to_json(&reports, many))?;
        } else if many {
            let unread = reports.iter().filter(|(_, report)| report.is_err()).count();
            let fine = reports.len() - damaged - unread;
            out::print(&format!(
                "{}: {fine} ok, {damaged} damaged, {unread} not readable\n",
                format::counted(reports.len() as u64, "container")
            ))?;
        }
        Ok(match failed {
            _ if damaged > 0 => Outcome::BadData,
            Some(code) => Outcome::Code(code),
            None => Outcome::Fine,
        })
    }
}

type Checked = (String, std::result::Result<Report, Value>);

fn to_json(reports: &[Checked], many: bool) -> Value {
    let with_uri = |(uri, report): &Checked| {
        let mut value = match report {
            Ok(report) => report.to_json(),
            Err(error) => {
                let mut value = error.clone();
                value["ok"] = json!(false);
                value
            }
        };
        value["uri"] = json!(uri);
        value
    };
    match reports {
        [only] if !many => with_uri(only),
        all => json!({
            "ok": all.iter().all(|(_, report)| report.as_ref().is_ok_and(Report::ok)),
            "reports": all.iter().map(with_uri).collect::<Vec<_>>(),
        }),
    }
}

fn text(uri: &str, report: &Report) -> String {
    let verdict = if report.ok() { "ok" } else { "DAMAGED" };
    let depth = match report.depth() {
        Depth::Quick => "quick, ",
        Depth::Pieces => "",
        Depth::Deep => "deep, ",
    };
    let checked = format::counted(report.pieces, "chunk");
    let mut text = format!("{uri}: {verdict} ({depth}{checked} checked)\n");
    for finding in report.findings() {
        let place =
            [finding.file.clone(), finding.piece.clone(), finding.offset.map(|o| format!("byte {o}"))];
        let place: Vec<String> = place.into_iter().flatten().collect();
        let place = if place.is_empty() { String::new() } else { format!(" ({})", place.join(", ")) };
        let mark = if finding.severity == Severity::Error { "error" } else { finding.severity.name() };
        let _ = writeln!(text, "  {mark} {}: {}{place}", finding.kind, finding.message);
    }
    if report.dropped() > 0 {
        let _ = writeln!(text, "  … {} more findings", report.dropped());
    }
    text
}
