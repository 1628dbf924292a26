//! Reading a region: tiles fetched in groups, decoded in parallel, each copied once, into the final buffer.

use std::cmp::Reverse;

use super::boxes::{BoxCopy, SHORTEST_RUN, split_runs};
use super::scratch::Scratch;
use super::{ArrayView, Cut, Piece, Request, Target, TileGrid, TilePart};
use crate::driver::{Driver, parallel};
use crate::error::{Error, Result};
use crate::selection::Region;

/// Reads of at most this many bytes run on the calling thread: waking others takes longer.
const SMALL: usize = 64 << 10;
/// Reads of several raw tiles run on the calling thread up to this many bytes.
const SMALL_COPY: usize = 512 << 10;
/// Likewise, reads of one raw tile.
const SMALL_TILE: usize = 1 << 20;
/// Up to this many tiles per thread are shared among the threads one by one.
const TILES_EACH: usize = 8;

/// Reads `region` of `array` into `dst`, row-major, little-endian; `dst` has exactly the region's size. Bytes in place
/// are reported to the progress of the driver; their total is for the caller to announce.
///
/// The destination is split into bands along the first axis that has more than one position, one per row of tiles, or
/// more if the tiles are raw. Bands are independent slices, so threads write to them without locks. Few tiles are shared
/// one by one instead, because bands of different heights would keep one thread busy longer than another. If there are
/// fewer bands than threads, the tiles of a band are first decoded in parallel and then copied in parallel, row by row.
pub fn read_region(array: &dyn ArrayView, region: &Region, dst: &mut [u8], driver: &Driver) -> Result<()> {
    read(array, region, dst, driver, false)
}

/// Like [`read_region`], but on the calling thread only: for work that is already spread over the driver's threads.
pub fn read_region_here(
    array: &dyn ArrayView,
    region: &Region,
    dst: &mut [u8],
    driver: &Driver,
) -> Result<()> {
    read(array, region, dst, driver, true)
}

fn read(array: &dyn ArrayView, region: &Region, dst: &mut [u8], driver: &Driver, here: bool) -> Result<()> {
    let size = array.dtype().size();
    let shape = region.shape();
    let bytes = region.cells().and_then(|n| usize::try_from(n).ok()?.checked_mul(size));
    if bytes != Some(dst.len()) {
        return Err(Error::internal("the destination size differs from the region size"));
    }
    if dst.is_empty() {
        return Ok(());
    }
    if region.spans.iter().zip(array.shape()).any(|(span, extent)| span.stop > *extent) {
        return Err(Error::invalid("the region exceeds the array"));
    }
    let cut = Cut::try_new(array, region, driver)?;
    if let Some(bytes) = cut.held().filter(|_| region.is_whole(array.shape())) {
        return if here { copy_all(bytes, dst, driver) } else { copy_parallel(bytes, dst, driver) };
    }
    if !cut.is_free() {
        let cells = array.tile_shape().iter().fold(1_u64, |cells, extent| cells.saturating_mul(*extent));
        driver.check_piece(cells.saturating_mul(size as u64))?;
    }
    let grid = cut.grid(region)?;
    let job = Job { cut: &cut, grid: &grid, driver };
    let banded = shape.iter().position(|n| *n > 1).unwrap_or(shape.len().saturating_sub(1));
    // Other tiles would be fetched once for each of their parts.
    let cuts_tiles = array.is_raw();
    let is_one_tile = grid.count() == Some(1);
    let most_copied = if is_one_tile { SMALL_TILE } else { SMALL_COPY };
    let is_alone = if cuts_tiles { dst.len() <= most_copied } else { is_one_tile };
    if here || dst.len() <= SMALL || is_alone {
        let first = vec![0; shape.len()];
        let tiles = grid.combinations(0..shape.len());
        return job.fill(tiles, Target { first: &first, shape: &shape }, dst, &mut Scratch::default().0);
    }
    if !cuts_tiles && let Some(pieces) = job.few_pieces(&shape, dst.len())? {
        return job.share(pieces, dst);
    }
    let threads = if cuts_tiles { driver.threads() } else { 1 };
    let bands = bands(&grid, &shape, (banded, threads), size, dst)?;
    if bands.len() >= driver.threads() {
        return driver.share(bands, Scratch::default, |scratch, band| {
            let target = Target { first: &band.first, shape: &band.shape };
            job.fill(band.tiles(&grid, banded), target, band.bytes, &mut scratch.0)
        });
    }
    driver.install(|| {
        let mut scratches = vec![Vec::new(); driver.threads() * 2];
        bands.into_iter().try_for_each(|mut band| job.fill_wide(&mut band, banded, &mut scratches))
    })
}

