//! Results in the requested form.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tesselle::foreign::JsonLines;
use tesselle::storage::Staged;
use tesselle::{Driver, Format, Result};
use tesselle_sql::Answer;

use super::render;
use crate::forms::{self, Form, refuse_terminal};
use crate::out;
use crate::progress::Bar;

/// Default number of rows shown on the screen.
pub(super) const SCREEN_ROWS: usize = 40;

/// Where answers go and how they look.
pub(super) struct Output {
    pub(super) form: Option<Form>,
    pub(super) json: bool,
    pub(super) rows: usize,
    pub(super) file: Option<String>,
    pub(super) force: bool,
    pub(super) timer: bool,
    pub(super) driver: Driver,
    pub(super) bar: Arc<Bar>,
}

impl Output {
    pub(super) fn form(&self) -> Form {
        self.form.unwrap_or(if self.json { Form::Json } else { Form::Table })
    }

    /// Whether answers are for the eye, with their rows counted.
    pub(super) fn is_table(&self) -> bool {
        matches!(self.form(), Form::Table | Form::Line | Form::Markdown)
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
        match self.form() {
            Form::Table | Form::Line | Form::Markdown => self.show(answer, started),
            Form::Json => self.stream(answer, &JsonLines),
            Form::Stream(format) => self.stream(answer, format),
        }
    }

    /// Shows a table, limited to one screen.
    fn show(&self, answer: Answer, started: Instant) -> Result<()> {
        let schema = answer.schema();
        let mut batches = Vec::new();
        let mut count = 0;
        for batch in answer {
            let batch = batch?;
            count += batch.num_rows();
            let surplus = count.saturating_sub(self.rows);
            batches.push(batch.slice(0, batch.num_rows() - surplus));
            if surplus > 0 {
                break;
            }
        }
        let width = if self.file.is_none() { render::screen_width() } else { None };
        let text = match self.form() {
            Form::Line => render::lines(&schema, &batches)?,
            Form::Markdown => render::markdown(&schema, &batches)?,
            _ => render::render(&schema, &batches, width)?,
        };
        out::print_to(self.file.as_deref(), self.force, &text)?;
        self.bar.hide();
        let time = self.time(started);
        if count > self.rows {
            out::note(&format!(
                "first {} rows{time}; --rows N shows more, --as csv|jsonl|json|arrow|parquet shows all",
                self.rows
            ));
        } else {
            out::note(&format!("{count} row{}{time}", if count == 1 { "" } else { "s" }));
        }
        Ok(())
    }

    fn stream(&self, mut answer: Answer, format: &dyn Format) -> Result<()> {
        refuse_terminal(format, self.file.as_deref())?;
        if self.file.is_none() && std::io::stdout().is_terminal() {
            // Rows are all the progress that a terminal needs.
            self.bar.hide();
        }
        let mut target = out::target(self.file.as_deref(), self.force)?;
        // Before anything is printed: until then the statement can be run again.
        let first = answer.next().transpose()?;
        if matches!(self.form(), Form::Json) {
            target = Box::new(JsonArray { inner: target, state: LineState::Empty });
        }
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

/// JSON lines as one array: the end of a line separates two elements.
struct JsonArray {
    inner: Box<dyn Staged>,
    state: LineState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LineState {
    Empty,
    InLine,
    LineEnded,
}

impl Staged for JsonArray {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            match self.state {
                LineState::Empty => self.inner.write(b"[\n")?,
                LineState::LineEnded => self.inner.write(b",\n")?,
                LineState::InLine => {}
            }
            // A string never contains a raw line feed: JSON escapes it.
            let ended = line.strip_suffix(b"\n");
            self.inner.write(ended.unwrap_or(line))?;
            self.state = if ended.is_some() { LineState::LineEnded } else { LineState::InLine };
        }
        Ok(())
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.inner.write_at(offset, bytes)
    }

    fn position(&self) -> u64 {
        self.inner.position()
    }

    fn commit(mut self: Box<Self>) -> Result<u64> {
        self.inner.write(if self.state == LineState::Empty { b"[]\n" } else { b"\n]\n" })?;
        self.inner.commit()
    }
}
