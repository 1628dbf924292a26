//! The chunk grid of a tensor: chunk counts, clipped chunks, row-major numbers.

use tesselle_core::{DType, Error, Result};

use super::directory::{Dataset, MAX_RANK};

/// A dataset with a valid type and valid sizes, and the values derived from them.
#[derive(Debug, Clone)]
pub(crate) struct Grid {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<u64>,
    pub(crate) chunk_shape: Vec<u64>,
    /// Chunks along each axis.
    pub(crate) counts: Vec<u64>,
    /// Chunks in all.
    pub(crate) chunks: u64,
    /// Elements in all.
    pub(crate) cells: u64,
    /// Bytes of the tensor.
    pub(crate) bytes: u64,
}

impl Grid {
    /// Checks a record; the error class states why its data cannot be read.
    pub(crate) fn try_new(dataset: &Dataset) -> Result<Self> {
        let dtype = dataset.dtype().ok_or_else(|| {
            Error::unsupported(format!("dtype tag {} is not known, 1 to 10 are", dataset.tag))
                .class("unsupported_dtype")
        })?;
        if dataset.chunk_shape.contains(&0) {
            return Err(Error::corrupt("a chunk extent is 0").class("zero_chunk_shape"));
        }
        let too_large =
            || Error::corrupt(format!("the shape {:?} exceeds 64 bits", dataset.shape)).class("too_large");
        let empty = dataset.shape.contains(&0);
        let cells = if empty { Some(0) } else { product(dataset.shape.iter().copied()) };
        let cells = cells.ok_or_else(too_large)?;
        let bytes = cells.checked_mul(dtype.size() as u64).ok_or_else(too_large)?;
        if dataset.shape.iter().any(|extent| i64::try_from(*extent).is_err()) {
            return Err(too_large());
        }
        let counts: Vec<u64> =
            dataset.shape.iter().zip(&dataset.chunk_shape).map(|(n, chunk)| n.div_ceil(*chunk)).collect();
        let chunks = if empty { 0 } else { product(counts.iter().copied()).ok_or_else(too_large)? };
        Ok(Self {
            dtype,
            shape: dataset.shape.clone(),
            chunk_shape: dataset.chunk_shape.clone(),
            counts,
            chunks,
            cells,
            bytes,
        })
    }

    pub(crate) fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The clipped extents of a chunk; zeros outside the grid.
    pub(crate) fn extents(&self, chunk: &[u64]) -> [u64; MAX_RANK] {
        let mut out = [0; MAX_RANK];
        for (out, (at, (n, edge))) in
            out.iter_mut().zip(chunk.iter().zip(self.shape.iter().zip(&self.chunk_shape)))
        {
            *out = at.checked_mul(*edge).map_or(0, |start| n.saturating_sub(start).min(*edge));
        }
        out
    }

    /// The decoded size of a chunk; 0 outside the grid.
    pub(crate) fn chunk_bytes(&self, chunk: &[u64]) -> u64 {
        let extents = self.extents(chunk);
        // Each factor is at most that of the whole tensor, whose size fits.
        extents.iter().take(self.rank()).product::<u64>() * self.dtype.size() as u64
    }

    /// The row-major number of a chunk; `None` outside the grid.
    pub(crate) fn linear(&self, chunk: &[u64]) -> Option<u64> {
        chunk.iter().zip(&self.counts).try_fold(0_u64, |n, (at, count)| {
            if at < count { n.checked_mul(*count)?.checked_add(*at) } else { None }
        })
    }

    /// The chunk of a row-major number.
    pub(crate) fn chunk_at(&self, mut linear: u64) -> Vec<u64> {
        let mut chunk = vec![0; self.rank()];
        for (at, count) in chunk.iter_mut().zip(&self.counts).rev() {
            if *count > 0 {
                *at = linear % count;
                linear /= count;
            }
        }
        chunk
    }

    /// Whether consecutive chunks are the tensor in row-major order: only one axis is divided into chunks of more than
    /// one position, and no axis after it is divided.
    pub(crate) fn chunk_order_is_logical(&self) -> bool {
        let axes = self.shape.iter().zip(&self.chunk_shape).zip(&self.counts);
        let cut: Vec<bool> = axes.clone().map(|(_, count)| *count > 1).collect();
        let single: Vec<bool> = axes.map(|((n, chunk), _)| *n.min(chunk) <= 1).collect();
        let Some(last_cut) = cut.iter().rposition(|cut| *cut) else { return true };
        single.iter().take(last_cut).all(|single| *single)
    }
}

/// The product; `None` if it exceeds 64 bits.
pub(crate) fn product(mut factors: impl Iterator<Item = u64>) -> Option<u64> {
    factors.try_fold(1_u64, u64::checked_mul)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(shape: &[u64], chunk_shape: &[u64]) -> Grid {
        let dataset =
            Dataset { name: String::new(), tag: 1, shape: shape.to_vec(), chunk_shape: chunk_shape.to_vec() };
        Grid::try_new(&dataset).unwrap()
    }

    #[test]
    fn edge_chunks_are_clipped() {
        let g = grid(&[5, 7], &[2, 4]);
        assert_eq!((g.counts.as_slice(), g.chunks, g.bytes), ([3, 2].as_slice(), 6, 140));
        assert_eq!(g.chunk_bytes(&[2, 1]), 4 * 3);
        assert_eq!(g.chunk_bytes(&[3, 0]), 0);
        assert_eq!(g.linear(&[2, 1]), Some(5));
        assert_eq!(g.linear(&[0, 2]), None);
        assert_eq!(g.chunk_at(5), [2, 1]);
        assert_eq!((0..6).map(|i| g.chunk_bytes(&g.chunk_at(i))).sum::<u64>(), g.bytes);
    }

    #[test]
    fn chunks_in_order_are_the_tensor_only_for_some_cuts() {
        for (shape, chunk, logical) in [
            ([4, 6], [2, 6], true),
            ([4, 6], [2, 3], false),
            ([4, 6], [1, 3], true),
            ([4, 6], [9, 9], true),
            ([1, 6], [1, 4], true),
        ] {
            assert_eq!(grid(&shape, &chunk).chunk_order_is_logical(), logical, "{shape:?} {chunk:?}");
        }
    }

    #[test]
    fn absurd_shapes_are_refused() {
        let of = |shape: Vec<u64>, chunk_shape: Vec<u64>, tag| {
            let dataset = Dataset { name: String::new(), tag, shape, chunk_shape };
            Grid::try_new(&dataset).unwrap_err().class_name()
        };
        assert_eq!(of(vec![1 << 40, 1 << 40], vec![1, 1], 1), "too_large");
        assert_eq!(of(vec![2], vec![0], 1), "zero_chunk_shape");
        assert_eq!(of(vec![2], vec![1], 77), "unsupported_dtype");
    }
}
