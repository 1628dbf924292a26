//! One fragment: its footer and, parsed on first use, the lists of its metadata file.
//!
//! The metadata file is read (or mapped) when the array is opened; planning then does no I/O.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use tesselle_codec::cipher::Key;
use tesselle_core::{Context, Location};

use crate::container::field_name;
use crate::directory::{FRAGMENT_METADATA, FragmentEntry, OLD_SCHEMA};
use crate::meta::dimension::Dimension;
use crate::meta::footer::{Footer, FooterHead, cut, footer_by_length, footer_length};
use crate::meta::generic_tile::GenericTile;
use crate::meta::legacy;
use crate::meta::name::TimestampedName;
use crate::meta::rtree::RTree;
use crate::meta::schema::{ArrayKind, ArraySchema};
use crate::meta::slots::{Field, Slots, file_stem};
use crate::meta::statistics::{
    FieldSummary, TileStatistics, TileValues, has_min_max, has_sum, parse_numbers, parse_summary,
};
use crate::meta::wire::{bytes64, numbers};
use crate::order::grid::{CellBox, Grid};
use crate::write::cells::CellType;
use crate::{Cursor, Error, Result};

/// Positions of one field's tiles in its files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TileIndex {
    /// Starts in the file of fixed data, or of offsets.
    pub(crate) offsets: Vec<u64>,
    /// Starts in the file of variable data.
    pub(crate) var_offsets: Vec<u64>,
    /// Decoded sizes of the variable data.
    pub(crate) var_sizes: Vec<u64>,
    /// Starts in the file of validity.
    pub(crate) validity_offsets: Vec<u64>,
}

/// The tile grid of a dense fragment.
#[derive(Debug, Clone)]
pub(crate) struct DenseExtent {
    /// The cells it covers.
    pub(crate) region: CellBox,
    /// The tiles it stores.
    pub(crate) tiles: CellBox,
}

/// A fragment with its metadata.
#[derive(Debug)]
pub(crate) struct Fragment {
    /// Its name.
    pub(crate) name: TimestampedName,
    /// Its folder, relative to the array.
    pub(crate) path: String,
    /// The schema it was written with.
    pub(crate) schema: Arc<ArraySchema>,
    /// Its footer; for versions 1 and 2 derived from their metadata.
    pub(crate) footer: Footer,
    /// Its slots.
    pub(crate) slots: Slots,
    /// How many tiles it has.
    pub(crate) tiles: u64,
    /// Its place on the grid, if dense.
    pub(crate) dense: Option<DenseExtent>,
    /// Where the footer starts in the metadata file.
    pub(crate) footer_offset: u64,
    metadata: Bytes,
    metadata_path: String,
    key: Option<Key>,
    limit: u64,
    old: Option<legacy::Lists>,
    indexes: Vec<OnceLock<Arc<TileIndex>>>,
    statistics: Vec<OnceLock<Arc<TileStatistics>>>,
    rtree: OnceLock<Arc<RTree>>,
}

/// The context of the array needed to open a fragment.
pub(crate) struct FragmentContext<'a> {
    /// The array's folder.
    pub(crate) root: &'a Location,
    /// Finds a schema by its name.
    pub(crate) schema: &'a (dyn Fn(&str) -> Result<Arc<ArraySchema>> + Sync),
    /// The schema of fragments that name no schema.
    pub(crate) default_schema: &'a Arc<ArraySchema>,
    /// The key of an encrypted array.
    pub(crate) key: Option<&'a Key>,
    /// The largest metadata structure to accept.
    pub(crate) limit: u64,
}

