//! Writing of arrays: chunks are staged next to the target, then the metadata, then the whole folder replaces the
//! target.

use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Fields, SchemaRef};
use serde_json::{Map, Value, json};
use tesselle_codec::compress::Compressor;
use tesselle_core::array::read_region_here;
use tesselle_core::storage::StagedFolder;
use tesselle_core::{
    Action, ArrayView, ArraysRequest, Attribute, DType, Driver, Error, Location, Region, Result, Settings,
    Sink, Span, Summary, Within, WriteOptions,
};

use super::SCALAR;
use super::codec::Chain;
use super::meta::{ArrayMeta, FILE};
use super::names::groups;

/// The settings of a write.
const SETTINGS: [&str; 8] = ["chunk", "codec", "level", "shape", "axes", "order", "fill", "group"];
/// The name of an array in a group, where it has none.
const UNNAMED: &str = "data";
/// Default bytes of a chunk.
const CHUNK: u64 = 1 << 20;

/// How chunks are stored.
#[derive(Debug, Clone)]
struct ChunkOptions {
    chunk: Option<Vec<u64>>,
    compressor: Compressor,
    level: i32,
}

impl ChunkOptions {
    /// Those of a whole array.
    fn of_array(settings: &Settings, array: &dyn ArrayView) -> Result<Self> {
        settings.expect_no_rows(array.axis_names())?;
        let shape = array.shape();
        if numbers(settings, "shape")?.is_some_and(|wanted| wanted != shape) {
            return Err(Error::invalid(format!(
                "the array has the shape {shape:?}, which differs from the setting shape"
            )));
        }
        Self::parse(settings)
    }

    fn parse(settings: &Settings) -> Result<Self> {
        settings.expect_only(&SETTINGS)?;
        let compressor = match settings.get("codec") {
            None | Some("zstd") => Compressor::Zstd,
            Some("gzip") => Compressor::Gzip,
            Some("raw" | "none") => Compressor::None,
            Some(other) => {
                return Err(
                    Error::invalid(format!("codec={other} is not known")).hint("use zstd, gzip or raw")
                );
            }
        };
        let default = if compressor == Compressor::Gzip { 5 } else { 3 };
        Ok(Self {
            chunk: numbers(settings, "chunk")?,
            compressor,
            level: settings.parse("level", "a level")?.unwrap_or(default),
        })
    }

    fn meta(
        &self,
        shape: &[u64],
        tile: &[u64],
        (dtype, is_bool): (DType, bool),
        axes: &[String],
        attributes: &Map<String, Value>,
    ) -> Result<ArrayMeta> {
        let chunk = match &self.chunk {
            Some(chunk) if chunk.len() == shape.len() && !chunk.contains(&0) => chunk.clone(),
            Some(chunk) => {
                return Err(Error::invalid(format!(
                    "chunk={chunk:?} does not match an array of {} axes",
                    shape.len()
                )));
            }
            None => chunk_shape(shape, tile, dtype),
        };
        let codecs = Chain::plain(self.compressor, self.level, &chunk, dtype)?;
        Ok(ArrayMeta {
            shape: shape.to_vec(),
            chunk,
            dtype,
            is_bool,
            fill: vec![0; dtype.size()],
            codecs,
            prefixed: true,
            separator: '/',
            attributes: attributes.clone(),
            axis_names: axes.iter().cloned().map(Some).collect(),
        })
    }
}

/// The tiles of the source if they are of moderate size, else chunks of about a mebibyte.
fn chunk_shape(shape: &[u64], tile: &[u64], dtype: DType) -> Vec<u64> {
    let size = dtype.size() as u64;
    let bytes = |shape: &[u64]| shape.iter().try_fold(size, |n, extent| n.checked_mul(*extent));
    let tile: Vec<u64> = tile.iter().zip(shape).map(|(tile, n)| (*tile).min(*n).max(1)).collect();
    if tile.len() == shape.len() && bytes(&tile).is_some_and(|n| (CHUNK / 16..=64 * CHUNK).contains(&n)) {
        return tile;
    }
    let mut chunk: Vec<u64> = shape.iter().map(|n| (*n).max(1)).collect();
    while bytes(&chunk).is_none_or(|n| n > CHUNK) {
        let Some(longest) = chunk.iter_mut().max_by_key(|n| **n).filter(|n| **n > 1) else { break };
        *longest = longest.div_ceil(2);
    }
    chunk
}

