//! An opened file: its metadata section, its devices, and their series on demand.
//!
//! Opening reads the metadata section (memory-mapped by a local storage) and parses the device names; the
//! series of a device are parsed on first use. No data is read.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use tesselle_core::{Action, At, Context as _, Cursor, Error, Limits, Location, Result};

use crate::legacy;
use crate::meta::file_metadata::FileMetadata;
use crate::meta::index_node::{IndexNode, Level, NodeType};
use crate::meta::timeseries::OneChunk;
use crate::meta::{DataType, DeviceId, Statistics, TimeseriesMetadata, Version, marker};
use crate::repair;

/// Maximum depth of the index tree; with the original's node sizes four levels index billions of series.
const MAX_TREE_DEPTH: usize = 64;

/// The size of the first read from the end of a file is the storage's preferred request size, within these
/// bounds.
const LEAST_ENDING: u64 = 4 << 10;
const MOST_ENDING: u64 = 256 << 10;

/// An opened file.
#[derive(Debug)]
pub(crate) struct File {
    /// The path in the storage.
    pub(crate) path: Arc<str>,
    /// Its version.
    pub(crate) version: Version,
    /// Its size.
    pub(crate) size: u64,
    /// The position of the separator: chunks precede it.
    pub(crate) data_end: u64,
    /// Offset of the metadata block at the end.
    pub(crate) metadata_start: u64,
    /// The metadata block at the end.
    pub(crate) metadata: FileMetadata,
    /// All devices, sorted by path.
    pub(crate) devices: Vec<Device>,
    /// Whether it was not closed, and the metadata is that of its repair.
    pub(crate) recovered: bool,
    /// The bytes from `data_end` to the end of the metadata block.
    section: Bytes,
}

/// A device of a file.
#[derive(Debug, Clone)]
pub(crate) struct Device {
    /// The device.
    pub(crate) id: DeviceId,
    /// Its dotted path.
    pub(crate) path: String,
    /// The index of its table among the file's, in the table model.
    pub(crate) table: Option<usize>,
    /// Location of its metadata.
    pub(crate) place: (u64, u64),
}

/// A series of a device.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    /// The measurement; empty for the time column of an aligned device.
    pub(crate) name: String,
    /// The type of the values.
    pub(crate) data_type: DataType,
    /// Statistics over all chunks, if the file states them.
    pub(crate) statistics: Option<Statistics>,
    /// In file order.
    pub(crate) chunks: Vec<Chunk>,
}

/// A chunk of a series.
#[derive(Debug, Clone)]
pub(crate) struct Chunk {
    /// Offset of its header.
    pub(crate) offset: u64,
    /// Compared with the versions of deletions.
    pub(crate) version: i64,
    /// Statistics of the chunk.
    pub(crate) statistics: Statistics,
}

impl File {
    /// Opens a complete file of `size` bytes.
    pub(crate) fn open(location: &Location, size: u64, limits: &Limits) -> Result<Self> {
        Self::open_parts(location, size, limits).in_file(location.path())
    }

    fn open_parts(location: &Location, size: u64, limits: &Limits) -> Result<Self> {
        let (head, end) = Ending::read(location, size)?;
        let version = Version::recognise(&head)?;
        let (metadata_start, metadata_end) = tail(&end, version, size)?;
        let bytes = end.range(location, metadata_start..metadata_end)?;
        let metadata =
            FileMetadata::parse(&mut Cursor::new(&bytes, metadata_start, "file metadata"), version)?;
        let data_end = data_end(&metadata, version, metadata_start)?;
        let length = metadata_end.saturating_sub(data_end);
        if length > limits.metadata_bytes {
            let message = format!(
                "the metadata takes {length} bytes, more than the limit of {}",
                limits.metadata_bytes
            );
            return Err(Error::limit(message).offset(data_end));
        }
        let section = end.range(location, data_end..metadata_end)?;
        let mut file = Self {
            path: location.path().into(),
            version,
            size,
            data_end,
            metadata_start,
            metadata,
            devices: Vec::new(),
            recovered: false,
            section,
        };
        file.devices = file.find_devices()?;
        Ok(file)
    }

    /// Reads only the metadata block, for a file whose other metadata is damaged.
    pub(crate) fn metadata_alone(location: &Location, size: u64, limits: &Limits) -> Result<FileMetadata> {
        let (head, end) = Ending::read(location, size)?;
        let version = Version::recognise(&head)?;
        let (start, stop) = tail(&end, version, size)?;
        if stop - start > limits.metadata_bytes {
            return Err(Error::limit("the metadata exceeds the limit").offset(start));
        }
        let bytes = end.range(location, start..stop)?;
        FileMetadata::parse(&mut Cursor::new(&bytes, start, "file metadata"), version)
    }

