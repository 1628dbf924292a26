//! The footer: spills, a JSON object, and a tail of 16 bytes at the end of the file.
//!
//! | off from end | size | field |
//! |---|---|---|
//! | -16 | 8 | history_json_len |
//! | -8 | 4 | history_version, 1 or 2 |
//! | -4 | 4 | magic `THST` |

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use tesselle_core::{Action, Cursor, Error, Result};

use super::metadata::Metadata;

const MAGIC: [u8; 4] = *b"THST";

/// The last 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tail {
    pub(crate) json_len: u64,
    pub(crate) version: u32,
}

impl Tail {
    pub(crate) const LEN: u64 = 16;

    /// Parses the end of a file of `file_len` bytes. `None` if it does not end in `THST`.
    ///
    /// The original engine does this regardless of the footer flag in the superblock, so raw data that ends in `THST`
    /// can make a file unreadable there; such a file fails here for the same reason.
    pub(crate) fn parse(end: &[u8], file_len: u64) -> Result<Option<Self>> {
        let Some(tail) = end.last_chunk::<16>().filter(|tail| tail.ends_with(&MAGIC)) else {
            return Ok(None);
        };
        let start = file_len.saturating_sub(Self::LEN);
        let mut cursor = Cursor::new(tail, start, "footer tail");
        let tail = Self { json_len: cursor.u64_le()?, version: cursor.u32_le()? };
        if !matches!(tail.version, 1 | 2) {
            return Err(Error::unsupported(format!(
                "footer version {} is not known, 1 and 2 are",
                tail.version
            ))
            .class("unsupported_history_version")
            .offset(start.saturating_add(8))
            .piece("footer tail history_version")
            .suggest("{} writes the data without the footer", [Action::Repair]));
        }
        if tail.json_len > start {
            return Err(Error::corrupt(format!(
                "the footer states {} bytes of JSON, the file has {file_len} bytes",
                tail.json_len
            ))
            .class("footer_out_of_bounds")
            .offset(start)
            .piece("footer tail history_json_len"));
        }
        Ok(Some(tail))
    }

    /// The range of the JSON.
    pub(crate) fn json_range(&self, file_len: u64) -> Range<u64> {
        let end = file_len.saturating_sub(Self::LEN);
        end.saturating_sub(self.json_len)..end
    }

    pub(crate) fn to_bytes(self) -> [u8; 16] {
        let mut out = [0; 16];
        out[0..8].copy_from_slice(&self.json_len.to_le_bytes());
        out[8..12].copy_from_slice(&self.version.to_le_bytes());
        out[12..16].copy_from_slice(&MAGIC);
        out
    }
}

/// The position of a spilled document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SpillRef {
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

impl SpillRef {
    /// Its byte range; `None` outside the file.
    pub(crate) fn range(&self, file_len: u64) -> Option<Range<u64>> {
        let end = self.offset.checked_add(self.len)?;
        (end <= file_len).then_some(self.offset..end)
    }
}

/// The JSON object.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Document {
    #[serde(default)]
    pub(crate) history: Vec<HistoryRow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Metadata>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) metadata_ref: Option<SpillRef>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) zone_maps_ref: Option<SpillRef>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secondary_index_ref: Option<SpillRef>,
}

impl Document {
    pub(crate) fn parse(json: &[u8], offset: u64) -> Result<Self> {
        serde_json::from_slice(json).map_err(|source| {
            Error::corrupt("the footer is not valid JSON of the expected form")
                .class("footer_json_parse")
                .offset(offset)
                .piece("footer JSON")
                .source(source)
                .suggest("{} writes the data without the footer", [Action::Repair])
        })
    }

    /// Sum of the spilled bytes that a footer of this version has; they are between payloads and JSON.
    pub(crate) fn spilled_bytes(&self, version: u32) -> Option<u64> {
        let late = [self.zone_maps_ref, self.secondary_index_ref];
        let known = late.into_iter().filter(|_| version >= 2).chain([self.metadata_ref]);
        known.flatten().try_fold(0_u64, |sum, spill| sum.checked_add(spill.len))
    }
}

/// One step of a file's provenance.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "AnyHistoryRow")]
pub struct HistoryRow {
    /// The operation: `write`, `convert`, `transform`, …
    pub op: String,
    /// The source of the operation.
    pub source: String,
    /// Unix seconds, in decimal.
    pub at: String,
    /// Where the data came from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<String>,
    /// The parameters of the operation.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, String>,
    /// The agent that performed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The activity it was part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
    /// The resulting entity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
}

impl HistoryRow {
    /// A row with just the three required fields.
    pub fn new(op: impl Into<String>, source: impl Into<String>, at: impl Into<String>) -> Self {
        Self { op: op.into(), source: source.into(), at: at.into(), ..Self::default() }
    }
}

/// Old files have `[op, source, at]`, new ones objects.
#[derive(Deserialize)]
#[serde(untagged)]
enum AnyHistoryRow {
    Triple([String; 3]),
    Object {
        op: String,
        source: String,
        at: String,
        #[serde(default)]
        parents: Vec<String>,
        #[serde(default)]
        params: BTreeMap<String, String>,
        #[serde(default)]
        agent: Option<String>,
        #[serde(default)]
        activity: Option<String>,
        #[serde(default)]
        entity: Option<String>,
    },
}

impl From<AnyHistoryRow> for HistoryRow {
    fn from(row: AnyHistoryRow) -> Self {
        match row {
            AnyHistoryRow::Triple([op, source, at]) => Self::new(op, source, at),
            AnyHistoryRow::Object { op, source, at, parents, params, agent, activity, entity } => {
                Self { op, source, at, parents, params, agent, activity, entity }
            }
        }
    }
}
