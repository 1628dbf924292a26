//! A staged fragment: tiles in, data files and metadata out, visible with the commit (spec §8, §9, §11).

use std::collections::HashMap;
use std::ops::Range as Span;
use std::sync::{Arc, Mutex, PoisonError};

use tesselle_core::Location;
use tesselle_core::Within;
use tesselle_core::driver::parallel;
use tesselle_core::storage::{Staged, StagedPath};

use super::abandoned::{self, Mark};
use super::cells::{CellType, TileCells};
use super::commit;
use super::name::fresh_versioned;
use super::statistics::{Presence, TileStats, of_tile, summarize};
use crate::directory::FRAGMENT_METADATA;
use crate::filter::{Key, Pipeline, TileCodec, TileKind};
use crate::meta::attribute::Attribute;
use crate::meta::dimension::Dimension;
use crate::meta::footer::Footer;
use crate::meta::generic_tile::GenericTile;
use crate::meta::rtree::RTree;
use crate::meta::schema::{ArrayKind, ArraySchema};
use crate::meta::slots::{Field, Slots, file_stem};
use crate::meta::statistics::{TileValues, write_numbers, write_summary};
use crate::meta::value::Bounds;
use crate::{Datatype, Error, Result};

/// The codec of an attribute's data tiles in fragments of this version.
pub(crate) fn data_codec(attribute: &Attribute, version: u32, key: Option<&Key>) -> Result<TileCodec> {
    let kind = CellType::of_attribute(attribute);
    codec(&attribute.filters, kind, version, key)
}

/// Readers use the fragment's version, regardless of its schema's version.
fn codec(filters: &Pipeline, kind: CellType, version: u32, key: Option<&Key>) -> Result<TileCodec> {
    let tile = if kind.is_var() { TileKind::Var } else { TileKind::Fixed { cell_size: kind.cell_size() } };
    TileCodec::try_new(filters, kind.datatype, tile, version, key)
}

/// The oldest format version that is written: earlier fragments do not name their schema.
pub(crate) const OLDEST_VERSION: u32 = 10;

/// The first versions with statistics of tiles, of the fragment, and with processed conditions.
const HAS_STATISTICS: u32 = 11;
const HAS_SUMMARY: u32 = 12;
const HAS_CONDITIONS: u32 = 15;

/// The parameters of a fragment.
#[derive(Debug, Clone)]
pub(crate) struct FragmentPlan {
    pub(crate) array: Location,
    pub(crate) schema: Arc<ArraySchema>,
    pub(crate) schema_name: String,
    pub(crate) key: Option<Key>,
    /// The format version, which is that of the array.
    pub(crate) version: u32,
    pub(crate) timestamps: (u64, u64),
    /// The name, if it is not generated.
    pub(crate) name: Option<String>,
    /// Cells carry their own timestamps.
    pub(crate) with_timestamps: bool,
    /// Cells carry when and by which condition they were deleted.
    pub(crate) with_deletes: bool,
}

/// The values known only at the end of a write.
#[derive(Debug, Clone, Default)]
pub(crate) struct FragmentEnd {
    /// The box of the cells; a sparse fragment takes it from its MBRs.
    pub(crate) domain: Option<Vec<Bounds>>,
    /// Cells of the last tile; of a dense fragment those of every tile.
    pub(crate) last_tile_cells: u64,
    /// Delete conditions already applied to the cells.
    pub(crate) processed_conditions: Vec<String>,
}

/// The cells of one tile, field by field in the order of [`FragmentWriter::fields`].
pub(crate) struct TileSet {
    pub(crate) fields: Vec<TileCells>,
    /// Cells that count for statistics; the others are padding.
    pub(crate) real: Vec<Span<usize>>,
}

/// How the tiles of a field are filtered. Separate from the files because threads share it.
struct FieldCodec {
    field: Field,
    kind: CellType,
    presence: Presence,
    data: TileCodec,
    offsets: Option<TileCodec>,
    validity: Option<TileCodec>,
    /// Of a dimension, whose ranges are the MBRs.
    dimension: Option<Dimension>,
}

/// The files and lists of a field.
struct FieldFiles {
    fixed_file: Box<dyn Staged>,
    var_file: Option<Box<dyn Staged>>,
    validity_file: Option<Box<dyn Staged>>,
    lists: Lists,
}

