//! Resource files, data directories, statistics and the records of a file, as JSON.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};
use tesselle_core::{Context as _, Driver, Error, Location, Result};

use crate::aggregate;
use crate::meta::deletion::Target;
use crate::meta::resource::{Resource, TimeRange};
use crate::meta::tag_condition::TagCondition;
use crate::meta::{Deletion, DeviceId, Statistics, Version};
use crate::open::{data_files, find, read_deletions};
use crate::points::{self, PagePoints};
use crate::records::{Record, WalkedChunk, Walker};

/// The extension of resource files.
const RESOURCE: &str = ".tsfile.resource";
/// Maximum size of a side file.
const MAX_SIDE_BYTES: u64 = 1 << 28;

/// The devices and times of a resource file, or of all those below a folder:
/// `{"files": [{"file": ..., "devices": {"root.a": [0, 595]}}]}`.
///
/// ```
/// # use std::sync::Arc;
/// # use tesselle_core::{Location, storage::MemoryStorage};
/// let storage = MemoryStorage::new();
/// storage.put("1.tsfile.resource", vec![0, 0, 0, 0, 0, 0, 0, 0]);
/// let location = Location::new(Arc::new(storage), "1.tsfile.resource");
/// let shown = tesselle_tsfile::tools::resources(&location)?;
/// assert_eq!(shown["files"][0]["file"], "1.tsfile.resource");
/// # Ok::<(), tesselle_core::Error>(())
/// ```
pub fn resources(location: &Location) -> Result<Json> {
    let mut files = Vec::new();
    if location.is_dir()? {
        for relative in find(location, RESOURCE)? {
            files.push(resource_json(&location.join(&relative), &relative)?);
        }
    } else {
        files.push(resource_json(location, location.name())?);
    }
    Ok(json!({ "files": files }))
}

fn read_resource(location: &Location) -> Result<Resource> {
    Resource::parse(&location.read_all(MAX_SIDE_BYTES)?).in_file(location.path())
}

fn resource_json(location: &Location, name: &str) -> Result<Json> {
    let resource = read_resource(location)?;
    let mut object = Map::new();
    object.insert("file".into(), json!(name));
    object.insert("devices".into(), devices_json(&resource.devices));
    if let Some((start, end)) = resource.whole_file {
        object.insert("times".into(), json!([start, end]));
    }
    if !resource.historical_versions.is_empty() {
        object.insert("historical_versions".into(), json!(resource.historical_versions));
    }
    Ok(Json::Object(object))
}

fn devices_json(devices: &BTreeMap<String, TimeRange>) -> Json {
    let devices: Map<String, Json> =
        devices.iter().map(|(device, (start, end))| (device.clone(), json!([start, end]))).collect();
    Json::Object(devices)
}

/// The files of a data directory in order of precedence, the last one wins: sequence files, then unsequence
/// files, each with its size, version, deletions, and the devices of its resource file.
pub fn data_directory(location: &Location) -> Result<Json> {
    if !location.is_dir()? {
        return Err(Error::invalid("a data directory must be a folder").file(location.path()));
    }
    let mut files = Vec::new();
    for (relative, unsequence) in data_files(location)? {
        let file = location.join(&relative);
        let size = file.size()?;
        let head = file.read_range(0..size.min(12))?;
        let mut object = Map::new();
        object.insert("file".into(), json!(relative));
        object.insert("sequence".into(), json!(!unsequence));
        object.insert("size".into(), json!(size));
        let version = Version::recognise(&head).in_file(file.path())?;
        object.insert("version".into(), version.name().into());
        let (deletions, torn) = read_deletions(&file, version)?;
        if !deletions.is_empty() {
            object.insert("deletions".into(), deletions.iter().map(deletion_json).collect());
        }
        if let Some(offset) = torn {
            object.insert("torn_deletion".into(), json!(offset));
        }
        let resource = location.join(&format!("{relative}.resource"));
        if resource.is_file()? {
            object.insert("devices".into(), devices_json(&read_resource(&resource)?.devices));
        }
        files.push(Json::Object(object));
    }
    Ok(json!({ "files": files }))
}

