//! A pipeline prepared for the tiles of one field.

use tesselle_codec::cipher::Key;

use super::stage::{Field, Stage, StringCodec, place};
use super::{Filter, Pipeline};
use crate::{Datatype, Result};

/// The kind of data in a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TileKind {
    /// Cells of a fixed size in bytes; also offsets (8 bytes, UINT64) and validity (1 byte, UINT8).
    Fixed {
        /// Bytes of a cell: all its values.
        cell_size: usize,
    },
    /// The values of variable-length cells.
    Var,
}

/// Encodes and decodes tile bodies.
#[derive(Debug, Clone)]
pub(crate) struct TileCodec {
    pub(super) stages: Vec<Stage>,
    pub(super) kind: TileKind,
    pub(super) value_size: usize,
    pub(super) whole_tile: bool,
    pub(super) key: Option<Key>,
    offsets_in_data: bool,
}

impl TileCodec {
    /// The codec for tiles of a field of `datatype` in a schema of format `version`.
    ///
    /// With a `key`, the array is encrypted: encryption follows the last filter, unless the pipeline lists it
    /// explicitly, as those of generic tiles do.
    pub(crate) fn try_new(
        pipeline: &Pipeline,
        datatype: Datatype,
        kind: TileKind,
        version: u32,
        key: Option<&Key>,
    ) -> Result<Self> {
        let cell_size = match kind {
            TileKind::Fixed { cell_size } => cell_size,
            TileKind::Var => datatype.size(),
        };
        let field = Field { cell_size, var_data: kind == TileKind::Var, version };
        let mut stages = Vec::with_capacity(pipeline.filters.len() + 1);
        let mut seen = datatype;
        for (i, filter) in pipeline.filters.iter().enumerate() {
            let (stage, next) = place(filter, seen, field, i == 0)?;
            stages.push(stage);
            seen = next;
        }
        if key.is_some() && !pipeline.filters.contains(&Filter::Aes256Gcm) {
            stages.push(Stage::Aes256Gcm);
        }
        let strings = stages.iter().any(|stage| matches!(stage, Stage::Strings(_)));
        let images = stages.iter().any(|stage| matches!(stage, Stage::Webp(_)));
        let offsets_in_data = match stages.first() {
            Some(Stage::Strings(codec)) => version >= offsets_since(*codec, datatype),
            _ => false,
        };
        Ok(Self {
            stages,
            kind,
            value_size: datatype.size(),
            whole_tile: pipeline.max_chunk == 0 || strings || images,
            key: key.cloned(),
            offsets_in_data,
        })
    }

    /// Whether the data tile contains the offsets too, so that the stored offsets tile is empty (no chunks).
    pub(crate) fn offsets_in_data(&self) -> bool {
        self.offsets_in_data
    }

    /// Whether decoding produces offsets, even if they are also stored: [`TileCodec::decode`] then needs a buffer for
    /// them.
    pub(crate) fn makes_offsets(&self) -> bool {
        matches!(self.stages.first(), Some(Stage::Strings(_)))
    }

    /// Whether chunks are stored without filters, and cut as their size suggests.
    pub(crate) fn is_plain(&self) -> bool {
        self.stages.is_empty() && !self.whole_tile
    }

    pub(super) fn chunk_cell(&self) -> usize {
        match self.kind {
            TileKind::Fixed { cell_size } => cell_size,
            TileKind::Var => self.value_size,
        }
    }
}

/// The version from which strings with this filter have no separate offsets (spec §5.4).
fn offsets_since(codec: StringCodec, datatype: Datatype) -> u32 {
    match (codec, datatype) {
        (_, Datatype::StringUtf8) => 17,
        (StringCodec::Rle, _) => 12,
        (StringCodec::Dictionary, _) => 13,
    }
}
