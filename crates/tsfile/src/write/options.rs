//! How a file is written.

use tesselle_core::{Error, Result};

use super::chunk::{PageLimits, Setting};
use crate::meta::{DataType, Encoding, Version};

/// What to do with points that are not in order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Times of a series must ascend; anything else is an error.
    #[default]
    Refuse,
    /// Points are sorted within what is gathered for a flush, and of equal times the later wins. A point before
    /// what has been flushed is an error.
    Sort,
}

/// How a file is written.
#[derive(Debug, Clone, PartialEq)]
pub struct WriterOptions {
    /// The layout.
    pub version: Version,
    /// How times are encoded. Layouts before 3 and ordinary series do not record it; readers expect TS_2DIFF.
    pub time_encoding: Encoding,
    /// Most points in a page.
    pub page_points: usize,
    /// Most bytes of a column in a page, before encoding.
    pub page_bytes: usize,
    /// Bytes gathered over all devices before their chunk groups are written.
    pub group_bytes: usize,
    /// What to do with points that are not in order.
    pub order: Order,
    /// Most entries of an index node.
    pub degree: usize,
    /// Properties of the file (version 4).
    pub properties: Vec<(String, Option<String>)>,
    /// Whether a chunk whose encoding would change values gets the usual encoding of its type, and is reported. That
    /// needs [`Order::Sort`], where pages wait for the flush; otherwise such values are an error.
    pub fallback: bool,
    /// Free text about the writer (0.8 and 000001).
    pub created_by: Option<String>,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            version: Version::V4,
            time_encoding: Encoding::Ts2Diff,
            page_points: 10_000,
            page_bytes: 256 << 10,
            group_bytes: 64 << 20,
            order: Order::Refuse,
            degree: 256,
            properties: Vec::new(),
            fallback: false,
            created_by: None,
        }
    }
}

impl WriterOptions {
    /// The defaults for this layout.
    pub fn for_version(version: Version) -> Self {
        let degree = if version == Version::V2 { 1024 } else { 256 };
        Self { version, degree, ..Self::default() }
    }

    pub(crate) fn check(&self) -> Result<()> {
        let known = matches!(
            self.time_encoding,
            Encoding::Ts2Diff | Encoding::Plain | Encoding::Rle | Encoding::Regular
        );
        if !known || !self.time_encoding.is_writable(DataType::Int64, self.version) {
            let name = self.time_encoding.name(self.version);
            return Err(Error::invalid(format!("times cannot be encoded as {name}"))
                .hint("TS_2DIFF is what readers expect"));
        }
        if self.page_points == 0 || self.page_bytes == 0 || self.group_bytes == 0 || self.degree < 2 {
            return Err(Error::invalid("page and group sizes must be positive, the index degree at least 2"));
        }
        if self.version != Version::V4 && !self.properties.is_empty() {
            let text = format!("version {} has no file properties", self.version.name());
            return Err(Error::invalid(text).hint("version 4 has"));
        }
        if !self.version.is_flat() && self.created_by.is_some() {
            let text = format!("version {} does not name its creator", self.version.name());
            return Err(Error::invalid(text).hint("versions 0.8 and 000001 do"));
        }
        Ok(())
    }

    pub(crate) fn setting(&self) -> Setting {
        Setting {
            version: self.version,
            time_encoding: self.time_encoding,
            pages: PageLimits { points: self.page_points, bytes: self.page_bytes },
            exact: true,
            fallback: self.fallback,
        }
    }
}
