//! An array that reports its read progress.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use tesselle_core::array::{Answer, Ask, Place, clipped, contiguous};
use tesselle_core::driver::Progress;
use tesselle_core::{ArrayView, DType, Driver, Result, Storage};

/// Forwards everything, and reports tiles to the progress of a driver.
pub(super) struct Watched<'a> {
    inner: &'a dyn ArrayView,
    progress: Arc<dyn Progress>,
}

impl<'a> Watched<'a> {
    /// `None` if the array is in memory and nothing is decoded.
    pub(super) fn new(inner: &'a dyn ArrayView, driver: &Driver) -> Option<Self> {
        if contiguous(inner).is_ok_and(|whole| whole.is_some()) {
            return None;
        }
        let cells = inner.shape().iter().try_fold(1_u64, |n, extent| n.checked_mul(*extent));
        driver.progress().expect(cells.unwrap_or(u64::MAX).saturating_mul(inner.dtype().size() as u64));
        Some(Self { inner, progress: Arc::clone(driver.progress()) })
    }

    /// A tile that is not decoded counts when it is located.
    fn located(&self, tile: &[u64], place: Place) -> Place {
        if matches!(place, Place::Held(_) | Place::Raw(_) | Place::Fill) {
            let extents = clipped(self.inner.shape(), self.inner.tile_shape(), tile);
            self.progress.advance(extents.iter().product::<u64>() * self.inner.dtype().size() as u64);
        }
        place
    }
}

impl ArrayView for Watched<'_> {
    fn dtype(&self) -> DType {
        self.inner.dtype()
    }

    fn shape(&self) -> &[u64] {
        self.inner.shape()
    }

    fn tile_shape(&self) -> &[u64] {
        self.inner.tile_shape()
    }

    fn axis_names(&self) -> &[String] {
        self.inner.axis_names()
    }

    fn origin(&self) -> Vec<i128> {
        self.inner.origin()
    }

    fn storage(&self) -> Option<Arc<dyn Storage>> {
        self.inner.storage()
    }

    fn locate(&self, tile: &[u64], rows: &Range<u64>) -> Result<Place> {
        Ok(self.located(tile, self.inner.locate(tile, rows)?))
    }

    fn locate_with(&self, tile: &[u64], ask: &Ask, answer: &Answer) -> Result<Place> {
        Ok(self.located(tile, self.inner.locate_with(tile, ask, answer)?))
    }

    fn decode(&self, tile: &[u64], rows: Range<u64>, fetched: &[Bytes], dst: &mut [u8]) -> Result<()> {
        self.inner.decode(tile, rows, fetched, dst)?;
        self.progress.advance(dst.len() as u64);
        Ok(())
    }

    fn fill(&self) -> &[u8] {
        self.inner.fill()
    }

    fn is_raw(&self) -> bool {
        self.inner.is_raw()
    }

    fn whole(&self) -> Option<Place> {
        self.inner.whole()
    }
}
