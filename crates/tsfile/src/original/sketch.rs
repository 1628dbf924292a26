//! The sketch of a file: its structures with their positions.
//!
//! The flat metadata of 0.8 and 000001 is printed as in IoTDB 0.9. Later versions are printed in the same
//! frame with their own structures.

use std::collections::HashMap;

use tesselle_core::{Context as _, Cursor, Driver, Error, Limits, Location, Result};

use super::{Line, java};
use crate::legacy;
use crate::meta::chunk_group::ChunkGroupFooter;
use crate::meta::device_metadata::{ChunkGroupMetadata, ChunkMetadata};
use crate::meta::version::MAGIC;
use crate::meta::{ChunkHeader, DataType, Statistics, Sum, Value};
use crate::read::file::{Device, File, Series};
use crate::records::{Record, Walker};

/// Prefix of the lines before and after a chunk group.
const BARS: &str = "|||||||||||||||||||||";

/// Prints the sketch of a complete file, displayed as `shown`.
pub fn sketch(
    location: &Location,
    shown: &str,
    limits: &Limits,
    driver: &Driver,
    line: &mut Line<'_>,
) -> Result<()> {
    let size = location.size()?;
    let file = File::open(location, size, limits)?;
    let mut sketch = Sketch { location, file: &file, driver, line };
    sketch.head(shown)?;
    if file.version.is_flat() { sketch.flat() } else { sketch.indexed() }.in_file(location.path())?;
    sketch.tail()
}

struct Sketch<'a, 'l> {
    location: &'a Location,
    file: &'a File,
    driver: &'a Driver,
    line: &'a mut Line<'l>,
}

impl Sketch<'_, '_> {
    fn put(&mut self, line: &str) -> Result<()> {
        (self.line)(line)
    }

    /// A structure at its position.
    fn at(&mut self, position: u64, line: &str) -> Result<()> {
        self.put(&format!("{position:>20}|\t{line}"))
    }

    /// A part of the preceding structure.
    fn part(&mut self, line: &str) -> Result<()> {
        self.put(&format!("{:20}|\t\t{line}", ""))
    }

    fn head(&mut self, shown: &str) -> Result<()> {
        self.put("-------------------------------- TsFile Sketch --------------------------------")?;
        self.put(&format!("file path: {shown}"))?;
        self.put(&format!("file length: {}", self.file.size))?;
        self.put("")?;
        self.put(&format!("{:>20}|\tCONTENT", "POSITION"))?;
        self.put(&format!("{:>20} \t-------", "--------"))?;
        let magic = MAGIC.len();
        self.at(0, &format!("[magic head] {}", String::from_utf8_lossy(MAGIC)))?;
        self.at(magic as u64, &format!("[version number] {}", self.file.version.name()))
    }

    fn tail(&mut self) -> Result<()> {
        let magic = self.file.version.tail();
        let end = self.file.size.saturating_sub(magic.len() as u64);
        let metadata_end = end.saturating_sub(4);
        let metadata = metadata_end.saturating_sub(self.file.metadata_start);
        self.at(metadata_end, &format!("[TsFileMetaDataSize] {metadata}"))?;
        self.at(end, &format!("[magic tail] {}", String::from_utf8_lossy(magic)))?;
        self.at(self.file.size, "END of TsFile")?;
        self.put("")?;
        self.put("---------------------------------- TsFile Sketch End ----------------------------------")
    }

    /// 0.8 and 000001: chunk groups as the metadata of the devices lists them, in file order.
    fn flat(&mut self) -> Result<()> {
        let mut devices: Vec<&Device> = self.file.devices.iter().collect();
        devices.sort_by_key(|device| device.place.0);
        let mut groups = Vec::new();
        let mut summaries = Vec::with_capacity(devices.len());
        for device in devices {
            let metadata = legacy::device_metadata(self.file, device)?;
            summaries.push((device, metadata.start_time, metadata.end_time, metadata.groups.len()));
            groups.extend(metadata.groups);
        }
        groups.sort_by_key(|group| group.start_offset);
        for group in &groups {
            self.driver.check_canceled()?;
            self.flat_group(group)?;
        }
        self.at(self.file.data_end, "[marker] 2")?;
        for (device, start, end, groups) in summaries {
            let path = &device.path;
            let line = format!("[TsDeviceMetadata] of {path}, startTime:{start}, endTime:{end}");
            self.at(device.place.0, &line)?;
            self.part(&format!("[startTime] {start}"))?;
            self.part(&format!("[endTime] {end}"))?;
            self.part(&format!("[num of ChunkGroupMetaData] {groups}"))?;
            self.part(&format!("{groups} ChunkGroupMetaData"))?;
        }
        self.flat_metadata()
    }