/// Writes a whole array, as the target itself or as the only one of a group.
pub(super) fn write_array(
    target: &Location,
    source: &dyn ArrayView,
    attributes: &Map<String, Value>,
    options: &WriteOptions,
    driver: &Driver,
) -> Result<Summary> {
    let chunking = ChunkOptions::of_array(&options.settings, source)?;
    let name = options.table.as_deref().filter(|name| !name.is_empty()).unwrap_or(UNNAMED);
    if grouped(&options.settings)? {
        let inner = groups([name])?;
        let staged = StagedStore::try_new(target, options.overwrite)?;
        let summary = put_array(&staged, &format!("{name}/"), &chunking, source, &Map::new(), driver)?;
        staged.put_groups(attributes, inner)?;
        staged.commit()?;
        return Ok(summary);
    }
    let staged = StagedStore::try_new(target, options.overwrite)?;
    let summary = put_array(&staged, "", &chunking, source, attributes, driver)?;
    staged.commit()?;
    Ok(summary)
}

/// Writes several arrays as a group.
pub(super) fn write_arrays(request: &ArraysRequest<'_>, driver: &Driver) -> Result<Summary> {
    let ArraysRequest { location, arrays, attributes, options } = request;
    let inner = groups(arrays.iter().map(|array| array.name.as_str()))?;
    let staged = StagedStore::try_new(location, options.overwrite)?;
    let mut all = Summary::default();
    for array in arrays {
        let chunking = ChunkOptions::of_array(&array.options(options).settings, array.array)?;
        let prefix = format!("{}/", array.name);
        let one = put_array(&staged, &prefix, &chunking, array.array, &object(&array.attributes), driver)?;
        (all.rows, all.bytes, all.pieces) =
            (all.rows + one.rows, all.bytes + one.bytes, all.pieces + one.pieces);
    }
    staged.put_groups(&object(attributes), inner)?;
    staged.commit()?;
    Ok(all)
}

/// Attributes as a JSON object.
pub(super) fn object(attributes: &[Attribute]) -> Map<String, Value> {
    attributes.iter().map(|attribute| (attribute.name.clone(), attribute.value.clone())).collect()
}

/// Writes the chunks and the metadata of an array, under a prefix of the staged store.
fn put_array(
    staged: &StagedStore,
    prefix: &str,
    chunking: &ChunkOptions,
    source: &dyn ArrayView,
    attributes: &Map<String, Value>,
    driver: &Driver,
) -> Result<Summary> {
    let kind = (source.dtype(), false);
    let mut meta =
        chunking.meta(source.shape(), source.tile_shape(), kind, source.axis_names(), attributes)?;
    let is_scalar = source.axis_names() == [SCALAR] && source.shape() == [1];
    if is_scalar {
        (meta.shape, meta.chunk, meta.axis_names) = (Vec::new(), Vec::new(), Vec::new());
    }
    let counts: Vec<u64> = meta.shape.iter().zip(&meta.chunk).map(|(n, chunk)| n.div_ceil(*chunk)).collect();
    let total = counts.iter().try_fold(1_u64, |n, count| n.checked_mul(*count));
    let total = total.ok_or_else(|| Error::limit("the array has more than 2^64 chunks"))?;
    let bytes = meta.codecs.size as u64;
    // Chunks in progress are bounded by the allowed memory: cells, padded cells, stored bytes.
    let at_once = (driver.budget().total() / (3 * bytes).max(1)).clamp(1, 4 * driver.threads() as u64);
    let mut written = 0;
    for first in (0..total).step_by(at_once as usize) {
        driver.check_canceled()?;
        let chunks: Vec<u64> = (first..total.min(first + at_once)).collect();
        let sizes = driver.try_map(chunks, |number| {
            let at = coordinates(number, &counts);
            let spans = at.iter().zip(&meta.chunk).zip(&meta.shape);
            let spans: Vec<Span> = spans
                .map(|((at, chunk), n)| Span { start: at * chunk, stop: (*n).min((at + 1) * chunk), step: 1 })
                .collect();
            let shape: Vec<u64> = spans.iter().map(Span::len).collect();
            let mut cells = vec![0; shape.iter().product::<u64>() as usize * meta.dtype.size()];
            let region = if is_scalar { Region::whole(source.shape()) } else { Region { spans } };
            read_region_here(source, &region, &mut cells, driver)?;
            let stored = meta.codecs.encode(padded(cells, &shape, &meta.chunk, meta.dtype.size()))?;
            staged.put(&format!("{prefix}{}", meta.key(&at)), &stored)?;
            Ok(stored.len() as u64)
        })?;
        written += sizes.iter().sum::<u64>();
    }
    staged.put(&format!("{prefix}{FILE}"), &pretty(&meta.to_json())?)?;
    let rows = meta.shape.iter().product();
    Ok(Summary { rows, bytes: written, pieces: total, ..Summary::default() })
}

