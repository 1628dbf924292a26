//! Reading a region: tiles decoded in parallel, each copied once, into the final buffer.

use std::ops::Range;

use rayon::prelude::*;

use super::{ArrayView, TileGrid, TilePart};
use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::selection::Region;

/// Reads `region` of `array` into `dst`, row-major, little-endian; `dst` has exactly the region's size.
///
/// The destination is cut into bands along the first axis, one per row of tiles; bands are independent slices, so
/// threads write to them without locks. Where there are fewer bands than threads, the tiles of a band are decoded in
/// parallel first and copied afterwards.
pub fn read_region(array: &dyn ArrayView, region: &Region, dst: &mut [u8], driver: &Driver) -> Result<()> {
    let size = array.dtype().size();
    let shape = region.shape();
    let cells = region.cells().and_then(|n| usize::try_from(n).ok()?.checked_mul(size));
    if cells != Some(dst.len()) {
        return Err(Error::internal("the destination has another size than the region"));
    }
    if dst.is_empty() {
        return Ok(());
    }
    if region.is_whole(array.shape())
        && let Some(bytes) = array.contiguous().filter(|b| b.len() == dst.len())
    {
        return copy_parallel(&bytes, dst, driver);
    }
    let grid = TileGrid::new(array.shape(), array.tile_shape(), region)?;
    let Some((rows, _)) = grid.axes.split_first() else {
        return Err(Error::internal("an array has no axis"));
    };
    let row_bytes = shape.iter().skip(1).map(|n| *n as usize).product::<usize>() * size;
    let mut bands = Vec::with_capacity(rows.parts.len());
    let mut rest = dst;
    for part in &rows.parts {
        let (band, after) = std::mem::take(&mut rest).split_at_mut(part.len as usize * row_bytes);
        bands.push((*part, band));
        rest = after;
    }
    let job = Job { array, grid: &grid, shape: &shape, size, driver };
    driver.install(|| {
        if bands.len() >= driver.threads() {
            bands
                .into_par_iter()
                .try_for_each_init(Vec::new, |scratch, (part, band)| job.fill_band(part, band, scratch))
        } else {
            bands.into_iter().try_for_each(|(part, band)| job.fill_band_wide(part, band))
        }
    })
}

/// A copy split over the threads: one core does not saturate the memory bus.
fn copy_parallel(src: &[u8], dst: &mut [u8], driver: &Driver) -> Result<()> {
    const BLOCK: usize = 4 << 20;
    driver.install(|| {
        dst.par_chunks_mut(BLOCK).zip(src.par_chunks(BLOCK)).try_for_each(|(dst, src)| {
            driver.check_canceled()?;
            dst.copy_from_slice(src);
            Ok(())
        })
    })
}

struct Job<'a> {
    array: &'a dyn ArrayView,
    grid: &'a TileGrid,
    shape: &'a [u64],
    size: usize,
    driver: &'a Driver,
}