fn deletion_json(deletion: &Deletion) -> Json {
    let mut object = Map::new();
    match &deletion.target {
        Target::Path(path) => {
            object.insert("path".into(), json!(path));
        }
        Target::Table { table, tags, columns } => {
            object.insert("table".into(), json!(table));
            object.insert("tags".into(), tags_json(tags));
            object.insert("columns".into(), json!(columns));
        }
    }
    if let Some(before) = deletion.before {
        object.insert("before".into(), json!(before));
    }
    object.insert("start".into(), json!(deletion.start));
    object.insert("end".into(), json!(deletion.end));
    Json::Object(object)
}

fn tags_json(tags: &TagCondition) -> Json {
    match tags {
        TagCondition::Any => Json::Null,
        TagCondition::Devices(devices) => {
            json!({ "devices": devices.iter().map(DeviceId::segments).collect::<Vec<_>>() })
        }
        TagCondition::Segment { index, value } => json!({ "segment": index, "value": value }),
        TagCondition::Present { index } => json!({ "segment": index, "null": false }),
        TagCondition::All(parts) => json!({ "all": parts.iter().map(tags_json).collect::<Vec<_>>() }),
    }
}

/// Count, bounds, sum, first and last point of series over a time range, and the work this took:
/// `{"series": [{"device": ..., "measurement": ..., "count": 3, ..., "effort": {"pages_decoded": 0, ...}}]}`.
pub fn stats(location: &Location, request: &aggregate::Request, driver: &Driver) -> Result<Json> {
    let series = aggregate::aggregate(location, request, driver)?;
    let shown = series.iter().map(|s| {
        let mut object = Map::new();
        object.insert("device".into(), json!(s.device));
        object.insert("measurement".into(), json!(s.measurement));
        object.insert("type".into(), json!(s.data_type.name()));
        object.extend(s.values.to_json(s.data_type));
        let effort = json!({
            "chunks": s.effort.chunks, "chunks_from_statistics": s.effort.chunks_from_statistics,
            "pages_from_statistics": s.effort.pages_from_statistics, "pages_decoded": s.effort.pages_decoded,
            "bytes_fetched": s.effort.bytes_fetched,
        });
        object.insert("effort".into(), effort);
        Json::Object(object)
    });
    Ok(json!({ "series": shown.collect::<Vec<_>>() }))
}

/// A part of a dump, in file order.
#[derive(Debug)]
pub enum Dumped {
    /// The version of the file.
    Version(&'static str),
    /// A record that is not a chunk.
    Record(Map<String, Json>),
    /// A chunk; its pages follow.
    Chunk(Map<String, Json>),
    /// A page of the last chunk, with its points if requested.
    Page(Map<String, Json>),
    /// The end, and the reason if a damaged or unfinished file was not read to its end.
    End(Option<String>),
}

/// Passes every record of the data section to `each`, in file order; with `points` also the points of every
/// page. Memory use is one stored chunk and one decoded page.
pub fn read(location: &Location, points: bool, each: &mut dyn FnMut(Dumped) -> Result<()>) -> Result<()> {
    let size = location.size()?;
    let head = location.read_range(0..size.min(12))?;
    let version = Version::recognise(&head).in_file(location.path())?;
    each(Dumped::Version(version.name()))?;
    let mut walker = Walker::new(location, version, size);
    let mut dump = Dump { version, points, times: Vec::new(), each };
    let stopped = loop {
        match walker.next() {
            Ok(Some((at, Record::Separator))) => {
                dump.record(&[("record", json!("separator")), ("offset", json!(at))])?;
                break None;
            }
            Ok(Some((at, record))) => dump.any(at, &record)?,
            Ok(None) => break None,
            Err(error) if error.kind() == tesselle_core::ErrorKind::Io => return Err(error),
            Err(error) => break Some(error.to_string()),
        }
    };
    (dump.each)(Dumped::End(stopped))
}

struct Dump<'a> {
    version: Version,
    points: bool,
    /// Times by page of the last time column.
    times: Vec<Vec<i64>>,
    each: &'a mut dyn FnMut(Dumped) -> Result<()>,
}