fn coordinates(mut number: u64, counts: &[u64]) -> Vec<u64> {
    let mut at = vec![0; counts.len()];
    for (place, count) in at.iter_mut().zip(counts).rev() {
        *place = number % count.max(&1);
        number /= count.max(&1);
    }
    at
}

/// Cells of a clipped box, padded to a chunk of full size, as Zarr requires.
fn padded(cells: Vec<u8>, shape: &[u64], chunk: &[u64], size: usize) -> Vec<u8> {
    if shape == chunk {
        return cells;
    }
    let mut out = vec![0; chunk.iter().product::<u64>() as usize * size];
    let run = shape.last().copied().unwrap_or(1) as usize * size;
    let lines = shape.iter().take(shape.len().saturating_sub(1)).product::<u64>();
    let outer = &shape[..shape.len().saturating_sub(1)];
    for line in 0..lines {
        let at = coordinates(line, outer);
        let cell = at.iter().zip(chunk).fold(0, |cell, (at, n)| cell * n + at);
        let start = (cell * chunk.last().copied().unwrap_or(1)) as usize * size;
        let from = line as usize * run;
        if let (Some(place), Some(source)) = (out.get_mut(start..start + run), cells.get(from..from + run)) {
            place.copy_from_slice(source);
        }
    }
    out
}

/// A staged store.
pub(super) struct StagedStore {
    folder: StagedFolder,
}

impl StagedStore {
    pub(super) fn try_new(target: &Location, overwrite: bool) -> Result<Self> {
        target.refuse_existing(overwrite)?;
        if overwrite && target.is_dir()? && !target.join(FILE).exists()? && !target.list()?.is_empty() {
            return Err(Error::invalid(format!(
                "'{target}' is a folder, but not a Zarr hierarchy, so it is not replaced"
            )));
        }
        Ok(Self { folder: StagedFolder::try_new(target)? })
    }

    /// Chunks are made durable together, at the end.
    fn put(&self, key: &str, bytes: &[u8]) -> Result<()> {
        let path = self.place(key)?;
        std::fs::write(&path, bytes).map_err(|e| failed(&path, e))
    }

    /// Describes the hierarchy: the root with its attributes, and the groups below it.
    fn put_groups<'a>(
        &self,
        attributes: &Map<String, Value>,
        inner: impl IntoIterator<Item = &'a str>,
    ) -> Result<()> {
        let root = json!({ "zarr_format": 3, "node_type": "group", "attributes": attributes });
        self.put(FILE, &pretty(&root)?)?;
        for group in inner {
            let inner = json!({ "zarr_format": 3, "node_type": "group", "attributes": {} });
            self.put(&format!("{group}/{FILE}"), &pretty(&inner)?)?;
        }
        Ok(())
    }

    /// Where the file of a key is written; its folder exists.
    pub(super) fn place(&self, key: &str) -> Result<PathBuf> {
        let path = PathBuf::from(self.folder.join(key)?.path());
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|e| failed(parent, e))?;
        }
        Ok(path)
    }

    pub(super) fn commit(self) -> Result<()> {
        self.folder.commit()
    }
}