    /// Opens an unclosed file as its repair would: with its complete chunk groups.
    pub(crate) fn recover(location: &Location) -> Result<Self> {
        Self::recover_parts(location).in_file(location.path())
    }

    fn recover_parts(location: &Location) -> Result<Self> {
        let size = location.size()?;
        let head = location.read_range(0..size.min(12))?;
        let version = Version::recognise(&head)?;
        let (found, _) = repair::scan(location, version, size)?;
        let tail = repair::tail_of(version, &found)?;
        let end = tail.len().saturating_sub(version.tail().len() + 4);
        let length = Cursor::new(tail.part(end..)?, found.end, "tail").i32_be()?;
        let start = usize::try_from(length).ok().and_then(|n| end.checked_sub(n));
        let start =
            start.ok_or_else(|| Error::internal("a metadata section was written with a wrong size"))?;
        let metadata_start = found.end.saturating_add(start as u64);
        let bytes = tail.slice(start..end);
        let metadata =
            FileMetadata::parse(&mut Cursor::new(&bytes, metadata_start, "file metadata"), version)?;
        let mut file = Self {
            path: location.path().into(),
            version,
            size,
            data_end: found.end,
            metadata_start,
            metadata,
            devices: Vec::new(),
            recovered: true,
            section: tail.slice(..end),
        };
        file.devices = file.find_devices()?;
        Ok(file)
    }

    /// The devices in the order of their paths.
    fn find_devices(&self) -> Result<Vec<Device>> {
        let mut devices =
            if self.version.is_flat() { legacy::devices(&self.metadata) } else { self.walk_devices()? };
        devices.sort_by(|a, b| a.path.cmp(&b.path));
        if let Some(pair) = devices.windows(2).find(|pair| pair[0].id == pair[1].id) {
            let message = format!("device '{}' is listed twice", pair[0].path.escape_debug());
            return Err(Error::corrupt(message).class("duplicate_device").offset(self.metadata_start));
        }
        Ok(devices)
    }

    fn walk_devices(&self) -> Result<Vec<Device>> {
        let mut walk = IndexWalk::new(self);
        let mut devices = Vec::new();
        for (key, root) in &self.metadata.roots {
            let table = self.metadata.tables.iter().position(|t| t.name == *key);
            // The small root of version 2 has the type of a measurement node, although its entries are
            // devices.
            let top = match root.node_type {
                NodeType::InternalDevice => NodeType::InternalDevice,
                _ => NodeType::LeafDevice,
            };
            walk.devices(root, top, self.metadata_start, table, 0, &mut devices)?;
        }
        Ok(devices)
    }

    /// The series of a device as listed in the metadata, without a check of the chunk offsets.
    pub(crate) fn series_unchecked(&self, device: &Device) -> Result<Vec<Series>> {
        let piece = || format!("device '{}'", device.path.escape_debug());
        let series = if self.version.is_flat() {
            legacy::series(self, device)
        } else {
            let mut series = Vec::new();
            let mut walk = IndexWalk::new(self);
            let (from, to) = device.place;
            walk.series(from, to, self.metadata_start, 0, &mut series).map(|()| series)
        };
        series.in_piece(piece).in_file(&self.path)
    }

    /// The series of a device in file order, including the time column of an aligned device.
    pub(crate) fn series(&self, device: &Device) -> Result<Vec<Series>> {
        let piece = || format!("device '{}'", device.path.escape_debug());
        let series = self.series_unchecked(device)?;
        let head = self.version.head().len() as u64;
        for chunk in series.iter().flat_map(|s| &s.chunks) {
            if chunk.offset < head || chunk.offset >= self.data_end {
                let message = format!(
                    "the chunk at {} is outside the data section, {head} to {}",
                    chunk.offset, self.data_end
                );
                return Err(Error::corrupt(message).class("bad_offset").piece(piece()).file(&*self.path));
            }
        }
        Ok(series)
    }