fn copy_all(src: &[u8], dst: &mut [u8], driver: &Driver) -> Result<()> {
    driver.check_canceled()?;
    dst.copy_from_slice(src);
    driver.progress().advance(dst.len() as u64);
    Ok(())
}

/// A copy split over the threads: one core does not saturate the memory bus.
fn copy_parallel(src: &[u8], dst: &mut [u8], driver: &Driver) -> Result<()> {
    const BLOCK: usize = 4 << 20;
    if dst.len() <= BLOCK {
        return copy_all(src, dst, driver);
    }
    let blocks: Vec<(&mut [u8], &[u8])> = dst.chunks_mut(BLOCK).zip(src.chunks(BLOCK)).collect();
    driver.try_map(blocks, |(dst, src)| copy_all(src, dst, driver)).map(drop)
}

/// The part of the destination that one row of tiles fills.
struct Band<'d> {
    row: TilePart,
    first: Vec<u64>,
    shape: Vec<u64>,
    bytes: &'d mut [u8],
}

impl Band<'_> {
    /// The tiles of the band. Axes before the banded axis have one position, and so one part, each.
    fn tiles<'g>(&self, grid: &'g TileGrid, banded: usize) -> impl Iterator<Item = Vec<TilePart>> + 'g {
        let mut lead: Vec<TilePart> =
            grid.axes.iter().take(banded).filter_map(|axis| axis.parts.first().copied()).collect();
        lead.push(self.row);
        grid.combinations(banded + 1..grid.axes.len())
            .map(move |others| lead.iter().copied().chain(others).collect())
    }
}

/// The bands along the axis `banded`. None has more than its share of one of `threads`, unless it is small.
fn bands<'d>(
    grid: &TileGrid,
    shape: &[u64],
    (banded, threads): (usize, usize),
    size: usize,
    dst: &'d mut [u8],
) -> Result<Vec<Band<'d>>> {
    let rows = grid.axes.get(banded).ok_or_else(|| Error::internal("an array has no axis"))?;
    let row_bytes = shape.iter().skip(banded + 1).map(|n| *n as usize).product::<usize>() * size;
    let share = shape.get(banded).map_or(1, |rows| rows.div_ceil(threads.max(1) as u64));
    let most = share.max((SMALL / row_bytes.max(1)) as u64).max(1);
    let mut bands = Vec::with_capacity(rows.parts.len());
    let mut rest = dst;
    for row in rows.parts.iter().flat_map(|row| row.split(rows.step, most)) {
        let taken = std::mem::take(&mut rest).split_at_mut_checked(row.len as usize * row_bytes);
        let (bytes, after) = taken.ok_or_else(|| Error::internal("bands are larger than their region"))?;
        rest = after;
        let (mut first, mut shape) = (vec![0; shape.len()], shape.to_vec());
        for (list, value) in [(&mut first, row.index), (&mut shape, row.len)] {
            if let Some(place) = list.get_mut(banded) {
                *place = value;
            }
        }
        bands.push(Band { row, first, shape, bytes });
    }
    Ok(bands)
}

struct Job<'a> {
    cut: &'a Cut<'a>,
    grid: &'a TileGrid,
    driver: &'a Driver,
}

