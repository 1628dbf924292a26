//! The array view of a Zarr array: a tile is a chunk, or an inner chunk of a shard.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tesselle_core::array::{Answer, Ask, CopyAxis, Place, clipped, copy_box};
use tesselle_core::{ArrayView, ByteRange, DType, Error, Location, Result, Storage};

use super::SCALAR;
use super::codec::{CellCodec, Chain, Shard};
use super::meta::ArrayMeta;

/// Indexes of shards that are kept.
const KEPT: usize = 256;

/// Where each smaller chunk of a shard is.
type ShardIndex = Arc<Vec<Option<(u64, u64)>>>;

/// An array of a hierarchy.
pub(crate) struct ZarrArray {
    folder: Location,
    pub(super) meta: ArrayMeta,
    /// A scalar is an array of one cell.
    shape: Vec<u64>,
    tile: Vec<u64>,
    axis_names: Vec<String>,
    /// The indexes of read shards; `None` for missing shards.
    indexes: Mutex<HashMap<Arc<str>, Option<ShardIndex>>>,
}

impl ZarrArray {
    pub(super) fn new(folder: Location, meta: ArrayMeta) -> Self {
        let scalar = meta.shape.is_empty();
        let or_one = |list: &[u64]| if scalar { vec![1] } else { list.to_vec() };
        let tile = match &meta.codecs.cells {
            CellCodec::Plain { .. } => or_one(&meta.chunk),
            CellCodec::Shard(shard) => or_one(&shard.chunk),
        };
        let shape = or_one(&meta.shape);
        let mut axis_names: Vec<String> = Vec::with_capacity(shape.len());
        for axis in 0..shape.len() {
            let own = meta.axis_names.get(axis).cloned().flatten();
            let own = own.filter(|name| !name.is_empty() && !axis_names.contains(name));
            let unnamed = || if scalar { SCALAR.to_owned() } else { format!("i{axis}") };
            axis_names.push(own.unwrap_or_else(unnamed));
        }
        Self { folder, meta, shape, tile, axis_names, indexes: Mutex::default() }
    }

    /// Whether its cells are truth values.
    pub(crate) fn is_bool(&self) -> bool {
        self.meta.is_bool
    }

    /// The chunk file of a tile.
    fn file(&self, tile: &[u64]) -> Arc<str> {
        let tile = if self.meta.shape.is_empty() { &[][..] } else { tile };
        let key = match self.shard() {
            Some(shard) => {
                let outer: Vec<u64> = tile.iter().zip(&shard.grid).map(|(at, n)| at / n).collect();
                self.meta.key(&outer)
            }
            None => self.meta.key(tile),
        };
        self.folder.join(&key).path().into()
    }

    fn shard(&self) -> Option<&Shard> {
        match &self.meta.codecs.cells {
            CellCodec::Shard(shard) => Some(shard),
            CellCodec::Plain { .. } => None,
        }
    }

    /// The codec chain of a tile's cells.
    fn chain(&self) -> &Chain {
        self.shard().map_or(&self.meta.codecs, |shard| &shard.inner)
    }

    /// A tile that is stored in this range.
    fn stored(&self, tile: &[u64], range: ByteRange) -> Place {
        let chain = self.chain();
        let whole = range.range.end - range.range.start == chain.size as u64;
        if whole && chain.is_raw() && clipped(&self.shape, &self.tile, tile) == self.tile {
            return Place::Raw(range);
        }
        Place::Encoded(vec![range])
    }

    /// Where an inner chunk of a shard is.
    fn in_shard(&self, shard: &Shard, tile: &[u64], file: &Arc<str>, index: &ShardIndex) -> Place {
        let place = tile.iter().zip(&shard.grid).fold(0, |place, (at, n)| place * n + at % n);
        let entry = usize::try_from(place).ok().and_then(|place| index.get(place));
        match entry.copied().flatten() {
            Some((offset, len)) => {
                self.stored(tile, ByteRange::new(Arc::clone(file), offset..offset.saturating_add(len)))
            }
            None => Place::Fill,
        }
    }

