//! Output forms of rows: a table for reading, or a format that can be streamed.

use std::io::IsTerminal;

use arrow_schema::SchemaRef;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use tesselle::core::{Sink, WriteRequest, WriteTarget};
use tesselle::storage::Staged;
use tesselle::{Driver, Error, Format, Result, WriteOptions};

/// A form of output.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// A table for reading.
    Table,
    /// A line for each value, for rows that are wider than the screen.
    #[cfg(feature = "sql")]
    Line,
    /// A table in Markdown.
    #[cfg(feature = "sql")]
    Markdown,
    /// One JSON array.
    #[cfg(feature = "sql")]
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
            #[cfg(feature = "sql")]
            Self::Line => "line",
            #[cfg(feature = "sql")]
            Self::Markdown => "markdown",
            #[cfg(feature = "sql")]
            Self::Json => "json",
            Self::Stream(format) => format.name(),
        }
    }

    fn all() -> Vec<Self> {
        let streams = tesselle::formats().iter().copied().filter(|format| format.capabilities().stream_out);
        std::iter::once(Self::Table).chain(streams.map(Self::Stream)).collect()
    }

    /// The text forms, which a shell shows.
    #[cfg(feature = "sql")]
    pub(crate) fn lines() -> Vec<Self> {
        let text = |form: &Self| !matches!(form, Self::Stream(format) if format.capabilities().binary);
        Self::all().into_iter().filter(text).chain([Self::Line, Self::Markdown, Self::Json]).collect()
    }

    /// Reads the value of `--as`.
    pub(crate) fn parser() -> impl TypedValueParser<Value = Self> {
        Self::parser_of(Self::all())
    }

    /// Parses the value of `--as`, including a single JSON array.
    #[cfg(feature = "sql")]
    pub(crate) fn parser_with_json() -> impl TypedValueParser<Value = Self> {
        let mut all = Self::all();
        all.extend([Self::Line, Self::Markdown, Self::Json]);
        Self::parser_of(all)
    }

    fn parser_of(all: Vec<Self>) -> impl TypedValueParser<Value = Self> {
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
    if file.is_none() && format.capabilities().binary && std::io::stdout().is_terminal() {
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
