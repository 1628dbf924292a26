//! Writes everything after the data section: the separator, the metadata of devices and series, the index
//! trees, the file metadata and the trailing magic.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use tesselle_core::{Error, Result};

use super::output::Output;
use crate::meta::device_metadata::{ChunkGroupMetadata, ChunkMetadata, DeviceMetadata};
use crate::meta::file_metadata::{DeviceLocation, FileMetadata};
use crate::meta::index_node::{IndexEntry, IndexNode, Level, NodeType};
use crate::meta::primitive::len32;
use crate::meta::schema::{MeasurementSchema, TableSchema};
use crate::meta::timeseries::{TimeseriesChunk, TimeseriesMetadata};
use crate::meta::{BloomFilter, ChunkHeader, DataType, DeviceId, PutPrimitives, Statistics, Version, marker};

/// The metadata of a device.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeviceRecord {
    /// Its chunk groups in file order.
    pub(crate) groups: Vec<GroupRecord>,
}

/// A written chunk group.
#[derive(Debug, Clone)]
pub(crate) struct GroupRecord {
    /// Offset of its first byte: the first chunk's marker up to version 2, its own marker later.
    pub(crate) start: u64,
    /// Offset just after it.
    pub(crate) end: u64,
    /// Compared with the versions of deletions (0.8 and 000001).
    pub(crate) version: i64,
    /// Its chunks in file order.
    pub(crate) chunks: Vec<ChunkRecord>,
}

/// A written chunk.
#[derive(Debug, Clone)]
pub(crate) struct ChunkRecord {
    /// The measurement; empty for the time column of an aligned device.
    pub(crate) measurement: String,
    /// The type of the values.
    pub(crate) data_type: DataType,
    /// The chunk's marker.
    pub(crate) marker: u8,
    /// Offset of the marker.
    pub(crate) offset: u64,
    /// Its statistics.
    pub(crate) statistics: Statistics,
}

impl ChunkRecord {
    /// The record of a chunk at `offset`.
    pub(crate) fn new(header: &ChunkHeader, offset: u64, statistics: Statistics) -> Self {
        let (measurement, data_type) = (header.measurement.clone(), header.data_type);
        Self { measurement, data_type, marker: header.marker, offset, statistics }
    }
}

/// The input of a tail.
#[derive(Debug)]
pub(crate) struct Tail<'a> {
    /// The version of the file.
    pub(crate) version: Version,
    /// All devices.
    pub(crate) devices: &'a BTreeMap<DeviceId, DeviceRecord>,
    /// 0.8 and 000001: schema of each measurement name.
    pub(crate) measurements: Vec<MeasurementSchema>,
    /// Version 4: tables.
    pub(crate) tables: Vec<TableSchema>,
    /// Version 000002: position and version of the version records.
    pub(crate) versions: Vec<(u64, i64)>,
    /// Version 4: properties of the file other than those about encryption.
    pub(crate) properties: Vec<(String, Option<String>)>,
    /// 0.8 and 000001: free-form string about the writer.
    pub(crate) created_by: Option<String>,
    /// Maximum number of entries of an index node.
    pub(crate) degree: usize,
}

impl Tail<'_> {
    /// Writes the tail.
    pub(crate) fn write(self, out: &mut Output) -> Result<()> {
        let meta_offset = out.position();
        out.buffer().push(marker::SEPARATOR);
        let mut meta = FileMetadata { bloom: Some(self.bloom()), ..FileMetadata::default() };
        let mut devices: Vec<(&DeviceId, &DeviceRecord)> =
            self.devices.iter().filter(|(_, d)| !d.groups.is_empty()).collect();
        devices.sort_by(|a, b| compare_devices(a.0, b.0));
        let chunks = devices.iter().flat_map(|(_, d)| &d.groups).map(|g| g.chunks.len()).sum();
        if self.version.is_flat() {
            meta.devices = self.flat_devices(&devices, out)?;
        } else {
            meta.meta_offset = Some(meta_offset);
            meta.roots = Trees { version: self.version, degree: self.degree.max(2), out }.build(&devices)?;
        }
        if matches!(self.version, Version::V1 | Version::V2) {
            meta.chunk_counts = Some((len32(chunks)?.cast_unsigned(), 0));
        }
        meta.measurements = self.measurements;
        meta.tables = self.tables;
        meta.versions = self.versions;
        meta.created_by = self.created_by;
        if self.version == Version::V4 {
            meta.properties = encryption_properties();
            meta.properties.extend(self.properties);
        }
        if self.version == Version::V08 {
            meta.bloom = None;
        }
        let mut bytes = Vec::new();
        meta.write(&mut bytes, self.version)?;
        let buffer = out.buffer();
        buffer.extend_from_slice(&bytes);
        buffer.put_i32(len32(bytes.len())?);
        buffer.extend_from_slice(self.version.tail());
        out.spill()
    }

    /// The bloom filter over all series, sized by the number of chunks, in version 000002 of series.
    fn bloom(&self) -> BloomFilter {
        let mut paths: Vec<String> = Vec::new();
        for (id, device) in self.devices {
            let device_path = id.path();
            let chunks = device.groups.iter().flat_map(|g| &g.chunks);
            paths.extend(chunks.map(|chunk| format!("{device_path}.{}", chunk.measurement)));
        }
        let chunks = paths.len();
        paths.sort_unstable();
        paths.dedup();
        let capacity = if self.version == Version::V2 { paths.len() } else { chunks };
        let mut bloom = BloomFilter::with_capacity(capacity, self.version);
        for path in &paths {
            bloom.insert(path);
        }
        bloom
    }

    fn flat_devices(
        &self,
        devices: &[(&DeviceId, &DeviceRecord)],
        out: &mut Output,
    ) -> Result<Vec<DeviceLocation>> {
        let mut locations = Vec::with_capacity(devices.len());
        for (id, record) in devices {
            let name = id.path();
            let groups = record.groups.iter().map(|group| ChunkGroupMetadata {
                device: name.clone(),
                start_offset: group.start,
                end_offset: group.end,
                version: group.version,
                chunks: group.chunks.iter().map(chunk_metadata).collect(),
            });
            let metadata = DeviceMetadata::of_groups(groups.collect());
            let offset = out.position();
            metadata.write(out.buffer(), self.version)?;
            locations.push(DeviceLocation {
                device: name,
                offset,
                len: out.position() - offset,
                start_time: metadata.start_time,
                end_time: metadata.end_time,
            });
            out.spill_if_large()?;
        }
        Ok(locations)
    }
}

