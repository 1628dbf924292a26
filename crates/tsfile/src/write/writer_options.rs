//! Options of the writer.

use tesselle_core::{Error, Result, setters};

use super::chunk::{PageLimits, Setting};
use crate::meta::{DataType, Encoding, Version};

/// Policy for points that are not in time order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Times of a series must be ascending; anything else is an error.
    #[default]
    Refuse,
    /// Points are sorted within one flush, and of equal times the later one wins. A point before already
    /// flushed times is an error.
    Sort,
}

/// Options of a file to write.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq)]
pub struct WriterOptions {
    /// The file version.
    pub version: Version,
    /// The encoding of times. Versions before 3 and ordinary series do not record it; readers expect
    /// TS_2DIFF.
    pub time_encoding: Encoding,
    /// Maximum number of points in a page.
    pub page_points: usize,
    /// Maximum bytes of a column in a page, before encoding.
    pub page_bytes: usize,
    /// Bytes collected over all devices before their chunk groups are written.
    pub group_bytes: usize,
    /// Policy for points that are not in time order.
    pub order: Order,
    /// Maximum number of entries of an index node.
    pub degree: usize,
    /// Properties of the file (version 4).
    pub properties: Vec<(String, Option<String>)>,
    /// Whether a chunk whose encoding would change values gets the default encoding of its type instead,
    /// which is reported. This needs [`Order::Sort`], which buffers points until the flush; otherwise such
    /// values are an error.
    pub fallback: bool,
    /// Free-form string about the writer (0.8 and 000001).
    pub created_by: Option<String>,
}

setters! { WriterOptions {
    with_version => version: Version,
    with_time_encoding => time_encoding: Encoding,
    with_page_points => page_points: usize,
    with_page_bytes => page_bytes: usize,
    with_group_bytes => group_bytes: usize,
    with_order => order: Order,
    with_degree => degree: usize,
    with_properties => properties: Vec<(String, Option<String>)>,
    with_fallback => fallback: bool,
    with_created_by => created_by: impl Into<Option<String>>,
} }

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
    /// The defaults for this version.
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
            let message = format!("version {} has no file properties", self.version.name());
            return Err(Error::invalid(message).hint("version 4 has"));
        }
        if !self.version.is_flat() && self.created_by.is_some() {
            let message = format!("version {} cannot store a creator", self.version.name());
            return Err(Error::invalid(message).hint("versions 0.8 and 000001 do"));
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
