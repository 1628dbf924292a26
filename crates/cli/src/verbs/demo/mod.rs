//! `tess demo`: one sample in each format, and a tour through them.

mod samples;
mod tour;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use samples::Sample;
use tesselle::{Driver, Error, Location, Result, WriteOptions};

use crate::args::ResourceArgs;
use crate::{Outcome, format, out};

/// Write one sample in each format and show what tess does with them
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tess demo my-samples")]
pub(crate) struct Demo {
    /// Folder of the samples
    #[arg(default_value = "tess-demo")]
    folder: PathBuf,

    /// Overwrite existing samples
    #[arg(long)]
    force: bool,
}

impl Demo {
    pub(crate) fn run(self, resources: &ResourceArgs) -> Result<Outcome> {
        let started = Instant::now();
        let path = |error| Error::io(format!("cannot create '{}'", self.folder.display()), error);
        std::fs::create_dir_all(&self.folder).map_err(path)?;
        let driver = resources.driver()?;
        out::print(&format!("Samples, written to {}:\n\n", self.folder.display()))?;
        for sample in samples::all() {
            self.write(&sample, &driver)?;
        }
        for step in tour::steps(&self.folder) {
            show(step.why, &step.words, resources.flags())?;
        }
        let seconds = started.elapsed().as_secs_f64();
        out::print(&format!("\nThat took {seconds:.1} s. {}", tour::next(&self.folder)))?;
        Ok(Outcome::Fine)
    }

    fn write(&self, sample: &Sample, driver: &Driver) -> Result<()> {
        let started = Instant::now();
        let target = Location::local(self.folder.join(sample.file))?;
        let mut options =
            WriteOptions::default().with_overwrite(self.force).with_table(sample.table.map(str::to_owned));
        for (name, value) in sample.settings {
            options.settings.set(*name, *value);
        }
        if self.force {
            target.storage().remove(target.path())?;
        }
        target.refuse_existing(false)?;
        let format = tesselle::format_by_name(sample.format)?;
        let batch = (sample.rows)()?;
        let mut sink = format.create(&target, batch.schema(), &options, driver)?;
        sink.write(&batch)?;
        let summary = sink.finish()?;
        let (rows, bytes) = (format::count(summary.rows), format::bytes(summary.bytes));
        let line = format!(
            "{:<16} {:<34} {rows:>9} rows {bytes:>10} {:>6.2} s\n",
            sample.file,
            sample.what,
            started.elapsed().as_secs_f64()
        );
        out::print(&line)
    }
}

/// Shows one command, then runs it as a user would.
fn show(why: &str, words: &[String], resources: Vec<OsString>) -> Result<()> {
    let quoted = words.iter().map(|word| {
        let plain = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./:,=".contains(c));
        if plain { word.clone() } else { format!("'{word}'") }
    });
    out::print(&format!("\n{why}\n$ tess {}\n", quoted.collect::<Vec<_>>().join(" ")))?;
    let started = Instant::now();
    let args = std::iter::once("tess".into()).chain(resources).chain(words.iter().map(Into::into));
    let code = crate::run(args);
    if code != std::process::ExitCode::SUCCESS {
        return Err(Error::internal(format!("the demo command '{}' failed", words.join(" "))));
    }
    out::print(&format!("({:.0} ms)\n", started.elapsed().as_secs_f64() * 1000.0))
}