impl Fragment {
    /// The position of an attribute in the fragment's schema; `None` where reads show the fill value.
    ///
    /// An attribute that was dropped and added again can have had another type. Like engines, reads show the fill value if
    /// its cells had a fixed instead of a variable length, or the other way round. They fail on other types, whose bytes
    /// engines take for those of the new one.
    pub(crate) fn attribute(&self, name: &str, wanted: CellType) -> Result<Option<usize>> {
        let Some((index, attribute)) = self.schema.attribute(name) else { return Ok(None) };
        let stored = CellType::of_attribute(attribute);
        if stored.is_var() != wanted.is_var() {
            return Ok(None);
        }
        if stored != wanted {
            let message = format!("attribute '{name}' has another type in an older fragment");
            return Err(Error::unsupported(message)
                .file(self.path.clone())
                .hint("read the other columns, or the time before the attribute was replaced"));
        }
        Ok(Some(index))
    }

    /// Whether the fragment's schema has neither a dimension nor an attribute of this name.
    pub(crate) fn lacks(&self, name: &str) -> bool {
        self.schema.attribute(name).is_none() && self.schema.dimension(name).is_none()
    }

    /// Opens a fragment: reads its metadata file and parses the footer.
    pub(crate) fn open(entry: &FragmentEntry, context: &FragmentContext<'_>) -> Result<Self> {
        let metadata_path = format!("{}/{FRAGMENT_METADATA}", entry.path);
        let metadata = context.root.join(&metadata_path).read_once(context.limit)?;
        Self::parse(entry, context, metadata, &metadata_path).in_file(&metadata_path)
    }

    fn parse(
        entry: &FragmentEntry,
        context: &FragmentContext<'_>,
        metadata: Bytes,
        path: &str,
    ) -> Result<Self> {
        let (footer, footer_offset, schema, old) = if entry.name.version < 3 {
            let tile = GenericTile::parse(&metadata, 0, context.key, context.limit)?;
            let schema = Arc::clone(context.default_schema);
            let dense = !context.root.join(&entry.path).join("__coords.tdb").is_file()?;
            // A name without a version does not distinguish versions 3 and 4 from 1 and 2; the first field does.
            let (footer, lists) = legacy::parse(&tile.payload, &schema, dense)?;
            (footer, metadata.len() as u64, schema, Some(lists))
        } else {
            let (footer, offset, schema) = find_footer(&metadata, entry, context)?;
            (footer, offset, schema, None)
        };
        let slots = Slots::new(&schema, footer.version, footer.has_timestamps, footer.has_deletes);
        let dense = match (&footer.non_empty_domain, schema.kind) {
            (Some(ranges), ArrayKind::Dense) => {
                let grid = schema.grid()?;
                let region = grid.region_of(ranges)?;
                Some(DenseExtent { tiles: grid.tiles_of(&region), region })
            }
            _ => None,
        };
        let tiles = match (&dense, schema.kind) {
            (Some(dense), _) => {
                dense.tiles.cells().ok_or_else(|| Error::corrupt("a fragment has too many tiles"))?
            }
            (None, ArrayKind::Dense) => 0,
            (None, ArrayKind::Sparse) => footer.sparse_tiles,
        };
        if schema.kind == ArrayKind::Sparse && tiles > 0 {
            let last = footer.last_tile_cells;
            if last == 0 || last > schema.capacity {
                return Err(Error::corrupt(format!(
                    "the last tile has {last} cells, expected 1 to {}",
                    schema.capacity
                )));
            }
        }
        let count = slots.len();
        Ok(Self {
            name: entry.name.clone(),
            path: entry.path.clone(),
            schema,
            footer,
            slots,
            tiles,
            dense,
            footer_offset,
            metadata,
            metadata_path: path.to_owned(),
            key: context.key.cloned(),
            limit: context.limit,
            old,
            indexes: (0..count).map(|_| OnceLock::new()).collect(),
            statistics: (0..count).map(|_| OnceLock::new()).collect(),
            rtree: OnceLock::new(),
        })
    }

    /// The format version.
    pub(crate) fn version(&self) -> u32 {
        self.footer.version
    }

    /// The path of the metadata file, relative to the array.
    pub(crate) fn metadata_path(&self) -> &str {
        &self.metadata_path
    }

    /// The bytes of the metadata file.
    pub(crate) fn metadata(&self) -> &Bytes {
        &self.metadata
    }

