//! `info`: tables, columns, chunks and pages, as the files state them.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::{Map, Value as Json, json};
use tesselle_core::{
    At, Attribute, ColumnDescription, ColumnRole, Context as _, Cursor, Description, Error, Result,
    TableDescription,
};

use crate::meta::file_metadata::is_about_encryption;
use crate::meta::schema::Category;
use crate::meta::{ChunkHeader, DataType};
use crate::open::{Archive, ArchiveFile};
use crate::read::TIME;
use crate::read::device_data::{ColumnData, DeviceData};
use crate::read::loaded::{ChunkRef, header_range};
use crate::read::page_headers::page_headers;
use crate::table::{self};

/// Reads the chunk headers of one series.
pub(crate) fn first_headers(archive: &Archive, name: &str, chunks: &[ChunkRef]) -> Result<Vec<ChunkHeader>> {
    let wanted: Vec<(&ChunkRef, &str)> = chunks.iter().map(|c| (c, name)).collect();
    Ok(read_headers(archive, &wanted)?.into_iter().map(|(header, _)| header).collect())
}

/// Reads many chunk headers with one request per file; each comes with the byte range of its pages.
pub(crate) fn read_headers(
    archive: &Archive,
    wanted: &[(&ChunkRef, &str)],
) -> Result<Vec<(ChunkHeader, Range<u64>)>> {
    let mut ranges: BTreeMap<usize, Vec<(usize, Range<u64>)>> = BTreeMap::new();
    for (i, (chunk, name)) in wanted.iter().enumerate() {
        let Some(entry) = archive.files.get(chunk.file) else { continue };
        ranges.entry(chunk.file).or_default().push((i, header_range(chunk, name, entry.facts())));
    }
    let mut headers: Vec<Option<(ChunkHeader, Range<u64>)>> = vec![None; wanted.len()];
    for (file, ranges) in ranges {
        let Some(entry) = archive.files.get(file) else { continue };
        let only: Vec<Range<u64>> = ranges.iter().map(|(_, range)| range.clone()).collect();
        let bytes = entry.location.read(&only)?;
        for ((i, range), bytes) in ranges.iter().zip(bytes) {
            let mut cursor = Cursor::new(&bytes, range.start, "chunk header");
            let header = ChunkHeader::parse(&mut cursor, entry.file.version).in_file(&entry.file.path)?;
            let end = cursor.offset().saturating_add(header.data_size).min(entry.file.data_end);
            if let Some(place) = headers.get_mut(*i) {
                *place = Some((header, cursor.offset()..end));
            }
        }
    }
    let missing = || Error::internal("a chunk header was not read");
    headers.into_iter().map(|h| h.ok_or_else(missing)).collect()
}

/// Builds the description that `info` prints.
pub(crate) fn describe(archive: &Archive) -> Result<Description> {
    let mut description = Description::new(crate::format::NAME, archive.version());
    description.metadata =
        attributes(archive).into_iter().map(|attribute| (attribute.name, attribute.value)).collect();
    let properties = archive.files.iter().flat_map(|entry| &entry.file.metadata.properties);
    let encryption: Map<String, Json> = properties
        .filter(|(key, _)| is_about_encryption(key))
        .map(|(key, value)| (key.clone(), json!(value)))
        .collect();
    if !encryption.is_empty() {
        description.extra.insert("encryption".into(), Json::Object(encryption));
    }
    if archive.files.len() != 1 {
        let files = archive.files.iter().map(|f| json!({ "file": f.label, "version": f.file.version.name(), "size": f.file.size, "deletions": f.deletions.len(), "closed": !f.file.recovered }));
        description.extra.insert("files".into(), files.collect());
    }
    let blocks: Vec<Json> = archive.files.iter().map(file_metadata).collect();
    description.extra.insert("file_metadata".into(), blocks.into());
    for path in archive.tree_devices() {
        description.tables.push(describe_device(archive, path)?);
    }
    for name in archive.tables.keys() {
        description.tables.push(describe_model(archive, name)?);
    }
    Ok(description)
}

/// The contents of the metadata block at the end of a file except devices and properties.
fn file_metadata(entry: &ArchiveFile) -> Json {
    let (file, metadata) = (&entry.file, &entry.file.metadata);
    let mut out = json!({
        "file": entry.label, "version": file.version.name(), "data_bytes": file.data_end,
        "index_bytes": file.metadata_start.saturating_sub(file.data_end),
        "metadata_bytes": file.size.saturating_sub(file.metadata_start), "created_by": metadata.created_by,
    });
    if let Some((chunks, dropped)) = metadata.chunk_counts {
        out["chunk_counters"] = json!({ "chunks": chunks, "dropped": dropped });
    }
    if let Some(bloom) = &metadata.bloom {
        out["bloom_filter"] =
            json!({ "bytes": bloom.byte_len(), "bits": bloom.bits(), "functions": bloom.functions() });
    }
    if !metadata.versions.is_empty() {
        let records =
            metadata.versions.iter().map(|(at, version)| json!({ "offset": at, "version": version }));
        out["version_records"] = records.collect();
    }
    let schemas = metadata.measurements.iter().map(|schema| {
        let properties: Map<String, Json> =
            schema.properties.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
        json!({
            "name": schema.name, "type": schema.data_type.name(), "encoding": schema.encoding.name(file.version),
            "compression": schema.compression.name(), "properties": properties,
        })
    });
    out["measurement_schemas"] = schemas.collect();
    out
}