    /// Calls `visit` with the series of a device, in file order, while each has one chunk and `visit` returns
    /// true. Returns whether all series were visited.
    pub(crate) fn visit_series(
        &self,
        device: &Device,
        visit: &mut dyn FnMut(OneChunk<'_>) -> bool,
    ) -> Result<bool> {
        let (from, to) = device.place;
        IndexWalk::new(self).visit(from, to, self.metadata_start, 0, visit)
    }

    /// A part of the metadata section.
    pub(crate) fn metadata_part(&self, from: u64, to: u64, what: &'static str) -> Result<Cursor<'_>> {
        let inside = |n: u64| n.checked_sub(self.data_end).and_then(|n| usize::try_from(n).ok());
        let bytes = inside(from).zip(inside(to)).and_then(|(from, to)| self.section.get(from..to));
        bytes.map(|bytes| Cursor::new(bytes, from, what)).ok_or_else(|| {
            let message =
                format!("bytes {from} to {to} are outside the metadata, {} to {}", self.data_end, self.size);
            Error::corrupt(message).class("bad_offset").piece(what)
        })
    }

    /// A property of the file (version 4).
    pub(crate) fn property(&self, name: &str) -> Option<&str> {
        let found = self.metadata.properties.iter().find(|(key, _)| key == name);
        found.and_then(|(_, value)| value.as_deref())
    }

    /// Whether page data is encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.property("encryptLevel").is_some_and(|level| level != "0")
    }

    /// The version of a chunk at `offset` (version 2): that of the first version record after it.
    fn version_at(&self, offset: u64) -> i64 {
        let record = self.metadata.versions.iter().filter(|(position, _)| *position > offset).min();
        record.map_or(0, |(_, version)| *version)
    }
}

/// The last bytes of a file, read together with the first ones: in small files they contain all metadata.
struct Ending {
    start: u64,
    bytes: Bytes,
}

impl Ending {
    /// Reads the start and the end of a file.
    fn read(location: &Location, size: u64) -> Result<(Bytes, Self)> {
        let guess = location.storage().hints().gap / 4;
        let guess = guess.clamp(LEAST_ENDING, MOST_ENDING);
        let start = size.saturating_sub(guess);
        let mut parts = location.read(&[0..size.min(12), start..size])?.into_iter();
        let (Some(head), Some(bytes)) = (parts.next(), parts.next()) else {
            return Err(Error::internal("a storage returned too few bytes"));
        };
        Ok((head, Self { start, bytes }))
    }

    /// A range of the file, from the cached bytes or read.
    fn range(&self, location: &Location, range: Range<u64>) -> Result<Bytes> {
        let inside = |n: u64| n.checked_sub(self.start).and_then(|n| usize::try_from(n).ok());
        match inside(range.start).zip(inside(range.end)) {
            Some((from, to)) if from <= to && to <= self.bytes.len() => Ok(self.bytes.slice(from..to)),
            _ => location.read_range(range),
        }
    }
}

/// The location of the metadata block, from the end of a complete file.
fn tail(ending: &Ending, version: Version, size: u64) -> Result<(u64, u64)> {
    let incomplete = |message: &'static str| {
        Error::corrupt(message)
            .class("incomplete")
            .suggest("the file was not closed; {} recovers its complete chunk groups", [Action::Repair])
    };
    let (head, magic) = (version.head().len() as u64, version.tail());
    let end = size.checked_sub(magic.len() as u64 + 4).filter(|end| *end > head);
    let Some(end) = end else {
        return Err(incomplete("the file ends before its metadata").offset(size));
    };
    let bytes = end.checked_sub(ending.start).and_then(|from| ending.bytes.get(from as usize..));
    let mut cursor = Cursor::new(bytes.unwrap_or_default(), end, "tail");
    let length = cursor.i32_be()?;
    if cursor.rest() != magic {
        return Err(incomplete("the file does not end with its magic").offset(end.saturating_add(4)));
    }
    let start = u64::try_from(length).ok().and_then(|n| end.checked_sub(n)).filter(|start| *start > head);
    let start = start.ok_or_else(|| {
        Error::corrupt(format!("a metadata size of {length} bytes is invalid"))
            .class("bad_length")
            .offset(end)
    })?;
    Ok((start, end))
}

/// The end of the data section: the offset of the separator.
fn data_end(metadata: &FileMetadata, version: Version, metadata_start: u64) -> Result<u64> {
    let end = if version.is_flat() {
        let first = metadata.devices.iter().map(|d| d.offset).min().unwrap_or(metadata_start);
        first.min(metadata_start).checked_sub(1)
    } else {
        metadata.meta_offset
    };
    let head = version.head().len() as u64;
    end.filter(|end| (head..metadata_start).contains(end)).ok_or_else(|| {
        let message = format!("the metadata cannot start at {}", end.unwrap_or_default());
        Error::corrupt(message).class("bad_offset").offset(metadata_start)
    })
}

/// A traversal of the index tree that hostile bytes can neither trap nor prolong: children precede their
/// parents, no node is visited twice, and all nodes and series together take no more bytes than the metadata
/// has.
struct IndexWalk<'a> {
    file: &'a File,
    visited: HashSet<u64>,
    budget: u64,
}

impl<'a> IndexWalk<'a> {
    fn new(file: &'a File) -> Self {
        Self { file, visited: HashSet::new(), budget: (file.section.len() as u64).saturating_mul(2) }
    }

