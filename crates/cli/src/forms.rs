//! Output forms of rows: a table for reading, or a format that can be streamed.

use std::io::IsTerminal;

use arrow_schema::SchemaRef;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tesselle::core::{Sink, WriteRequest, WriteTarget};
use tesselle::foreign::JsonLines;
use tesselle::storage::Staged;
use tesselle::{Driver, Error, Format, Result, WriteOptions};

/// A form of output.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// A table for reading.
    Table,
    /// A line for each value, for rows that are wider than the screen.
    Line,
    /// A table in Markdown.
    Markdown,
    /// One JSON array.
    Json,
    /// A format.
    Stream(&'static dyn Format),
}

impl std::fmt::Debug for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Form {
    /// The name that `--as` takes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Line => "line",
            Self::Markdown => "markdown",
            Self::Json => "json",
            Self::Stream(format) => format.name(),
        }
    }

    fn all() -> Vec<Self> {
        let streams = tesselle::formats().iter().copied().filter(|format| format.capabilities().stream_out);
        let drawn = [Self::Table, Self::Line, Self::Markdown, Self::Json];
        drawn.into_iter().chain(streams.map(Self::Stream)).collect()
    }

    /// The format of the rows; none if they are drawn for reading.
    pub(crate) fn format(self) -> Option<&'static dyn Format> {
        match self {
            Self::Table | Self::Line | Self::Markdown => None,
            Self::Json => Some(&JsonLines),
            Self::Stream(format) => Some(format),
        }
    }

    /// The output with what this form puts around the rows of its format.
    pub(crate) fn framed(self, out: Box<dyn Staged>) -> Box<dyn Staged> {
        match self {
            Self::Json => Box::new(JsonArray { inner: out, state: LineState::Empty }),
            _ => out,
        }
    }

    /// The text forms, which a shell shows.
    #[cfg(feature = "sql")]
    pub(crate) fn lines() -> Vec<Self> {
        let text = |form: &Self| !matches!(form, Self::Stream(format) if format.capabilities().binary);
        Self::all().into_iter().filter(text).collect()
    }

    /// Reads the value of `--as`.
    pub(crate) fn parser() -> impl TypedValueParser<Value = Self> {
        let all = Self::all();
        let names: Vec<&'static str> = all.iter().map(|form| form.name()).collect();
        PossibleValuesParser::new(names)
            .map(move |name| all.iter().copied().find(|form| form.name() == name).unwrap_or(Self::Table))
    }

    /// The form for a file name; an error if its format cannot be streamed.
    pub(crate) fn of_file(name: &str) -> Result<Option<Self>> {
        match tesselle::format_by_extension(name) {
            Some(format) if format.capabilities().stream_out => Ok(Some(Self::Stream(format))),
            Some(format) => Err(Error::invalid(format!(
                "'{name}' has the format {}, which cannot be streamed",
                format.name()
            ))
            .hint("use tess convert, or COPY in SQL")),
            None => Ok(None),
        }
    }
}

/// Fails if bytes of this format would be written to a terminal.
pub(crate) fn refuse_terminal(format: &dyn Format, file: Option<&str>) -> Result<()> {
    if file.is_none() && format.capabilities().binary { refuse_bytes_on_terminal() } else { Ok(()) }
}

/// Fails if standard output is a terminal.
pub(crate) fn refuse_bytes_on_terminal() -> Result<()> {
    if std::io::stdout().is_terminal() {
        return Err(Error::invalid("binary data is not written to a terminal")
            .hint("write to a file with -o FILE, or to a pipe"));
    }
    Ok(())
}

/// A sink for rows of `schema` that writes to `out`.
pub(crate) fn sink(
    format: &dyn Format,
    out: Box<dyn Staged>,
    schema: SchemaRef,
    driver: &Driver,
) -> Result<Box<dyn Sink>> {
    let request = WriteRequest::new(WriteTarget::Stream(out), schema, WriteOptions::default());
    Ok(format.start(request, driver)?.sink)
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