pub(super) fn failed(path: &Path, error: std::io::Error) -> Error {
    Error::io(format!("cannot write '{}'", path.display()), error)
}

fn pretty(value: &Value) -> Result<Vec<u8>> {
    serde_json::to_vec_pretty(value).map_err(|e| Error::internal("metadata is not JSON").source(e))
}

fn numbers(settings: &Settings, name: &str) -> Result<Option<Vec<u64>>> {
    let Some(text) = settings.get(name) else { return Ok(None) };
    let list = text.split(',').map(|word| word.trim().parse().ok()).collect::<Option<Vec<u64>>>();
    let list = list.ok_or_else(|| Error::invalid(format!("{name}={text} is not a list of numbers")));
    list.map(Some)
}

/// Whether a single array is put into a group under its name, as xarray opens it, instead of being the target itself.
fn grouped(settings: &Settings) -> Result<bool> {
    Ok(settings.parse("group", "true or false")?.unwrap_or(false))
}

/// How many leading columns are axes: a number, or their names.
pub(super) fn rank(settings: &Settings) -> usize {
    settings.get("axes").map_or(0, |text| text.parse().unwrap_or_else(|_| text.split(',').count()))
}

/// Accepts rows in row-major order: the first columns are the axes, each other one becomes an array. A single array is
/// the target itself unless `group=true`, several form a group.
pub(super) fn sink(
    target: &Location,
    schema: &SchemaRef,
    attributes: &Map<String, Value>,
    options: &WriteOptions,
    driver: &Driver,
) -> Result<Box<dyn Sink>> {
    let settings = &options.settings;
    let chunking = ChunkOptions::parse(settings)?;
    if settings.get("order").is_some_and(|order| order != "row-major") {
        return Err(Error::invalid(
            "Zarr arrays are written from rows in row-major order, but the rows are not",
        )
        .hint("convert to tet first, which places rows by their coordinates"));
    }
    let rank = rank(settings);
    let fields = schema.fields();
    if rank >= fields.len() {
        return Err(Error::invalid(format!(
            "{rank} of {} columns are axes, so there is no value column",
            fields.len()
        )));
    }
    let shape = numbers(settings, "shape")?;
    if rank > 1 && shape.as_ref().is_none_or(|shape| shape.len() != rank) {
        return Err(Error::invalid(format!("the shape of the {rank} axes is not known"))
            .suggest("add {}", [Action::setting("shape", "N,M")]));
    }
    let axes: Vec<String> = match rank {
        0 => vec![row_axis(fields)],
        _ => fields.iter().take(rank).map(|field| field.name().clone()).collect(),
    };
    let inner: Vec<u64> = shape.iter().flatten().skip(1).copied().collect();
    let row = inner.iter().try_fold(1_u64, |n, extent| n.checked_mul(*extent));
    let row = row.ok_or_else(|| Error::limit("the shape has more than 2^64 cells"))?;
    let mut columns = Vec::new();
    for field in fields.iter().skip(rank) {
        let kind = match field.data_type() {
            DataType::Boolean => Some((DType::U8, true)),
            other => DType::from_arrow(other).map(|dtype| (dtype, false)),
        };
        let kind = kind.ok_or_else(|| {
            Error::invalid(format!("column '{}' of type {} is not numeric", field.name(), field.data_type()))
        })?;
        // The extent of the first axis is known at the end; chunks only need the others.
        let known = shape.as_ref().and_then(|shape| shape.first().copied());
        let mut like = vec![known.unwrap_or(CHUNK / kind.0.size() as u64)];
        like.extend(&inner);
        let meta = chunking.meta(&like, &[], kind, &axes, attributes)?;
        columns.push(ColumnWriter { name: field.name().clone(), meta, pending: Vec::new(), bands: 0 });
    }
    let grouped = columns.len() > 1 || grouped(settings)?;
    let groups = if grouped {
        let inner = groups(columns.iter().map(|column| column.name.as_str()))?;
        inner.into_iter().map(str::to_owned).collect()
    } else {
        // The target itself is the array, so it has no name.
        Vec::new()
    };
    let staged = StagedStore::try_new(target, options.overwrite)?;
    Ok(Box::new(ZarrSink {
        staged,
        grouped,
        groups,
        rank,
        first: shape.and_then(|shape| shape.first().copied()),
        inner,
        row,
        columns,
        attributes: attributes.clone(),
        rows: 0,
        bytes: 0,
        pieces: 0,
        driver: driver.clone(),
    }))
}

