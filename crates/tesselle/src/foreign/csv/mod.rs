//! CSV with a header line. An empty field is null; `""` is an empty string, unless it is the only field of its line.

mod empty;
mod infer;
mod read;
mod write;

use std::sync::Arc;

use read::CsvText;
use tesselle_core::{
    Capabilities, Confidence, Container, Created, Driver, Format, Location, OpenOptions, Probe, Result,
    Table, WriteRequest,
};

use super::text::{self, TextTable};

/// The format.
#[derive(Debug, Clone, Copy, Default)]
pub struct Csv;

impl Format for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn title(&self) -> &'static str {
        "CSV"
    }

    fn summary(&self) -> &'static str {
        "comma-separated values with a header line"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["csv"]
    }

    fn sniff(&self, probe: &Probe) -> Confidence {
        super::sniff(self, probe, &[])
    }

    fn open(&self, location: &Location, options: &OpenOptions) -> Result<Arc<dyn Container>> {
        text::open(self, CsvText, location, options)
    }

    fn open_many(&self, locations: &[Location], options: &OpenOptions) -> Result<Option<Arc<dyn Table>>> {
        Ok(Some(Arc::new(TextTable::open(locations, CsvText, &options.types)?)))
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::TEXT
    }

    fn start(&self, request: WriteRequest, _driver: &Driver) -> Result<Created> {
        let WriteRequest { target, schema, facts, options, .. } = request;
        options.settings.expect_only(&[])?;
        write::check(&schema)?;
        let sink = write::sink(target.stage(options.overwrite)?, &schema);
        Ok(Created { sink, fitted: text::fitted(&facts) })
    }
}
