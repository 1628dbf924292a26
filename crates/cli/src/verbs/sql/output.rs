//! Results in the requested form.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tesselle::{Driver, Format, Result};
use tesselle_sql::Answer;

use crate::forms::{self, Form, refuse_terminal};
use crate::progress::Bar;
use crate::{format, out, render};

/// What hints name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hints {
    /// Flags of the command line.
    Flags,
    /// Commands of the shell.
    Commands,
}

/// Where answers go and how they look.
pub(super) struct Output {
    pub(super) form: Option<Form>,
    pub(super) json: bool,
    pub(super) rows: usize,
    pub(super) file: Option<String>,
    pub(super) force: bool,
    pub(super) timer: bool,
    pub(super) hints: Hints,
    pub(super) driver: Driver,
    pub(super) bar: Arc<Bar>,
}

impl Output {
    pub(super) fn form(&self) -> Form {
        self.form.unwrap_or(if self.json { Form::Json } else { Form::Table })
    }

    /// Whether answers are printed for a reader, with their rows counted.
    pub(super) fn is_table(&self) -> bool {
        self.form().format().is_none()
    }

    fn is_lines(&self) -> bool {
        match self.form() {
            Form::Table | Form::Line | Form::Markdown => true,
            Form::Json => false,
            Form::Stream(format) => !format.capabilities().binary,
        }
    }

    /// Whether several results may follow each other: as readable text or line by line, not as one document.
    pub(super) fn holds_many(&self) -> bool {
        self.file.is_none() && self.is_lines()
    }

    /// Writes one result.
    pub(super) fn write(&self, answer: Answer, started: Instant) -> Result<()> {
        if answer.schema().fields().is_empty() && !matches!(self.form(), Form::Json) {
            // A statement that only does something.
            answer.finish()?;
            if self.is_table() {
                out::note(&format!("done{}", self.time(started)));
            }
            return Ok(());
        }
        match self.form().format() {
            None => self.show(answer, started),
            Some(format) => self.stream(answer, format),
        }
    }

    /// Shows a table, limited to one screen.
    fn show(&self, answer: Answer, started: Instant) -> Result<()> {
        let (schema, target) = (answer.schema(), (self.file.as_deref(), self.force));
        let shown = render::show(self.form(), &schema, answer, self.rows, target)?;
        self.bar.hide();
        let (time, rows) = (self.time(started), format::counted(shown.rows as u64, "row"));
        let (more, all, line) = match self.hints {
            Hints::Flags => ("--rows N", "--as csv|jsonl|json|arrow|parquet", "--as line"),
            Hints::Commands => (".rows N", ".mode csv", ".mode line"),
        };
        out::note(&if shown.more {
            format!("first {rows}{time}; {more} shows more, {all} shows all")
        } else {
            format!("{rows}{time}")
        });
        if let Some(remark) = shown.hidden_columns(line) {
            out::note(&remark);
        }
        Ok(())
    }

    fn stream(&self, mut answer: Answer, format: &dyn Format) -> Result<()> {
        refuse_terminal(format, self.file.as_deref())?;
        if self.file.is_none() && std::io::stdout().is_terminal() {
            // Rows are all the progress that a terminal needs.
            self.bar.hide();
        }
        let target = self.form().framed(out::target(self.file.as_deref(), self.force)?);
        // Before anything is printed: until then the statement can be run again.
        let first = answer.next().transpose()?;
        let mut sink = forms::sink(format, target, answer.schema(), &self.driver)?;
        for batch in first.into_iter().map(Ok).chain(answer) {
            sink.write(&batch?)?;
        }
        sink.finish().map(drop)
    }

    fn time(&self, started: Instant) -> String {
        if self.timer { format!(" in {}", human(started.elapsed())) } else { String::new() }
    }
}

fn human(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 1.0 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.2} s") }
}