    /// Cells of tile `tile` of a sparse fragment.
    pub(crate) fn cells_of(&self, tile: u64) -> u64 {
        if tile.saturating_add(1) == self.tiles { self.footer.last_tile_cells } else { self.schema.capacity }
    }

    /// Cells of a sparse fragment.
    pub(crate) fn cells(&self) -> u64 {
        match self.tiles.checked_sub(1) {
            Some(full) => {
                full.saturating_mul(self.schema.capacity).saturating_add(self.footer.last_tile_cells)
            }
            None => 0,
        }
    }

    /// The file of a field, relative to the array, with the given ending (``, `_var`, `_validity`).
    pub(crate) fn file_of(&self, field: Field, ending: &str) -> String {
        format!("{}/{}{ending}.tdb", self.path, file_stem(&self.schema, self.version(), field))
    }

    /// The files of its fields that hold something, relative to the array.
    pub(crate) fn data_files(&self) -> Vec<String> {
        // Names that lead elsewhere are refused when they are read.
        let is_inside = |field: &Field| !file_stem(&self.schema, self.version(), *field).contains('/');
        let files = self.slots.fields().into_iter().filter(is_inside).flat_map(|field| {
            let endings = ["", "_var", "_validity"].into_iter().zip(self.file_sizes(field));
            endings.filter(|(_, size)| *size > 0).map(move |(ending, _)| self.file_of(field, ending))
        });
        files.collect()
    }

    /// A generic tile of the metadata file.
    pub(crate) fn generic_tile(&self, offset: u64) -> Result<GenericTile> {
        let bytes = usize::try_from(offset).ok().and_then(|offset| self.metadata.get(offset..));
        let bytes = bytes.ok_or_else(|| {
            Error::corrupt("a list of the fragment metadata is outside its file")
                .class("truncated")
                .offset(offset)
        });
        bytes
            .and_then(|bytes| GenericTile::parse(bytes, offset, self.key.as_ref(), self.limit))
            .in_file(&self.metadata_path)
    }

    /// Where the tiles of a field lie.
    pub(crate) fn index(&self, field: Field) -> Result<Arc<TileIndex>> {
        let slot = self.slot(field)?;
        cached(self.indexes.get(slot), || self.load_index(field, slot).in_file(&self.metadata_path))
    }

    fn load_index(&self, field: Field, slot: usize) -> Result<TileIndex> {
        let footer = &self.footer;
        let index = if let Some(old) = &self.old {
            TileIndex {
                offsets: old.offsets.get(slot).cloned().unwrap_or_default(),
                var_offsets: old.var_offsets.get(slot).cloned().unwrap_or_default(),
                var_sizes: old.var_sizes.get(slot).cloned().unwrap_or_default(),
                validity_offsets: Vec::new(),
            }
        } else {
            let (is_var, nullable) = self.shape_of(field);
            let list = |wanted: bool, places: &[u64]| match places.get(slot) {
                Some(offset) if wanted => {
                    let tile = self.generic_tile(*offset)?;
                    numbers(&mut Cursor::new(&tile.payload, 0, "tile offsets")).at_offset(*offset)
                }
                _ => Ok(Vec::new()),
            };
            TileIndex {
                offsets: list(true, &footer.tile_offsets)?,
                var_offsets: list(is_var, &footer.var_offsets)?,
                var_sizes: list(is_var, &footer.var_sizes)?,
                validity_offsets: list(nullable, &footer.validity_offsets)?,
            }
        };
        self.check_index(field, &index)?;
        Ok(index)
    }