fn object(fields: &[(&str, Json)]) -> Map<String, Json> {
    fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
}

impl Dump<'_> {
    fn record(&mut self, fields: &[(&str, Json)]) -> Result<()> {
        (self.each)(Dumped::Record(object(fields)))
    }

    fn any(&mut self, at: u64, record: &Record) -> Result<()> {
        let start = |name: &str| [("record", json!(name)), ("offset", json!(at))];
        match record {
            Record::GroupHeader(device) => {
                let [record, offset] = start("chunk_group_header");
                self.record(&[record, offset, ("device", json!(device.path()))])
            }
            Record::GroupFooter(footer) => {
                let [record, offset] = start("chunk_group_footer");
                let device = ("device", json!(footer.device.path()));
                let size = ("data_size", json!(footer.data_size));
                self.record(&[record, offset, device, size, ("chunks", json!(footer.chunks))])
            }
            Record::Version(number) => {
                let [record, offset] = start("version");
                self.record(&[record, offset, ("version", json!(number))])
            }
            Record::OperationRange(min, max) => {
                let [record, offset] = start("operation_range");
                self.record(&[record, offset, ("min", json!(min)), ("max", json!(max))])
            }
            Record::Separator => self.record(&start("separator")),
            Record::Chunk(chunk) => self.chunk(at, chunk),
        }
    }

    fn chunk(&mut self, at: u64, chunk: &WalkedChunk) -> Result<()> {
        let header = &chunk.loaded.header;
        if header.is_time_column() {
            self.times.clear();
        }
        (self.each)(Dumped::Chunk(object(&[
            ("record", json!("chunk")),
            ("offset", json!(at)),
            ("measurement", json!(header.measurement)),
            ("type", json!(header.data_type.name())),
            ("encoding", json!(header.encoding.name(self.version))),
            ("compression", json!(header.compression.name())),
            ("data_size", json!(header.data_size)),
            ("aligned", json!(header.is_time_column() || header.is_value_column())),
        ])))?;
        for number in 0..chunk.loaded.pages.len() {
            self.page(chunk, number)?;
        }
        Ok(())
    }

    fn page(&mut self, chunk: &WalkedChunk, number: usize) -> Result<()> {
        let header = &chunk.loaded.header;
        let Some(page) = chunk.loaded.pages.get(number) else {
            return Err(Error::internal("a page is missing"));
        };
        let mut shown = object(&[
            ("offset", json!(page.offset)),
            ("uncompressed_size", json!(page.header.uncompressed_size)),
            ("compressed_size", json!(page.header.compressed_size)),
        ]);
        if let Some(statistics) = &page.header.statistics {
            shown.insert("statistics".into(), Json::Object(statistics.to_json(header.data_type)));
        }
        if self.points || header.is_time_column() {
            let times = self.times.get(number).map(Vec::as_slice);
            match points::decode(&chunk.loaded, number, self.version, times, None::<&Statistics>) {
                Ok(found) => {
                    if self.points {
                        shown.insert("points".into(), points_json(&found, header.data_type));
                    }
                    if header.is_time_column() {
                        self.times.push(found.times);
                    }
                }
                Err(error) => {
                    shown.insert("error".into(), json!(error.to_string()));
                    if header.is_time_column() {
                        // Pages are matched by number.
                        self.times.push(Vec::new());
                    }
                }
            }
        }
        (self.each)(Dumped::Page(shown))
    }
}

fn points_json(points: &PagePoints, data_type: crate::meta::DataType) -> Json {
    let value =
        |row: usize| points.values.as_ref().and_then(|v| v.value(row)).map(|v| v.to_json_as(data_type));
    let point = |(row, time): (usize, &i64)| match &points.values {
        Some(_) => json!([time, value(row)]),
        None => json!([time]),
    };
    points.times.iter().enumerate().map(point).collect()
}
