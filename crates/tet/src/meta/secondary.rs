//! The secondary index document: which tiles hold a value or a label, as pretty-printed JSON.

use serde::{Deserialize, Serialize};

/// The whole document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SecondaryDocument {
    pub(crate) version: u32,
    pub(crate) generation: u64,
    pub(crate) packed_sha256: String,
    pub(crate) indexes: Vec<SecondaryEntry>,
}

/// One index. Kinds that are not known are skipped by readers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum SecondaryEntry {
    /// The tiles of each distinct element, where there are few.
    ValuePostings { dataset_id: u64, dtype: u32, postings: Vec<ValuePosting> },
    /// The range of numeric labels of each slab of tiles along an axis.
    SortedAxisRange { dataset_id: u64, axis: u64, ascending: bool, segments: Vec<AxisSegment> },
    /// The tiles of each label of an axis.
    CoordLabelPostings { dataset_id: u64, axis: u64, postings: Vec<LabelPosting> },
    /// A kind of a newer writer.
    #[serde(other)]
    Unknown,
}

/// The tiles that hold an element.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ValuePosting {
    pub(crate) value_le: String,
    pub(crate) chunks: Vec<Vec<u64>>,
}

/// A slab of tiles along an axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AxisSegment {
    pub(crate) lo_le: String,
    pub(crate) hi_le: String,
    pub(crate) chunks: Vec<Vec<u64>>,
}

/// The tiles that a label touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LabelPosting {
    pub(crate) label: String,
    pub(crate) chunks: Vec<Vec<u64>>,
}
