//! Compares the writer with files of the original libraries: decodes each chunk, rewrites it, compares the
//! bytes.
//!
//! Runs over the fixtures in the directory `TESSELLE_FIXTURES`, or over those in `tests/data`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use tesselle_core::storage::MemoryStorage;
use tesselle_core::{Cursor, Limits, Location};

use super::chunk::{EncodedChunk, PageLimits, Pages, Setting, header};
use super::output::Output;
use super::page::{Content, PageJob};
use super::tail::{ChunkRecord, DeviceRecord, GroupRecord, Tail};
use super::values::{Strings, Values};
use crate::meta::schema::MeasurementSchema;
use crate::meta::{ChunkHeader, Compression, DataType, DeviceId, Encoding, Statistics, Version, marker};
use crate::read::column::{DecodedValues, NONE};
use crate::read::file::{Chunk, File};
use crate::read::page::{self, Page};

/// The complete files among the fixtures, by case.
fn cases(prefix: &str) -> Vec<(String, Location)> {
    let own = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/small"));
    let root = std::env::var_os("TESSELLE_FIXTURES").map_or_else(own, PathBuf::from);
    let mut cases: Vec<(String, Location)> = std::fs::read_dir(root.join("tsfile"))
        .unwrap()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let file = entry.path().join("data.tsfile");
            let wanted = name.starts_with(prefix) && !name.contains("truncated") && file.exists();
            wanted.then(|| (name, Location::local(file).unwrap()))
        })
        .collect();
    cases.sort_by(|a, b| a.0.cmp(&b.0));
    cases
}

fn open(location: &Location) -> File {
    File::open(location, location.size().unwrap(), &Limits::default()).unwrap()
}

/// A stored chunk.
struct Stored {
    header: ChunkHeader,
    bytes: Vec<u8>,
    pages: Vec<Page>,
}

fn stored(location: &Location, file: &File, offset: u64) -> Stored {
    let rest = location.read_range(offset..file.data_end).unwrap();
    let mut cursor = Cursor::new(&rest, offset, "chunk");
    let header = ChunkHeader::parse(&mut cursor, file.version).unwrap();
    let start = cursor.position();
    let end = start + header.data_size as usize;
    let body = rest.slice(start..end);
    let pages = page::split(&header, file.version, &body, offset + start as u64).unwrap();
    Stored { header, bytes: rest[..end].to_vec(), pages }
}

fn values(column: DecodedValues) -> Values {
    match column {
        DecodedValues::Boolean(v) => Values::Boolean(v),
        DecodedValues::Int32(v) => Values::Int32(v),
        DecodedValues::Int64(v) => Values::Int64(v),
        DecodedValues::Float(v) => Values::Float(v),
        DecodedValues::Double(v) => Values::Double(v),
        DecodedValues::Binary(s) => Values::Binary((0..s.len()).map(|i| s.get(i)).collect::<Strings>()),
    }
}

/// The schema of a chunk. Scaled floats store their number of decimals before the data.
fn schema(stored: &Stored) -> MeasurementSchema {
    let header = &stored.header;
    let float = matches!(header.data_type, DataType::Float | DataType::Double);
    let mut properties = Vec::new();
    if float && matches!(header.encoding, Encoding::Rle | Encoding::Ts2Diff) && !header.is_value_column() {
        let mut scratch = Vec::new();
        let raw = stored.pages[0].unfold(header.compression, &mut scratch).unwrap();
        let (_, column) = page::split_columns(raw, 0).unwrap();
        properties.push((super::chunk::MAX_POINT_NUMBER.to_string(), column[0].to_string()));
    }
    MeasurementSchema {
        name: header.measurement.clone(),
        data_type: header.data_type,
        encoding: header.encoding,
        compression: header.compression,
        properties,
    }
}

fn setting(version: Version, time_encoding: Encoding) -> Setting {
    Setting {
        version,
        time_encoding,
        pages: PageLimits { points: 1, bytes: 1 },
        exact: false,
        fallback: false,
    }
}

/// Compares written with stored bytes: exactly, or page by page if a compressor may differ.
fn compare(name: &str, stored: &Stored, written: &EncodedChunk, version: Version) -> bool {
    let mut bytes = Vec::new();
    written.header.write(&mut bytes, version).unwrap();
    bytes.extend_from_slice(&written.body);
    if bytes == stored.bytes {
        return true;
    }
    let header = &stored.header;
    assert_eq!(written.header.marker, header.marker, "{name}");
    let pages = page::split(&written.header, version, &Bytes::from(written.body.clone()), 0).unwrap();
    assert_eq!(pages.len(), stored.pages.len(), "{name}");
    let lossy = header.encoding.is_lossy(header.data_type);
    for (i, (ours, theirs)) in pages.iter().zip(&stored.pages).enumerate() {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        let a = ours.unfold(header.compression, &mut one).unwrap();
        let b = theirs.unfold(header.compression, &mut other).unwrap();
        assert_eq!(a, b, "{name}: page {i} of {header:?}");
        if !lossy {
            // As strings, because a NaN is not equal to itself.
            let shown = |page: &Page| format!("{:?}", page.header.statistics);
            assert_eq!(shown(ours), shown(theirs), "{name}: page {i} of {header:?}");
        }
    }
    // The same input, but another compressor version, or statistics of values before rounding.
    assert!(lossy || header.compression != Compression::Uncompressed, "{name}: {header:?}");
    false
}

