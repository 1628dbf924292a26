//! Division of a text file into blocks of whole records.

use std::ops::Range;

use tesselle_core::driver::CancelToken;
use tesselle_core::{Error, Location, Result};

use super::Syntax;

/// Bytes scanned at a time; blocks have about this size.
const WINDOW: u64 = 4 << 20;

/// Byte ranges that follow each other and end where records end.
pub(super) fn blocks<S: Syntax>(
    location: &Location,
    syntax: &S,
    cancel: &CancelToken,
) -> Result<Vec<Range<u64>>> {
    let size = location.size()?;
    let (mut state, mut start, mut at) = (S::ScanState::default(), 0, 0);
    let mut blocks = Vec::new();
    while at < size {
        cancel.check()?;
        let end = size.min(at + WINDOW);
        let window = location.read_range(at..end)?;
        if let Some(n) = syntax.end_of_records(&window, &mut state, at == 0) {
            blocks.push(start..at + n as u64);
            start = at + n as u64;
        }
        at = end;
    }
    if S::is_open(&state) {
        let text = format!(
            "the {} file ends between quotes: a quote after byte {start} is not closed",
            syntax.name()
        );
        return Err(Error::corrupt(text).offset(start).hint("the file was cut off, or a quote is missing"));
    }
    if start < size {
        blocks.push(start..size);
    }
    Ok(blocks)
}
