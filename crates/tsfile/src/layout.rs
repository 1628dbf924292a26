//! The byte map: every section of every file with its position and contents.

use std::collections::HashMap;
use std::fmt::Write as _;

use tesselle_core::{Extent, FileLayout, LayoutMap, Result, Role};

use crate::meta::{DataType, Statistics, Sum, Value};
use crate::open::{Archive, ArchiveFile};
use crate::records::{Record, WalkedChunk, Walker};

/// The map of all files of an archive.
pub(crate) fn layout(archive: &Archive) -> Result<LayoutMap> {
    let files = archive.files.iter().map(of_file).collect::<Result<_>>()?;
    Ok(LayoutMap { files })
}

fn of_file(entry: &ArchiveFile) -> Result<FileLayout> {
    let file = &entry.file;
    let head = file.version.head().len() as u64;
    let name = format!("magic and version {}", file.version.name());
    let mut extents = vec![Extent::new(0..head, Role::Header, name)];
    let mut statistics: HashMap<u64, Statistics> = HashMap::new();
    for device in &file.devices {
        for series in file.series(device)? {
            statistics.extend(series.chunks.into_iter().map(|c| (c.offset, c.statistics)));
        }
    }
    data_extents(entry, &statistics, &mut extents);
    if !file.recovered {
        metadata_extents(entry, &mut extents);
    }
    Ok(FileLayout { file: entry.label.clone(), size: file.size, extents }.close_gaps())
}

/// A chunk group whose end is not known yet.
#[derive(Default)]
struct OpenGroup {
    start: u64,
    device: Option<String>,
    inner: Vec<Extent>,
}

impl OpenGroup {
    fn close(&mut self, end: u64, extents: &mut Vec<Extent>) {
        let group = std::mem::take(self);
        let (Some(device), false) = (group.device, group.inner.is_empty()) else { return };
        let chunks = group.inner.iter().filter(|e| e.column.is_some() && e.depth == 1).count();
        let label = format!("chunk group of {device}, {chunks} chunks");
        extents.push(Extent::new(group.start..end, Role::Data, label).table(&device));
        extents.extend(group.inner.into_iter().map(|e| e.table(&device)));
    }
}

fn data_extents(entry: &ArchiveFile, statistics: &HashMap<u64, Statistics>, extents: &mut Vec<Extent>) {
    let file = &entry.file;
    let mut walker = Walker::new(&entry.location, file.version, file.data_end);
    let mut group = OpenGroup { start: walker.position(), ..OpenGroup::default() };
    // Damage ends the walk; the rest is shown as not referenced, and `verify` reports why.
    while let Ok(Some((at, record))) = walker.next() {
        let end = walker.position();
        match record {
            Record::Chunk(chunk) => {
                let range = at..end;
                let label = chunk_label(&chunk, statistics.get(&at), file.version);
                let column = &chunk.loaded.header.measurement;
                group.inner.push(Extent::new(range, Role::Data, label).column(column).depth(1));
                page_extents(&chunk, &mut group.inner);
            }
            Record::GroupHeader(device) => {
                group.close(at, extents);
                group = OpenGroup { start: at, device: Some(device.path()), inner: Vec::new() };
                let label = format!("chunk group header of {}", device.path());
                group.inner.push(Extent::new(at..end, Role::Metadata, label).depth(1));
            }
            Record::GroupFooter(footer) => {
                let (device, chunks, size) = (footer.device.path(), footer.chunks, footer.data_size);
                let label = format!("chunk group footer of {device}, {chunks} chunks, {size} bytes");
                group.inner.push(Extent::new(at..end, Role::Metadata, label).depth(1));
                group.device = Some(device);
                group.close(end, extents);
                group.start = end;
            }
            Record::Version(version) => {
                extents.push(Extent::new(
                    at..end,
                    Role::Metadata,
                    format!("version {version} of the groups before"),
                ));
                group.start = end;
            }
            Record::OperationRange(min, max) => {
                group.close(at, extents);
                let label = format!("operation indexes {min} to {max}");
                extents.push(Extent::new(at..end, Role::Metadata, label));
            }
            Record::Separator => break,
        }
    }
    group.close(walker.position().min(file.data_end), extents);
}