/// Rewrites the chunks of a case; returns how many are byte-identical, and how many there are.
fn rewrite(name: &str, location: &Location, skip: impl Fn(&ChunkHeader) -> bool) -> (usize, usize) {
    let file = open(location);
    let (mut equal, mut all) = (0, 0);
    for device in &file.devices {
        let series = file.series(device).unwrap();
        let times: Vec<&Chunk> =
            series.iter().filter(|s| s.is_time_column()).flat_map(|s| &s.chunks).collect();
        for (series, chunk) in series.iter().flat_map(|s| s.chunks.iter().map(move |c| (s, c))) {
            let stored = stored(location, &file, chunk.offset);
            if stored.pages.is_empty() || skip(&stored.header) {
                continue;
            }
            let name = format!("{name} {} {}", device.path, series.name);
            let written = if times.is_empty() {
                write_ordinary(&file, chunk, &stored)
            } else {
                let time =
                    times.iter().filter(|t| t.offset <= chunk.offset).max_by_key(|t| t.offset).unwrap();
                let time_stored = self::stored(location, &file, time.offset);
                write_aligned(&file, chunk, &stored, time, &time_stored)
            };
            all += 1;
            equal += usize::from(compare(&name, &stored, &written, file.version));
            if !stored.header.encoding.is_lossy(stored.header.data_type) {
                let bytes = |stats: &Statistics| {
                    let mut out = Vec::new();
                    if file.version.is_flat() {
                        stats.write_digest(&mut out, file.version).unwrap();
                    } else {
                        stats.write(&mut out, series.data_type, file.version).unwrap();
                    }
                    out
                };
                let (ours, theirs) = (&written.statistics, &chunk.statistics);
                assert_eq!(bytes(ours), bytes(theirs), "{name}: {ours:?} for {theirs:?}");
            }
        }
    }
    (equal, all)
}

fn write_ordinary(file: &File, chunk: &Chunk, stored: &Stored) -> EncodedChunk {
    let physical = stored.header.data_type.physical().unwrap();
    let (mut times, mut column, mut ranges) = (Vec::new(), DecodedValues::new(physical), Vec::new());
    for page in &stored.pages {
        let start = times.len();
        let stats = Some(&chunk.statistics);
        page::decode_points(page, &stored.header, file.version, stats, &mut times, Some(&mut column))
            .unwrap();
        ranges.push(start..times.len());
    }
    let setting = setting(file.version, Encoding::Ts2Diff);
    let (schema, values) = (schema(stored), values(column));
    let coding = setting.value_coding(&schema).unwrap();
    let content = |range: &Range<usize>| Content::Points(coding, values.as_slice().range(range.clone()));
    join(&schema, 0, &times, &ranges, &setting, content)
}

/// A chunk of these pages.
fn join<'a>(
    schema: &MeasurementSchema,
    mark: u8,
    times: &'a [i64],
    ranges: &[Range<usize>],
    setting: &Setting,
    content: impl Fn(&Range<usize>) -> Content<'a>,
) -> EncodedChunk {
    let mut pages = Pages::default();
    for range in ranges {
        let (times, compression) = (&times[range.clone()], schema.compression);
        let page = PageJob { name: "", times, content: content(range), compression }.run(setting).unwrap();
        pages.push(page, setting.version);
    }
    pages.chunk(&[], header(schema, mark), setting.version).unwrap()
}

