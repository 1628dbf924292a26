//! `tess sql`: statements from the command line, a file, a pipe or a shell.

mod commands;
mod editor;
mod output;
mod script;
mod shell;

use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use output::{Hints, Output};
use tesselle::driver::Progress;
use tesselle::{Error, Result};
use tesselle_sql::{Session, SessionOptions};

use crate::args::{ReadArgs, ResourceArgs};
use crate::forms::Form;
use crate::progress::Bar;
use crate::{Outcome, out, render, signals};

/// Query files with SQL, join them across formats, write the result in any format
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  tess sql \"SELECT time, s1 FROM 'plant.tsfile#root.d1' WHERE s1 > 20 ORDER BY time LIMIT 5\"
  tess sql \"SELECT i0, avg(value) FROM 'run.tet#temperature' GROUP BY i0\" --as csv -o means.csv
  tess sql -t w=weather.tdb -t d=plant.tsfile#root.d1 \"SELECT * FROM w JOIN d ON w.hour = d.time\"
  tess sql -d tpch \"SELECT count(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey\"
  tess sql \"COPY (SELECT * FROM 'logs/*.parquet' ORDER BY id) TO 'logs.tatami'\"
  tess sql \"EXPLAIN SELECT count(*) FROM 'run.tet' WHERE i0 < 10\"
  tess sql -f report.sql --json
  tess sql                                  an interactive shell; .help inside

A quoted name after FROM is a file, a folder or a pattern; #NAME selects a table in it. Parquet,
CSV, JSON lines and Arrow files are supported as well. tess_tables('f'), tess_chunks('f'),
tess_layout('f') and search('f', 'words', 10) are also tables. See docs/guides/sql.md.")]
pub(crate) struct Sql {
    /// Statements, separated by semicolons, and dot commands on separate lines [default: start a shell]
    #[arg(conflicts_with = "file")]
    query: Option<String>,

    /// Read the statements from FILE; - is standard input
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Register a file as a table with this name; repeatable
    #[arg(short, long = "table", value_name = "NAME=URI", value_parser = parse_table)]
    tables: Vec<(String, String)>,

    /// Register every file in a folder as a table under its name without the extension (with it, if two files
    /// differ only in that); repeatable
    #[arg(short = 'd', long = "folder", value_name = "FOLDER")]
    folders: Vec<String>,

    /// Output form; json, arrow and parquet contain the result of the last statement only [default: by the name
    /// of -o FILE, else table]
    #[arg(long = "as", value_name = "FORM", value_parser = Form::parser())]
    form: Option<Form>,

    /// Write the result of the last statement to FILE instead of standard output
    #[arg(short, value_name = "FILE")]
    output: Option<String>,

    /// Overwrite FILE if it exists
    #[arg(long)]
    force: bool,

    /// Maximum number of rows shown on the screen
    #[arg(long, value_name = "N", default_value_t = render::SCREEN_ROWS)]
    rows: usize,

    /// Print JSON, as --as json does, including errors
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    read: ReadArgs,
}

impl Sql {
    pub(crate) fn run(self, resources: &ResourceArgs) -> Result<Outcome> {
        if self.read.format.is_some() {
            return Err(Error::invalid(
                "--format does not apply to SQL, because every file may have another format",
            )
            .hint("use CREATE EXTERNAL TABLE t STORED AS FORMAT LOCATION 'file'"));
        }
        self.refuse_drawing()?;
        let (threads, memory) = resources.parts();
        let bar = Bar::new("");
        let options = SessionOptions::default()
            .with_threads(threads)
            .with_memory(memory)
            .with_open(self.read.options()?)
            .with_cancel(signals::token().clone())
            .with_progress(Arc::clone(&bar) as Arc<dyn Progress>);
        let session = Session::try_new(&options)?;
        for folder in &self.folders {
            session.register_folder(folder)?;
        }
        for (name, uri) in &self.tables {
            session.register(name, uri)?;
        }
        let mut output = Output {
            form: self.form.or_else(|| self.by_name()),
            json: self.json,
            rows: self.rows,
            file: self.output.clone(),
            force: self.force,
            timer: true,
            hints: Hints::Flags,
            driver: session.driver().clone(),
            bar,
        };
        if let Some(text) = self.statements()? {
            script::run(&session, &text, &mut output)?;
        } else {
            // Ctrl-C stops the statement, not the process.
            let interrupt = session.interrupt();
            signals::stop_only(move || interrupt.interrupt());
            output.hints = Hints::Commands;
            shell::run(&session, &mut output)?;
        }
        Ok(Outcome::Fine)
    }

    /// Fails if a rendered table would be written to a file whose name states a data format.
    fn refuse_drawing(&self) -> Result<()> {
        let Some(name) = self.output.as_deref() else { return Ok(()) };
        let is_data = tesselle::format_by_extension(name).is_some();
        if self.form.is_some() || self.json || self.by_name().is_some() || !is_data {
            return Ok(());
        }
        Err(Error::invalid(format!("-o cannot write '{name}'"))
            .hint(format!("use COPY (SELECT …) TO '{name}' instead")))
    }

    fn by_name(&self) -> Option<Form> {
        let name = self.output.as_deref()?;
        if name.to_ascii_lowercase().ends_with(".json") {
            return Some(Form::Json);
        }
        Form::of_file(name).ok().flatten()
    }

    /// The statements to run; `None` starts the shell.
    fn statements(&self) -> Result<Option<String>> {
        let mut text = String::new();
        match (&self.query, &self.file) {
            (Some(query), _) => return Ok(Some(query.clone())),
            (None, Some(path)) if path.as_os_str() != "-" => {
                text = out::read_text(&path.display().to_string())?;
            }
            (None, None) if std::io::stdin().is_terminal() => return Ok(None),
            _ => {
                std::io::stdin()
                    .read_to_string(&mut text)
                    .map_err(|e| Error::io("cannot read standard input", e))?;
            }
        }
        Ok(Some(text))
    }
}

fn parse_table(text: &str) -> std::result::Result<(String, String), String> {
    match text.split_once('=') {
        // SQL converts unquoted names to lower case.
        Some((name, uri)) if !name.is_empty() && !uri.is_empty() => Ok((name.to_lowercase(), uri.to_owned())),
        _ => Err("use NAME=URI, e.g. plant=plant.tsfile#root.d1".to_owned()),
    }
}