    /// Checks that there is one entry per tile, ascending and inside the file.
    fn check_index(&self, field: Field, index: &TileIndex) -> Result<()> {
        let slot = self.slot(field)?;
        let size = |sizes: &[u64]| sizes.get(slot).copied().unwrap_or(0);
        let (is_var, nullable) = self.shape_of(field);
        let lists = [
            (&index.offsets, true, size(&self.footer.file_sizes)),
            (&index.var_offsets, is_var, size(&self.footer.var_file_sizes)),
            (&index.validity_offsets, nullable, size(&self.footer.validity_file_sizes)),
        ];
        for (list, wanted, size) in lists {
            if !wanted {
                continue;
            }
            let rising = list.windows(2).all(|pair| pair.first() <= pair.last());
            if list.len() as u64 != self.tiles || !rising || list.last().is_some_and(|last| *last > size) {
                return Err(Error::corrupt(format!(
                    "the tile offsets of '{}' are not {} rising numbers up to {size}",
                    field_name(self, field),
                    self.tiles
                ))
                .class("bad_tile_offsets"));
            }
        }
        if is_var && index.var_sizes.len() as u64 != self.tiles {
            return Err(Error::corrupt(format!(
                "'{}' has {} tile sizes, expected {}",
                field_name(self, field),
                index.var_sizes.len(),
                self.tiles
            )));
        }
        Ok(())
    }

    /// Whether a field is of variable length, and whether it is nullable.
    pub(crate) fn shape_of(&self, field: Field) -> (bool, bool) {
        match field {
            Field::Attribute(i) => {
                self.schema.attributes.get(i).map_or((false, false), |a| (a.is_var(), a.nullable))
            }
            Field::Dimension(i) => (self.schema.dimensions.get(i).is_some_and(Dimension::is_var), false),
            _ => (false, false),
        }
    }

    /// The byte range of tile `tile` in the file that `starts` describe.
    pub(crate) fn tile_range(starts: &[u64], tile: u64, file_size: u64) -> Result<std::ops::Range<u64>> {
        let at = usize::try_from(tile).ok();
        let start = at.and_then(|at| starts.get(at));
        let end = at.and_then(|at| starts.get(at.saturating_add(1))).unwrap_or(&file_size);
        match start {
            Some(start) if start <= end => Ok(*start..*end),
            _ => Err(Error::corrupt(format!("there is no tile {tile}"))),
        }
    }

    /// The sizes of a field's files: fixed data or offsets, variable data, validity.
    pub(crate) fn file_sizes(&self, field: Field) -> [u64; 3] {
        let footer = &self.footer;
        let slot = self.slots.index(field).unwrap_or(usize::MAX);
        [&footer.file_sizes, &footer.var_file_sizes, &footer.validity_file_sizes]
            .map(|sizes| sizes.get(slot).copied().unwrap_or(0))
    }

    /// The statistics of a field; empty where the version has none.
    pub(crate) fn statistics(&self, field: Field) -> Result<Arc<TileStatistics>> {
        let slot = self.slot(field)?;
        cached(self.statistics.get(slot), || self.load_statistics(field, slot).in_file(&self.metadata_path))
    }

    fn load_statistics(&self, field: Field, slot: usize) -> Result<TileStatistics> {
        let footer = &self.footer;
        let payload = |places: &[u64]| match places.get(slot) {
            Some(offset) => self.generic_tile(*offset).map(|tile| Some(tile.payload)),
            None => Ok(None),
        };
        let (min_max, sums, nulls) = match field {
            Field::Attribute(i) => self.schema.attributes.get(i).map_or((false, false, false), |a| {
                (has_min_max(a.datatype, a.cell_val_num), has_sum(a.datatype, a.cell_val_num), a.nullable)
            }),
            Field::Dimension(i) => {
                let sum = |dim: &Dimension| has_sum(dim.datatype, dim.cell_val_num) && !self.footer.dense;
                (false, self.schema.dimensions.get(i).is_some_and(sum), false)
            }
            _ => (false, false, false),
        };
        let mut out = TileStatistics::default();
        if min_max && let (Some(mins), Some(maxs)) = (payload(&footer.mins)?, payload(&footer.maxs)?) {
            (out.mins, out.maxs) = (TileValues::parse(&mins)?, TileValues::parse(&maxs)?);
        }
        if sums && let Some(bytes) = payload(&footer.sums)? {
            out.sums = parse_numbers(&bytes, "tile sums")?;
        }
        if nulls && let Some(bytes) = payload(&footer.null_counts)? {
            out.null_counts = parse_numbers(&bytes, "tile null counts")?;
        }
        Ok(out)
    }

