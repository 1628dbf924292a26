//! An opened file: its checked metadata, its bytes, and how a chunk is found and decoded.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::ops::Range;
use std::sync::OnceLock;

use bytes::Bytes;
use tesselle_codec::compress::zstd;
use tesselle_core::{At, Context, Error, Limits, Location, Result, driver};

use crate::meta::catalog::Catalog;
use crate::meta::geometry::Grid;
use crate::meta::index::{Codec, DatasetRows, Index, Row};
use crate::meta::rows::Lookup;
use crate::read::zones::Zones;

/// The state shared by all views of a file.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) location: Location,
    pub(crate) catalog: Catalog,
    pub(crate) limits: Limits,
    zones: OnceLock<Option<Zones>>,
}

impl Opened {
    pub(crate) fn new(location: Location, catalog: Catalog, limits: Limits) -> Self {
        Self { location, catalog, limits, zones: OnceLock::new() }
    }

    /// The geometry of a dataset, or why its data cannot be read.
    pub(crate) fn grid(&self, id: usize) -> Result<&Grid> {
        let stated = self.catalog.grids.get(id).ok_or_else(|| Error::internal("a dataset is missing"))?;
        let grid = stated.as_ref().map_err(Clone::clone)?;
        // A shape is untrusted: a size that the rows cannot decode to by far is an error before allocation.
        let most = |capacity: u64| capacity.saturating_mul(64).saturating_add(16 << 20);
        if self.catalog.rows.whole().is_none() && grid.bytes <= most(self.catalog.payload_end) {
            return Ok(grid);
        }
        let rows = self.index()?.datasets.get(id);
        let (capacity, count) = rows.map_or((0, 0), |rows| (rows.capacity, rows.count));
        if grid.bytes > most(capacity) {
            return Err(Error::corrupt(format!(
                "the shape states {} bytes, but its {count} chunks decode to at most {capacity}",
                grid.bytes
            ))
            .class("too_large"));
        }
        if grid.chunks > count.saturating_mul(64).saturating_add(1 << 16) {
            return Err(Error::corrupt(format!("{count} of {} chunks are in the index", grid.chunks))
                .class("missing_chunk"));
        }
        Ok(grid)
    }

    /// The name of a dataset, for messages.
    pub(crate) fn name(&self, id: usize) -> &str {
        self.catalog.datasets.get(id).map_or("", |dataset| dataset.name.as_str())
    }

    /// The complete index, read and checked on first use.
    pub(crate) fn index(&self) -> Result<&Index> {
        let rows = &self.catalog.rows;
        if rows.whole().is_none() {
            self.answer(&rows.range(), self.location.read_range(rows.range())?)?;
        }
        rows.whole().ok_or_else(|| Error::internal("the index was not read"))
    }

    /// The summary of the rows of each dataset.
    pub(crate) fn summaries(&self) -> Result<Vec<DatasetRows>> {
        let (rows, grids) = (&self.catalog.rows, &self.catalog.grids);
        let unread = rows.unsurveyed(0..grids.len());
        if !unread.is_empty() {
            driver::try_map(unread, |range| {
                rows.survey(&range, &self.location.read_range(range.clone())?, grids);
                Ok(())
            })?;
        }
        let known: Option<Vec<DatasetRows>> = (0..grids.len()).map(|id| rows.dataset(id)).collect();
        known.map_or_else(|| Ok(self.index()?.datasets.clone()), Ok)
    }

    /// The index row of a chunk, checked against the geometry, as far as it was read. No I/O.
    pub(crate) fn find_row(&self, id: usize, grid: &Grid, chunk: &[u64]) -> Result<Result<Row, Range<u64>>> {
        let piece = || format!("chunk {chunk:?} of '{}'", self.name(id));
        let found = self.catalog.rows.find(id, &self.catalog.grids, chunk);
        match found.in_file(self.location.path()).in_piece(piece)? {
            Lookup::Ask(range) => Ok(Err(range)),
            Lookup::Missing => Err(Error::corrupt("the chunk is not in the index")
                .class("missing_chunk")
                .file(self.location.path())
                .piece(piece())),
            Lookup::Row(number, row) => {
                self.check_row(grid, chunk, number, &row).in_file(self.location.path()).in_piece(piece)?;
                Ok(Ok(row))
            }
        }
    }