/// Per-tile numbers of a field.
#[derive(Debug, Default)]
struct Lists {
    tile_offsets: Vec<u64>,
    var_offsets: Vec<u64>,
    var_sizes: Vec<u64>,
    validity_offsets: Vec<u64>,
    stats: Vec<TileStats>,
    /// The ranges of a dimension.
    ranges: Vec<Bounds>,
    sizes: [u64; 3],
}

/// One tile of one field, filtered.
struct EncodedTile {
    fixed: Vec<u8>,
    var: Vec<u8>,
    validity: Vec<u8>,
    var_size: u64,
    stats: TileStats,
    range: Option<Bounds>,
}

/// Buffers of tiles that are written, for the next ones: the page faults of fresh memory take longer than a copy into it.
#[derive(Default)]
pub(crate) struct Spare(Mutex<Vec<Vec<u8>>>);

impl Spare {
    /// Buffers that are kept at most.
    const KEPT: usize = 64;

    /// An empty buffer.
    pub(crate) fn take(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn put(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if buffer.capacity() > 0 && free.len() < Self::KEPT {
            free.push(buffer);
        }
    }
}

/// Writes one fragment. Removes its files if dropped without [`FragmentWriter::finish`].
pub(crate) struct FragmentWriter {
    plan: FragmentPlan,
    name: String,
    folder: Location,
    codecs: Vec<FieldCodec>,
    files: Vec<FieldFiles>,
    tiles: usize,
    /// Tiles that are filtered but not written yet.
    pending: Vec<Vec<EncodedTile>>,
    spare: Spare,
    registered: Option<StagedPath>,
    /// Marks the fragment as being written.
    mark: Option<Mark>,
    done: bool,
}

impl FragmentWriter {
    /// Starts a fragment: creates its folder and its files, not yet visible.
    pub(crate) fn create(plan: FragmentPlan) -> Result<Self> {
        if plan.version < OLDEST_VERSION {
            return Err(Error::unsupported(format!("fragments of version {} are not written", plan.version)));
        }
        let name = match &plan.name {
            Some(name) => name.clone(),
            None => fresh_versioned(plan.timestamps, plan.version)?,
        };
        let folder = plan.array.join(&commit::fragment_path(&name));
        abandoned::remove(&plan.array, &folder)?;
        let mark = Some(Mark::try_new(&folder)?);
        let registered = folder.storage().stage(folder.path())?;
        folder.storage().create_dir(folder.path())?;
        let mut writer = Self {
            plan,
            name,
            folder,
            codecs: Vec::new(),
            files: Vec::new(),
            tiles: 0,
            pending: Vec::new(),
            spare: Spare::default(),
            registered,
            mark,
            done: false,
        };
        for field in stored_fields(&writer.plan.schema, writer.plan.with_timestamps, writer.plan.with_deletes)
        {
            let (codec, files) = writer.open_field(field)?;
            writer.codecs.push(codec);
            writer.files.push(files);
        }
        Ok(writer)
    }

    fn open_field(&self, field: Field) -> Result<(FieldCodec, FieldFiles)> {
        let (schema, key) = (&self.plan.schema, self.plan.key.as_ref());
        let (kind, filters, is_dimension) = field_type(schema, field)?;
        let version = self.plan.version;
        let stem = file_stem(schema, version, field);
        let file = |suffix: &str| self.folder.join(&format!("{stem}{suffix}.tdb")).create(false);
        let plain = |filters: &Pipeline, datatype: Datatype| {
            let tile = TileKind::Fixed { cell_size: datatype.size() };
            TileCodec::try_new(filters, datatype, tile, version, key)
        };
        let offsets = kind.is_var().then(|| plain(&schema.offsets_filters, Datatype::Uint64)).transpose()?;
        let validity = kind.nullable.then(|| plain(&schema.validity_filters, Datatype::Uint8)).transpose()?;
        let files = FieldFiles {
            fixed_file: file("")?,
            var_file: offsets.is_some().then(|| file("_var")).transpose()?,
            validity_file: validity.is_some().then(|| file("_validity")).transpose()?,
            lists: Lists::default(),
        };
        let presence = Presence::of(kind, is_dimension);
        let data = codec(filters, kind, version, key)?;
        let dimension = match field {
            Field::Dimension(i) => schema.dimensions.get(i).cloned(),
            _ => None,
        };
        Ok((FieldCodec { field, kind, presence, data, offsets, validity, dimension }, files))
    }

    /// Appends tiles, filtered in parallel while earlier ones are written.
    pub(crate) fn append(&mut self, tiles: &[TileSet]) -> Result<()> {
        self.append_encoded(tiles.len(), |codecs, spare| {
            parallel::try_map(tiles, |tile| encode_tile(codecs, tile, spare))
        })
    }

