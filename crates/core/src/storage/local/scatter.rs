//! Reads into several places at once.

use std::fs::File;
use std::io::{Error as IoError, ErrorKind, IoSliceMut, Result as IoResult};
use std::sync::Arc;

use super::buffers::Buffer;
use super::open::{OpenFile, read_exact_at};
use crate::error::{Error, Result};

/// Gaps of up to this many bytes are read and dropped: another system call takes longer.
const GAP: u64 = 2 << 10;
/// Most bytes of parts that are read together: the processor caches still hold them when they are copied.
const BLOCK: u64 = 256 << 10;
/// Most parts that are read together: with the gaps between them, they are the places of one system call.
const PARTS: usize = 512;
/// The system fills places slower than a copy does if they have fewer bytes than this on average.
const PLACE: usize = 1 << 10;

/// Places from this many on, far from each other, are copied out of a mapping: its page faults cost less than the calls.
const MANY: usize = 16;
/// Longer parts are read by position: the call takes little of the time.
const SHORT: usize = 16 << 10;

/// An offset in a file, and the place of the bytes there.
pub(super) type Part<'d> = (u64, &'d mut [u8]);

/// A file with its descriptor.
struct Source<'f> {
    open: &'f OpenFile,
    file: &'f File,
}

impl Source<'_> {
    fn read(&self, part: &mut [u8], offset: u64) -> Result<()> {
        read_exact_at(self.file, part, offset).map_err(|error| self.open.unread(error))
    }

    fn read_places(&self, places: &mut [IoSliceMut<'_>], offset: u64) -> Result<()> {
        read_exact(self.file, places, offset).map_err(|error| self.open.unread(error))
    }
}