fn chunk_metadata(chunk: &ChunkRecord) -> ChunkMetadata {
    ChunkMetadata {
        measurement: chunk.measurement.clone(),
        offset: chunk.offset,
        data_type: chunk.data_type,
        statistics: chunk.statistics.clone(),
    }
}

/// The encryption properties of version 4: no encryption.
fn encryption_properties() -> Vec<(String, Option<String>)> {
    let type_name = "org.apache.tsfile.encrypt.UNENCRYPTED";
    [("encryptLevel", Some("0")), ("encryptType", Some(type_name)), ("encryptKey", None)]
        .map(|(key, value)| (key.to_string(), value.map(str::to_string)))
        .into()
}

/// The order of devices: segment by segment, null first, names by UTF-16 code units like Java.
pub(crate) fn compare_devices(a: &DeviceId, b: &DeviceId) -> Ordering {
    let segments = a.segments().iter().zip(b.segments());
    let differing = segments.map(|(x, y)| match (x, y) {
        (Some(x), Some(y)) => compare_names(x, y),
        (x, y) => x.is_some().cmp(&y.is_some()),
    });
    differing.fold(Ordering::Equal, Ordering::then).then(a.segments().len().cmp(&b.segments().len()))
}

/// The order of names: by UTF-16 code units.
pub(crate) fn compare_names(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

/// Writes series metadata and index nodes, lower levels first.
struct Trees<'a> {
    version: Version,
    degree: usize,
    out: &'a mut Output,
}

