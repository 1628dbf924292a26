//! Reads into several places at once.

use std::io::{Error as IoError, ErrorKind, IoSliceMut};
use std::sync::Arc;

use super::buffers::Buffer;
use super::open::OpenFile;
use crate::error::Result;

/// Gaps of up to this many bytes are read and dropped: another system call takes longer.
const GAP: u64 = 4 << 10;
/// Most places of one system call.
const PLACES: usize = 1024;

/// Fills each part with the bytes at its offset; offsets ascend.
pub(super) fn read(open: &Arc<OpenFile>, parts: &mut [(u64, &mut [u8])]) -> Result<()> {
    let mut gaps = Buffer::of(small_gaps(parts));
    let mut spare = gaps.as_mut();
    let mut places: Vec<IoSliceMut<'_>> = Vec::with_capacity(parts.len().min(PLACES) * 2);
    let (mut start, mut end) = (0, 0);
    for (offset, part) in parts.iter_mut() {
        let gap = offset.checked_sub(end).filter(|gap| *gap <= GAP && places.len() + 2 <= PLACES);
        match gap {
            Some(gap) if !places.is_empty() => {
                let (skipped, rest) = std::mem::take(&mut spare).split_at_mut(gap as usize);
                spare = rest;
                if gap > 0 {
                    places.push(IoSliceMut::new(skipped));
                }
            }
            _ => {
                open.read_places(&mut places, start)?;
                places.clear();
                start = *offset;
            }
        }
        end = *offset + part.len() as u64;
        places.push(IoSliceMut::new(part));
    }
    open.read_places(&mut places, start)
}

/// The bytes of all gaps that are read.
fn small_gaps(parts: &[(u64, &mut [u8])]) -> usize {
    let ends = parts.iter().map(|(offset, part)| offset + part.len() as u64);
    let gaps = parts.iter().skip(1).zip(ends).filter_map(|((next, _), end)| next.checked_sub(end));
    gaps.filter(|gap| *gap <= GAP).sum::<u64>() as usize
}

/// Fills all places with what follows `offset`.
#[cfg(unix)]
pub(super) fn read_exact(
    file: &std::fs::File,
    mut places: &mut [IoSliceMut<'_>],
    mut offset: u64,
) -> std::io::Result<()> {
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

#[cfg(not(unix))]
pub(super) fn read_exact(
    file: &std::fs::File,
    places: &mut [IoSliceMut<'_>],
    mut offset: u64,
) -> std::io::Result<()> {
    for place in places {
        super::open::read_exact_at(file, place, offset)?;
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
        // No gap, small gaps, large ones, empty parts, and more parts than one call takes.
        let layouts: [(usize, usize, usize); 6] =
            [(0, 0, 10), (100, 0, 2000), (10, 30, 3000), (1000, 5000, 40), (0, 4097, 5), (64, 4096, 60)];
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
