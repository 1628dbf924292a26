//! Run lengths over cells of a fixed size: `cell | u16 count, big-endian`, counts from 1 to 65535.

#[cfg(test)]
mod tests;

use crate::int::whole_values;
use crate::{Error, Result};

const WHAT: &str = "run-length stream";

/// Appends the runs of the cells in `src`.
pub fn encode(cell: usize, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
    whole_values(WHAT, src, cell)?;
    match cell {
        1 => encode_cells::<1>(src, dst),
        2 => encode_cells::<2>(src, dst),
        4 => encode_cells::<4>(src, dst),
        8 => encode_cells::<8>(src, dst),
        _ => {
            let mut cells = src.chunks_exact(cell);
            let Some(mut current) = cells.next() else { return Ok(()) };
            let mut count = 1u16;
            for next in cells {
                if next == current && count < u16::MAX {
                    count += 1;
                } else {
                    put(current, count, dst);
                    (current, count) = (next, 1);
                }
            }
            put(current, count, dst);
        }
    }
    Ok(())
}

/// Fills `dst` with the cells of a run-length stream; their number must match exactly.
pub fn decode(cell: usize, src: &[u8], dst: &mut [u8]) -> Result<()> {
    let is_whole = cell.checked_add(2).is_some_and(|run| src.len().is_multiple_of(run));
    if cell == 0 || !is_whole {
        return Err(Error::corrupt(
            WHAT,
            format!("{} bytes are not whole runs of {cell}-byte cells", src.len()),
        ));
    }
    let filled = match cell {
        1 => decode_with(1, src, dst, |cell, out| out.fill(cell[0])),
        2 => decode_with(2, src, dst, repeat::<2>),
        4 => decode_with(4, src, dst, repeat::<4>),
        8 => decode_with(8, src, dst, repeat::<8>),
        _ => decode_with(cell, src, dst, |cell, out| {
            for space in out.chunks_exact_mut(cell.len()) {
                space.copy_from_slice(cell);
            }
        }),
    }?;
    if filled == dst.len() {
        Ok(())
    } else {
        Err(Error::Length { what: WHAT, expected: dst.len() as u64, found: filled as u64 })
    }
}

fn put(cell: &[u8], count: u16, dst: &mut Vec<u8>) {
    dst.extend_from_slice(cell);
    dst.extend_from_slice(&count.to_be_bytes());
}

fn encode_cells<const N: usize>(src: &[u8], dst: &mut Vec<u8>) {
    let (cells, _) = src.as_chunks::<N>();
    let mut rest = cells;
    while let Some(first) = rest.first() {
        let run = rest.iter().take(usize::from(u16::MAX)).take_while(|cell| *cell == first).count();
        put(first, run as u16, dst);
        rest = &rest[run..];
    }
}

fn repeat<const N: usize>(cell: &[u8], out: &mut [u8]) {
    if let Some(cell) = cell.first_chunk::<N>() {
        out.as_chunks_mut::<N>().0.fill(*cell);
    }
}

fn decode_with(cell: usize, src: &[u8], dst: &mut [u8], each: impl Fn(&[u8], &mut [u8])) -> Result<usize> {
    let mut filled = 0;
    for run in src.chunks_exact(cell + 2) {
        let (value, count) = run.split_at(cell);
        let bytes = count.first_chunk().map_or(0, |b| usize::from(u16::from_be_bytes(*b))) * cell;
        let Some(out) = dst.get_mut(filled..filled + bytes) else {
            return Err(Error::Length {
                what: WHAT,
                expected: dst.len() as u64,
                found: (filled + bytes) as u64,
            });
        };
        each(value, out);
        filled += bytes;
    }
    Ok(filled)
}
