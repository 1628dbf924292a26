//! An array that reports how much of it has been read.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use tesselle_core::array::TileBytes;
use tesselle_core::driver::Progress;
use tesselle_core::{ArrayView, DType, Driver, Result};

/// Passes everything on, and tiles also to the progress of a driver.
pub(super) struct Watched<'a> {
    inner: &'a dyn ArrayView,
    progress: Arc<dyn Progress>,
}

impl<'a> Watched<'a> {
    /// `None` where the array lies in memory and nothing is decoded.
    pub(super) fn new(inner: &'a dyn ArrayView, driver: &Driver) -> Option<Self> {
        if inner.contiguous().is_some() {
            return None;
        }
        let cells = inner.shape().iter().try_fold(1_u64, |n, extent| n.checked_mul(*extent));
        driver.progress().expect(cells.unwrap_or(u64::MAX).saturating_mul(inner.dtype().size() as u64));
        Some(Self { inner, progress: Arc::clone(driver.progress()) })
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

    fn tile<'s>(&self, tile: &[u64], rows: Range<u64>, scratch: &'s mut Vec<u8>) -> Result<TileBytes<'s>> {
        let bytes = self.inner.tile(tile, rows, scratch)?;
        self.progress.advance(bytes.len() as u64);
        Ok(bytes)
    }

    fn tile_into(&self, tile: &[u64], dst: &mut [u8]) -> Result<()> {
        self.inner.tile_into(tile, dst)?;
        self.progress.advance(dst.len() as u64);
        Ok(())
    }

    fn contiguous(&self) -> Option<Bytes> {
        self.inner.contiguous()
    }
}
