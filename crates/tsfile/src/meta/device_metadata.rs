//! `TsDeviceMetadata` of 0.8 and 000001: all chunk groups of one device.
//!
//! ```text
//! i64 start, i64 end, i32 n, n x ChunkGroupMetaData
//! ChunkGroupMetaData  str device, i64 start offset, i64 end offset, i64 version, i32 n, n x ChunkMetaData
//! ChunkMetaData       str measurement, i64 offset, i64 points, i64 start, i64 end, i16 type, digest
//! ```

use tesselle_core::{Cursor, Result};

use super::primitive::Primitives as _;
use super::{DataType, PutPrimitives, Statistics, Version, primitive::len32};

/// All chunk groups of a device.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DeviceMetadata {
    /// Smallest start time of a chunk.
    pub start_time: i64,
    /// Largest end time of a chunk.
    pub end_time: i64,
    /// In file order.
    pub groups: Vec<ChunkGroupMetadata>,
}

/// The chunks of one flush of a device.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChunkGroupMetadata {
    /// The device.
    pub device: String,
    /// Offset of the first chunk's marker.
    pub start_offset: u64,
    /// Offset just after the footer.
    pub end_offset: u64,
    /// Compared with the versions of deletions.
    pub version: i64,
    /// In file order.
    pub chunks: Vec<ChunkMetadata>,
}

/// One chunk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChunkMetadata {
    /// The measurement.
    pub measurement: String,
    /// Offset of the chunk header's marker.
    pub offset: u64,
    /// The type of the values.
    pub data_type: DataType,
    /// Count, times and digest.
    pub statistics: Statistics,
}

impl DeviceMetadata {
    /// Reads the metadata of a device, which fills the cursor.
    pub(crate) fn parse(cursor: &mut Cursor<'_>, version: Version) -> Result<Self> {
        let (start_time, end_time) = (cursor.i64_be()?, cursor.i64_be()?);
        let n = cursor.len32()?;
        let mut groups = Vec::with_capacity(cursor.count(n, 32)?);
        for _ in 0..n {
            groups.push(ChunkGroupMetadata::parse(cursor, version)?);
        }
        cursor.expect_end()?;
        Ok(Self { start_time, end_time, groups })
    }

    /// Writes what [`DeviceMetadata::parse`] reads.
    pub(crate) fn write(&self, out: &mut Vec<u8>, version: Version) -> Result<()> {
        out.put_i64(self.start_time);
        out.put_i64(self.end_time);
        out.put_i32(len32(self.groups.len())?);
        self.groups.iter().try_for_each(|group| group.write(out, version))
    }

    /// A device with these groups, with times taken from their chunks.
    pub(crate) fn of_groups(groups: Vec<ChunkGroupMetadata>) -> Self {
        let chunks = || groups.iter().flat_map(|g| &g.chunks);
        let start_time = chunks().map(|c| c.statistics.start_time).min().unwrap_or(i64::MAX);
        let end_time = chunks().map(|c| c.statistics.end_time).max().unwrap_or(i64::MIN);
        Self { start_time, end_time, groups }
    }
}

impl ChunkGroupMetadata {
    fn parse(cursor: &mut Cursor<'_>, version: Version) -> Result<Self> {
        let device = cursor.string()?.to_string();
        let (start_offset, end_offset) = (cursor.offset64()?, cursor.offset64()?);
        let group_version = cursor.i64_be()?;
        let n = cursor.len32()?;
        let mut chunks = Vec::with_capacity(cursor.count(n, 42)?);
        for _ in 0..n {
            chunks.push(ChunkMetadata::parse(cursor, version)?);
        }
        Ok(Self { device, start_offset, end_offset, version: group_version, chunks })
    }

    fn write(&self, out: &mut Vec<u8>, version: Version) -> Result<()> {
        out.put_string(&self.device)?;
        out.put_i64(self.start_offset.cast_signed());
        out.put_i64(self.end_offset.cast_signed());
        out.put_i64(self.version);
        out.put_i32(len32(self.chunks.len())?);
        self.chunks.iter().try_for_each(|chunk| chunk.write(out, version))
    }
}

impl ChunkMetadata {
    fn parse(cursor: &mut Cursor<'_>, version: Version) -> Result<Self> {
        let measurement = cursor.string()?.to_string();
        let offset = cursor.offset64()?;
        let count = cursor.offset64()?;
        let (start_time, end_time) = (cursor.i64_be()?, cursor.i64_be()?);
        let data_type = DataType::from_code(i32::from(cursor.i16_be()?))?;
        let statistics = Statistics::parse_digest(cursor, data_type, version, (count, start_time, end_time))?;
        Ok(Self { measurement, offset, data_type, statistics })
    }

    fn write(&self, out: &mut Vec<u8>, version: Version) -> Result<()> {
        out.put_string(&self.measurement)?;
        out.put_i64(self.offset.cast_signed());
        out.put_i64(self.statistics.count.cast_signed());
        out.put_i64(self.statistics.start_time);
        out.put_i64(self.statistics.end_time);
        out.put_i16(i16::from(self.data_type.code()));
        self.statistics.write_digest(out, version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_round_trips() {
        for version in [Version::V08, Version::V1] {
            let chunk = ChunkMetadata {
                measurement: "s".into(),
                offset: 12,
                data_type: DataType::Int32,
                statistics: Statistics { count: 2, start_time: 1, end_time: 2, ..Statistics::default() },
            };
            let group = ChunkGroupMetadata {
                device: "d".into(),
                start_offset: 12,
                end_offset: 143,
                version: 0,
                chunks: vec![chunk],
            };
            let device = DeviceMetadata::of_groups(vec![group]);
            let mut out = Vec::new();
            device.write(&mut out, version).unwrap();
            assert_eq!(DeviceMetadata::parse(&mut Cursor::new(&out, 0, "device"), version).unwrap(), device);
            for cut in 0..out.len() {
                assert!(DeviceMetadata::parse(&mut Cursor::new(&out[..cut], 0, "device"), version).is_err());
            }
        }
    }
}
