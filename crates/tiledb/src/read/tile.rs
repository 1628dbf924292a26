//! The tiles of one field in one fragment: their byte ranges and their decoding.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use tesselle_core::{At, ByteRange, Context, Within};

use crate::filter::{Entries, Pipeline, PlainChunks, TileCodec, TileKind};
use crate::fragment::{Fragment, TileIndex};
use crate::meta::datatype::Datatype;
use crate::meta::slots::{Field, file_stem};
use crate::open::Array;
use crate::{Error, Result};

/// A field of a fragment, prepared for reading.
#[derive(Debug)]
pub(crate) struct FieldTiles {
    /// Fixed data or offsets, values of variable-length cells, validity: those that it has.
    files: [Option<Arc<str>>; 3],
    sizes: [u64; 3],
    index: Arc<TileIndex>,
    data: TileCodec,
    offsets: Option<TileCodec>,
    validity: Option<TileCodec>,
    cell_size: usize,
    value_size: usize,
    piece_limit: u64,
}

/// The stored bytes of one tile of one field.
#[derive(Debug, Clone, Default)]
pub(crate) struct StoredTile {
    /// Fixed data, or the values of variable-length cells.
    data: Bytes,
    /// Offsets of variable-length cells.
    offsets: Bytes,
    validity: Bytes,
}

/// Decoded variable-length cells.
#[derive(Debug, Clone, Default)]
pub(crate) struct VarCells {
    /// Where cells start, and the end.
    pub(crate) offsets: Vec<u64>,
    /// Their values.
    pub(crate) data: Vec<u8>,
}

/// Cells of a tile that is stored without filters.
#[derive(Debug, Clone)]
pub(crate) struct PlainCells {
    chunks: PlainChunks,
    /// Their bytes, from the start of the decoded tile.
    wanted: Range<usize>,
    /// The chunks that contain them.
    range: ByteRange,
}

impl PlainCells {
    /// The range to fetch.
    pub(crate) fn range(&self) -> &ByteRange {
        &self.range
    }

    /// The cells in the fetched range; `None` if the tile is cut into other chunks.
    pub(crate) fn take(&self, fetched: &Bytes) -> Option<Vec<Bytes>> {
        self.chunks.take(&self.wanted, fetched)
    }
}

impl VarCells {
    /// One cell.
    pub(crate) fn get(&self, cell: usize) -> &[u8] {
        match (self.offsets.get(cell), self.offsets.get(cell + 1)) {
            (Some(start), Some(end)) => self.data.within(*start as usize..*end as usize),
            _ => &[],
        }
    }
}

impl FieldTiles {
    /// Prepares a field. Special columns and legacy coordinates are read with the filters of coordinates.
    pub(crate) fn try_new(array: &Array, fragment: &Fragment, field: Field) -> Result<Self> {
        let schema = &fragment.schema;
        let (is_var, nullable) = fragment.shape_of(field);
        let missing = || Error::internal(format!("a fragment has no {field:?}"));
        let (pipeline, datatype, cell_size): (&Pipeline, Datatype, usize) = match field {
            Field::Attribute(i) => {
                let attribute = schema.attributes.get(i).ok_or_else(missing)?;
                (
                    &attribute.filters,
                    attribute.datatype,
                    attribute.cell_size().unwrap_or(attribute.datatype.size()),
                )
            }
            Field::Dimension(i) => {
                let dim = schema.dimensions.get(i).ok_or_else(missing)?;
                let filters = if dim.filters.is_empty() { &schema.coords_filters } else { &dim.filters };
                (filters, dim.datatype, dim.datatype.size())
            }
            Field::Coords => {
                let first = schema.dimensions.first().ok_or_else(missing)?;
                (&schema.coords_filters, first.datatype, first.datatype.size() * schema.dimensions.len())
            }
            Field::Timestamps | Field::DeleteTimestamps | Field::DeleteCondition => {
                (&schema.coords_filters, Datatype::Uint64, 8)
            }
        };
        let key = array.key.as_ref();
        let version = fragment.version();
        let kind = if is_var { TileKind::Var } else { TileKind::Fixed { cell_size } };
        let data = TileCodec::try_new(pipeline, datatype, kind, version, key)?;
        let offsets = if is_var && !data.offsets_in_data() {
            let kind = TileKind::Fixed { cell_size: 8 };
            Some(TileCodec::try_new(&schema.offsets_filters, Datatype::Uint64, kind, version, key)?)
        } else {
            None
        };
        let validity = if nullable {
            let kind = TileKind::Fixed { cell_size: 1 };
            Some(TileCodec::try_new(&schema.validity_filters, Datatype::Uint8, kind, version, key)?)
        } else {
            None
        };
        if file_stem(schema, version, field).contains('/') {
            return Err(
                Error::corrupt("the name of a field leads outside its fragment").file(fragment.path.clone())
            );
        }
        Ok(Self {
            files: [("", true), ("_var", is_var), ("_validity", nullable)]
                .map(|(ending, exists)| exists.then(|| array.storage_path(&fragment.file_of(field, ending)))),
            sizes: fragment.file_sizes(field),
            index: fragment.index(field)?,
            data,
            offsets,
            validity,
            cell_size,
            value_size: datatype.size(),
            piece_limit: array.limits.piece_bytes,
        })
    }

