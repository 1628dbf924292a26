//! The series of an archive as they are written.

use std::collections::BTreeMap;

use tesselle_core::Result;

use crate::describe::read_headers;
use crate::meta::schema::MeasurementSchema;
use crate::meta::{Compression, Encoding, Version};
use crate::open::Archive;
use crate::read::device_data::DeviceData;
use crate::read::loaded::ChunkRef;
use crate::write::options::SinkOptions;

/// Maximum number of series named per change.
const NAMED: usize = 8;

/// What could not be preserved: the affected series by change.
#[derive(Debug, Default)]
pub(crate) struct Changes(BTreeMap<String, Vec<String>>);

impl Changes {
    pub(super) fn add(&mut self, what: String, series: &str) {
        self.0.entry(what).or_default().push(series.to_owned());
    }

    /// One line per kind of change.
    pub(crate) fn lines(self) -> Vec<String> {
        let line = |(what, mut series): (String, Vec<String>)| {
            series.sort();
            series.dedup();
            let more = series.len().saturating_sub(NAMED);
            let named = series.iter().take(NAMED).map(|name| format!("'{}'", name.escape_debug()));
            let mut message = format!("{what}: {}", named.collect::<Vec<_>>().join(", "));
            if more > 0 {
                message = format!("{message} and {more} more");
            }
            message
        };
        self.0.into_iter().map(line).collect()
    }
}

/// The series of a device as stored: encoding and compressor of the first chunk, otherwise as declared.
pub(crate) fn of_device(
    archive: &Archive,
    data: &DeviceData,
    sink_options: &SinkOptions,
    changes: &mut Changes,
) -> Result<Vec<MeasurementSchema>> {
    let firsts = data.columns.iter().filter_map(|column| Some((column.chunks.first()?, &*column.name)));
    let firsts: Vec<(&ChunkRef, &str)> = firsts.collect();
    let mut headers = read_headers(archive, &firsts)?.into_iter();
    let mut series = Vec::with_capacity(data.columns.len());
    for column in &data.columns {
        let header = if column.chunks.is_empty() { None } else { headers.next() };
        let mut declared = archive.files.iter().flat_map(|file| &file.file.metadata.measurements);
        let declared = declared.find(|schema| *schema.name == *column.name);
        let version = sink_options.writer.version;
        let found = header.map(|(header, _)| (header.encoding, header.compression));
        let found = found.or_else(|| declared.map(|schema| (schema.encoding, schema.compression)));
        let (encoding, compression) = found.unwrap_or_else(|| {
            (Encoding::default_for(column.data_type, version), Compression::default_for(version))
        });
        let schema = MeasurementSchema {
            name: column.name.to_string(),
            data_type: column.data_type,
            encoding,
            compression,
            properties: declared.map(|schema| schema.properties.clone()).unwrap_or_default(),
        };
        series.push(fit(schema, sink_options, &data.path, changes));
    }
    Ok(series)
}

/// A series with the changes that the settings and the version require.
pub(super) fn fit(
    mut schema: MeasurementSchema,
    sink_options: &SinkOptions,
    owner: &str,
    changes: &mut Changes,
) -> MeasurementSchema {
    let version = sink_options.writer.version;
    let path = format!("{owner}.{}", schema.name);
    if let Some(encoding) = sink_options.encoding_of(&schema.name, schema.data_type) {
        schema.encoding = encoding;
    } else if !schema.encoding.is_writable(schema.data_type, version) {
        let encoding = Encoding::default_for(schema.data_type, version);
        let (from, to) = (schema.encoding.name(Version::V4), encoding.name(Version::V4));
        changes.add(format!("encoding {from} changed to {to}"), &path);
        schema.encoding = encoding;
    }
    if let Some(compression) = sink_options.compression_of(&schema.name) {
        schema.compression = compression;
    } else if !schema.compression.is_writable(version) {
        let compression = Compression::default_for(version);
        let (from, to) = (schema.compression.name(), compression.name());
        changes.add(format!("compressor {from} changed to {to}"), &path);
        schema.compression = compression;
    }
    sink_options.set_decimals(&mut schema);
    schema
}
