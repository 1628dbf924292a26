//! `tess verify`: a health report at three depths.

use std::fmt::Write as _;

use clap::Args;
use serde_json::{Value, json};
use tesselle::{Depth, Report, Result, Severity};

use crate::args::{ReadArgs, ResourceArgs};
use crate::progress::Bar;
use crate::{Outcome, out};

/// Check files: structure, checksums, and with --deep every value and statistic
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess verify run.tet
  tess verify --deep *.tet
  tess verify --deep --json run.tet | jq .findings

Exit code 1 when anything is wrong; a bad file does not stop the others.")]
pub(crate) struct Verify {
    /// The containers
    #[arg(required = true)]
    uris: Vec<String>,

    /// Only the structure: nothing is decoded
    #[arg(long, conflicts_with = "deep")]
    quick: bool,

    /// Decode every piece and recompute every stored statistic
    #[arg(long)]
    deep: bool,

    /// As JSON: one report, or a list of them where several containers are named
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    read: ReadArgs,

    #[command(flatten)]
    resources: ResourceArgs,
}

impl Verify {
    pub(crate) fn run(self) -> Result<Outcome> {
        let depth = match (self.quick, self.deep) {
            (true, _) => Depth::Quick,
            (_, true) => Depth::Deep,
            _ => Depth::Pieces,
        };
        let driver = self.resources.driver()?;
        let options = self.read.options()?;
        let mut reports = Vec::new();
        let mut failed = None;
        for uri in &self.uris {
            let run = driver.for_run().with_progress(Bar::new());
            match tesselle::verify(uri, self.read.format.as_deref(), &options, depth, &run) {
                Ok(report) => {
                    if !self.json {
                        out::print(&text(uri, &report))?;
                    }
                    reports.push((uri, report));
                }
                // One container at fault does not stop the others; its error is told at the end of its turn.
                Err(error) if self.uris.len() > 1 => {
                    out::note(&format!("tess: {error}"));
                    failed = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        if self.json {
            out::print_json(&to_json(&reports))?;
        }
        if let Some(error) = failed {
            return Err(error);
        }
        Ok(if reports.iter().all(|(_, report)| report.ok()) { Outcome::Fine } else { Outcome::BadData })
    }
}

fn to_json(reports: &[(&String, Report)]) -> Value {
    let with_uri = |(uri, report): &(&String, Report)| {
        let mut value = report.to_json();
        value["uri"] = json!(uri);
        value
    };
    match reports {
        [only] => with_uri(only),
        many => json!({
            "ok": many.iter().all(|(_, report)| report.ok()),
            "reports": many.iter().map(with_uri).collect::<Vec<_>>(),
        }),
    }
}

fn text(uri: &str, report: &Report) -> String {
    let verdict = if report.ok() { "ok" } else { "DAMAGED" };
    let mut text =
        format!("{uri}: {verdict} ({}, {} pieces checked)\n", report.depth().name(), report.pieces);
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