    fn node(&mut self, from: u64, to: u64, parent: u64, level: Level, depth: usize) -> Result<IndexNode> {
        let bad = |message: &'static str| Error::corrupt(message).class("bad_index_node").offset(from);
        if to > parent || depth > MAX_TREE_DEPTH {
            return Err(bad("an index node does not precede its parent"));
        }
        if !self.visited.insert(from) {
            return Err(bad("an index node is referenced twice"));
        }
        let mut cursor = self.file.metadata_part(from, to, "index node")?;
        let node = IndexNode::parse(&mut cursor, level, self.file.version)?;
        cursor.expect_end()?;
        self.spend(cursor.position() as u64, from)?;
        Ok(node)
    }

    fn spend(&mut self, bytes: u64, offset: u64) -> Result<()> {
        let left = self.budget.checked_sub(bytes);
        self.budget = left.ok_or_else(|| {
            Error::corrupt("the index refers to the same bytes repeatedly")
                .class("bad_index_node")
                .offset(offset)
        })?;
        Ok(())
    }

    fn devices(
        &mut self,
        node: &IndexNode,
        node_type: NodeType,
        parent: u64,
        table: Option<usize>,
        depth: usize,
        out: &mut Vec<Device>,
    ) -> Result<()> {
        for (name, from, to) in node.spans() {
            if node_type == NodeType::InternalDevice {
                let child = self.node(from, to, parent, Level::Device, depth)?;
                let child_type = child.node_type;
                if !matches!(child_type, NodeType::InternalDevice | NodeType::LeafDevice) {
                    let message = "a device node has children that are not devices";
                    return Err(Error::corrupt(message).class("bad_index_node").offset(from));
                }
                self.devices(&child, child_type, from, table, depth + 1, out)?;
            } else {
                out.push(Device { id: name.clone(), path: name.path(), table, place: (from, to) });
            }
        }
        Ok(())
    }

    fn series(&mut self, from: u64, to: u64, parent: u64, depth: usize, out: &mut Vec<Series>) -> Result<()> {
        let node = self.node(from, to, parent, Level::Measurement, depth)?;
        for (_, start, end) in node.spans() {
            match node.node_type {
                NodeType::LeafMeasurement => self.leaf(start, end, out)?,
                _ => self.series(start, end, from, depth + 1, out)?,
            }
        }
        Ok(())
    }

    fn visit(
        &mut self,
        from: u64,
        to: u64,
        parent: u64,
        depth: usize,
        visit: &mut dyn FnMut(OneChunk<'_>) -> bool,
    ) -> Result<bool> {
        let (file, node) = (self.file, self.node(from, to, parent, Level::Measurement, depth)?);
        let data = file.version.head().len() as u64..file.data_end;
        for (_, start, end) in node.spans() {
            if node.node_type != NodeType::LeafMeasurement {
                if !self.visit(start, end, from, depth + 1, visit)? {
                    return Ok(false);
                }
                continue;
            }
            let mut cursor = file.metadata_part(start, end, "series metadata")?;
            self.spend(cursor.remaining() as u64, start)?;
            while !cursor.is_empty() {
                let series = OneChunk::parse(&mut cursor, file.version)?;
                if !series.is_some_and(|series| data.contains(&series.offset) && visit(series)) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn leaf(&mut self, from: u64, to: u64, out: &mut Vec<Series>) -> Result<()> {
        let file = self.file;
        let mut cursor = file.metadata_part(from, to, "series metadata")?;
        self.spend(cursor.remaining() as u64, from)?;
        while !cursor.is_empty() {
            let meta = if file.version == Version::V2 {
                let mut list_bytes = 0;
                let meta = TimeseriesMetadata::parse_v2(&mut cursor, |offset, size| {
                    list_bytes = size;
                    file.metadata_part(offset, offset.saturating_add(size), "chunk metadata list")
                })?;
                self.spend(list_bytes, from)?;
                meta
            } else {
                TimeseriesMetadata::parse(&mut cursor, file.version)?
            };
            let chunks = meta.chunks.into_iter().map(|c| Chunk {
                offset: c.offset,
                version: if file.version == Version::V2 { file.version_at(c.offset) } else { 0 },
                statistics: c.statistics,
            });
            let chunks = chunks.collect();
            out.push(Series {
                name: meta.measurement,
                data_type: meta.data_type,
                statistics: Some(meta.statistics),
                chunks,
            });
        }
        Ok(())
    }
}

impl Series {
    /// Whether this is the time column of an aligned device.
    pub(crate) fn is_time_column(&self) -> bool {
        self.data_type == DataType::Vector
    }
}

/// Whether `byte` is the separator that ends the data section.
pub(crate) fn is_separator(byte: Option<&u8>) -> bool {
    byte == Some(&marker::SEPARATOR)
}

impl File {
    /// The byte at `data_end`, which must be the separator.
    pub(crate) fn separator(&self) -> Option<&u8> {
        self.section.first()
    }
}