/// The times and chunk groups of a device, as its metadata states them.
fn device_extra(archive: &Archive, path: &str, data: &DeviceData) -> Result<Map<String, Json>> {
    let mut extra = Map::new();
    extra.insert("aligned".into(), json!(data.is_aligned()));
    let mut versions = Vec::new();
    let (mut start, mut end) = (None::<i64>, None::<i64>);
    let mut widen = |low: i64, high: i64| {
        start = Some(start.map_or(low, |start| start.min(low)));
        end = Some(end.map_or(high, |end| end.max(high)));
    };
    for (file, at) in archive.devices.get(path).into_iter().flatten() {
        let file = &archive.files.at(*file)?.file;
        let device = file.devices.at(*at)?;
        if file.version.is_flat() {
            let metadata = crate::legacy::device_metadata(file, device)?;
            widen(metadata.start_time, metadata.end_time);
            versions.extend(metadata.groups.iter().map(|group| group.version));
        }
    }
    if versions.is_empty() {
        let lists = data.columns.iter().map(|column| &column.chunks).chain(std::iter::once(&data.times));
        lists.flatten().for_each(|chunk| widen(chunk.lo, chunk.hi));
    } else {
        extra.insert("group_versions".into(), json!(versions));
    }
    extra.insert("start_time".into(), json!(start));
    extra.insert("end_time".into(), json!(end));
    Ok(extra)
}

/// The key-value metadata of the files; for equal keys the last one wins.
pub(crate) fn attributes(archive: &Archive) -> Vec<Attribute> {
    let mut all: Vec<Attribute> = Vec::new();
    for entry in &archive.files {
        let metadata = &entry.file.metadata;
        let created = metadata.created_by.iter().map(|value| ("created_by", json!(value)));
        // Every file states its encryption; that is not user metadata.
        let properties = metadata.properties.iter().filter(|(key, _)| !is_about_encryption(key));
        let properties = properties.map(|(key, value)| (key.as_str(), json!(value)));
        for (key, value) in created.chain(properties) {
            match all.iter_mut().find(|known| known.name == key) {
                Some(known) => known.value = value,
                None => all.push(Attribute::new(key, value)),
            }
        }
    }
    all
}

fn time_column() -> ColumnDescription {
    ColumnDescription {
        name: TIME.to_string(),
        kind: DataType::Timestamp.name().to_string(),
        role: ColumnRole::Time,
        nullable: false,
        extra: Map::new(),
    }
}

fn describe_device(archive: &Archive, path: &str) -> Result<TableDescription> {
    let data = archive.device(path)?;
    let mut columns = vec![time_column()];
    for (column, name) in data.columns.iter().zip(&*data.shown_names()) {
        columns.push(ColumnDescription {
            name: name.to_string(),
            kind: column.data_type.name().to_string(),
            role: ColumnRole::Measurement,
            nullable: true,
            extra: column_extra(archive, column)?,
        });
    }
    let extra = device_extra(archive, path, &data)?;
    Ok(TableDescription { name: path.to_string(), rows: table::exact_rows(archive, &data), columns, extra })
}

fn column_extra(archive: &Archive, column: &ColumnData) -> Result<Map<String, Json>> {
    let mut extra = Map::new();
    if let Some(chunk) = column.chunks.first() {
        let headers = first_headers(archive, &column.name, std::slice::from_ref(chunk))?;
        let version = archive.files.get(chunk.file).map(|f| f.file.version);
        if let (Some(header), Some(version)) = (headers.first(), version) {
            extra.insert("encoding".into(), json!(header.encoding.name(version)));
            extra.insert("compression".into(), json!(header.compression.name()));
        }
    }
    let mut declared =
        archive.files.iter().flat_map(|f| f.file.metadata.measurements.iter().map(move |m| (f, m)));
    if let Some((file, schema)) = declared.rfind(|(_, m)| *m.name == *column.name) {
        extra.entry("encoding").or_insert_with(|| json!(schema.encoding.name(file.file.version)));
        extra.entry("compression").or_insert_with(|| json!(schema.compression.name()));
        if !schema.properties.is_empty() {
            let properties: Map<String, Json> =
                schema.properties.iter().map(|(k, v)| (k.clone(), json!(v))).collect();
            extra.insert("properties".into(), Json::Object(properties));
        }
    }
    if let Some(statistics) = &column.statistics {
        extra.insert("statistics".into(), Json::Object(statistics.to_json(column.data_type)));
    }
    extra.insert("chunks".into(), json!(column.chunks.len()));
    Ok(extra)
}