    /// Whether cells are of variable length.
    pub(crate) fn is_var(&self) -> bool {
        self.offsets.is_some() || self.data.offsets_in_data()
    }

    /// Whether cells can be null.
    pub(crate) fn is_nullable(&self) -> bool {
        self.validity.is_some()
    }

    /// Bytes of a fixed cell.
    pub(crate) fn cell_size(&self) -> usize {
        self.cell_size
    }

    /// Decoded bytes of the values of a variable-length tile.
    pub(crate) fn var_size(&self, tile: u64) -> u64 {
        usize::try_from(tile).ok().and_then(|tile| self.index.var_sizes.get(tile)).copied().unwrap_or(0)
    }

    /// Appends the ranges that [`FieldTiles::take`] expects back, in order.
    pub(crate) fn ranges(&self, tile: u64, out: &mut Vec<ByteRange>) -> Result<()> {
        let [file, var_file, validity_file] = &self.files;
        let [size, var_size, validity_size] = self.sizes;
        let mut push = |file: &Option<Arc<str>>, starts: &[u64], size: u64| {
            let file = file.as_ref().ok_or_else(no_file)?;
            let range = Fragment::tile_range(starts, tile, size).in_file(file)?;
            out.push(ByteRange::new(Arc::clone(file), range));
            Ok::<(), Error>(())
        };
        if self.is_var() {
            push(var_file, &self.index.var_offsets, var_size)?;
            if self.offsets.is_some() {
                push(file, &self.index.offsets, size)?;
            }
        } else {
            push(file, &self.index.offsets, size)?;
        }
        if self.validity.is_some() {
            push(validity_file, &self.index.validity_offsets, validity_size)?;
        }
        Ok(())
    }

    /// Whether some of the cells of a tile can be fetched alone.
    pub(crate) fn is_plain(&self) -> bool {
        self.data.is_plain() && !self.is_var()
    }

    /// Some of the fixed-size cells of a tile of `count` cells, if they can be fetched alone.
    pub(crate) fn plain(&self, tile: u64, cells: Range<usize>, count: u64) -> Result<Option<PlainCells>> {
        let Some(len) = usize::try_from(count).ok().and_then(|count| count.checked_mul(self.cell_size))
        else {
            return Ok(None);
        };
        let [Some(file), ..] = &self.files else { return Err(no_file()) };
        let [size, ..] = self.sizes;
        let whole = Fragment::tile_range(&self.index.offsets, tile, size).in_file(file)?;
        let Some(chunks) = PlainChunks::of(&self.data, len, whole.end - whole.start) else { return Ok(None) };
        let wanted = cells.start * self.cell_size..cells.end * self.cell_size;
        let stored = chunks.stored(&wanted);
        let range = ByteRange::new(Arc::clone(file), whole.start + stored.start..whole.start + stored.end);
        Ok(Some(PlainCells { chunks, wanted, range }))
    }

    /// Stored bytes of a tile.
    pub(crate) fn stored_bytes(&self, tile: u64) -> u64 {
        let [size, var_size, validity_size] = self.sizes;
        let index = &self.index;
        let lists = [
            (!self.is_var() || self.offsets.is_some(), &index.offsets, size),
            (self.is_var(), &index.var_offsets, var_size),
            (self.validity.is_some(), &index.validity_offsets, validity_size),
        ];
        let stored = lists.iter().filter(|(wanted, ..)| *wanted).map(|(_, starts, size)| {
            // A tile without a place is reported when it is read.
            Fragment::tile_range(starts, tile, *size).map_or(0, |range| range.end - range.start)
        });
        stored.fold(0, u64::saturating_add)
    }