    /// The codec of the first chunk of a dataset; raw without one.
    pub(crate) fn first_codec(&self, id: usize, grid: &Grid) -> Result<Codec> {
        if let Some(index) = self.catalog.rows.whole() {
            return Ok(index.datasets.at(id)?.codec);
        }
        if grid.chunks == 0 {
            return Ok(Codec::Raw);
        }
        self.chunk_row(id, grid, &vec![0; grid.rank()]).map(|row| row.codec)
    }

    /// Takes the bytes that [`Opened::find_row`] requires.
    pub(crate) fn answer(&self, range: &Range<u64>, bytes: Bytes) -> Result<()> {
        self.catalog.rows.answer(range, bytes, &self.catalog.grids).in_file(self.location.path())
    }

    /// The index row of a chunk, checked against the geometry.
    pub(crate) fn chunk_row(&self, id: usize, grid: &Grid, chunk: &[u64]) -> Result<Row> {
        loop {
            match self.find_row(id, grid, chunk)? {
                Ok(row) => return Ok(row),
                Err(range) => self.answer(&range, self.location.read_range(range.clone())?)?,
            }
        }
    }

    fn check_row(&self, grid: &Grid, chunk: &[u64], number: u64, row: &Row) -> Result<()> {
        let expected = grid.chunk_bytes(chunk);
        if row.raw_len != expected {
            return Err(Error::corrupt(format!(
                "index row {number} states {} bytes, the chunk takes {expected}",
                row.raw_len
            ))
            .class("tile_byte_length"));
        }
        if row.codec == Codec::Zstd && row.raw_len > row.capacity() {
            return Err(Error::corrupt(format!(
                "{} bytes of zstd data cannot decode to {} bytes",
                row.stored_len, row.raw_len
            ))
            .class("too_large")
            .offset(row.payload_offset));
        }
        if row.codec == Codec::Zstd && row.raw_len > self.limits.piece_bytes {
            return Err(Error::limit(format!(
                "the chunk decodes to {} bytes, the limit is {}",
                row.raw_len, self.limits.piece_bytes
            ))
            .offset(row.payload_offset));
        }
        Ok(())
    }

    /// Decodes the payload of a row that [`Opened::chunk_row`] has checked.
    pub(crate) fn decode(
        &self,
        id: usize,
        chunk: &[u64],
        row: &Row,
        payload: &[u8],
        dst: &mut [u8],
    ) -> Result<()> {
        decode_into(row, payload, dst)
            .in_file(self.location.path())
            .in_piece(|| format!("chunk {chunk:?} of '{}'", self.name(id)))
    }

    /// The zone maps, read on first use; `None` if there are no usable ones.
    pub(crate) fn zones(&self) -> Option<&Zones> {
        self.zones.get_or_init(|| Zones::load(self)).as_ref()
    }

    /// The bytes of a spilled document, if it is small enough.
    pub(crate) fn spill(&self, range: Range<u64>) -> Result<Bytes> {
        if range.end - range.start > self.limits.metadata_bytes {
            return Err(Error::limit("a spilled document is larger than the limit").offset(range.start));
        }
        self.location.read_range(range)
    }
}

/// Decodes the first bytes of a payload, as many as `dst` has. Returns false if all of it must be decoded: to compare a
/// checksum, or to state an error.
pub(crate) fn decode_front(row: &Row, payload: &[u8], dst: &mut [u8]) -> bool {
    row.codec == Codec::Zstd
        && !zstd::has_checksum(payload)
        && zstd::decompress_front_into(payload, dst).is_ok()
}

/// Decodes a payload, which must fill `dst` exactly.
pub(crate) fn decode_into(row: &Row, payload: &[u8], dst: &mut [u8]) -> Result<()> {
    match row.codec {
        Codec::Raw if payload.len() == dst.len() => {
            dst.copy_from_slice(payload);
            Ok(())
        }
        Codec::Raw => Err(Error::internal("the size of a raw chunk differs from its buffer")),
        Codec::Zstd => zstd::decompress_into(payload, dst).map_err(|error| {
            let class = match error {
                tesselle_codec::Error::Length { .. } => "decoded_length_mismatch",
                _ => "zstd_decode",
            };
            Error::from(error).class(class).offset(row.payload_offset)
        }),
    }
}