impl Job<'_> {
    fn fill_band(&self, row: TilePart, band: &mut [u8], scratch: &mut Vec<u8>) -> Result<()> {
        for others in self.grid.combinations(1..self.grid.axes.len()) {
            self.driver.check_canceled()?;
            let (tile, parts) = self.tile_of(row, &others);
            if self.fills_whole_rows(&parts) {
                // The tile is contiguous in the result: decode straight into it.
                let run: usize = parts.iter().map(|p| p.len as usize).product::<usize>() * self.size;
                let start = self.start_of(&parts);
                if let Some(place) = band.get_mut(start..start + run) {
                    self.array.tile_into(&tile, place)?;
                    continue;
                }
            }
            let bytes = self.array.tile(&tile, self.rows_of(row), scratch)?;
            self.copy(&bytes, &parts, band);
        }
        Ok(())
    }

    fn fill_band_wide(&self, row: TilePart, band: &mut [u8]) -> Result<()> {
        let mut tiles = self.grid.combinations(1..self.grid.axes.len());
        loop {
            let batch: Vec<Vec<TilePart>> = tiles.by_ref().take(self.driver.threads() * 2).collect();
            if batch.is_empty() {
                return Ok(());
            }
            self.driver.check_canceled()?;
            let decoded = batch
                .par_iter()
                .map(|others| {
                    let (tile, parts) = self.tile_of(row, others);
                    let mut scratch = Vec::new();
                    let bytes = match self.array.tile(&tile, self.rows_of(row), &mut scratch)? {
                        super::TileBytes::Shared(bytes) => bytes,
                        super::TileBytes::Scratch(slice) => {
                            let len = slice.len();
                            scratch.truncate(len);
                            scratch.into()
                        }
                    };
                    Ok((parts, bytes))
                })
                .collect::<Result<Vec<_>>>()?;
            for (parts, bytes) in decoded {
                self.copy(&bytes, &parts, band);
            }
        }
    }

    fn tile_of(&self, row: TilePart, others: &[TilePart]) -> (Vec<u64>, Vec<TilePart>) {
        let parts: Vec<TilePart> = std::iter::once(row).chain(others.iter().copied()).collect();
        (parts.iter().map(|p| p.tile).collect(), parts)
    }

    /// The rows of the tile that are needed, along its first axis.
    fn rows_of(&self, row: TilePart) -> Range<u64> {
        let step = self.grid.axes.first().map_or(1, |axis| axis.step);
        row.first..row.first + (row.len - 1) * step + 1
    }

    /// Whether the whole tile is wanted and lands in one run of the result.
    fn fills_whole_rows(&self, parts: &[TilePart]) -> bool {
        let whole = parts.iter().zip(&self.grid.axes).all(|(p, axis)| p.len == p.extent && axis.step == 1);
        whole && parts.iter().zip(self.shape).skip(1).all(|(p, extent)| p.len == *extent)
    }

    /// Where the first cell of the tile lands, in bytes from the start of the band.
    fn start_of(&self, parts: &[TilePart]) -> usize {
        let mut start = 0;
        for (axis, part) in parts.iter().enumerate().skip(1) {
            start = start * self.shape[axis] as usize + part.index as usize;
        }
        start * self.size
    }

    /// Copies the wanted cells of a tile into the band.
    fn copy(&self, tile: &[u8], parts: &[TilePart], band: &mut [u8]) {
        let rank = parts.len();
        let mut copy = BoxCopy {
            len: Vec::with_capacity(rank),
            src_step: vec![0; rank],
            dst_step: vec![0; rank],
            size: self.size,
        };
        let (mut src_stride, mut dst_stride) = (self.size, self.size);
        let mut src_start = 0;
        for axis in (0..rank).rev() {
            let part = parts[axis];
            let step = self.grid.axes[axis].step as usize;
            // The tile was fetched from its first wanted row on.
            let first = if axis == 0 { 0 } else { part.first as usize };
            src_start += first * src_stride;
            copy.src_step[axis] = step.saturating_mul(src_stride);
            copy.dst_step[axis] = dst_stride;
            src_stride *= part.extent as usize;
            dst_stride *= self.shape[axis] as usize;
        }
        copy.len.extend(parts.iter().map(|p| p.len as usize));
        let dst_start = self.start_of(parts);
        copy.run(0, tile.get(src_start..).unwrap_or_default(), band.get_mut(dst_start..).unwrap_or_default());
    }
}

/// A strided copy between two row-major boxes.
struct BoxCopy {
    len: Vec<usize>,
    src_step: Vec<usize>,
    dst_step: Vec<usize>,
    size: usize,
}

impl BoxCopy {
    fn run(&self, axis: usize, src: &[u8], dst: &mut [u8]) {
        let (n, src_step, dst_step) = (self.len[axis], self.src_step[axis], self.dst_step[axis]);
        if axis + 1 < self.len.len() {
            for i in 0..n {
                let (Some(src), Some(dst)) = (src.get(i * src_step..), dst.get_mut(i * dst_step..)) else {
                    return;
                };
                self.run(axis + 1, src, dst);
            }
        } else if src_step == self.size {
            let bytes = n * self.size;
            if let (Some(src), Some(dst)) = (src.get(..bytes), dst.get_mut(..bytes)) {
                dst.copy_from_slice(src);
            }
        } else {
            match self.size {
                1 => gather::<1>(src, src_step, dst, n),
                2 => gather::<2>(src, src_step, dst, n),
                4 => gather::<4>(src, src_step, dst, n),
                _ => gather::<8>(src, src_step, dst, n),
            }
        }
    }
}

fn gather<const N: usize>(src: &[u8], src_step: usize, dst: &mut [u8], n: usize) {
    let (cells, _) = dst.as_chunks_mut::<N>();
    for (cell, src) in cells.iter_mut().take(n).zip(src.chunks(src_step)) {
        if let Some(value) = src.first_chunk::<N>() {
            *cell = *value;
        }
    }
}