    /// Takes the bytes fetched for [`FieldTiles::ranges`].
    pub(crate) fn take(&self, fetched: &mut impl Iterator<Item = Bytes>) -> StoredTile {
        let mut next = || fetched.next().unwrap_or_default();
        let data = next();
        let offsets = if self.offsets.is_some() { next() } else { Bytes::new() };
        let validity = if self.validity.is_some() { next() } else { Bytes::new() };
        StoredTile { data, offsets, validity }
    }

    /// Decodes fixed cells into their place.
    pub(crate) fn decode_fixed(&self, stored: &StoredTile, tile: u64, dst: &mut [u8]) -> Result<()> {
        self.data.decode(&stored.data, dst, None).map_err(|error| self.place(&error, tile, 0))
    }

    /// Decodes at least the fixed-size cells in `cells`: `dst` has room for the whole tile, and chunks outside `cells`
    /// are not written.
    pub(crate) fn decode_part(
        &self,
        stored: &StoredTile,
        tile: u64,
        cells: Range<usize>,
        dst: &mut [u8],
    ) -> Result<()> {
        let wanted = cells.start.saturating_mul(self.cell_size)..cells.end.saturating_mul(self.cell_size);
        let mut run = || -> Result<()> {
            for chunk in TileCodec::chunks(&stored.data, dst.len())? {
                let end = chunk.start.saturating_add(chunk.original);
                if chunk.start < wanted.end && end > wanted.start {
                    let place = dst.part_mut(chunk.start..end)?;
                    self.data.decode_chunk(&chunk, place)?;
                }
            }
            Ok(())
        };
        run().map_err(|error| self.place(&error, tile, 0))
    }

    /// Decodes the fixed-size cells `cells` of a tile of `len` bytes into `dst`: chunks entirely inside directly, those
    /// at the ends through a buffer.
    pub(crate) fn decode_run(
        &self,
        stored: &StoredTile,
        tile: u64,
        cells: Range<usize>,
        len: usize,
        dst: &mut [u8],
    ) -> Result<()> {
        let wanted = cells.start.saturating_mul(self.cell_size)..cells.end.saturating_mul(self.cell_size);
        let mut edge = Vec::new();
        let mut run = || -> Result<()> {
            for chunk in TileCodec::chunks(&stored.data, len)? {
                let end = chunk.start.saturating_add(chunk.original);
                let (from, to) = (chunk.start.max(wanted.start), end.min(wanted.end));
                if from >= to {
                    continue;
                }
                let place = dst.get_mut(from - wanted.start..to - wanted.start);
                let place =
                    place.ok_or_else(|| Error::internal("the output buffer is too small for its cells"))?;
                if to - from == chunk.original {
                    self.data.decode_chunk(&chunk, place)?;
                    continue;
                }
                let whole = if let Some(bytes) = self.data.plain(&chunk) {
                    bytes
                } else {
                    edge.resize(chunk.original, 0);
                    self.data.decode_chunk(&chunk, &mut edge)?;
                    &edge
                };
                place.copy_from_slice(whole.part(from - chunk.start..to - chunk.start)?);
            }
            Ok(())
        };
        run().map_err(|error| self.place(&error, tile, 0))
    }

    /// Bytes of `cells` fixed-size cells; an error if the stored bytes cannot decode to that many.
    pub(crate) fn fixed_len(&self, stored: &StoredTile, cells: u64) -> Result<usize> {
        self.checked_len(stored.data.len(), cells, self.cell_size)
    }

    /// Bytes of the validity of `cells` cells, checked the same way.
    pub(crate) fn validity_len(&self, stored: &StoredTile, cells: u64) -> Result<usize> {
        self.checked_len(stored.validity.len(), cells, 1)
    }

    fn checked_len(&self, stored: usize, cells: u64, each: usize) -> Result<usize> {
        let len = cells.checked_mul(each as u64).filter(|len| *len <= self.piece_limit);
        let len = len.and_then(|len| usize::try_from(len).ok()).ok_or_else(|| {
            Error::limit(format!(
                "a tile of {cells} cells of {each} bytes exceeds the limit of {}",
                self.piece_limit
            ))
        })?;
        // No filter compresses better than this, so a larger size is damage and must not be allocated.
        if len > stored.saturating_mul(100_000).saturating_add(1 << 16) {
            return Err(
                Error::corrupt(format!("a tile of {stored} bytes cannot decode to {len}")).class("bad_tile")
            );
        }
        Ok(len)
    }

