//! Finding the footer of a damaged file: where it should be, or before bytes that were appended to it.

use tesselle_core::{Error, ErrorKind, Location, OpenOptions, Result};

use crate::meta::header::MAGIC;
use crate::read::file::File;

/// How far from the end a trailer is searched for.
const WINDOW: u64 = 1 << 20;

/// What is left of a file.
pub(super) enum Located {
    /// A footer that holds together, and what had to be overlooked.
    File(File, Vec<String>),
    /// No footer: why the file was refused.
    Lost(Error),
}

pub(super) fn locate(source: &Location, options: &OpenOptions) -> Result<Located> {
    let refused = match File::open(source, options) {
        Ok(file) => return Ok(Located::File(file, Vec::new())),
        Err(error) if error.kind() == ErrorKind::Io => return Err(error),
        Err(error) => error,
    };
    let size = source.size()?;
    let start = size.saturating_sub(WINDOW);
    let tail = source.read_range(start..size)?;
    // From the back: the last trailer whose footer matches its checksum is the file's own.
    for at in (0..tail.len().saturating_sub(3)).rev() {
        if tail.get(at..at + 4) != Some(&MAGIC) {
            continue;
        }
        let end = start + at as u64 + 4;
        if let Ok(file) = File::open_overlooking(source, options, end) {
            let mut notes = vec![format!("overlooked: {refused}")];
            if end < size {
                notes.push(format!("{} bytes behind the trailer are dropped", size - end));
            }
            return Ok(Located::File(file, notes));
        }
    }
    Ok(Located::Lost(refused))
}
