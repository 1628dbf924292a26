//! The secondary index document: the chunks that contain a value or a label, as pretty-printed JSON.

use serde::{Deserialize, Serialize};

/// The whole document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SecondaryDocument {
    pub(crate) version: u32,
    pub(crate) generation: u64,
    pub(crate) packed_sha256: String,
    pub(crate) indexes: Vec<SecondaryEntry>,
}

/// One index. Readers skip unknown kinds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum SecondaryEntry {
    /// The chunks of each distinct element, if there are few.
    ValuePostings { dataset_id: u64, dtype: u32, postings: Vec<ValuePosting> },
    /// The range of numeric labels of each slab of chunks along an axis.
    SortedAxisRange { dataset_id: u64, axis: u64, ascending: bool, segments: Vec<AxisSegment> },
    /// The chunks of each label of an axis.
    CoordLabelPostings { dataset_id: u64, axis: u64, postings: Vec<LabelPosting> },
    /// A kind of a newer writer.
    #[serde(other)]
    Unknown,
}

/// The chunks that contain an element.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ValuePosting {
    pub(crate) value_le: String,
    pub(crate) chunks: Vec<Vec<u64>>,
}

/// A slab of chunks along an axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AxisSegment {
    pub(crate) lo_le: String,
    pub(crate) hi_le: String,
    pub(crate) chunks: Vec<Vec<u64>>,
}

/// The chunks that a label touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LabelPosting {
    pub(crate) label: String,
    pub(crate) chunks: Vec<Vec<u64>>,
}
