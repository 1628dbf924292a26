//! Filters: transformations of tile bytes between memory and disk (spec §4, §5).
//!
//! A [`Pipeline`] is the list of filters as stored. A `TileCodec` is a pipeline prepared for the tiles of one field:
//! it knows the datatype each filter sees and encodes and decodes tile bodies. A body is a list of chunks that decode
//! independently, so `TileCodec::chunks` can be shared among threads:
//!
//! ```text
//! u64 chunks | per chunk: u32 original | u32 filtered | u32 metadata | metadata bytes | filtered bytes
//! ```

mod bound;
mod chunk;
mod codec;
mod entries;
mod forward;
mod kind;
mod parse;
mod pipeline;
mod reverse;
mod stage;
#[cfg(test)]
mod tests;

pub(crate) use chunk::{Chunk, PlainChunks};
pub(crate) use codec::{TileCodec, TileKind};
pub(crate) use entries::Entries;
pub use kind::{Filter, ImageFormat};
pub use parse::filters_from_str;
pub(crate) use pipeline::MAX_CHUNK;
pub use pipeline::Pipeline;
pub(crate) use stage::WINDOWS_TAKE_TIMES;
pub use tesselle_codec::cipher::Key;
pub use tesselle_codec::compress::Compressor;
pub use tesselle_codec::digest::Digest;
