//! The Parquet format.

use std::sync::Arc;

use tesselle_core::{
    Capabilities, Confidence, Container, Created, Driver, Error, Fitted, Format, Location, OpenOptions,
    Probe, Result, WriteRequest,
};

use super::{ParquetTable, sink};
use crate::foreign::container::FileContainer;
use crate::foreign::noted::Noted;

const MAGIC: &[u8] = b"PAR1";

/// The format.
#[derive(Debug, Clone, Copy, Default)]
pub struct Parquet;

impl Format for Parquet {
    fn name(&self) -> &'static str {
        "parquet"
    }

    fn title(&self) -> &'static str {
        "Parquet"
    }

    fn summary(&self) -> &'static str {
        "Apache Parquet files"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["parquet", "pq"]
    }

    fn sniff(&self, probe: &Probe) -> Confidence {
        crate::foreign::sniff(self, probe, &[MAGIC])
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

    fn capabilities(&self) -> Capabilities {
        Capabilities::STREAM
    }

    fn start(&self, request: WriteRequest, driver: &Driver) -> Result<Created> {
        let WriteRequest { target, schema, facts, options, .. } = request;
        options.settings.expect_only(&[])?;
        let schema = Noted::schema(&schema, &facts);
        let inner = sink(target.stage(options.overwrite)?, &schema, Some(driver))?;
        Ok(Created { sink: Box::new(Noted::new(inner, schema)), fitted: Fitted::keeping(&facts) })
    }
}
