//! The marker bytes of the records of the data section.

use super::Version;

/// A chunk group: its footer up to version 2, its header from version 3 on.
pub(crate) const CHUNK_GROUP: u8 = 0x00;
/// A chunk whose page headers carry statistics.
pub(crate) const CHUNK: u8 = 0x01;
/// The end of the data section.
pub(crate) const SEPARATOR: u8 = 0x02;
/// A version record (version 2).
pub(crate) const VERSION: u8 = 0x03;
/// A range of operation indexes (version 3 and later).
pub(crate) const OPERATION_RANGE: u8 = 0x04;
/// A chunk of at most one page, without statistics in the page header (version 3 and later).
pub(crate) const ONE_PAGE_CHUNK: u8 = 0x05;
/// Set on the chunk marker of an aligned group's time column.
pub(crate) const TIME_COLUMN: u8 = 0x80;
/// Set on the chunk marker of an aligned group's value column.
pub(crate) const VALUE_COLUMN: u8 = 0x40;

/// The marker without the bits of aligned groups.
pub(crate) fn kind(marker: u8) -> u8 {
    marker & 0x3f
}

/// Whether a chunk header follows.
pub(crate) fn is_chunk(marker: u8, version: Version) -> bool {
    if version.is_compact() {
        matches!(kind(marker), CHUNK | ONE_PAGE_CHUNK) && marker & 0xc0 != 0xc0
    } else {
        marker == CHUNK
    }
}
