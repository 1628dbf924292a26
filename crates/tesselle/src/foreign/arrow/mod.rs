//! Arrow IPC: lossless and typed. A file is read by the record batches of its footer, a stream from start to end.

mod dictionaries;
mod file;
mod message;
mod stream;
mod write;

use std::sync::Arc;

use file::FileTable;
use stream::StreamTable;
use tesselle_core::{
    Capabilities, Container, Context, Created, Driver, Fitted, Format, FormatFacts, Location, OpenOptions,
    Result, Table, WriteRequest,
};

use super::container::FileContainer;
use super::noted::Noted;

const MAGIC: &[u8] = b"ARROW1";
/// Streams start with the marker of their first message.
const STREAM_MAGIC: &[u8] = b"\xff\xff\xff\xff";

/// The format.
#[derive(Debug, Clone, Copy, Default)]
pub struct ArrowIpc;

static FACTS: FormatFacts = FormatFacts {
    name: "arrow",
    title: "Arrow IPC",
    summary: "Arrow IPC files and streams",
    extensions: &["arrow", "feather", "ipc", "arrows"],
    magic: &[MAGIC, STREAM_MAGIC],
    capabilities: Capabilities::STREAM,
};

impl Format for ArrowIpc {
    fn facts(&self) -> &'static FormatFacts {
        &FACTS
    }

    fn open(&self, location: &Location, options: &OpenOptions) -> Result<Arc<dyn Container>> {
        let limit = options.limits.piece_bytes;
        let head = location.read_range(0..location.size()?.min(MAGIC.len() as u64))?;
        let (table, version): (Arc<dyn Table>, _) = if head.starts_with(MAGIC) {
            (Arc::new(FileTable::open(location, limit).in_file(location.path())?), "file")
        } else {
            (Arc::new(StreamTable::open(location, limit).in_file(location.path())?), "stream")
        };
        Ok(Arc::new(FileContainer::new(self.name(), version, location, table)))
    }

    fn start(&self, request: WriteRequest, _driver: &Driver) -> Result<Created> {
        let WriteRequest { target, schema, facts, options, .. } = request;
        options.settings.expect_only(&[])?;
        let schema = Noted::schema(&schema, &facts);
        let inner = write::sink(target.stage(options.overwrite)?, &schema)?;
        Ok(Created { sink: Box::new(Noted::new(inner, schema)), fitted: Fitted::keeping(&facts) })
    }
}

#[cfg(test)]
mod tests {
    use tesselle_core::ErrorKind;

    use super::*;

    #[test]
    fn a_schema_without_fields_is_damage() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/no-fields.arrows");
        let opened = ArrowIpc.open(&Location::local(file).unwrap(), &OpenOptions::default());
        assert_eq!(opened.err().unwrap().kind(), ErrorKind::Corrupt);
    }
}
