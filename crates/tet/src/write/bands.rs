//! Bands of chunks, cut out of rows and encoded in parallel.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tesselle_core::driver::parallel;
use tesselle_core::{Result, Within};

use super::encode::{Encoded, Encoder, cut, has_long_parts, parts};
use crate::meta::geometry::Grid;
use crate::meta::index::Codec;

/// A chunk's place on the grid, and its payload.
pub(super) type EncodedChunk<'r> = (Vec<u64>, Encoded<'r>);

/// The rows of some bands.
pub(super) struct Bands<'r> {
    pub(super) grid: Grid,
    pub(super) encoder: Encoder,
    pub(super) rows: &'r [u8],
    /// Bytes of each band but the last.
    pub(super) band_bytes: usize,
    /// The number of the first band in the dataset.
    pub(super) first: u64,
    /// Chunks of a band.
    pub(super) per_band: u64,
    /// Buffers to cut raw chunks into: the page faults of fresh memory cost more than the copy.
    pub(super) spare: Mutex<Vec<Vec<u8>>>,
}

impl<'r> Bands<'r> {
    pub(super) fn spare(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of a chunk, counted from the first band, on the grid, and the rows of its band.
    fn locate(&self, number: u64) -> (Vec<u64>, &'r [u8]) {
        let (band, rest) = (number / self.per_band, number % self.per_band);
        let chunk = self.grid.chunk_at((self.first + band) * self.per_band + rest);
        let start = band as usize * self.band_bytes;
        (chunk, self.rows.within(start..self.rows.len().min(start + self.band_bytes)))
    }

    /// Whether payloads are long parts of the rows, which need neither a computation nor a copy.
    pub(super) fn are_parts(&self) -> Result<bool> {
        let stored_as_given = self.encoder.codec == Codec::Raw && !self.encoder.statistics;
        Ok(stored_as_given && has_long_parts(&self.grid, self.rows)?)
    }

    /// The place of a chunk, counted from the first band, on the grid, and its parts in the rows.
    pub(super) fn parts(&self, number: u64) -> Result<(Vec<u64>, Vec<&'r [u8]>)> {
        let (chunk, rows) = self.locate(number);
        let parts = parts(&self.grid, &chunk, rows)?;
        Ok((chunk, parts))
    }

    /// Encodes the chunks of these numbers, counted from the first band.
    pub(super) fn encode(&self, chunks: Range<u64>) -> Result<Vec<EncodedChunk<'r>>> {
        parallel::try_map_with(chunks, Vec::new, |scratch, number| {
            let (chunk, rows) = self.locate(number);
            let encoded = if self.encoder.codec == Codec::Raw {
                let mut buffer = self.spare().pop().unwrap_or_default();
                let cells = match cut(&self.grid, &chunk, rows, &mut buffer)? {
                    Some(borrowed) => Cow::Borrowed(borrowed),
                    None => Cow::Owned(buffer),
                };
                self.encoder.encode(&self.grid, cells)?
            } else {
                let borrowed = cut(&self.grid, &chunk, rows, scratch)?;
                let Encoded { codec, payload, statistics } =
                    self.encoder.encode(&self.grid, Cow::Borrowed(borrowed.unwrap_or(scratch.as_slice())))?;
                Encoded { codec, payload: Cow::Owned(payload.into_owned()), statistics }
            };
            Ok((chunk, encoded))
        })
    }
}