    /// Appends a tile per item, made and filtered on one thread while its cells are in the processor caches.
    pub(crate) fn append_made<T: Sync>(
        &mut self,
        items: &[T],
        make: impl Fn(&T) -> Result<TileSet> + Sync + Send,
    ) -> Result<()> {
        self.append_encoded(items.len(), |codecs, spare| {
            parallel::try_map(items, |item| encode_tile(codecs, &make(item)?, spare))
        })
    }

    /// Appends a tile per item, made, filtered and written without waiting for other tiles, with at most `ahead` of them in
    /// memory.
    pub(crate) fn append_each<T: Send>(
        &mut self,
        items: Vec<T>,
        ahead: usize,
        make: impl Fn(T, &Spare) -> Result<TileSet> + Sync + Send,
    ) -> Result<()> {
        let (codecs, files, spare) = (&self.codecs, &mut self.files, &self.spare);
        write_tiles(files, std::mem::take(&mut self.pending), spare)?;
        self.tiles += items.len();
        let encode = |item| {
            let tile = make(item, spare)?;
            let encoded = encode_tile(codecs, &tile, spare)?;
            // Values of variable length are not in a buffer that was taken: with theirs, more would be kept for every tile.
            let taken = tile.fields.into_iter().filter(|cells| cells.offsets.is_none());
            taken.for_each(|cells| spare.put(cells.data));
            Ok::<_, Error>(encoded)
        };
        parallel::try_in_order(items, ahead, encode, |tile| write_tile(files, tile, spare))
    }

    fn append_encoded(
        &mut self,
        tiles: usize,
        encode: impl FnOnce(&[FieldCodec], &Spare) -> Result<Vec<Vec<EncodedTile>>> + Send,
    ) -> Result<()> {
        let (codecs, files, spare) = (&self.codecs, &mut self.files, &self.spare);
        let pending = std::mem::take(&mut self.pending);
        let (written, encoded) =
            parallel::join(|| write_tiles(files, pending, spare), || encode(codecs, spare));
        written?;
        self.pending = encoded?;
        self.tiles += tiles;
        Ok(())
    }

    /// Writes the metadata and makes all files durable; the caller commits. Returns the fragment's name.
    pub(crate) fn finish(mut self, end: &FragmentEnd) -> Result<FinishedFragment> {
        write_tiles(&mut self.files, std::mem::take(&mut self.pending), &self.spare)?;
        let metadata = self.metadata(end)?;
        let mut bytes = metadata.len() as u64;
        let mut files = Vec::new();
        for field in std::mem::take(&mut self.files) {
            bytes += field.lists.sizes.iter().sum::<u64>();
            files.push(field.fixed_file);
            files.extend(field.var_file.into_iter().chain(field.validity_file));
        }
        let mut file = self.folder.join(FRAGMENT_METADATA).create(true)?;
        file.write(&metadata)?;
        files.push(file);
        // Each commit waits for the disk, so they run concurrently.
        parallel::try_for_each(files, |file| file.commit().map(drop))?;
        self.done = true;
        let name = std::mem::take(&mut self.name);
        let (registered, mark) = (self.registered.take(), self.mark.take());
        Ok(FinishedFragment { name, bytes, tiles: self.tiles as u64, _registered: registered, mark })
    }

    /// The MBR of each tile of a sparse fragment.
    fn mbrs(&self) -> Vec<Vec<Bounds>> {
        let dimensions = self.codecs.iter().zip(&self.files).filter(|(codec, _)| codec.dimension.is_some());
        let ranges: Vec<&[Bounds]> = dimensions.map(|(_, files)| files.lists.ranges.as_slice()).collect();
        let of_tile = |tile: usize| ranges.iter().filter_map(|of| of.get(tile).cloned()).collect();
        (0..self.tiles).map(of_tile).collect()
    }

