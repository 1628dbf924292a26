//! `MetadataIndexNode` of version 000002 and later: names, and the offset of the metadata of each.
//!
//! ```text
//! 000002  i32 n, n x (str name, i64 offset), i64 end, u8 type
//! 3       uvar n, n x (vstr name, i64 offset), i64 end, u8 type
//! 4       as 3, but device-level nodes name devices by their segments
//! ```

use tesselle_core::{Cursor, Error, Result};

use super::primitive::Primitives as _;
use super::{DeviceId, PutPrimitives, Version, primitive::len32};

/// The type of the entries of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum NodeType {
    /// Devices; children are device nodes.
    InternalDevice,
    /// Devices; children are measurement nodes.
    LeafDevice,
    /// Measurements; children are measurement nodes.
    InternalMeasurement,
    /// Measurements; children are series.
    LeafMeasurement,
}

impl NodeType {
    /// The code in files.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::InternalDevice => 0,
            Self::LeafDevice => 1,
            Self::InternalMeasurement => 2,
            Self::LeafMeasurement => 3,
        }
    }

    fn from_code(code: u8) -> Option<Self> {
        [Self::InternalDevice, Self::LeafDevice, Self::InternalMeasurement, Self::LeafMeasurement]
            .into_iter()
            .find(|t| t.code() == code)
    }
}

/// Whether a node is on the device level, where version 4 encodes names differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// Entries are devices.
    Device,
    /// Entries are measurements.
    Measurement,
}

/// A node of the index tree. Child `i` spans its offset up to the next one, the last up to `end_offset`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexNode {
    /// Names and offsets, ascending.
    pub entries: Vec<IndexEntry>,
    /// Offset of the end of the last child.
    pub end_offset: u64,
    /// The type of the entries.
    pub node_type: NodeType,
}

/// A name and the offset of its child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexEntry {
    /// The device or measurement.
    pub name: DeviceId,
    /// Offset of its child.
    pub offset: u64,
}

impl IndexNode {
    /// Reads a node; the root of a file without data has no entries.
    pub(crate) fn parse(cursor: &mut Cursor<'_>, level: Level, version: Version) -> Result<Self> {
        let start = cursor.offset();
        let n = if version.is_compact() { u64::from(cursor.uvar()?) } else { cursor.len32()? };
        let mut entries = Vec::with_capacity(cursor.count(n, 9)?);
        for _ in 0..n {
            let name = match level {
                Level::Measurement if version == Version::V4 => DeviceId::plain(cursor.vstr()?),
                _ => DeviceId::parse(cursor, version)?,
            };
            entries.push(IndexEntry { name, offset: cursor.offset64()? });
        }
        let end_offset = cursor.offset64()?;
        let code = cursor.u8()?;
        let node_type = NodeType::from_code(code).ok_or_else(|| {
            Error::corrupt(format!("index node type {code} is not known"))
                .class("bad_index_node")
                .offset(start)
        })?;
        let node = Self { entries, end_offset, node_type };
        let ordered = node.spans().all(|(_, from, to)| from < to);
        if !ordered {
            return Err(Error::corrupt("the children of an index node are not in order")
                .class("bad_index_node")
                .offset(start));
        }
        Ok(node)
    }

    /// The children: name, start and end.
    pub(crate) fn spans(&self) -> impl Iterator<Item = (&DeviceId, u64, u64)> {
        let ends = self.entries.iter().skip(1).map(|e| e.offset).chain(std::iter::once(self.end_offset));
        self.entries.iter().zip(ends).map(|(entry, end)| (&entry.name, entry.offset, end))
    }

    /// Writes what [`IndexNode::parse`] reads.
    pub(crate) fn write(&self, out: &mut Vec<u8>, level: Level, version: Version) -> Result<()> {
        let n = len32(self.entries.len())?;
        if version.is_compact() {
            out.put_uvar(n.cast_unsigned());
        } else {
            out.put_i32(n);
        }
        for entry in &self.entries {
            match level {
                Level::Measurement if version == Version::V4 => out.put_vstr(Some(&entry.name.path()))?,
                _ => entry.name.write(out, version)?,
            }
            out.put_i64(entry.offset.cast_signed());
        }
        out.put_i64(self.end_offset.cast_signed());
        out.push(self.node_type.code());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_round_trip() {
        for version in [Version::V2, Version::V3, Version::V4] {
            for (level, node_type) in
                [(Level::Device, NodeType::LeafDevice), (Level::Measurement, NodeType::LeafMeasurement)]
            {
                let name = |n: &str| {
                    if level == Level::Device { DeviceId::from_path(n) } else { DeviceId::plain(n) }
                };
                let name = |n: &str| if version == Version::V4 { name(n) } else { DeviceId::plain(n) };
                let entries = vec![
                    IndexEntry { name: name("root.a"), offset: 10 },
                    IndexEntry { name: name("root.b"), offset: 20 },
                ];
                let node = IndexNode { entries, end_offset: 35, node_type };
                let mut out = Vec::new();
                node.write(&mut out, level, version).unwrap();
                assert_eq!(
                    IndexNode::parse(&mut Cursor::new(&out, 0, "node"), level, version).unwrap(),
                    node
                );
            }
        }
    }

    #[test]
    fn children_out_of_order_are_refused() {
        let entries =
            [(1, 20), (2, 20)].map(|(n, offset)| IndexEntry { name: DeviceId::plain(n.to_string()), offset });
        let node = IndexNode { entries: entries.to_vec(), end_offset: 35, node_type: NodeType::LeafDevice };
        let mut out = Vec::new();
        node.write(&mut out, Level::Device, Version::V3).unwrap();
        assert!(IndexNode::parse(&mut Cursor::new(&out, 0, "node"), Level::Device, Version::V3).is_err());
    }
}