fn write_aligned(
    file: &File,
    chunk: &Chunk,
    stored: &Stored,
    time: &Chunk,
    time_stored: &Stored,
) -> EncodedChunk {
    let (mut times, mut ranges): (Vec<i64>, Vec<_>) = (Vec::new(), Vec::new());
    for page in &time_stored.pages {
        let start = times.len();
        times.extend(
            page::decode_time_page(page, &time_stored.header, Some(&time.statistics), &mut Vec::new())
                .unwrap(),
        );
        ranges.push(start..times.len());
    }
    let setting = setting(file.version, time_stored.header.encoding);
    if stored.header.is_time_column() {
        return join(&schema(stored), marker::TIME_COLUMN, &times, &ranges, &setting, |_| Content::Times);
    }
    let physical = stored.header.data_type.physical().unwrap();
    let mut present = Vec::new();
    let mut rows = Values::empty(stored.header.data_type);
    for (page, range) in stored.pages.iter().zip(&ranges) {
        let stats = Some(&chunk.statistics);
        let decoded = page::decode_aligned(
            page,
            &stored.header,
            file.version,
            physical,
            stats,
            (range.len(), range.len()),
            &mut Vec::new(),
        )
        .unwrap();
        let decoded_picks = decoded.picks.clone().unwrap_or_else(|| (0..range.len() as u32).collect());
        let picks: Vec<usize> =
            decoded_picks.iter().map(|&p| if p == NONE { 0 } else { p as usize }).collect();
        present.extend(decoded_picks.iter().map(|&p| p != NONE));
        let mut list = values(decoded.values);
        if list.is_empty() {
            list = super::buffer::blanks(stored.header.data_type, 1);
        }
        rows.append(list.as_slice(), super::values::Rows::At(&picks)).unwrap();
    }
    let schema = schema(stored);
    let coding = setting.value_coding(&schema).unwrap();
    let content = |range: &Range<usize>| {
        Content::Column(coding, rows.as_slice().range(range.clone()), Some(&present[range.clone()]))
    };
    join(&schema, marker::VALUE_COLUMN, &times, &ranges, &setting, content)
}

#[test]
fn chunks_of_the_original_libraries_are_reproduced() {
    let mut totals = BTreeMap::new();
    for prefix in ["v08-", "v09-", "v2-", "v3-", "v4-"] {
        for (name, location) in cases(prefix) {
            // Values that the original decoders lose cannot be rewritten.
            let lost = |header: &ChunkHeader| {
                let float = matches!(header.data_type, DataType::Float | DataType::Double);
                let cut = name.ends_with("extremes") && float;
                let rounded = matches!(header.encoding, Encoding::Sprintz | Encoding::Rlbe) && float;
                (cut && header.encoding.is_lossy(header.data_type))
                    || rounded
                    || (name.ends_with("extremes") && header.encoding == Encoding::Sprintz)
            };
            let (equal, all) = rewrite(&name, &location, lost);
            let total: &mut (usize, usize) = totals.entry(prefix).or_default();
            *total = (total.0 + equal, total.1 + all);
        }
    }
    for (prefix, (equal, all)) in totals {
        println!("{prefix}: {equal} of {all} chunks byte-identical, the others page by page");
        assert!(equal > 0);
    }
}

/// The metadata of a file, as the writer would have recorded it.
fn records(location: &Location, file: &File) -> BTreeMap<DeviceId, DeviceRecord> {
    let mut records = BTreeMap::new();
    for device in &file.devices {
        let mut chunks = Vec::new();
        for series in file.series(device).unwrap() {
            for chunk in &series.chunks {
                let header = stored(location, file, chunk.offset).header;
                chunks.push(ChunkRecord::new(&header, chunk.offset, chunk.statistics.clone()));
            }
        }
        chunks.sort_by_key(|c| c.offset);
        let group = GroupRecord { start: 0, end: 0, version: 0, chunks };
        records.insert(device.id.clone(), DeviceRecord { groups: vec![group] });
    }
    records
}

#[test]
fn index_trees_of_the_java_libraries_are_reproduced() {
    for prefix in ["v2-", "v3-", "v4-"] {
        for (name, location) in cases(prefix) {
            let file = open(&location);
            let storage = Location::new(Arc::new(MemoryStorage::new()), "tail");
            let mut out = Output::new(storage.create(true).unwrap());
            out.buffer().extend_from_slice(&location.read_range(0..file.data_end).unwrap());
            let records = records(&location, &file);
            let tail = Tail {
                version: file.version,
                devices: &records,
                measurements: Vec::new(),
                tables: file.metadata.tables.clone(),
                versions: file.metadata.versions.clone(),
                properties: Vec::new(),
                created_by: None,
                degree: if file.version == Version::V2 { 16 } else { 256 },
            };
            tail.write(&mut out).unwrap();
            out.commit().unwrap();
            // Everything up to the file metadata is byte-identical; the file metadata is equal except for
            // strings of the writer.
            let ours = storage.read_all(1 << 30).unwrap();
            let theirs = location.read_all(1 << 30).unwrap();
            let end = file.metadata_start as usize;
            assert_eq!(ours[..end], theirs[..end], "{name}");
            let mut written = open(&storage);
            assert_eq!(written.metadata_start, file.metadata_start, "{name}");
            written.metadata.properties.clone_from(&file.metadata.properties);
            assert_eq!(written.metadata, file.metadata, "{name}");
        }
    }
}