    fn metadata(&self, end: &FragmentEnd) -> Result<Vec<u8>> {
        let (schema, key) = (&self.plan.schema, self.plan.key.as_ref());
        let (dense, version) = (schema.kind == ArrayKind::Dense, self.plan.version);
        let slots = Slots::new(schema, version, self.plan.with_timestamps, self.plan.with_deletes);
        let fields = slots.fields();
        let zeros = vec![0_u64; self.tiles];
        let writers: HashMap<Field, _> = self
            .codecs
            .iter()
            .zip(&self.files)
            .map(|(codec, files)| (codec.field, (codec, &files.lists)))
            .collect();
        let writer_of = |field: &Field| writers.get(field).copied();
        let mut out = Vec::new();
        let mut put = |payload: &[u8]| -> Result<u64> {
            let at = out.len() as u64;
            out.extend_from_slice(&GenericTile::write(payload, version, key)?);
            Ok(at)
        };
        let mbrs = self.mbrs();
        let tree = if dense {
            RTree { fanout: 10, levels: Vec::new() }
        } else {
            RTree::build(&schema.dimensions, &mbrs)?
        };
        let rtree = put(&tree.write())?;
        let mut numbers = |pick: &dyn Fn(&Lists) -> &Vec<u64>| -> Result<Vec<u64>> {
            let list = |field: &Field| writer_of(field).map_or(&zeros, |(_, lists)| pick(lists));
            fields.iter().map(|field| put(&write_numbers(list(field)))).collect()
        };
        let tile_offsets = numbers(&|lists| &lists.tile_offsets)?;
        let var_offsets = numbers(&|lists| &lists.var_offsets)?;
        let var_sizes = numbers(&|lists| &lists.var_sizes)?;
        let validity_offsets = numbers(&|lists| &lists.validity_offsets)?;
        let mut write = |pick: fn(&TileStats) -> &Vec<u8>| -> Result<Vec<u64>> {
            let list = |field: &Field| {
                writer_of(field)
                    .map_or_else(TileValues::default, |(codec, lists)| codec.tile_values(lists, pick))
            };
            let written = fields.iter().filter(|_| version >= HAS_STATISTICS);
            written.map(|field| put(&list(field).write())).collect()
        };
        let mins = write(|stats| &stats.min)?;
        let maxs = write(|stats| &stats.max)?;
        let mut counts = |present: fn(&Presence) -> bool, pick: fn(&TileStats) -> u64| -> Result<Vec<u64>> {
            let list = |field: &Field| match writer_of(field) {
                Some((codec, lists)) if present(&codec.presence) => lists.stats.iter().map(pick).collect(),
                _ => Vec::new(),
            };
            let written = fields.iter().filter(|_| version >= HAS_STATISTICS);
            written.map(|field| put(&write_numbers(&list(field)))).collect()
        };
        let sums = counts(|presence| presence.sum, |stats| stats.sum)?;
        let null_counts = counts(|presence| presence.nulls, |stats| stats.nulls)?;
        let summaries: Vec<_> = fields
            .iter()
            .map(|field| {
                let found = writer_of(field);
                found
                    .map(|(codec, lists)| summarize(&lists.stats, codec.kind, codec.presence))
                    .unwrap_or_default()
            })
            .collect();
        let summary = if version >= HAS_SUMMARY { Some(put(&write_summary(&summaries))?) } else { None };
        let mut conditions = (end.processed_conditions.len() as u64).to_le_bytes().to_vec();
        for condition in &end.processed_conditions {
            crate::meta::wire::put_bytes64(&mut conditions, condition.as_bytes());
        }
        let processed_conditions = if version >= HAS_CONDITIONS { Some(put(&conditions)?) } else { None };
        let sizes = |which: usize| {
            let size =
                |field: &Field| writer_of(field).and_then(|(_, lists)| lists.sizes.get(which)).copied();
            fields.iter().map(|field| size(field).unwrap_or_default()).collect()
        };
        let non_empty_domain = match &end.domain {
            Some(domain) => Some(domain.clone()),
            None => union(&mbrs),
        };
        let footer = Footer {
            version,
            schema_name: Some(self.plan.schema_name.clone()),
            dense,
            non_empty_domain,
            sparse_tiles: if dense { 0 } else { self.tiles as u64 },
            last_tile_cells: end.last_tile_cells,
            has_timestamps: self.plan.with_timestamps,
            has_deletes: self.plan.with_deletes,
            file_sizes: sizes(0),
            var_file_sizes: sizes(1),
            validity_file_sizes: sizes(2),
            rtree,
            tile_offsets,
            var_offsets,
            var_sizes,
            validity_offsets,
            mins,
            maxs,
            sums,
            null_counts,
            summary,
            processed_conditions,
            sections: Vec::new(),
        };
        out.extend_from_slice(&footer.write(&schema.dimensions)?);
        Ok(out)
    }
}

/// Filters the fields of a tile.
fn encode_tile(codecs: &[FieldCodec], tile: &TileSet, spare: &Spare) -> Result<Vec<EncodedTile>> {
    if tile.fields.len() != codecs.len() {
        return Err(Error::internal("a tile and its fragment differ in their number of fields"));
    }
    let encode = |(codec, cells): (&FieldCodec, &TileCells)| codec.encode(cells, &tile.real, spare);
    parallel::try_map(codecs.iter().zip(&tile.fields), encode)
}

fn write_tiles(files: &mut [FieldFiles], tiles: Vec<Vec<EncodedTile>>, spare: &Spare) -> Result<()> {
    tiles.into_iter().try_for_each(|tile| write_tile(files, tile, spare))
}

fn write_tile(files: &mut [FieldFiles], tile: Vec<EncodedTile>, spare: &Spare) -> Result<()> {
    files.iter_mut().zip(tile).try_for_each(|(files, encoded)| files.append(encoded, spare))
}

/// A complete fragment that is not committed yet.
#[derive(Debug)]
pub(crate) struct FinishedFragment {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) tiles: u64,
    /// Kept until the commit.
    _registered: Option<StagedPath>,
    /// Kept until the commit, as above.
    mark: Option<Mark>,
}

