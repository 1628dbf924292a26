//! Cells as distinct strings.

use std::ops::Range;

use tesselle_codec::strings::dictionary::MOST_STRINGS;
use tesselle_core::At;

use crate::Result;

/// The distinct strings of some cells, and which of them each cell is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Entries {
    /// The distinct strings, one after the other.
    pub(crate) data: Vec<u8>,
    /// The end of each in `data`.
    pub(crate) ends: Vec<usize>,
    /// Which of them each cell is.
    pub(crate) ids: Vec<u16>,
}

impl Entries {
    /// These strings and cells.
    pub(super) fn new(strings: &[&[u8]], ids: Vec<u16>) -> Self {
        let ends = strings.iter().scan(0, |end, string| {
            *end += string.len();
            Some(*end)
        });
        Self { data: strings.concat(), ends: ends.collect(), ids }
    }

    /// Appends some cells of another tile with its strings; `false` if they are too many.
    pub(crate) fn append(&mut self, other: &Self, cells: Range<usize>) -> Result<bool> {
        let (first, shift) = (self.ends.len(), self.data.len());
        if first + other.ends.len() > MOST_STRINGS {
            return Ok(false);
        }
        self.data.extend_from_slice(&other.data);
        self.ends.extend(other.ends.iter().map(|end| shift + end));
        // The sum is a position in `ends`, of which there are not too many.
        let first = first as u16;
        self.ids.extend(other.ids.part(cells)?.iter().map(|id| first.wrapping_add(*id)));
        Ok(true)
    }
}
