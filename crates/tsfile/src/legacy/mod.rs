//! Versions 0.8 and 000001, with one metadata block per device instead of an index tree.

use std::collections::BTreeMap;

use tesselle_core::{Error, Result};

use crate::meta::DeviceId;
use crate::meta::device_metadata::DeviceMetadata;
use crate::meta::file_metadata::FileMetadata;
use crate::read::file::{Chunk, Device, File, Series};

/// The devices of the file metadata.
pub(crate) fn devices(metadata: &FileMetadata) -> Vec<Device> {
    let device = |d: &crate::meta::file_metadata::DeviceLocation| Device {
        id: DeviceId::plain(&d.device),
        path: d.device.clone(),
        table: None,
        place: (d.offset, d.offset.saturating_add(d.len)),
    };
    metadata.devices.iter().map(device).collect()
}

/// The metadata block of a device.
pub(crate) fn device_metadata(file: &File, device: &Device) -> Result<DeviceMetadata> {
    let (from, to) = device.place;
    DeviceMetadata::parse(&mut file.metadata_part(from, to, "device metadata")?, file.version)
}

/// The series of a device, collected over its chunk groups, by name.
pub(crate) fn series(file: &File, device: &Device) -> Result<Vec<Series>> {
    let metadata = device_metadata(file, device)?;
    let mut series: BTreeMap<String, Series> = BTreeMap::new();
    for group in metadata.groups {
        for chunk in group.chunks {
            let entry = series.entry(chunk.measurement).or_insert_with_key(|name| Series {
                name: name.clone(),
                data_type: chunk.data_type,
                statistics: None,
                chunks: Vec::new(),
            });
            if entry.data_type != chunk.data_type {
                let (a, b) = (entry.data_type.name(), chunk.data_type.name());
                let message =
                    format!("measurement '{}' is {a} and {b} in one file", entry.name.escape_debug());
                return Err(Error::corrupt(message).class("bad_schema"));
            }
            entry.chunks.push(Chunk {
                offset: chunk.offset,
                version: group.version,
                statistics: chunk.statistics,
            });
        }
    }
    Ok(series.into_values().collect())
}