    /// Continues once the size of a chunk file is known.
    fn sized(&self, tile: &[u64], file: &Arc<str>, size: Option<u64>) -> Result<Place> {
        let Some(size) = size else {
            self.remember(file, None);
            return Ok(Place::Fill);
        };
        let Some(shard) = self.shard() else {
            return Ok(self.stored(tile, ByteRange::new(Arc::clone(file), 0..size)));
        };
        let len = shard.index_len();
        if size < len {
            return Err(Error::corrupt(format!(
                "a shard of {size} bytes is shorter than its index of {len}"
            ))
            .file(file.to_string()));
        }
        let start = if shard.index_first { 0 } else { size - len };
        Ok(Place::Ask(Ask::Bytes(ByteRange::new(Arc::clone(file), start..start + len))))
    }

    /// Stores the index of a shard, or that the file is missing.
    fn remember(&self, file: &Arc<str>, index: Option<ShardIndex>) {
        if self.shard().is_none() {
            return;
        }
        let mut known = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(Arc::clone(file), index);
    }

    /// Converts a decoded chunk to row-major order and little-endian, clipped to the array.
    fn arrange(&self, cells: &[u8], chain: &Chain, clipped: &[u64], dst: &mut [u8]) -> Result<()> {
        let (size, rank) = (self.dtype().size(), self.tile.len());
        // Bytes between adjacent cells along each axis of the array, in the stored chunk.
        let order: Vec<usize> = chain.order.clone().unwrap_or_else(|| (0..rank).collect());
        let mut strides = vec![0; rank];
        let mut stride = size;
        for axis in order.iter().rev() {
            strides[*axis] = stride;
            stride *= self.tile[*axis] as usize;
        }
        let mut to = size;
        let axes = clipped.iter().zip(&strides).rev().map(|(len, src)| {
            let axis = CopyAxis { len: *len as usize, src: *src, dst: to };
            to *= axis.len;
            axis
        });
        let mut axes: Vec<CopyAxis> = axes.collect();
        axes.reverse();
        if !copy_box(size, &axes, cells, dst) {
            return Err(Error::internal("a chunk is shorter than its cells"));
        }
        if matches!(chain.cells, CellCodec::Plain { big_endian: true }) {
            dst.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
        Ok(())
    }
}

impl ArrayView for ZarrArray {
    fn dtype(&self) -> DType {
        self.meta.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn tile_shape(&self) -> &[u64] {
        &self.tile
    }

    fn axis_names(&self) -> &[String] {
        &self.axis_names
    }

    fn storage(&self) -> Option<Arc<dyn Storage>> {
        Some(Arc::clone(self.folder.storage()))
    }

    fn locate(&self, tile: &[u64], _rows: &Range<u64>) -> Result<Place> {
        let file = self.file(tile);
        if let Some(shard) = self.shard() {
            let known = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
            match known.get(&file) {
                Some(Some(index)) => return Ok(self.in_shard(shard, tile, &file, index)),
                Some(None) => return Ok(Place::Fill),
                None => {}
            }
        }
        Ok(Place::Ask(Ask::Size(file)))
    }

    fn locate_with(&self, tile: &[u64], _rows: &Range<u64>, ask: &Ask, answer: &Answer) -> Result<Place> {
        let place = || format!("chunk {}", self.meta.key(tile));
        match ask {
            Ask::Size(file) => self.sized(tile, file, answer.size()?).map_err(|error| error.piece(place())),
            Ask::Bytes(ByteRange { file, range }) => {
                let shard = self.shard().ok_or_else(|| Error::internal("a chunk has no index"))?;
                let index = shard
                    .parse_index(answer.bytes()?)
                    .map_err(|error| error.file(file.to_string()).offset(range.start).piece(place()))?;
                let index = Arc::new(index);
                self.remember(file, Some(Arc::clone(&index)));
                Ok(self.in_shard(shard, tile, file, &index))
            }
        }
    }

    fn decode(&self, tile: &[u64], _rows: Range<u64>, fetched: &[Bytes], dst: &mut [u8]) -> Result<()> {
        let [stored] = fetched else { return Err(Error::internal("a chunk has one range")) };
        let chain = self.chain();
        let place = || format!("chunk {}", self.meta.key(tile));
        let damaged = |error: Error| error.file(self.folder.path()).piece(place());
        let clipped = clipped(&self.shape, &self.tile, tile);
        let plain = chain.order.is_none() && !matches!(chain.cells, CellCodec::Plain { big_endian: true });
        if plain && clipped == self.tile {
            return chain.decode_into(stored, dst).map_err(damaged);
        }
        let cells = chain.decode(stored).map_err(damaged)?;
        self.arrange(&cells, chain, &clipped, dst)
    }

    fn fill(&self) -> &[u8] {
        &self.meta.fill
    }
}