    fn flat_group(&mut self, group: &ChunkGroupMetadata) -> Result<()> {
        let device = &group.device;
        let (start, end, version) = (group.start_offset, group.end_offset, group.version);
        let count = group.chunks.len();
        self.put(&format!(
            "{BARS}\t[Chunk Group] of {device} begins at pos {start}, ends at pos {end}, version:{version}, num of Chunks:{count}"
        ))?;
        let mut footer_start = start;
        for chunk in &group.chunks {
            let (header, data_start) = self.header(chunk.offset, &chunk.measurement)?;
            self.flat_chunk(chunk, &header)?;
            footer_start = data_start.saturating_add(header.data_size);
        }
        let footer = self.footer(footer_start)?;
        self.at(footer_start, "[Chunk Group Footer]")?;
        self.part("[marker] 0")?;
        self.part(&format!("[deviceID] {}", footer.device.path()))?;
        self.part(&format!("[dataSize] {}", footer.data_size))?;
        self.part(&format!("[num of chunks] {}", footer.chunks))?;
        self.put(&format!("{BARS}\t[Chunk Group] of {device} ends"))
    }

    fn flat_chunk(&mut self, chunk: &ChunkMetadata, header: &ChunkHeader) -> Result<()> {
        let digest = digest(&chunk.statistics);
        self.chunk(chunk.offset, &chunk.measurement, chunk.data_type, &chunk.statistics)?;
        self.put(&format!("{:20} \t{digest}", ""))?;
        self.part(&format!("[marker] {}", header.marker))?;
        self.part("[ChunkHeader]")?;
        self.part(&format!("{} pages", header.pages.unwrap_or_default()))
    }

    fn chunk(&mut self, offset: u64, name: &str, data_type: DataType, found: &Statistics) -> Result<()> {
        let (count, start, end) = (found.count, found.start_time, found.end_time);
        let data_type = data_type.name();
        self.at(
            offset,
            &format!(
                "[Chunk] of {name}, numOfPoints:{count}, time range:[{start},{end}], tsDataType:{data_type}, "
            ),
        )
    }

    /// The header of a chunk and the offset of its pages.
    fn header(&self, offset: u64, name: &str) -> Result<(ChunkHeader, u64)> {
        let version = self.file.version;
        let end = offset.saturating_add(ChunkHeader::max_size(name.len(), version));
        let bytes = self.location.read_range(offset..end.min(self.file.data_end))?;
        let mut cursor = Cursor::new(&bytes, offset, "chunk header");
        let header = ChunkHeader::parse(&mut cursor, version)?;
        Ok((header, cursor.offset()))
    }

    fn footer(&self, at: u64) -> Result<ChunkGroupFooter> {
        let mut walker = Walker::within(self.location, self.file.version, at..self.file.data_end);
        match walker.next()? {
            Some((_, Record::GroupFooter(footer))) => Ok(footer),
            _ => Err(Error::corrupt("a chunk group has no footer").class("bad_footer").offset(at)),
        }
    }

    fn flat_metadata(&mut self) -> Result<()> {
        let metadata = &self.file.metadata;
        self.at(self.file.metadata_start, "[TsFileMetaData]")?;
        self.part(&format!("[num of devices] {}", metadata.devices.len()))?;
        self.part(&format!("{} key&TsDeviceMetadataIndex", metadata.devices.len()))?;
        self.part(&format!("[num of measurements] {}", metadata.measurements.len()))?;
        self.part(&format!("{} key&measurementSchema", metadata.measurements.len()))?;
        self.part(&format!("[createBy isNotNull] {}", metadata.created_by.is_some()))?;
        if let Some(creator) = &metadata.created_by {
            self.part(&format!("[createBy] {creator}"))?;
        }
        self.counters_and_filter()
    }

    fn counters_and_filter(&mut self) -> Result<()> {
        let metadata = &self.file.metadata;
        if let Some((total, invalid)) = metadata.chunk_counts {
            self.part(&format!("[totalChunkNum] {total}"))?;
            self.part(&format!("[invalidChunkNum] {invalid}"))?;
        }
        if let Some(bloom) = &metadata.bloom {
            self.part(&format!("[bloom filter bit vector byte array length] {}", bloom.used_bytes()))?;
            self.part("[bloom filter bit vector byte array] ")?;
            self.part(&format!("[bloom filter number of bits] {}", bloom.bits()))?;
            self.part(&format!("[bloom filter number of hash functions] {}", bloom.functions()))?;
        }
        Ok(())
    }