fn describe_model(archive: &Archive, name: &str) -> Result<TableDescription> {
    let Some(table) = archive.tables.get(name) else {
        return Err(Error::internal("a table to describe does not exist"));
    };
    let version = archive.files.first().map_or(crate::meta::Version::V4, |f| f.file.version);
    let mut columns = vec![time_column()];
    for (column, category) in table.columns.iter().filter(|(_, category)| *category != Category::Time) {
        let mut extra = Map::new();
        extra.insert("encoding".into(), json!(column.encoding.name(version)));
        extra.insert("compression".into(), json!(column.compression.name()));
        columns.push(ColumnDescription {
            name: column.name.clone(),
            kind: column.data_type.name().to_string(),
            role: category.role(),
            nullable: true,
            extra,
        });
    }
    let mut rows = Some(0_u64);
    for path in &table.devices {
        let own = table::exact_rows(archive, &archive.device(path)?);
        rows = rows.zip(own).and_then(|(a, b)| a.checked_add(b));
    }
    let mut extra = Map::new();
    extra.insert("devices".into(), json!(table.devices.len()));
    Ok(TableDescription { name: name.to_string(), rows, columns, extra })
}

/// Counts the chunks that [`chunks`] lists without a limit; `None` if the metadata is not readable.
pub(crate) fn chunk_count(archive: &Archive) -> Option<u64> {
    let mut count = 0;
    for (path, places) in &archive.devices {
        let data = DeviceData::assemble(archive, path, places).ok()?;
        count += data.times.len() + data.columns.iter().map(|column| column.chunks.len()).sum::<usize>();
    }
    Some(count as u64)
}

/// The chunk table in file order, with the pages of every chunk.
pub(crate) fn chunks(archive: &Archive, limit: Option<usize>) -> Result<Vec<Json>> {
    let mut all: Vec<(usize, u64, String, String, DataType, ChunkRef)> = Vec::new();
    for (path, places) in &archive.devices {
        let data = DeviceData::assemble(archive, path, places)?;
        let table = archive.table_of(places).unwrap_or(path).to_string();
        for column in &data.columns {
            for chunk in &column.chunks {
                all.push((
                    chunk.file,
                    chunk.offset,
                    table.clone(),
                    column.name.to_string(),
                    column.data_type,
                    chunk.clone(),
                ));
            }
        }
        for chunk in &data.times {
            all.push((
                chunk.file,
                chunk.offset,
                table.clone(),
                String::new(),
                DataType::Vector,
                chunk.clone(),
            ));
        }
    }
    all.sort_by_key(|(file, offset, ..)| (*file, *offset));
    all.truncate(limit.unwrap_or(usize::MAX));
    let wanted: Vec<(&ChunkRef, &str)> =
        all.iter().map(|(_, _, _, name, _, chunk)| (chunk, name.as_str())).collect();
    let headers = read_headers(archive, &wanted)?;
    let mut out = Vec::with_capacity(all.len());
    for ((file, offset, table, name, data_type, chunk), (header, range)) in all.iter().zip(headers) {
        let Some(entry) = archive.files.get(*file) else { continue };
        let version = entry.file.version;
        if header.measurement != *name || header.data_type != *data_type {
            let value = format!(
                "the metadata lists a chunk of '{}' as '{}'",
                header.measurement.escape_debug(),
                name
            );
            return Err(Error::corrupt(value).class("bad_chunk").offset(*offset).file(&*entry.file.path));
        }
        let (pages, _) = page_headers(&entry.location, &header, version, &range).in_file(&entry.file.path)?;
        let pages: Vec<Json> =
            pages.iter().map(|page| page_json(&page.header, page.offset, *data_type)).collect();
        let mut object = Map::new();
        object.insert("table".into(), json!(table));
        object.insert("column".into(), json!(name));
        object.insert("type".into(), json!(data_type.name()));
        if archive.files.len() != 1 {
            object.insert("file".into(), json!(entry.label));
        }
        object.insert("offset".into(), json!(offset));
        object.insert("data_size".into(), json!(header.data_size));
        object.insert("encoding".into(), json!(header.encoding.name(version)));
        object.insert("compression".into(), json!(header.compression.name()));
        object.insert("statistics".into(), Json::Object(chunk.statistics.to_json(*data_type)));
        object.insert("pages".into(), Json::Array(pages));
        out.push(Json::Object(object));
    }
    Ok(out)
}

fn page_json(header: &crate::meta::PageHeader, offset: u64, data_type: DataType) -> Json {
    let mut object = Map::new();
    object.insert("offset".into(), json!(offset));
    object.insert("uncompressed_size".into(), json!(header.uncompressed_size));
    object.insert("compressed_size".into(), json!(header.compressed_size));
    if let Some(statistics) = &header.statistics {
        object.insert("count".into(), json!(statistics.count));
        object.insert("min_time".into(), json!(statistics.start_time));
        object.insert("max_time".into(), json!(statistics.end_time));
        statistics.values_to_json(data_type, &mut object);
    }
    Json::Object(object)
}