/// The name of the axis of rows: none of the columns has it.
fn row_axis(columns: &Fields) -> String {
    let is_free = |name: &str| columns.iter().all(|column| column.name() != name);
    let mut name = "row".to_owned();
    while !is_free(&name) {
        name.push('_');
    }
    name
}

struct ColumnWriter {
    name: String,
    meta: ArrayMeta,
    /// Cells of the current band of chunks.
    pending: Vec<u8>,
    bands: u64,
}

struct ZarrSink {
    staged: StagedStore,
    /// Whether the target is a group of arrays.
    grouped: bool,
    /// The groups between the root and arrays whose names are paths.
    groups: Vec<String>,
    rank: usize,
    first: Option<u64>,
    inner: Vec<u64>,
    /// Cells of one position along the first axis.
    row: u64,
    columns: Vec<ColumnWriter>,
    attributes: Map<String, Value>,
    rows: u64,
    bytes: u64,
    pieces: u64,
    driver: Driver,
}

impl ZarrSink {
    /// Refuses rows that are not at their place.
    fn check_places(&self, batch: &RecordBatch) -> Result<()> {
        let mut run = self.row;
        for axis in 0..self.rank {
            let column = arrow_cast::cast(batch.column(axis), &DataType::Int64)?;
            let values = column.as_primitive::<arrow_array::types::Int64Type>();
            let extent = if axis == 0 { u64::MAX } else { self.inner[axis - 1] };
            if axis > 0 {
                run /= extent.max(1);
            }
            for (i, found) in values.iter().enumerate() {
                let wanted = (self.rows + i as u64) / run.max(1) % extent;
                if found != i64::try_from(wanted).ok() {
                    let name = batch.schema_ref().field(axis).name();
                    return Err(Error::invalid(format!(
                        "row {} is at {found:?} of axis '{name}', expected {wanted}",
                        self.rows + i as u64
                    ))
                    .hint("rows must fill the array in row-major order, counted from 0"));
                }
            }
        }
        Ok(())
    }

    /// Writes the band of chunks that `cells` fill; the last one may have fewer rows.
    fn write_band(&mut self, number: usize, cells: &[u8]) -> Result<()> {
        let column = &mut self.columns[number];
        let meta = &column.meta;
        let size = meta.dtype.size();
        let height = (cells.len() / size) as u64 / self.row.max(1);
        let counts: Vec<u64> =
            self.inner.iter().zip(&meta.chunk[1..]).map(|(n, chunk)| n.div_ceil(*chunk)).collect();
        let total: u64 = counts.iter().product();
        let prefix = if self.grouped { format!("{}/", self.columns[number].name) } else { String::new() };
        let (staged, inner, band) = (&self.staged, &self.inner, self.columns[number].bands);
        let meta = &self.columns[number].meta;
        let sizes = self.driver.try_map(0..total, |chunk| {
            let mut at = vec![band];
            at.extend(coordinates(chunk, &counts));
            let cut = cut(cells, height, inner, &meta.chunk, &at[1..], size);
            let stored = meta.codecs.encode(cut)?;
            staged.put(&format!("{prefix}{}", meta.key(&at)), &stored)?;
            Ok(stored.len() as u64)
        })?;
        self.columns[number].bands += 1;
        self.bytes += sizes.iter().sum::<u64>();
        self.pieces += total;
        Ok(())
    }
}

