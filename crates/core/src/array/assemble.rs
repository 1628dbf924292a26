//! Reading a region: tiles decoded in parallel, each copied once, into the final buffer.

use super::boxes::{CopyAxis, copy_box};
use super::source::Tile;
use super::{ArrayView, TileGrid, TilePart, TileSource};
use crate::driver::{Driver, parallel};
use crate::error::{Error, Result};
use crate::selection::Region;

/// Reads of one tile or of no more than this are done by the calling thread: waking others takes longer.
const SMALL: usize = 64 << 10;

/// Reads `region` of `array` into `dst`, row-major, little-endian; `dst` has exactly the region's size.
///
/// The destination is cut into bands along the first axis that has more than one position, one per row of tiles;
/// bands are independent slices, so threads write to them without locks. Where there are fewer bands than threads,
/// the tiles of a band are decoded in parallel first and then copied in parallel, row by row.
pub fn read_region(array: &dyn ArrayView, region: &Region, dst: &mut [u8], driver: &Driver) -> Result<()> {
    read(array, region, dst, Some(driver))
}

/// Like [`read_region`] on the calling thread alone: for tasks, which are on a thread of a driver already.
pub fn read_region_here(array: &dyn ArrayView, region: &Region, dst: &mut [u8]) -> Result<()> {
    read(array, region, dst, None)
}

fn read(array: &dyn ArrayView, region: &Region, dst: &mut [u8], driver: Option<&Driver>) -> Result<()> {
    let size = array.dtype().size();
    let shape = region.shape();
    let bytes = region.cells().and_then(|n| usize::try_from(n).ok()?.checked_mul(size));
    if bytes != Some(dst.len()) {
        return Err(Error::internal("the destination has another size than the region"));
    }
    if dst.is_empty() {
        return Ok(());
    }
    if region.spans.iter().zip(array.shape()).any(|(span, extent)| span.stop > *extent) {
        return Err(Error::invalid("the region reaches beyond the array"));
    }
    if region.is_whole(array.shape())
        && let Some(bytes) = array.contiguous().filter(|b| b.len() == dst.len())
    {
        let Some(driver) = driver else {
            dst.copy_from_slice(&bytes);
            return Ok(());
        };
        return copy_parallel(&bytes, dst, driver);
    }
    let source = TileSource::new(array);
    let grid = source.grid(region)?;
    let banded = shape.iter().position(|n| *n > 1).unwrap_or(shape.len().saturating_sub(1));
    // Before the banded axis there is one position, so one part, on each axis.
    let lead: Vec<TilePart> =
        grid.axes.iter().take(banded).filter_map(|axis| axis.parts.first().copied()).collect();
    let Some(rows) = grid.axes.get(banded) else {
        return Err(Error::internal("an array has no axis"));
    };
    let row_bytes = shape.iter().skip(banded + 1).map(|n| *n as usize).product::<usize>() * size;
    let mut bands = Vec::with_capacity(rows.parts.len());
    let mut rest = dst;
    let small = rest.len() <= SMALL || grid.count() == Some(1);
    for part in &rows.parts {
        let (band, after) = std::mem::take(&mut rest).split_at_mut(part.len as usize * row_bytes);
        bands.push((*part, band));
        rest = after;
    }
    if let Some(driver) = driver.filter(|_| !source.is_shared()) {
        let cells = array.tile_shape().iter().fold(1_u64, |cells, extent| cells.saturating_mul(*extent));
        driver.check_piece(cells.saturating_mul(size as u64))?;
    }
    let job = Job { source: &source, grid: &grid, shape: &shape, lead: &lead, row_bytes, size, driver };
    let Some(driver) = driver.filter(|_| !small) else {
        let mut scratch = Vec::new();
        return bands.into_iter().try_for_each(|(part, band)| job.fill_band(part, band, &mut scratch));
    };
    driver.install(|| {
        if bands.len() >= driver.threads() {
            let fill = |scratch: &mut Vec<u8>, (part, band)| job.fill_band(part, band, scratch);
            parallel::try_map_with(bands, Vec::new, fill).map(drop)
        } else {
            let mut scratches = vec![Vec::new(); driver.threads() * 2];
            bands
                .into_iter()
                .try_for_each(|(part, band)| job.fill_band_wide(part, band, &mut scratches, driver))
        }
    })
}

/// A copy split over the threads: one core does not saturate the memory bus.
fn copy_parallel(src: &[u8], dst: &mut [u8], driver: &Driver) -> Result<()> {
    const BLOCK: usize = 4 << 20;
    if dst.len() <= BLOCK {
        dst.copy_from_slice(src);
        return Ok(());
    }
    let blocks: Vec<(&mut [u8], &[u8])> = dst.chunks_mut(BLOCK).zip(src.chunks(BLOCK)).collect();
    let copied = driver.try_map(blocks, |(dst, src)| {
        dst.copy_from_slice(src);
        Ok(())
    });
    copied.map(drop)
}