impl FinishedFragment {
    /// Records that it is committed. It must be recorded before the array gets another name.
    pub(crate) fn release(&mut self) {
        drop(self.mark.take());
    }
}

impl Drop for FragmentWriter {
    fn drop(&mut self) {
        if !self.done {
            self.files.clear();
            // Without its commit the folder is invisible; a failed removal only wastes space.
            let _ = self.folder.storage().remove(self.folder.path());
        }
    }
}

/// The fields whose cells a fragment stores, in slot order.
pub(crate) fn stored_fields(schema: &ArraySchema, timestamps: bool, deletes: bool) -> Vec<Field> {
    let mut fields: Vec<Field> = (0..schema.attributes.len()).map(Field::Attribute).collect();
    if schema.kind == ArrayKind::Sparse {
        fields.extend((0..schema.dimensions.len()).map(Field::Dimension));
    }
    fields.extend(timestamps.then_some(Field::Timestamps));
    if deletes {
        fields.extend([Field::DeleteTimestamps, Field::DeleteCondition]);
    }
    fields
}

/// The cell type of a field, its filters, and whether it is a dimension.
pub(crate) fn field_type(schema: &ArraySchema, field: Field) -> Result<(CellType, &Pipeline, bool)> {
    let missing = || Error::internal("a field is not in its schema");
    Ok(match field {
        Field::Attribute(i) => {
            let attribute = schema.attributes.get(i).ok_or_else(missing)?;
            (CellType::of_attribute(attribute), &attribute.filters, false)
        }
        Field::Dimension(i) => {
            let dimension = schema.dimensions.get(i).ok_or_else(missing)?;
            let filters =
                if dimension.filters.is_empty() { &schema.coords_filters } else { &dimension.filters };
            (CellType::of_dimension(dimension), filters, true)
        }
        Field::Coords => return Err(missing()),
        Field::Timestamps | Field::DeleteTimestamps | Field::DeleteCondition => {
            (CellType::special(), &schema.coords_filters, false)
        }
    })
}

fn union(mbrs: &[Vec<Bounds>]) -> Option<Vec<Bounds>> {
    let (first, rest) = mbrs.split_first()?;
    let mut all = first.clone();
    for mbr in rest {
        all.iter_mut().zip(mbr).for_each(|(range, other)| range.extend(other));
    }
    Some(all)
}

impl FieldCodec {
    fn encode(&self, cells: &TileCells, real: &[Span<usize>], spare: &Spare) -> Result<EncodedTile> {
        let stats = of_tile(cells, self.kind, self.presence, real);
        let range = self.dimension.as_ref().map(|dimension| mbr_of(dimension, cells)).transpose()?;
        let (mut fixed, mut var, mut validity) = (spare.take(), Vec::new(), Vec::new());
        let mut var_size = 0;
        match (&self.offsets, &cells.offsets) {
            (Some(codec), Some(offsets)) => {
                var_size = cells.data.len() as u64;
                self.data.encode(&cells.data, Some(offsets), &mut var)?;
                if self.data.offsets_in_data() {
                    TileCodec::encode_no_chunks(&mut fixed);
                } else {
                    let bytes: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
                    codec.encode(&bytes, None, &mut fixed)?;
                }
            }
            (None, None) => self.data.encode(&cells.data, None, &mut fixed)?,
            _ => return Err(Error::internal("cells and their field disagree on variable length")),
        }
        match (&self.validity, &cells.validity) {
            (Some(codec), Some(bytes)) => codec.encode(bytes, None, &mut validity)?,
            (None, None) => {}
            _ => return Err(Error::internal("cells and their field disagree on nulls")),
        }
        Ok(EncodedTile { fixed, var, validity, var_size, stats, range })
    }