    /// Decodes variable-length cells.
    pub(crate) fn decode_var(&self, stored: &StoredTile, tile: u64, cells: u64) -> Result<VarCells> {
        let len = self
            .checked_len(stored.data.len(), self.var_size(tile), 1)
            .map_err(|e| self.place(&e, tile, 1))?;
        let mut out = VarCells { offsets: Vec::new(), data: vec![0; len] };
        out.offsets = self.decode_var_into(stored, tile, cells, &mut out.data)?;
        Ok(out)
    }

    /// Decodes the values of variable-length cells into `dst`, and returns their starts and the end.
    pub(crate) fn decode_var_into(
        &self,
        stored: &StoredTile,
        tile: u64,
        cells: u64,
        dst: &mut [u8],
    ) -> Result<Vec<u64>> {
        let stated = if self.offsets.is_some() { stored.offsets.len() } else { stored.data.len() };
        let count = self.checked_len(stated, cells, 8).map_err(|e| self.place(&e, tile, 0))? / 8;
        let mut offsets = vec![0_u64; count];
        let room = self.data.makes_offsets().then_some(offsets.as_mut_slice());
        self.data.decode(&stored.data, dst, room).map_err(|error| self.place(&error, tile, 1))?;
        if let Some(codec) = &self.offsets {
            let mut bytes = vec![0_u8; count * 8];
            codec.decode(&stored.offsets, &mut bytes, None).map_err(|error| self.place(&error, tile, 0))?;
            for (slot, chunk) in offsets.iter_mut().zip(bytes.as_chunks::<8>().0) {
                *slot = u64::from_le_bytes(*chunk);
            }
        }
        // Old writers stored offsets relative to the start of the file.
        let first = offsets.first().copied().unwrap_or(0);
        if first != 0 {
            for offset in &mut offsets {
                *offset = offset.wrapping_sub(first);
            }
        }
        offsets.push(dst.len() as u64);
        if offsets.windows(2).any(|pair| pair.first() > pair.last()) {
            let error = Error::corrupt("the offsets of variable-length cells do not rise within their tile");
            return Err(self.place(&error.class("bad_offsets"), tile, 0));
        }
        Ok(offsets)
    }

    /// Variable-length cells as distinct strings; `None` if they are not stored so, or are too many.
    pub(crate) fn entries(&self, stored: &StoredTile, tile: u64, cells: u64) -> Result<Option<Entries>> {
        if !self.data.offsets_in_data() {
            return Ok(None);
        }
        let len = self.var_len(stored, tile)?;
        let count = self.checked_len(stored.data.len(), cells, 8).map_err(|e| self.place(&e, tile, 0))? / 8;
        self.data.entries(&stored.data, len, count).map_err(|error| self.place(&error, tile, 1))
    }

    /// Bytes that the values of a variable-length tile decode to, checked.
    pub(crate) fn var_len(&self, stored: &StoredTile, tile: u64) -> Result<usize> {
        self.checked_len(stored.data.len(), self.var_size(tile), 1).map_err(|e| self.place(&e, tile, 1))
    }

    /// Decodes validity: one byte per cell.
    pub(crate) fn decode_validity(&self, stored: &StoredTile, tile: u64, dst: &mut [u8]) -> Result<()> {
        let codec = self.validity.as_ref().ok_or_else(|| Error::internal("the field is not nullable"))?;
        codec.decode(&stored.validity, dst, None).map_err(|error| self.place(&error, tile, 2))
    }

    /// Bytes of one value.
    pub(crate) fn value_size(&self) -> usize {
        self.value_size
    }

    /// Names the tile and the file in an error.
    pub(crate) fn place(&self, error: &Error, tile: u64, file: usize) -> Error {
        let file = if self.is_var() || file == 2 { file } else { 0 };
        let starts = match file {
            0 => &self.index.offsets,
            1 => &self.index.var_offsets,
            _ => &self.index.validity_offsets,
        };
        let start = usize::try_from(tile).ok().and_then(|tile| starts.get(tile)).copied().unwrap_or(0);
        let name = self.files.get(file).and_then(Option::as_deref).unwrap_or_default().to_owned();
        // The codec's offsets are relative to the start of the tile.
        let inner = error.byte_offset();
        let message = error.message().to_owned();
        let rebuilt = Error::new(error.kind(), message).class(error.class_name());
        let rebuilt = rebuilt.offset(start.saturating_add(inner.unwrap_or(0))).piece(format!("tile {tile}"));
        let rebuilt = rebuilt.file(name);
        match error.next_step() {
            Some(hint) => rebuilt.hint(hint.clone()),
            None => rebuilt,
        }
    }
}

fn no_file() -> Error {
    Error::internal("a field is read from a file that it does not have")
}
