//! The array face of a Zarr array: a tile is a chunk, or a smaller chunk of a shard.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use tesselle_core::array::TileBytes;
use tesselle_core::{ArrayView, DType, Error, Location, Result};

use super::codec::{Cells, Chain, Shard};
use super::meta::ArrayMeta;

/// Indexes of shards that are kept.
const KEPT: usize = 256;

/// Where each smaller chunk of a shard is.
type Index = Arc<Vec<Option<(u64, u64)>>>;

/// An array of a hierarchy.
pub(crate) struct ZarrArray {
    folder: Location,
    pub(super) meta: ArrayMeta,
    /// A scalar is an array of one cell.
    shape: Vec<u64>,
    tile: Vec<u64>,
    axis_names: Vec<String>,
    indexes: Mutex<HashMap<Vec<u64>, Option<Index>>>,
}

impl ZarrArray {
    pub(super) fn new(folder: Location, meta: ArrayMeta) -> Self {
        let scalar = meta.shape.is_empty();
        let or_one = |list: &[u64]| if scalar { vec![1] } else { list.to_vec() };
        let tile = match &meta.codecs.cells {
            Cells::Plain { .. } => or_one(&meta.chunk),
            Cells::Shard(shard) => or_one(&shard.chunk),
        };
        let shape = or_one(&meta.shape);
        let mut axis_names: Vec<String> = Vec::with_capacity(shape.len());
        for axis in 0..shape.len() {
            let own = meta.axis_names.get(axis).cloned().flatten();
            let own = own.filter(|name| !name.is_empty() && !axis_names.contains(name));
            axis_names.push(own.unwrap_or_else(|| format!("i{axis}")));
        }
        Self { folder, meta, shape, tile, axis_names, indexes: Mutex::default() }
    }

    /// Whether its cells are truth values.
    pub(crate) fn is_bool(&self) -> bool {
        self.meta.is_bool
    }

    /// The stored bytes of a tile and what they went through; `None` where nothing is stored.
    fn stored(&self, tile: &[u64]) -> Result<Option<(bytes::Bytes, &Chain)>> {
        let tile = if self.meta.shape.is_empty() { &[][..] } else { tile };
        let Cells::Shard(shard) = &self.meta.codecs.cells else {
            let file = self.folder.join(&self.meta.key(tile));
            if !file.exists()? {
                return Ok(None);
            }
            return Ok(Some((file.read_range(0..file.size()?)?, &self.meta.codecs)));
        };
        let outer: Vec<u64> = tile.iter().zip(&shard.grid).map(|(at, n)| at / n).collect();
        let Some(index) = self.index(shard, &outer)? else { return Ok(None) };
        let place = tile.iter().zip(&shard.grid).fold(0, |place, (at, n)| place * n + at % n);
        let entry = usize::try_from(place).ok().and_then(|place| index.get(place));
        let Some((offset, len)) = entry.copied().flatten() else { return Ok(None) };
        let file = self.folder.join(&self.meta.key(&outer));
        let bytes = file.read_range(offset..offset.saturating_add(len))?;
        Ok(Some((bytes, &shard.inner)))
    }

    fn index(&self, shard: &Shard, outer: &[u64]) -> Result<Option<Index>> {
        let mut known = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = known.get(outer) {
            return Ok(index.clone());
        }
        let file = self.folder.join(&self.meta.key(outer));
        let index = if file.exists()? {
            let (size, len) = (file.size()?, shard.index_len());
            let start = if shard.index_first { 0 } else { size.saturating_sub(len) };
            if size < len {
                return Err(Error::corrupt(format!(
                    "a shard of {size} bytes is shorter than its index of {len}"
                ))
                .file(file.path()));
            }
            let bytes = file.read_range(start..start + len)?;
            Some(Arc::new(shard.parse_index(&bytes).map_err(|e| e.file(file.path()).offset(start))?))
        } else {
            None
        };
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(outer.to_vec(), index.clone());
        Ok(index)
    }

    /// The rows `rows` of a whole chunk, clipped to the array, in row-major order and little-endian.
    fn arranged(&self, cells: &[u8], chain: &Chain, clipped: &[u64], rows: &Range<u64>) -> Vec<u8> {
        let size = self.dtype().size();
        // Bytes between neighbours along each axis of the array, in the stored chunk.
        let rank = self.tile.len();
        let order: Vec<usize> = chain.order.clone().unwrap_or_else(|| (0..rank).collect());
        let mut strides = vec![0; rank];
        let mut stride = size;
        for axis in order.iter().rev() {
            strides[*axis] = stride;
            stride *= self.tile[*axis] as usize;
        }
        let run = clipped[rank - 1] as usize;
        let lines = clipped.iter().take(rank - 1).skip(1).product::<u64>().max(1);
        let lines = if rank == 1 { 1 } else { lines * (rows.end - rows.start) };
        let first = if rank == 1 { rows.start as usize } else { 0 };
        let run = if rank == 1 { (rows.end - rows.start) as usize } else { run };
        let mut out = Vec::with_capacity(lines as usize * run * size);
        let mut at: Vec<u64> = vec![0; rank];
        at[0] = if rank == 1 { 0 } else { rows.start };
        for _ in 0..lines {
            let start: usize = (0..rank - 1).map(|axis| at[axis] as usize * strides[axis]).sum();
            let step = strides[rank - 1];
            if step == size {
                let from = start + first * size;
                out.extend_from_slice(cells.get(from..from + run * size).unwrap_or_default());
            } else {
                for i in first..first + run {
                    let from = start + i * step;
                    out.extend_from_slice(cells.get(from..from + size).unwrap_or_default());
                }
            }
            for axis in (0..rank.saturating_sub(1)).rev() {
                at[axis] += 1;
                if axis == 0 || at[axis] < clipped[axis] {
                    break;
                }
                at[axis] = 0;
            }
        }
        if matches!(chain.cells, Cells::Plain { big_endian: true }) {
            out.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
        out
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

    fn tile<'s>(&self, tile: &[u64], rows: Range<u64>, scratch: &'s mut Vec<u8>) -> Result<TileBytes<'s>> {
        let clipped: Vec<u64> = self
            .shape
            .iter()
            .zip(&self.tile)
            .zip(tile)
            .map(|((extent, size), at)| (*size).min(extent.saturating_sub(at * size)))
            .collect();
        scratch.clear();
        let place = || format!("chunk {}", self.meta.key(tile));
        match self.stored(tile).map_err(|error| error.piece(place()))? {
            None => {
                let cells = clipped.iter().skip(1).product::<u64>() * (rows.end - rows.start);
                let cells =
                    usize::try_from(cells).map_err(|_| Error::limit("a chunk exceeds the address space"))?;
                scratch.extend(std::iter::repeat_n(self.meta.fill.as_slice(), cells).flatten());
            }
            Some((bytes, chain)) => {
                let cells = chain.decode(&bytes).map_err(|e| e.file(self.folder.path()).piece(place()))?;
                let plain =
                    chain.order.is_none() && !matches!(chain.cells, Cells::Plain { big_endian: true });
                if plain && clipped == self.tile && rows.end - rows.start == clipped[0] {
                    *scratch = cells;
                } else {
                    *scratch = self.arranged(&cells, chain, &clipped, &rows);
                }
            }
        }
        Ok(TileBytes::Scratch(scratch))
    }
}