    fn tile_values(&self, lists: &Lists, pick: fn(&TileStats) -> &Vec<u8>) -> TileValues {
        let mut out = TileValues::default();
        if !self.presence.min_max {
            return out;
        }
        for stats in &lists.stats {
            let value = pick(stats);
            if self.kind.is_var() {
                out.fixed.extend_from_slice(&(out.var.len() as u64).to_le_bytes());
                out.var.extend_from_slice(value);
            } else {
                let start = out.fixed.len();
                out.fixed.extend_from_slice(value);
                // A tile of nulls has zero bytes.
                out.fixed.resize(start + self.kind.cell_size(), 0);
            }
        }
        out
    }
}

impl FieldFiles {
    fn append(&mut self, tile: EncodedTile, spare: &Spare) -> Result<()> {
        let [fixed, var, validity] = &mut self.lists.sizes;
        self.lists.tile_offsets.push(*fixed);
        self.lists.var_offsets.push(*var);
        self.lists.var_sizes.push(tile.var_size);
        self.lists.validity_offsets.push(*validity);
        self.lists.stats.push(tile.stats);
        self.lists.ranges.extend(tile.range);
        self.fixed_file.write(&tile.fixed)?;
        *fixed += tile.fixed.len() as u64;
        if let Some(file) = &mut self.var_file {
            file.write(&tile.var)?;
            *var += tile.var.len() as u64;
        }
        if let Some(file) = &mut self.validity_file {
            file.write(&tile.validity)?;
            *validity += tile.validity.len() as u64;
        }
        spare.put(tile.fixed);
        Ok(())
    }
}

/// The box of a dimension's cells in a tile.
pub(crate) fn mbr_of(dimension: &Dimension, cells: &TileCells) -> Result<Bounds> {
    use crate::meta::value::{parse_scalar, string_or_bytes};
    if let Some(offsets) = &cells.offsets {
        let ends = offsets.iter().skip(1).copied().chain([cells.data.len() as u64]);
        let cell = |(start, end): (&u64, u64)| cells.data.within(*start as usize..end as usize);
        let mut strings = offsets.iter().zip(ends).map(cell);
        let first = strings.next().unwrap_or_default();
        let (low, high) = strings.fold((first, first), |(low, high), text| (low.min(text), high.max(text)));
        return Ok(Bounds { low: string_or_bytes(low), high: string_or_bytes(high) });
    }
    let kind = CellType::of_dimension(dimension);
    let presence = Presence { min_max: true, sum: false, nulls: false };
    let count = cells.data.len() / kind.cell_size().max(1);
    let stats = of_tile(cells, kind, presence, std::slice::from_ref(&(0..count)));
    let low = parse_scalar(dimension.datatype, &stats.min)?;
    Ok(Bounds { low, high: parse_scalar(dimension.datatype, &stats.max)? })
}

#[cfg(test)]
mod tests {
    use tesselle_core::storage::MemoryStorage;

    use super::*;
    use crate::write::SchemaBuilder;
    use crate::write::array::ArrayWriter;
    use crate::write::name::stamp;

    #[test]
    fn no_more_buffers_are_kept_than_are_taken() {
        let dimension = Dimension::new("x", Datatype::Int32, 0, 99, 1);
        let words = Attribute::new("words", Datatype::StringUtf8).var();
        let schema = SchemaBuilder::dense().dimension(dimension).attribute(words).build().unwrap();
        let place = Location::new(Arc::new(MemoryStorage::new()), "array");
        let array = ArrayWriter::create(&place, &schema, None, None).unwrap();
        let mut writer = FragmentWriter::create(array.plan(stamp(None))).unwrap();
        let make = |_: u64, _: &Spare| {
            let words = TileCells { data: vec![b'x'; 1000], offsets: Some(vec![0]), validity: None };
            Ok(TileSet { fields: vec![words], real: std::iter::once(0..1).collect() })
        };
        writer.append_each((0..100).collect(), 4, make).unwrap();
        assert_eq!(writer.spare.0.lock().unwrap().len(), 1);
    }
}
