//! Finds the footer of a damaged file: at its expected position, before appended bytes, or after correcting a
//! bit.

use bytes::Bytes;
use tesselle_codec::crc::crc32c;
use tesselle_core::{Cursor, Error, ErrorKind, Location, OpenOptions, Outcome, Result};

use super::flip;
use crate::meta::header::{HEADER_LEN, Header, MAGIC};
use crate::meta::trailer::{MIN_FILE_LEN, TRAILER_LEN, Trailer};
use crate::open::File;

/// How far from the end to search for a trailer.
const WINDOW: u64 = 1 << 20;

/// The readable part of a file.
pub(super) enum FooterSearch {
    /// A valid footer, and the damage that was ignored.
    File(File, Vec<(Outcome, String)>),
    /// No footer: the reason why the file was refused.
    Lost(Error),
}

pub(super) fn locate(source: &Location, options: &OpenOptions) -> Result<FooterSearch> {
    let refused = match File::open(source, options) {
        Ok(file) => return Ok(FooterSearch::File(file, Vec::new())),
        Err(error) if error.kind() == ErrorKind::Io => return Err(error),
        Err(error) => error,
    };
    let size = source.size()?;
    let overlooked = format!("overlooked: {}", refused.without_hint());
    if let Some(end) = last_sound_trailer(source, size)?
        && let Ok(file) = File::open_overlooking(source, options, end)
    {
        let mut notes = vec![(Outcome::Repaired, overlooked)];
        if end < size {
            notes.push((Outcome::Repaired, format!("dropped {} bytes after the trailer", size - end)));
        }
        return Ok(FooterSearch::File(file, notes));
    }
    if let Some((file, outcome, how)) = repair_footer(source, size, options)? {
        return Ok(FooterSearch::File(file, vec![(Outcome::Repaired, overlooked), (outcome, how)]));
    }
    Ok(FooterSearch::Lost(refused))
}

/// The end of the last trailer with a footer that matches its checksum.
fn last_sound_trailer(source: &Location, size: u64) -> Result<Option<u64>> {
    let start = size.saturating_sub(WINDOW);
    let tail = source.read_range(start..size)?;
    for at in (0..tail.len().saturating_sub(3)).rev() {
        let end = start + at as u64 + 4;
        if tail.get(at..at + 4) != Some(&MAGIC) || end < MIN_FILE_LEN {
            continue;
        }
        let Ok(trailer) = Trailer::parse(&source.read_range(end - TRAILER_LEN..end)?, end) else { continue };
        let footer = source.read_range(trailer.footer_offset..end - TRAILER_LEN)?;
        if trailer.check(&footer).is_ok() {
            return Ok(Some(end));
        }
    }
    Ok(None)
}

/// Tries to correct minor damage to the footer or trailer at the end of the file.
fn repair_footer(
    source: &Location,
    size: u64,
    options: &OpenOptions,
) -> Result<Option<(File, Outcome, String)>> {
    if size < MIN_FILE_LEN {
        return Ok(None);
    }
    let end = size - TRAILER_LEN;
    let trailer = source.read_range(end..size)?;
    let mut cursor = Cursor::new(&trailer, end, "trailer");
    let (len, crc) = (cursor.u32_le()?, cursor.u32_le()?);
    let header = Header::parse(&source.read_range(0..HEADER_LEN)?).ok();
    // The header also states the start of the footer.
    let stated = header.map(|header| header.footer_offset);
    let starts = [end.checked_sub(u64::from(len)), stated];
    let starts: Vec<u64> =
        starts.into_iter().flatten().filter(|start| (HEADER_LEN..end).contains(start)).collect();
    for start in &starts {
        if end - start > options.limits.metadata_bytes {
            continue;
        }
        let stored = source.read_range(*start..end)?;
        let open = |footer: &Bytes| File::open_with_footer(source, options, size, *start, footer).ok();
        let difference = crc32c(&stored) ^ crc;
        if difference == 0
            && let Some(file) = open(&stored)
        {
            let how = "the trailer was rebuilt: the footer before it matches its checksum";
            return Ok(Some((file, Outcome::Repaired, how.to_owned())));
        }
        if difference.is_power_of_two()
            && stated == Some(*start)
            && let Some(file) = open(&stored)
        {
            let how = "corrected one bit of the footer checksum";
            return Ok(Some((file, Outcome::Repaired, how.to_owned())));
        }
        if let Some((at, bit)) = flip::place(stored.len(), difference) {
            let mut right = stored.to_vec();
            right.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << bit);
            if let Some(file) = open(&right.into()) {
                let at = start + at as u64;
                let how = format!("corrected bit {bit} of byte {at} of the footer (located by its CRC)");
                return Ok(Some((file, Outcome::Repaired, how)));
            }
        }
    }
    // More damage: the contents of the footer may be wrong, but pages that match it and their checksums are
    // correct.
    for start in starts {
        if end - start > options.limits.metadata_bytes {
            continue;
        }
        let stored = source.read_range(start..end)?;
        if let Ok(file) = File::open_with_footer(source, options, size, start, &stored)
            && (0..file.footer().groups.len())
                .any(|g| super::for_each_batch(&file, g, None, |_| Ok(())).is_ok())
        {
            let how = "the footer does not match its checksum: names and types of columns, row counts and metadata \
                       may be wrong, although pages are readable with them";
            return Ok(Some((file, Outcome::Doubtful, how.to_owned())));
        }
    }
    Ok(None)
}
