//! The Parquet format.

use std::sync::Arc;

use tesselle_core::{
    Capabilities, Container, Created, Driver, Error, Fitted, Format, FormatFacts, Location, OpenOptions,
    Result, WriteRequest,
};

use super::{ParquetTable, sink};
use crate::foreign::container::FileContainer;
use crate::foreign::noted::Noted;

const MAGIC: &[u8] = b"PAR1";

/// The format.
#[derive(Debug, Clone, Copy, Default)]
pub struct Parquet;

static FACTS: FormatFacts = FormatFacts {
    name: "parquet",
    title: "Parquet",
    summary: "Apache Parquet files",
    extensions: &["parquet", "pq"],
    magic: &[MAGIC],
    capabilities: Capabilities::STREAM,
};

impl Format for Parquet {
    fn facts(&self) -> &'static FormatFacts {
        &FACTS
    }

    fn open(&self, location: &Location, _options: &OpenOptions) -> Result<Arc<dyn Container>> {
        if location.size()? == 0 {
            return Err(Error::corrupt("the file is empty").class("incomplete").file(location.path()));
        }
        let table = ParquetTable::open(location)?;
        let version = table.version();
        let container = FileContainer::new(self.name(), version, location, Arc::new(table));
        Ok(Arc::new(container.with_header(MAGIC.len() as u64)))
    }

    fn start(&self, request: WriteRequest, driver: &Driver) -> Result<Created> {
        let WriteRequest { target, schema, facts, options, .. } = request;
        options.settings.expect_only(&[])?;
        let schema = Noted::schema(&schema, &facts);
        let inner = sink(target.stage(options.overwrite)?, &schema, Some(driver))?;
        Ok(Created { sink: Box::new(Noted::new(inner, schema)), fitted: Fitted::keeping(&facts) })
    }
}
