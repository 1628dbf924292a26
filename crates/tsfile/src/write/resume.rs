//! Resuming a file: its contents are kept, and the writer appends to them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tesselle_core::{Driver, Error, Location, OpenOptions, Result, Settings};

use super::tail::{ChunkRecord, DeviceRecord, GroupRecord};
use crate::legacy;
use crate::meta::file_metadata::FileMetadata;
use crate::meta::schema::MeasurementSchema;
use crate::meta::{DeviceId, Version, marker};
use crate::open::{Archive, side_file};
use crate::read::file::{Device, File};
use crate::rewrite::schema::{Changes, of_device};
use crate::upkeep::resource_of;
use crate::write::options::SinkOptions;
use crate::write::output::Output;

/// Bytes copied at a time.
const COPY: u64 = 8 << 20;

/// The file that a writer adds to.
#[derive(Debug)]
pub(crate) struct Resumed {
    archive: Arc<Archive>,
    /// The names of the devices in the archive.
    names: HashMap<DeviceId, String>,
    /// How series that are there already are written: as they are.
    sink_options: SinkOptions,
    changes: Changes,
}

/// A device that the file has already.
#[derive(Debug)]
pub(crate) struct KnownDevice {
    pub(crate) aligned: bool,
    pub(crate) series: Vec<MeasurementSchema>,
    /// The last time of each series; of an aligned device, of its rows.
    pub(crate) last: HashMap<String, i64>,
}

/// As the name of a series: the times of an aligned device.
pub(crate) const ROWS: &str = "";

impl Resumed {
    /// Takes up an opened file. A data directory and a file with a deletion file next to it are refused.
    pub(crate) fn try_new(archive: &Arc<Archive>) -> Result<Self> {
        let [entry] = archive.files.as_slice() else {
            return Err(Error::invalid("a data directory is not appended to")
                .file(archive.location.path())
                .hint("add a file of its own to it, or merge it into one file first"));
        };
        if archive.location.is_dir()? {
            return Err(Error::invalid("a data directory is not appended to")
                .file(archive.location.path())
                .hint("name one of its files"));
        }
        archive.refuse_unreadable()?;
        if !entry.deletions.is_empty() || entry.torn_deletion.is_some() {
            return Err(Error::invalid(
                "the file has a deletion file next to it, which would also delete the added points",
            )
            .file(entry.location.path())
            .hint("merge them into a new file first"));
        }
        let mut names = HashMap::new();
        for (name, places) in &archive.devices {
            for (_, at) in places {
                let device = entry.file.devices.get(*at);
                names.extend(device.map(|device| (device.id.clone(), name.clone())));
            }
        }
        let sink_options = SinkOptions::parse(&Settings::default())?
            .for_version(entry.file.version, &Settings::default())?;
        Ok(Self { archive: Arc::clone(archive), names, sink_options, changes: Changes::default() })
    }

    fn file(&self) -> Result<&File> {
        let entry = self.archive.files.first();
        entry.map(|entry| &entry.file).ok_or_else(|| Error::internal("an archive has no file"))
    }

    /// Where the file is.
    pub(crate) fn location(&self) -> &Location {
        &self.archive.location
    }

    /// The roles of the file.
    pub(crate) fn version(&self) -> Result<Version> {
        self.file().map(|file| file.version)
    }

    /// The metadata of all chunks.
    pub(crate) fn records(&self) -> Result<BTreeMap<DeviceId, DeviceRecord>> {
        let file = self.file()?;
        let record =
            |device: &Device| Ok((device.id.clone(), DeviceRecord { groups: groups(file, device)? }));
        file.devices.iter().map(record).collect()
    }

    /// Copies the data section.
    pub(crate) fn copy(&self, out: &mut Output, driver: &Driver) -> Result<()> {
        let end = self.file()?.data_end;
        let mut at = 0;
        while at < end {
            driver.check_canceled()?;
            let stop = end.min(at + COPY);
            out.append(&self.archive.location.read_range(at..stop)?)?;
            at = stop;
        }
        Ok(())
    }

    /// The metadata block of the file.
    pub(crate) fn metadata(&self) -> Result<&FileMetadata> {
        self.file().map(|file| &file.metadata)
    }

    /// The device, where the file has it.
    pub(crate) fn device(&mut self, id: &DeviceId) -> Result<Option<KnownDevice>> {
        let Some(name) = self.names.get(id) else { return Ok(None) };
        let data = self.archive.device(name)?;
        let mut last: HashMap<String, i64> = HashMap::new();
        let columns = data.columns.iter().map(|column| (&*column.name, &column.chunks));
        for (name, chunks) in columns.chain(std::iter::once((ROWS, &data.times))) {
            let latest = chunks.iter().map(|chunk| chunk.hi).max();
            last.extend(latest.map(|time| (name.to_owned(), time)));
        }
        let series = of_device(&self.archive, &data, &self.sink_options, &mut self.changes)?;
        Ok(Some(KnownDevice { aligned: data.is_aligned(), series, last }))
    }

    /// Takes the resource file away, which is about the old state: a database rebuilds one that is missing.
    pub(crate) fn retire_resource(&self) -> Result<Option<Location>> {
        let resource = side_file(&self.archive.location, "resource");
        if !resource.is_file()? {
            return Ok(None);
        }
        resource.storage().remove(resource.path())?;
        Ok(Some(resource))
    }

    /// Writes the resource file of the new state.
    pub(crate) fn renew_resource(&self, resource: &Location) -> Result<()> {
        let bytes = resource_of(&self.archive.location, &OpenOptions::default())?;
        let mut out = resource.create(true)?;
        out.write(&bytes)?;
        out.commit().map(drop)
    }

    /// What could not stay as it was for new chunks, a line each.
    pub(crate) fn lost(self) -> Vec<String> {
        self.changes.lines()
    }
}

/// The chunk groups of a device. From version 2 on the metadata does not know where they begin and end.
fn groups(file: &File, device: &Device) -> Result<Vec<GroupRecord>> {
    if file.version.is_flat() {
        let metadata = legacy::device_metadata(file, device)?;
        let groups = metadata.groups.into_iter().map(|group| GroupRecord {
            start: group.start_offset,
            end: group.end_offset,
            version: group.version,
            chunks: group
                .chunks
                .into_iter()
                .map(|chunk| ChunkRecord {
                    measurement: chunk.measurement,
                    data_type: chunk.data_type,
                    marker: marker::CHUNK,
                    offset: chunk.offset,
                    statistics: chunk.statistics,
                })
                .collect(),
        });
        return Ok(groups.collect());
    }
    let series = file.series(device)?;
    let aligned = series.iter().any(crate::read::file::Series::is_time_column);
    let mut chunks = Vec::new();
    for series in series {
        let column = match (series.is_time_column(), aligned) {
            (true, _) => marker::TIME_COLUMN,
            (false, true) => marker::VALUE_COLUMN,
            (false, false) => 0,
        };
        chunks.extend(series.chunks.into_iter().map(|chunk| ChunkRecord {
            measurement: series.name.clone(),
            data_type: series.data_type,
            marker: marker::CHUNK | column,
            offset: chunk.offset,
            statistics: chunk.statistics,
        }));
    }
    Ok(vec![GroupRecord { start: 0, end: 0, version: 0, chunks }])
}