struct Job<'a> {
    source: &'a TileSource<'a>,
    grid: &'a TileGrid,
    shape: &'a [u64],
    /// The parts before the banded axis.
    lead: &'a [TilePart],
    /// Bytes per position of the banded axis.
    row_bytes: usize,
    size: usize,
    driver: Option<&'a Driver>,
}

impl Job<'_> {
    fn fill_band(&self, row: TilePart, band: &mut [u8], scratch: &mut Vec<u8>) -> Result<()> {
        for others in self.grid.combinations(self.lead.len() + 1..self.grid.axes.len()) {
            self.driver.map_or(Ok(()), Driver::check_canceled)?;
            let parts = self.parts_of(row, &others);
            if self.is_one_run(&parts) {
                // The tile is contiguous in the result: decode straight into it.
                let run: usize = parts.iter().map(|p| p.len as usize).product::<usize>() * self.size;
                let start = self.start_of(&parts);
                if let Some(place) = band.get_mut(start..start + run)
                    && self.source.load_into(&parts, place)?
                {
                    continue;
                }
            }
            let tile = self.load(&parts, scratch)?;
            self.copy(&tile, &parts, 0..row.len as usize, band);
        }
        Ok(())
    }

    fn fill_band_wide(
        &self,
        row: TilePart,
        band: &mut [u8],
        scratches: &mut [Vec<u8>],
        driver: &Driver,
    ) -> Result<()> {
        let rows_each = (row.len as usize).div_ceil(driver.threads());
        let mut tiles = self.grid.combinations(self.lead.len() + 1..self.grid.axes.len());
        loop {
            let batch: Vec<Vec<TilePart>> =
                tiles.by_ref().take(scratches.len()).map(|others| self.parts_of(row, &others)).collect();
            if batch.is_empty() {
                return Ok(());
            }
            driver.check_canceled()?;
            let decoded = parallel::try_map(scratches.iter_mut().zip(&batch), |(scratch, parts)| {
                Ok::<_, Error>((parts, self.load(parts, scratch)?))
            })?;
            let bands = band.chunks_mut((rows_each * self.row_bytes).max(1)).enumerate();
            parallel::for_each(bands, |(i, band)| {
                let first = i * rows_each;
                for (parts, tile) in &decoded {
                    self.copy(tile, parts, first..(first + rows_each).min(row.len as usize), band);
                }
            });
        }
    }

    fn load<'s>(&self, parts: &[TilePart], scratch: &'s mut Vec<u8>) -> Result<Tile<'s>> {
        self.source.load(parts, self.grid.axes.iter().map(|axis| axis.step), scratch)
    }

    fn parts_of(&self, row: TilePart, others: &[TilePart]) -> Vec<TilePart> {
        self.lead.iter().copied().chain(std::iter::once(row)).chain(others.iter().copied()).collect()
    }

    /// Whether the whole tile is wanted and lands in one run of the result.
    fn is_one_run(&self, parts: &[TilePart]) -> bool {
        let whole = parts
            .iter()
            .zip(&self.grid.axes)
            .all(|(p, axis)| p.len == p.extent && (axis.step == 1 || p.len == 1));
        let mut outer = parts.iter().zip(self.shape).skip_while(|(p, _)| p.len == 1);
        outer.next();
        whole && outer.all(|(p, extent)| p.len == *extent)
    }

    /// Where the first cell of the tile lands, in bytes from the start of the band.
    fn start_of(&self, parts: &[TilePart]) -> usize {
        let inner = parts.iter().zip(self.shape).skip(self.lead.len() + 1);
        let cells = inner.fold(0, |start, (part, extent)| start * *extent as usize + part.index as usize);
        cells * self.size
    }

    /// Copies the wanted cells of a tile, those of the rows `rows` along the banded axis, into these rows of the
    /// band.
    fn copy(&self, tile: &Tile<'_>, parts: &[TilePart], rows: std::ops::Range<usize>, band: &mut [u8]) {
        let banded = self.lead.len();
        let mut axes = Vec::with_capacity(parts.len());
        let mut dst = self.size;
        for ((part, src), extent) in parts.iter().zip(&tile.strides).zip(self.shape).skip(banded).rev() {
            axes.push(CopyAxis { len: part.len as usize, src: *src, dst });
            dst *= *extent as usize;
        }
        axes.reverse();
        let Some(outer) = axes.first_mut() else { return };
        outer.len = rows.len();
        let src = tile.bytes().get(rows.start * outer.src..).unwrap_or_default();
        let copied =
            copy_box(self.size, &axes, src, band.get_mut(self.start_of(parts)..).unwrap_or_default());
        debug_assert!(copied, "the size of a tile is checked when it is loaded");
    }
}