impl Job<'_> {
    /// The next tiles to fetch together; empty at the end.
    fn group(
        &self,
        tiles: &mut impl Iterator<Item = Vec<TilePart>>,
        (most, most_bytes): (usize, u64),
        target: Target<'_>,
    ) -> Result<Vec<Piece>> {
        let mut pieces = Vec::new();
        let mut bytes = 0_u64;
        while pieces.len() < most && bytes < most_bytes {
            let Some(parts) = tiles.next() else { break };
            let piece = self.cut.piece(self.grid, &parts, target)?;
            bytes = bytes.saturating_add(piece.bytes);
            pieces.push(piece);
        }
        Ok(pieces)
    }

    /// Reads tiles into the target, on this thread.
    fn fill(
        &self,
        mut tiles: impl Iterator<Item = Vec<TilePart>>,
        target: Target<'_>,
        dst: &mut [u8],
        scratch: &mut Vec<u8>,
    ) -> Result<()> {
        let array = self.cut.array;
        loop {
            self.driver.check_canceled()?;
            let pieces = self.group(&mut tiles, self.cut.group(), target)?;
            if pieces.is_empty() {
                return Ok(());
            }
            let mut request = Request::try_new(self.cut, pieces)?.direct(array, self.driver)?;
            let fetched = request.fetch(array, self.driver)?;
            for (at, piece) in request.pieces().iter().enumerate() {
                self.driver.check_canceled()?;
                request.place(at, array, &fetched, dst, scratch)?;
                self.driver.progress().advance(piece.copy.bytes() as u64);
            }
        }
    }

    /// The tiles of the region, if they are so few that threads share them one by one, and consist of long runs.
    fn few_pieces(&self, shape: &[u64], bytes: usize) -> Result<Option<Vec<Piece>>> {
        let most = (self.driver.threads() * TILES_EACH) as u64;
        if !self.cut.is_near() || self.driver.threads() == 1 || self.grid.count().is_none_or(|n| n > most) {
            return Ok(None);
        }
        let target = Target { first: &vec![0; shape.len()], shape };
        let tiles = self.grid.combinations(0..shape.len());
        let pieces: Vec<Piece> =
            tiles.map(|parts| self.cut.piece(self.grid, &parts, target)).collect::<Result<_>>()?;
        let runs = pieces.iter().map(|piece| piece.copy.run_count()).fold(0, usize::saturating_add);
        Ok((runs.saturating_mul(SHORTEST_RUN) <= bytes).then_some(pieces))
    }

    /// Reads tiles into their runs of the destination, each on the next thread that is free.
    fn share(&self, mut pieces: Vec<Piece>, dst: &mut [u8]) -> Result<()> {
        let array = self.cut.array;
        // The largest first, so that no thread begins one when the others are done.
        pieces.sort_by_key(|piece| Reverse(piece.bytes));
        let copies: Vec<&BoxCopy> = pieces.iter().map(|piece| &piece.copy).collect();
        let runs = split_runs(&copies, dst);
        let runs = runs.ok_or_else(|| Error::internal("the tiles of a region do not fit it"))?;
        self.driver.share(pieces.into_iter().zip(runs).collect(), Scratch::default, |scratch, one| {
            self.driver.check_canceled()?;
            let (piece, mut runs) = one;
            let bytes = piece.copy.bytes() as u64;
            let mut request = Request::try_new(self.cut, vec![piece])?;
            let fetched = request.fetch(array, self.driver)?;
            request.scatter(0, array, &fetched, &mut runs, &mut scratch.0)?;
            self.driver.progress().advance(bytes);
            Ok(())
        })
    }

    /// Reads a band with all threads: tiles are decoded in parallel, then copied in parallel, row by row.
    fn fill_wide(&self, band: &mut Band<'_>, banded: usize, scratches: &mut [Vec<u8>]) -> Result<()> {
        let array = self.cut.array;
        let rows = band.row.len as usize;
        let rows_each = rows.div_ceil(self.driver.threads()).max(1);
        let row_bytes = band.bytes.len() / rows.max(1);
        let mut tiles = band.tiles(self.grid, banded);
        let target = Target { first: &band.first, shape: &band.shape };
        loop {
            let pieces = self.group(&mut tiles, (scratches.len(), u64::MAX), target)?;
            if pieces.is_empty() {
                return Ok(());
            }
            self.driver.check_canceled()?;
            let mut request = Request::try_new(self.cut, pieces)?;
            let fetched = request.fetch(array, self.driver)?;
            let pieces = scratches.iter_mut().zip(request.pieces()).enumerate();
            let decoded = parallel::try_map(pieces, |(at, (scratch, piece))| {
                Ok::<_, Error>((piece, request.cells(at, array, &fetched, scratch)?))
            })?;
            let places = band.bytes.chunks_mut((rows_each * row_bytes).max(1)).enumerate();
            parallel::try_for_each(places, |(i, place)| {
                let rows = i * rows_each..(i * rows_each + rows_each).min(rows);
                let mut pieces = decoded.iter();
                pieces.try_for_each(|(piece, cells)| piece.copy.copy_rows(banded, rows.clone(), cells, place))
            })?;
            let copied = decoded.iter().map(|(piece, _)| piece.copy.bytes() as u64).sum();
            self.driver.progress().advance(copied);
        }
    }
}