/// Fills each part with the bytes at its offset; offsets ascend.
pub(super) fn read(open: &Arc<OpenFile>, mut parts: &mut [Part<'_>]) -> Result<()> {
    let source = Source { open, file: &*open.file()? };
    // What the mapping lacks is read by position, which fails as usual.
    if are_many_and_short(parts)
        && source.open.guarded(source.file).is_some_and(|map| map.copy(source.file, parts))
    {
        return Ok(());
    }
    let mut buffer = None;
    while let Some(count) = near(parts) {
        let (together, rest) = parts.split_at_mut(count);
        parts = rest;
        if let [(offset, part)] = together {
            source.read(part, *offset)?;
            continue;
        }
        let spare = buffer.get_or_insert_with(|| Buffer::of(BLOCK as usize)).as_mut();
        if has_large_places(together) {
            read_into_places(&source, together, spare)?;
        } else {
            read_and_copy(&source, together, spare)?;
        }
    }
    Ok(())
}

/// Whether reads by position would be many system calls for few bytes each.
fn are_many_and_short(parts: &[Part<'_>]) -> bool {
    let is_far = |pair: &&[Part<'_>]| matches!(pair, [one, next] if next.0.saturating_sub(end_of(one)) > GAP);
    parts.len() >= MANY
        && parts.iter().map(|(_, part)| part.len()).sum::<usize>() <= parts.len() * SHORT
        && parts.windows(2).filter(is_far).nth(MANY - 2).is_some()
}

/// How many of the first parts are read together: those with small gaps between them; `None` without parts.
fn near(parts: &[Part<'_>]) -> Option<usize> {
    let first = parts.first()?;
    let mut end = end_of(first);
    let others = parts.iter().take(PARTS).skip(1).take_while(|part| {
        let is_near = part.0.checked_sub(end).is_some_and(|gap| gap <= GAP);
        end = end_of(part);
        is_near && end - first.0 <= BLOCK
    });
    Some(1 + others.count())
}

/// Whether the parts and the gaps between them are large enough to be filled by the system.
fn has_large_places(parts: &[Part<'_>]) -> bool {
    let gaps = parts.windows(2).filter(|pair| matches!(pair, [one, next] if end_of(one) != next.0)).count();
    let bytes: usize = parts.iter().map(|(_, part)| part.len()).sum();
    bytes >= (parts.len() + gaps) * PLACE
}

fn end_of((offset, part): &Part<'_>) -> u64 {
    offset + part.len() as u64
}

/// Reads straight into the parts, and the gaps between them into `spare`.
fn read_into_places(source: &Source<'_>, parts: &mut [Part<'_>], mut spare: &mut [u8]) -> Result<()> {
    let start = parts.first().map_or(0, |part| part.0);
    let mut places: Vec<IoSliceMut<'_>> = Vec::with_capacity(parts.len() * 2);
    let mut end = start;
    for (offset, part) in parts {
        let gap = offset.checked_sub(end).and_then(|gap| spare.split_at_mut_checked(gap as usize));
        let (gap, rest) = gap.ok_or_else(too_far)?;
        spare = rest;
        if !gap.is_empty() {
            places.push(IoSliceMut::new(gap));
        }
        end = *offset + part.len() as u64;
        places.push(IoSliceMut::new(part));
    }
    source.read_places(&mut places, start)
}

/// Reads the parts with the gaps between them into `spare`, and copies the parts.
fn read_and_copy(source: &Source<'_>, parts: &mut [Part<'_>], spare: &mut [u8]) -> Result<()> {
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return Ok(()) };
    let (start, len) = (first.0, end_of(last) - first.0);
    let block = spare.get_mut(..len as usize).ok_or_else(too_far)?;
    source.read(block, start)?;
    for (offset, part) in parts {
        let bytes = block.get((*offset - start) as usize..).and_then(|bytes| bytes.get(..part.len()));
        part.copy_from_slice(bytes.ok_or_else(too_far)?);
    }
    Ok(())
}

fn too_far() -> Error {
    Error::internal("parts that are read together are too far apart")
}

/// Fills all places with the bytes from `offset` on.
#[cfg(target_os = "linux")]
fn read_exact(file: &File, mut places: &mut [IoSliceMut<'_>], mut offset: u64) -> IoResult<()> {
    while !places.is_empty() {
        match rustix::io::preadv(file, places, offset) {
            Ok(0) if places.iter().all(|place| place.is_empty()) => return Ok(()),
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                offset += read as u64;
                IoSliceMut::advance_slices(&mut places, read);
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(IoError::from(error)),
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn read_exact(file: &File, places: &mut [IoSliceMut<'_>], mut offset: u64) -> IoResult<()> {
    for place in places {
        read_exact_at(file, place, offset)?;
        offset += place.len() as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::storage::{LocalStorage, Storage};

    #[test]
    fn parts_get_the_bytes_at_their_offsets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let bytes: Vec<u8> = (0..300_000_u32).map(|i| (i * 7 / 3) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let storage = LocalStorage::new();
        // No gap, small gaps, large ones, empty parts, large parts, and more than are read together.
        let layouts: [(usize, usize, usize); 10] = [
            (0, 0, 10),
            (100, 0, 2000),
            (10, 30, 3000),
            (1000, 5000, 40),
            (0, 4097, 5),
            (64, 2048, 100),
            (64, 2049, 100),
            (2048, 0, 140),
            (3000, 100, 90),
            (280_000, 10, 1),
        ];
        for (len, gap, count) in layouts {
            let mut buffers = vec![vec![0; len]; count];
            let mut parts: Vec<(u64, &mut [u8])> = buffers
                .iter_mut()
                .enumerate()
                .map(|(i, part)| (7 + (i * (len + gap)) as u64, part.as_mut_slice()))
                .collect();
            storage.read_parts(path.to_str().unwrap(), &mut parts).unwrap();
            for (i, part) in buffers.iter().enumerate() {
                let start = 7 + i * (len + gap);
                assert_eq!(part, &bytes[start..start + len], "{len} {gap} {i}");
            }
        }
        let (mut one, mut two) = (vec![0; 10], vec![0; 10]);
        let past = &mut [(0, one.as_mut_slice()), (299_995, two.as_mut_slice())];
        assert!(storage.read_parts(path.to_str().unwrap(), past).is_err());
        std::fs::File::options().write(true).open(&path).unwrap().set_len(100).unwrap();
        let shorter = &mut [(0, one.as_mut_slice()), (200, two.as_mut_slice())];
        let error = storage.read_parts(path.to_str().unwrap(), shorter).unwrap_err();
        assert!(error.to_string().contains("became shorter"), "{error}");
    }
}