fn page_extents(chunk: &WalkedChunk, out: &mut Vec<Extent>) {
    let column = &chunk.loaded.header.measurement;
    let mut header_start = chunk.data_start;
    for (number, page) in chunk.loaded.pages.iter().enumerate() {
        let next = chunk.loaded.pages.get(number + 1).map(|p| p.offset);
        let end = next.unwrap_or(chunk.data_start.saturating_add(chunk.loaded.header.data_size));
        let mut label = format!("page {number}");
        if let Some(s) = &page.header.statistics {
            let _ = write!(label, ", {} points, times {} to {}", s.count, s.start_time, s.end_time);
        }
        let _ = write!(label, ", {} of {} bytes", page.header.compressed_size, page.header.uncompressed_size);
        out.push(Extent::new(header_start..end, Role::Data, label).column(column).depth(2));
        header_start = end;
    }
}

fn chunk_label(
    chunk: &WalkedChunk,
    statistics: Option<&Statistics>,
    version: crate::meta::Version,
) -> String {
    let header = &chunk.loaded.header;
    let what = match header.measurement.as_str() {
        "" => "time chunk".to_string(),
        name => format!("chunk of {name}"),
    };
    let mut label = format!(
        "{what}, {}, {}, {}",
        header.data_type.name(),
        header.encoding.name(version),
        header.compression.name()
    );
    match statistics {
        Some(s) => {
            let _ = write!(label, ", {} points, times {} to {}", s.count, s.start_time, s.end_time);
            digest_label(s, header.data_type, &mut label);
        }
        None => label.push_str(", not in the metadata"),
    }
    let _ = write!(label, ", {} pages", chunk.loaded.pages.len());
    label
}

fn digest_label(s: &Statistics, data_type: DataType, label: &mut String) {
    let fields = [("min", &s.min), ("max", &s.max), ("first", &s.first), ("last", &s.last)];
    for (name, value) in fields {
        if let Some(value) = value {
            let _ = write!(label, ", {name} {}", value.to_json_as(data_type));
        }
    }
    match s.sum {
        Some(Sum::Integer(sum)) => {
            let _ = write!(label, ", sum {sum}");
        }
        Some(Sum::Float(sum)) => {
            let _ = write!(label, ", sum {}", Value::Double(sum).to_json());
        }
        None => {}
    }
}

fn metadata_extents(entry: &ArchiveFile, extents: &mut Vec<Extent>) {
    let file = &entry.file;
    let start = file.data_end;
    extents.push(Extent::new(start..start + 1, Role::Header, "separator"));
    if file.version.is_flat() {
        for device in &file.devices {
            let label = format!("metadata of device {}", device.path);
            extents
                .push(Extent::new(device.place.0..device.place.1, Role::Metadata, label).table(&device.path));
        }
    } else if start + 1 < file.metadata_start {
        let label = format!("metadata of series and index, {} devices", file.devices.len());
        extents.push(Extent::new(start + 1..file.metadata_start, Role::Index, label));
        for device in &file.devices {
            let label = format!("index of device {}", device.path);
            extents.push(
                Extent::new(device.place.0..device.place.1, Role::Index, label).table(&device.path).depth(1),
            );
        }
    }
    let tail = file.version.tail().len() as u64;
    let end = file.size.saturating_sub(tail + 4);
    let bloom = file.metadata.bloom.as_ref().map_or_else(String::new, |b| {
        format!(", bloom filter of {} bits and {} functions", b.bits(), b.functions())
    });
    let label = format!("file metadata{bloom}");
    extents.push(Extent::new(file.metadata_start..end, Role::Metadata, label));
    extents.push(Extent::new(
        end..end + 4,
        Role::Metadata,
        format!("size of the file metadata, {}", end - file.metadata_start),
    ));
    extents.push(Extent::new(end + 4..file.size, Role::Header, "trailing magic"));
}
