//! Resource limits for untrusted files.

/// Bounds that apply regardless of what a file states.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Largest metadata structure that is loaded into memory.
    pub metadata_bytes: u64,
    /// Largest decoded size of one piece (chunk, page, tile).
    pub piece_bytes: u64,
    /// Deepest nesting of groups, trees and conditions.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { metadata_bytes: 1 << 30, piece_bytes: 1 << 32, depth: 128 }
    }
}