impl Trees<'_> {
    /// One tree per table (the first segment of a device) in version 4, otherwise a single tree.
    fn build(mut self, devices: &[(&DeviceId, &DeviceRecord)]) -> Result<Vec<(String, IndexNode)>> {
        let mut lists = Vec::new();
        if self.version == Version::V2 {
            // The chunk lists of all series precede the series.
            for (_, record) in devices {
                for series in series_of(record, self.version) {
                    let offset = self.out.position();
                    series.write_chunk_list_v2(self.out.buffer())?;
                    lists.push((offset, (self.out.position() - offset) as usize));
                    self.out.spill_if_large()?;
                }
            }
        }
        if devices.is_empty() && self.version != Version::V4 {
            let node_type = self.small_root();
            let root = IndexNode { entries: Vec::new(), end_offset: self.out.position(), node_type };
            return Ok(vec![(String::new(), root)]);
        }
        let mut lists = lists.into_iter();
        let mut tables: Vec<(String, Vec<(DeviceId, IndexNode)>)> = Vec::new();
        for (id, record) in devices {
            let root = self.device(record, &mut lists)?;
            let key = if self.version == Version::V4 { id.table_name() } else { "" };
            match tables.last_mut() {
                Some((name, nodes)) if name == key => nodes.push(((*id).clone(), root)),
                _ => tables.push((key.to_string(), vec![((*id).clone(), root)])),
            }
        }
        tables.into_iter().map(|(name, nodes)| Ok((name, self.device_tree(nodes)?))).collect()
    }

    /// Writes the series of a device and its lower nodes; the top node stays in memory.
    fn device(
        &mut self,
        record: &DeviceRecord,
        lists: &mut impl Iterator<Item = (u64, usize)>,
    ) -> Result<IndexNode> {
        let mut nodes = Nodes::new(NodeType::LeafMeasurement, self.degree);
        for (i, series) in series_of(record, self.version).into_iter().enumerate() {
            if i % self.degree == 0 {
                nodes.add(DeviceId::plain(series.measurement.clone()), self.out.position());
            }
            if self.version == Version::V2 {
                let list = lists.next();
                let (offset, size) = list.ok_or_else(|| Error::internal("a series has no list of chunks"))?;
                series.write_v2(self.out.buffer(), offset, size)?;
            } else {
                series.write(self.out.buffer(), self.version)?;
            }
            self.out.spill_if_large()?;
        }
        let leaves = nodes.finish(self.out.position());
        self.combine(leaves, NodeType::InternalMeasurement, Level::Measurement)
    }

    /// The type of a root with all devices: in version 000002 that of a measurement node.
    fn small_root(&self) -> NodeType {
        if self.version == Version::V2 { NodeType::InternalMeasurement } else { NodeType::LeafDevice }
    }

    /// Writes the top nodes of devices and the nodes above them, up to the root.
    fn device_tree(&mut self, devices: Vec<(DeviceId, IndexNode)>) -> Result<IndexNode> {
        let leaf = if devices.len() <= self.degree { self.small_root() } else { NodeType::LeafDevice };
        let mut nodes = Nodes::new(leaf, self.degree);
        for (id, node) in devices {
            nodes.add(id, self.out.position());
            self.put(&node, Level::Measurement)?;
        }
        let leaves = nodes.finish(self.out.position());
        self.combine(leaves, NodeType::InternalDevice, Level::Device)
    }

    /// Groups nodes under new ones, level by level, until one is left.
    fn combine(&mut self, mut nodes: Vec<IndexNode>, internal: NodeType, level: Level) -> Result<IndexNode> {
        while nodes.len() > 1 {
            let mut above = Nodes::new(internal, self.degree);
            for node in nodes {
                if let Some(first) = node.entries.first() {
                    above.add(first.name.clone(), self.out.position());
                }
                self.put(&node, level)?;
            }
            nodes = above.finish(self.out.position());
        }
        let empty = IndexNode { entries: Vec::new(), end_offset: self.out.position(), node_type: internal };
        Ok(nodes.pop().unwrap_or(empty))
    }

    fn put(&mut self, node: &IndexNode, level: Level) -> Result<()> {
        node.write(self.out.buffer(), level, self.version)?;
        self.out.spill_if_large()
    }
}

/// Unfinished nodes of one level.
struct Nodes {
    node_type: NodeType,
    degree: usize,
    full: Vec<IndexNode>,
    entries: Vec<IndexEntry>,
}

impl Nodes {
    fn new(node_type: NodeType, degree: usize) -> Self {
        Self { node_type, degree, full: Vec::new(), entries: Vec::new() }
    }

    fn add(&mut self, name: DeviceId, offset: u64) {
        if self.entries.len() == self.degree {
            self.close(offset);
        }
        self.entries.push(IndexEntry { name, offset });
    }

    fn close(&mut self, end_offset: u64) {
        let entries = std::mem::take(&mut self.entries);
        self.full.push(IndexNode { entries, end_offset, node_type: self.node_type });
    }

    fn finish(mut self, end_offset: u64) -> Vec<IndexNode> {
        if !self.entries.is_empty() {
            self.close(end_offset);
        }
        self.full
    }
}

/// The series of a device in the order of the index: the time column first, then by name.
fn series_of(record: &DeviceRecord, version: Version) -> Vec<TimeseriesMetadata> {
    let mut by_name: BTreeMap<&str, Vec<&ChunkRecord>> = BTreeMap::new();
    for chunk in record.groups.iter().flat_map(|g| &g.chunks) {
        by_name.entry(&chunk.measurement).or_default().push(chunk);
    }
    let mut series: Vec<TimeseriesMetadata> = by_name
        .into_iter()
        .filter_map(|(name, chunks)| {
            let first = chunks.first()?;
            let mut statistics = Statistics::default();
            for chunk in &chunks {
                statistics.merge(&chunk.statistics, version);
            }
            Some(TimeseriesMetadata {
                kind: TimeseriesMetadata::kind_of(
                    chunks.len(),
                    first.marker & marker::TIME_COLUMN != 0,
                    first.marker & marker::VALUE_COLUMN != 0,
                ),
                measurement: name.to_string(),
                data_type: first.data_type,
                statistics,
                chunks: chunks
                    .iter()
                    .map(|c| TimeseriesChunk { offset: c.offset, statistics: c.statistics.clone() })
                    .collect(),
            })
        })
        .collect();
    series.sort_by(|a, b| {
        let time_first = (a.data_type != DataType::Vector).cmp(&(b.data_type != DataType::Vector));
        time_first.then_with(|| compare_names(&a.measurement, &b.measurement))
    });
    series
}