    /// 000002 and later: the data section front to back, then the series of each device.
    fn indexed(&mut self) -> Result<()> {
        let mut listed: HashMap<u64, Statistics> = HashMap::new();
        let mut devices: Vec<(&Device, Vec<Series>)> = Vec::new();
        for device in &self.file.devices {
            let series = self.file.series(device)?;
            for chunk in series.iter().flat_map(|series| &series.chunks) {
                listed.insert(chunk.offset, chunk.statistics.clone());
            }
            devices.push((device, series));
        }
        self.records(&listed)?;
        self.at(self.file.data_end, "[marker] 2")?;
        devices.sort_by_key(|(device, _)| device.place.0);
        for (device, series) in devices {
            self.driver.check_canceled()?;
            let line = format!("[MetadataIndexNode] of {}, {} series", device.path, series.len());
            self.at(device.place.0, &line)?;
            for one in &series {
                let name = if one.is_time_column() { "the time column" } else { &one.name };
                let chunks = one.chunks.len();
                self.part(&format!(
                    "[TimeseriesMetadata] of {name}, {chunks} chunks, tsDataType:{}",
                    one.data_type.name()
                ))?;
            }
        }
        self.indexed_metadata()
    }

    fn records(&mut self, listed: &HashMap<u64, Statistics>) -> Result<()> {
        let version = self.file.version;
        let mut walker = Walker::new(self.location, version, self.file.data_end);
        while let Some((at, record)) = walker.next()? {
            self.driver.check_canceled()?;
            match record {
                Record::GroupHeader(device) => {
                    self.put(&format!("{BARS}\t[Chunk Group] of {} begins at pos {at}", device.path()))?;
                    self.at(at, "[Chunk Group Header]")?;
                    self.part("[marker] 0")?;
                    self.part(&format!("[deviceID] {}", device.path()))?;
                }
                Record::GroupFooter(footer) => {
                    let device = footer.device.path();
                    self.at(at, "[Chunk Group Footer]")?;
                    self.part("[marker] 0")?;
                    self.part(&format!("[deviceID] {device}"))?;
                    self.part(&format!("[dataSize] {}", footer.data_size))?;
                    self.part(&format!("[num of chunks] {}", footer.chunks))?;
                    self.put(&format!("{BARS}\t[Chunk Group] of {device} ends"))?;
                }
                Record::Chunk(chunk) => {
                    let header = &chunk.loaded.header;
                    let found = listed.get(&at).cloned().unwrap_or_default();
                    self.chunk(at, &header.measurement, header.data_type, &found)?;
                    self.put(&format!("{:20} \t{}", "", digest(&found)))?;
                    self.part(&format!("[marker] {}", header.marker))?;
                    let (encoding, compression) = (header.encoding.name(version), header.compression.name());
                    self.part(&format!("[ChunkHeader] encoding:{encoding}, compression:{compression}"))?;
                    self.part(&format!("{} pages", chunk.loaded.pages.len()))?;
                }
                Record::Version(number) => self.at(at, &format!("[version] {number}"))?,
                Record::OperationRange(min, max) => {
                    self.at(at, &format!("[operation index range] min:{min}, max:{max}"))?;
                }
                Record::Separator => break,
            }
        }
        Ok(())
    }

    fn indexed_metadata(&mut self) -> Result<()> {
        let metadata = &self.file.metadata;
        self.at(self.file.metadata_start, "[TsFileMetaData]")?;
        self.part(&format!("[num of devices] {}", self.file.devices.len()))?;
        for table in &metadata.tables {
            self.part(&format!("[TableSchema] of {}, {} columns", table.name, table.columns.len()))?;
        }
        for (position, number) in &metadata.versions {
            self.part(&format!("[version] {number} up to pos {position}"))?;
        }
        if let Some(offset) = metadata.meta_offset {
            self.part(&format!("[meta offset] {offset}"))?;
        }
        self.counters_and_filter()?;
        for (key, value) in &metadata.properties {
            self.part(&format!("[property] {key}: {}", value.as_deref().unwrap_or("null")))?;
        }
        Ok(())
    }
}

/// The digest of a chunk; missing fields are `null`.
fn digest(found: &Statistics) -> String {
    let sum = found.sum.map(|sum| match sum {
        Sum::Integer(sum) => Value::Int64(sum),
        Sum::Float(sum) => Value::Double(sum),
    });
    let fields = [
        ("min_value", &found.min),
        ("max_value", &found.max),
        ("first_value", &found.first),
        ("last_value", &found.last),
        ("sum_value", &sum),
    ];
    let shown = fields.map(|(name, value)| {
        let value = value.as_ref().map_or_else(|| "null".to_owned(), java::value);
        format!("{name}:{value}")
    });
    format!("TsDigest:[{}]", shown.join(","))
}
