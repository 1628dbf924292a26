//! CSV and TSV, with a header line by default. An empty field is null; `""` is the empty string, unless it is the only
//! field of its line.

mod empty;
mod infer;
mod read;
mod write;

use std::sync::Arc;

use read::CsvText;
use tesselle_core::{
    Capabilities, Container, Created, Driver, Error, Format, FormatFacts, Location, OpenOptions, Result,
    Table, WriteRequest,
};
use write::Style;

use super::text::{self, TextTable};

/// The format.
#[derive(Debug, Clone, Copy, Default)]
pub struct Csv;

static CSV: FormatFacts = FormatFacts {
    name: "csv",
    title: "CSV",
    summary: "comma-separated values with a header line",
    extensions: &["csv"],
    magic: &[],
    capabilities: Capabilities::TEXT,
};

impl Format for Csv {
    fn facts(&self) -> &'static FormatFacts {
        &CSV
    }

    fn open(&self, location: &Location, options: &OpenOptions) -> Result<Arc<dyn Container>> {
        text::open(self, syntax(location, None, options)?, location, options)
    }

    fn open_many(&self, locations: &[Location], options: &OpenOptions) -> Result<Option<Arc<dyn Table>>> {
        many(locations, None, options)
    }

    fn start(&self, request: WriteRequest, _driver: &Driver) -> Result<Created> {
        start(request, b',')
    }
}

/// Tab-separated values: CSV with another delimiter.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tsv;

static TSV: FormatFacts = FormatFacts {
    name: "tsv",
    title: "TSV",
    summary: "tab-separated values with a header line",
    extensions: &["tsv", "tab"],
    magic: &[],
    capabilities: Capabilities::TEXT,
};

impl Format for Tsv {
    fn facts(&self) -> &'static FormatFacts {
        &TSV
    }

    fn open(&self, location: &Location, options: &OpenOptions) -> Result<Arc<dyn Container>> {
        text::open(self, syntax(location, Some(b'\t'), options)?, location, options)
    }

    fn open_many(&self, locations: &[Location], options: &OpenOptions) -> Result<Option<Arc<dyn Table>>> {
        many(locations, Some(b'\t'), options)
    }

    fn start(&self, request: WriteRequest, _driver: &Driver) -> Result<Created> {
        start(request, b'\t')
    }
}

/// Bytes that are looked at for the delimiter.
const HEAD: u64 = 64 << 10;

fn syntax(first: &Location, default: Option<u8>, options: &OpenOptions) -> Result<CsvText> {
    let head = first.read_range(0..HEAD.min(first.size()?))?;
    let refused = |error| Error::invalid(format!("these settings of CSV cannot be used: {error}"));
    CsvText::try_new(&head, default, &options.text).map_err(refused)
}

fn many(
    locations: &[Location],
    default: Option<u8>,
    options: &OpenOptions,
) -> Result<Option<Arc<dyn Table>>> {
    let Some(first) = locations.first() else { return Ok(None) };
    let syntax = syntax(first, default, options)?;
    Ok(Some(Arc::new(TextTable::open(locations, syntax, options)?)))
}

fn start(request: WriteRequest, delimiter: u8) -> Result<Created> {
    let WriteRequest { target, schema, facts, options, .. } = request;
    let style = Style::from_settings(&options.settings, delimiter)?;
    write::check(&schema)?;
    let sink = write::sink(text::stage(target, options.overwrite)?, &schema, style);
    Ok(Created { sink, fitted: text::fitted(&facts) })
}
