//! The byte map: every byte range of a container with its meaning. Used by `tess sketch`, viewers and the verifier.

use std::ops::Range;

/// The coarse kind of a byte range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Role {
    /// Magic, version, superblock.
    Header,
    /// Schemas, directories, footers.
    Metadata,
    /// Structures that locate chunks, pages or tiles.
    Index,
    /// Zone maps, bloom filters, statistics.
    Statistics,
    /// Data of chunks, pages or tiles.
    Data,
    /// Filling bytes.
    Padding,
    /// Bytes that nothing refers to.
    Gap,
}

impl Role {
    /// The name in JSON and on maps.
    pub fn name(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::Metadata => "metadata",
            Self::Index => "index",
            Self::Statistics => "statistics",
            Self::Data => "data",
            Self::Padding => "padding",
            Self::Gap => "gap",
        }
    }
}

/// One byte range of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// The range.
    pub range: Range<u64>,
    /// Coarse meaning.
    pub role: Role,
    /// Its contents, e.g. `chunk (0, 1) of 'temperature'`.
    pub content: String,
    /// The table it belongs to, if any.
    pub table: Option<String>,
    /// The column it belongs to, if any.
    pub column: Option<String>,
    /// Nesting: an extent inside another one has a greater depth.
    pub depth: u8,
}

impl Extent {
    /// An extent at depth 0 that belongs to no table.
    pub fn new(range: Range<u64>, role: Role, content: impl Into<String>) -> Self {
        Self { range, role, content: content.into(), table: None, column: None, depth: 0 }
    }

    /// Sets the table it belongs to.
    #[must_use]
    pub fn table(mut self, table: impl Into<String>) -> Self {
        self.table = Some(table.into());
        self
    }

    /// Sets the column it belongs to.
    #[must_use]
    pub fn column(mut self, column: impl Into<String>) -> Self {
        self.column = Some(column.into());
        self
    }

    /// Nests it inside the previous extent.
    #[must_use]
    pub fn depth(mut self, depth: u8) -> Self {
        self.depth = depth;
        self
    }
}

/// The extents of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLayout {
    /// The file's name, relative to the container if that is a folder.
    pub file: String,
    /// Its size.
    pub size: u64,
    /// Sorted by position; at depth 0 they cover the file without overlap once [`FileLayout::close_gaps`] has run,
    /// unless the file itself contains overlapping parts.
    pub extents: Vec<Extent>,
}

impl FileLayout {
    /// Sorts the extents and fills uncovered ranges with [`Role::Gap`], so that every byte is accounted for.
    #[must_use]
    pub fn close_gaps(mut self) -> Self {
        self.extents.sort_by_key(|e| (e.range.start, e.depth, std::cmp::Reverse(e.range.end)));
        let mut covered = 0;
        let mut gaps = Vec::new();
        for extent in self.extents.iter().filter(|e| e.depth == 0) {
            if extent.range.start > covered {
                gaps.push(covered..extent.range.start);
            }
            covered = covered.max(extent.range.end);
        }
        if covered < self.size {
            gaps.push(covered..self.size);
        }
        self.extents.extend(gaps.into_iter().map(|range| Extent::new(range, Role::Gap, "not referenced")));
        self.extents.sort_by_key(|e| (e.range.start, e.depth, std::cmp::Reverse(e.range.end)));
        self
    }
}

/// The extents of all files of a container.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LayoutMap {
    /// One entry per file, in name order.
    pub files: Vec<FileLayout>,
}

impl LayoutMap {
    /// The JSON form: a list of files with their extents.
    pub fn to_json(&self) -> serde_json::Value {
        let extent = |e: &Extent| {
            serde_json::json!({
                "start": e.range.start, "end": e.range.end, "role": e.role.name(), "content": e.content,
                "table": e.table, "column": e.column, "depth": e.depth,
            })
        };
        let file = |f: &FileLayout| {
            serde_json::json!({
                "file": f.file, "size": f.size, "extents": f.extents.iter().map(extent).collect::<Vec<_>>(),
            })
        };
        serde_json::json!({ "files": self.files.iter().map(file).collect::<Vec<_>>() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_accounted_for() {
        let layout = FileLayout {
            file: "f".into(),
            size: 100,
            extents: vec![
                Extent::new(40..60, Role::Data, "b"),
                Extent::new(0..10, Role::Header, "a"),
                Extent::new(45..50, Role::Data, "inside b").depth(1),
            ],
        }
        .close_gaps();
        let shown: Vec<_> = layout.extents.iter().map(|e| (e.range.clone(), e.role)).collect();
        assert_eq!(
            shown,
            [
                (0..10, Role::Header),
                (10..40, Role::Gap),
                (40..60, Role::Data),
                (45..50, Role::Data),
                (60..100, Role::Gap)
            ]
        );
    }
}