    /// The statistics of the whole fragment, slot by slot (12+).
    pub(crate) fn summary(&self) -> Result<Option<Vec<FieldSummary>>> {
        let Some(offset) = self.footer.summary else { return Ok(None) };
        let tile = self.generic_tile(offset)?;
        parse_summary(&tile.payload, self.slots.len()).in_file(&self.metadata_path).map(Some)
    }

    /// The R-tree of a sparse fragment.
    pub(crate) fn rtree(&self) -> Result<Arc<RTree>> {
        cached(Some(&self.rtree), || {
            let tree = if let Some(old) = &self.old {
                old.rtree.clone()
            } else {
                let tile = self.generic_tile(self.footer.rtree)?;
                RTree::parse(&tile.payload, self.version(), &self.schema.dimensions)
                    .in_file(&self.metadata_path)?
            };
            let leaves = tree.leaves().map_or(0, |leaves| leaves.len() as u64);
            if !self.footer.dense && leaves != self.tiles {
                return Err(Error::corrupt(format!(
                    "the R-tree has {leaves} leaves for {} tiles",
                    self.tiles
                ))
                .file(&*self.metadata_path));
            }
            Ok(tree)
        })
    }

    /// The commit paths of delete conditions that the fragment's cells already carry (16+).
    pub(crate) fn processed_conditions(&self) -> Result<Vec<String>> {
        let Some(offset) = self.footer.processed_conditions else { return Ok(Vec::new()) };
        let tile = self.generic_tile(offset)?;
        let mut cursor = Cursor::new(&tile.payload, 0, "processed conditions");
        let read = |cursor: &mut Cursor<'_>| -> Result<Vec<String>> {
            let stated = cursor.u64_le()?;
            let count = cursor.count(stated, 8)?;
            (0..count).map(|_| Ok(String::from_utf8_lossy(bytes64(cursor)?).into_owned())).collect()
        };
        read(&mut cursor).in_file(&self.metadata_path)
    }

    /// The number of the tile at grid position `index` of a dense fragment.
    pub(crate) fn dense_tile(&self, grid: &Grid, index: &[u64]) -> Option<u64> {
        let dense = self.dense.as_ref()?;
        let inside = CellBox { low: index.to_vec(), high: index.to_vec() };
        dense.tiles.covers(&inside).then(|| grid.tile_number(&dense.tiles, index))?
    }

    fn slot(&self, field: Field) -> Result<usize> {
        self.slots.index(field).ok_or_else(|| Error::internal(format!("a fragment has no {field:?}")))
    }
}

fn cached<T>(cell: Option<&OnceLock<Arc<T>>>, load: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
    let cell = cell.ok_or_else(|| Error::internal("a fragment has no such slot"))?;
    if let Some(value) = cell.get() {
        return Ok(Arc::clone(value));
    }
    let value = Arc::new(load()?);
    Ok(Arc::clone(cell.get_or_init(|| value)))
}

/// Finds the footer. Its length stands at the end from version 10, or when a dimension is a string; before that it
/// follows from the schema.
fn find_footer(
    metadata: &Bytes,
    entry: &FragmentEntry,
    context: &FragmentContext<'_>,
) -> Result<(Footer, u64, Arc<ArraySchema>)> {
    let default = context.default_schema;
    let (offset, bytes) = if entry.name.version >= 10 || default.dimensions.iter().any(Dimension::is_var) {
        footer_by_length(metadata)?
    } else {
        cut(metadata, metadata.len() as u64, footer_length(default, entry.name.version.max(3)))?
    };
    let head = FooterHead::parse(&bytes, offset)?;
    let schema = match head.schema_name.as_deref() {
        Some(name) if name != OLD_SCHEMA => (context.schema)(name)?,
        _ => Arc::clone(default),
    };
    Ok((Footer::parse(&bytes, offset, &schema)?, offset, schema))
}
