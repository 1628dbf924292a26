//! Chunk group footers (up to version 2) and headers (from version 3 on).

use tesselle_core::{Cursor, Result};

use super::primitive::Primitives as _;
use super::{DeviceId, PutPrimitives, Version, marker, primitive::len32};

/// The footer that closes a chunk group up to version 2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChunkGroupFooter {
    /// The device of all preceding chunks.
    pub device: DeviceId,
    /// Bytes from the first chunk's marker up to the footer's marker.
    pub data_size: u64,
    /// Chunks in the group.
    pub chunks: u32,
}

impl ChunkGroupFooter {
    /// Reads a footer whose marker is consumed.
    pub(crate) fn parse_after(cursor: &mut Cursor<'_>, version: Version) -> Result<Self> {
        let device = DeviceId::parse(cursor, version)?;
        let data_size = cursor.offset64()?;
        let chunks = cursor.len32()? as u32;
        Ok(Self { device, data_size, chunks })
    }

    /// Writes the marker and the footer.
    pub(crate) fn write(&self, out: &mut Vec<u8>, version: Version) -> Result<()> {
        out.push(marker::CHUNK_GROUP);
        self.device.write(out, version)?;
        out.put_i64(self.data_size.cast_signed());
        out.put_i32(len32(self.chunks as usize)?);
        Ok(())
    }
}

/// Writes the marker and the header that opens a chunk group from version 3 on.
pub(crate) fn write_group_header(device: &DeviceId, out: &mut Vec<u8>, version: Version) -> Result<()> {
    out.push(marker::CHUNK_GROUP);
    device.write(out, version)
}
