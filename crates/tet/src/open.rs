//! An opened file: its checked metadata, its bytes, and how a tile is found and decoded.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::OnceLock;

use bytes::Bytes;
use tesselle_codec::compress::zstd;
use tesselle_core::{Context, Error, Limits, Location, Result};

use crate::meta::catalog::Catalog;
use crate::meta::geometry::Grid;
use crate::meta::index::{Codec, Row};
use crate::read::zones::Zones;

/// What all faces of a file share.
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
        let stated = self.catalog.grids.get(id).ok_or_else(|| Error::internal("a dataset is not there"))?;
        let grid = stated.as_ref().map_err(|error| {
            Error::new(error.kind(), error.message().to_owned()).class(error.class_name())
        })?;
        let rows = self.catalog.index.datasets.get(id);
        let (capacity, count) = rows.map_or((0, 0), |rows| (rows.capacity, rows.count));
        // A shape is a claim: what the rows cannot hold by far is refused before anyone makes room for it.
        if grid.bytes > capacity.saturating_mul(64).saturating_add(16 << 20) {
            return Err(Error::corrupt(format!(
                "the tensor is said to take {} bytes, its {count} chunks can hold at most {capacity}",
                grid.bytes
            ))
            .class("too_large"));
        }
        if grid.tiles > count.saturating_mul(64).saturating_add(1 << 16) {
            return Err(Error::corrupt(format!("{count} of {} tiles are in the index", grid.tiles))
                .class("missing_chunk"));
        }
        Ok(grid)
    }

    /// The name of a dataset, for messages.
    pub(crate) fn name(&self, id: usize) -> &str {
        self.catalog.datasets.get(id).map_or("", |dataset| dataset.name.as_str())
    }

    /// The index row of a tile, checked against the geometry.
    pub(crate) fn tile_row(&self, id: usize, grid: &Grid, tile: &[u64]) -> Result<Row> {
        let piece = || format!("chunk {tile:?} of '{}'", self.name(id));
        let Some((number, row)) = self.catalog.index.find(id, &self.catalog.grids, tile) else {
            return Err(Error::corrupt("the chunk is not in the index")
                .class("missing_chunk")
                .file(self.location.path())
                .piece(piece()));
        };
        self.check_row(grid, tile, number, &row).in_file(self.location.path()).in_piece(piece)?;
        Ok(row)
    }

    fn check_row(&self, grid: &Grid, tile: &[u64], number: u64, row: &Row) -> Result<()> {
        let expected = grid.tile_bytes(tile);
        if row.raw_len != expected {
            return Err(Error::corrupt(format!(
                "index row {number} states {} bytes, the tile takes {expected}",
                row.raw_len
            ))
            .class("tile_byte_length"));
        }
        if row.codec == Codec::Zstd && row.raw_len > row.capacity() {
            return Err(Error::corrupt(format!(
                "{} bytes of zstd data cannot hold {} bytes",
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

    /// Decodes the payload of a row that [`Opened::tile_row`] has checked.
    pub(crate) fn decode(
        &self,
        id: usize,
        tile: &[u64],
        row: &Row,
        payload: &[u8],
        dst: &mut [u8],
    ) -> Result<()> {
        decode_into(row, payload, dst)
            .in_file(self.location.path())
            .in_piece(|| format!("chunk {tile:?} of '{}'", self.name(id)))
    }

    /// The zone maps, read at the first question; `None` where there are none that can be used.
    pub(crate) fn zones(&self) -> Option<&Zones> {
        self.zones.get_or_init(|| Zones::load(self)).as_ref()
    }

    /// The bytes of a spilled document, where it is small enough.
    pub(crate) fn spill(&self, range: std::ops::Range<u64>) -> Result<Bytes> {
        if range.end - range.start > self.limits.metadata_bytes {
            return Err(Error::limit("a spilled document is larger than the limit").offset(range.start));
        }
        self.location.read_range(range)
    }
}

/// Decodes a payload so that it fills `dst` exactly.
pub(crate) fn decode_into(row: &Row, payload: &[u8], dst: &mut [u8]) -> Result<()> {
    match row.codec {
        Codec::Raw if payload.len() == dst.len() => {
            dst.copy_from_slice(payload);
            Ok(())
        }
        Codec::Raw => Err(Error::internal("a raw chunk has another size than its place")),
        Codec::Zstd => zstd::decompress_into(payload, dst).map_err(|error| {
            let class = match error {
                tesselle_codec::Error::Length { .. } => "decoded_length_mismatch",
                _ => "zstd_decode",
            };
            Error::from(error).class(class).offset(row.payload_offset)
        }),
    }
}