/// One chunk of a band of `height` rows, padded to its full size.
fn cut(cells: &[u8], height: u64, inner: &[u64], chunk: &[u64], at: &[u64], size: usize) -> Vec<u8> {
    let starts: Vec<u64> = at.iter().zip(&chunk[1..]).map(|(at, n)| at * n).collect();
    let mut shape = vec![height];
    shape.extend(
        starts.iter().zip(&chunk[1..]).zip(inner).map(|((start, n), extent)| (*n).min(extent - start)),
    );
    let run = shape.last().copied().unwrap_or(1);
    let last = shape.len() - 1;
    let lines = shape[..last].iter().product::<u64>();
    let mut out = Vec::with_capacity((lines * run) as usize * size);
    for line in 0..lines {
        let place = coordinates(line, &shape[..last]);
        // The cell in the band where this line starts.
        let mut cell = if last == 0 { 0 } else { place[0] };
        for axis in 0..inner.len() {
            let within = if axis + 1 < last { place[axis + 1] } else { 0 };
            cell = cell * inner[axis] + starts[axis] + within;
        }
        let from = cell as usize * size;
        out.extend_from_slice(cells.within(from..from + run as usize * size));
    }
    padded(out, &shape, chunk, size)
}

fn little_endian(column: &ArrayRef, is_bool: bool) -> Result<Vec<u8>> {
    if is_bool {
        return Ok(column.as_boolean().values().iter().map(u8::from).collect());
    }
    crate::foreign::npy::little_endian(column)
}

impl Sink for ZarrSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.driver.check_canceled()?;
        self.check_places(batch)?;
        for (number, array) in batch.columns().iter().skip(self.rank).enumerate() {
            if array.null_count() > 0 {
                return Err(Error::invalid(format!(
                    "column '{}' has nulls, which a Zarr array cannot store",
                    self.columns[number].name
                ))
                .suggest("exclude such rows with {}", [Action::Filter]));
            }
            let column = &mut self.columns[number];
            let cells = little_endian(array, column.meta.is_bool)?;
            column.pending.extend_from_slice(&cells);
            let band = column.meta.chunk[0] as usize * self.row as usize * column.meta.dtype.size();
            while band > 0 && self.columns[number].pending.len() >= band {
                let rest = self.columns[number].pending.split_off(band);
                let full = std::mem::replace(&mut self.columns[number].pending, rest);
                self.write_band(number, &full)?;
            }
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Summary> {
        let row = self.row.max(1);
        if !self.rows.is_multiple_of(row) || self.first.is_some_and(|first| self.rows != first * self.row) {
            return Err(Error::invalid(format!("{} rows do not fill the shape", self.rows))
                .suggest("check {} against the source", [Action::setting("shape", "N,M")]));
        }
        for number in 0..self.columns.len() {
            let rest = std::mem::take(&mut self.columns[number].pending);
            if !rest.is_empty() {
                self.write_band(number, &rest)?;
            }
        }
        for column in &mut self.columns {
            column.meta.shape[0] = self.rows / row;
            let key = if self.grouped { format!("{}/{FILE}", column.name) } else { FILE.to_owned() };
            if self.grouped {
                column.meta.attributes = Map::new();
            }
            self.staged.put(&key, &pretty(&column.meta.to_json())?)?;
        }
        if self.grouped {
            self.staged.put_groups(&self.attributes, self.groups.iter().map(String::as_str))?;
        }
        let summary =
            Summary { rows: self.rows, bytes: self.bytes, pieces: self.pieces, ..Summary::default() };
        self.staged.commit()?;
        Ok(summary)
    }
}
