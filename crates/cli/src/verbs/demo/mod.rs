//! `tess demo`: one sample in each format, and a walk through them.

mod samples;

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use tesselle::{Driver, DriverOptions, Error, Location, Result, WriteOptions};

use crate::{Outcome, format, out};
use samples::Sample;

/// Write one sample in each format and walk through what tess does with them
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  tess demo my-samples")]
pub(crate) struct Demo {
    /// Where the samples go
    #[arg(default_value = "tess-demo")]
    folder: PathBuf,

    /// Write the samples anew where they exist
    #[arg(long)]
    force: bool,
}

impl Demo {
    pub(crate) fn run(self) -> Result<Outcome> {
        let started = Instant::now();
        let path = |error| Error::io(format!("cannot create '{}'", self.folder.display()), error);
        std::fs::create_dir_all(&self.folder).map_err(path)?;
        let driver = Driver::new(&DriverOptions::default())?;
        out::print(&format!("Samples, written to {}:\n\n", self.folder.display()))?;
        for sample in samples::all() {
            self.write(&sample, &driver)?;
        }
        for (why, words) in walk(&self.folder) {
            show(why, &words)?;
        }
        out::print(&format!(
            "\nThat took {:.1} s. Next: point these verbs at files of your own. tess --help lists them all,\n\
             and every verb has --help with examples.\n",
            started.elapsed().as_secs_f64()
        ))?;
        Ok(Outcome::Fine)
    }

    fn write(&self, sample: &Sample, driver: &Driver) -> Result<()> {
        let started = Instant::now();
        let target = Location::local(self.folder.join(sample.file))?;
        let mut options = WriteOptions {
            overwrite: self.force,
            table: sample.table.map(str::to_owned),
            ..WriteOptions::default()
        };
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

/// What is shown: why, and the words of the command.
fn walk(folder: &Path) -> Vec<(&'static str, Vec<String>)> {
    let file = |name: &str| folder.join(name).display().to_string();
    let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let on = |verb: &str, name: &str, rest: &[&str]| {
        let mut all = vec![verb.to_owned(), file(name)];
        all.extend(words(rest));
        all
    };
    let segment = file("pages.tatami");
    let parquet = file("fleet.parquet");
    vec![
        ("What is in a file", on("info", "tensor.tet", &[])),
        ("Every byte of one", on("sketch", "crawl.tatami", &[])),
        ("A corner of the tensor", on("cat", "tensor.tet", &["--slice", "0:1,0:2,0:4"])),
        (
            "Its mean along an axis",
            on("reduce", "tensor.tet", &["--op", "mean", "--axis", "time", "--slice", "0:24,0:2,0:3"]),
        ),
        ("A region of the raster", on("cat", "weather.tiledb", &["--slice", "10:12,20:23"])),
        (
            "Sensors that run hot",
            on(
                "cat",
                "fleet.tsfile",
                &["--table", "root.fleet.truck2", "--where", "temperature > 92", "--limit", "5"],
            ),
        ),
        (
            "The same as Parquet",
            vec![
                "convert".into(),
                format!("{}#root.fleet.truck2", file("fleet.tsfile")),
                parquet.clone(),
                "--force".into(),
            ],
        ),
        (
            "Which is the same indeed",
            vec!["diff".into(), format!("{}#root.fleet.truck2", file("fleet.tsfile")), parquet],
        ),
        (
            "An index over the crawl",
            vec![
                "index".into(),
                file("crawl.tatami"),
                segment.clone(),
                "--text".into(),
                "title,body".into(),
                "--force".into(),
            ],
        ),
        (
            "And a search in it",
            vec!["search".into(), segment, "river +bridge".into(), "-k".into(), "3".into()],
        ),
        (
            "Health, down to every value",
            ["tensor.tet", "weather.tiledb", "points.tiledb", "fleet.tsfile", "crawl.tatami"].iter().fold(
                words(&["verify", "--deep"]),
                |mut all, name| {
                    all.push(file(name));
                    all
                },
            ),
        ),
    ]
}

/// Runs one command as a user would, after showing it.
fn show(why: &str, words: &[String]) -> Result<()> {
    let quoted = words.iter().map(|word| {
        let plain = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./:,=".contains(c));
        if plain { word.clone() } else { format!("'{word}'") }
    });
    out::print(&format!("\n{why}\n$ tess {}\n", quoted.collect::<Vec<_>>().join(" ")))?;
    let started = Instant::now();
    let code = crate::run(std::iter::once("tess".into()).chain(words.iter().map(Into::into)));
    if code != std::process::ExitCode::SUCCESS {
        return Err(Error::internal(format!("the demo's own '{}' failed", words.join(" "))));
    }
    out::print(&format!("({:.0} ms)\n", started.elapsed().as_secs_f64() * 1000.0))
}
