//! Copying cells from tiles into a batch. One dispatch per tile, then loops over cells of a known width.

use tesselle_core::array::fill;

use crate::order::grid::Runs;
use crate::{Error, Result};

/// Copies runs of cells of `width` bytes.
pub(crate) fn copy_runs(runs: &Runs, src: &[u8], dst: &mut [u8], width: usize) -> Result<()> {
    let short = || Error::internal("a run of cells lies outside its tile");
    if runs.step == 1 {
        let bytes = runs.len * width;
        for run in &runs.starts {
            let from = src.get(run.source * width..run.source * width + bytes).ok_or_else(short)?;
            let to = dst.get_mut(run.target * width..run.target * width + bytes).ok_or_else(short)?;
            to.copy_from_slice(from);
        }
        return Ok(());
    }
    let done = match width {
        1 => copy_stepped::<1>(runs, src, dst),
        2 => copy_stepped::<2>(runs, src, dst),
        4 => copy_stepped::<4>(runs, src, dst),
        8 => copy_stepped::<8>(runs, src, dst),
        _ => copy_stepped_any(runs, src, dst, width),
    };
    done.ok_or_else(short)
}

fn copy_stepped<const W: usize>(runs: &Runs, src: &[u8], dst: &mut [u8]) -> Option<()> {
    let (src, _) = src.as_chunks::<W>();
    let (dst, _) = dst.as_chunks_mut::<W>();
    for run in &runs.starts {
        let to = dst.get_mut(run.target..run.target.checked_add(runs.len)?)?;
        // A step of 0 means a run of one cell.
        let from = src.get(run.source..)?.iter().step_by(runs.step.max(1));
        let mut copied = 0;
        for (to, from) in to.iter_mut().zip(from) {
            *to = *from;
            copied += 1;
        }
        if copied != runs.len {
            return None;
        }
    }
    Some(())
}

fn copy_stepped_any(runs: &Runs, src: &[u8], dst: &mut [u8], width: usize) -> Option<()> {
    for run in &runs.starts {
        for i in 0..runs.len {
            let (from, to) = ((run.source + i * runs.step) * width, (run.target + i) * width);
            dst.get_mut(to..to + width)?.copy_from_slice(src.get(from..from + width)?);
        }
    }
    Some(())
}

/// Fills the target positions of runs with one cell.
pub(crate) fn fill_runs(runs: &Runs, cell: &[u8], dst: &mut [u8]) {
    let width = cell.len();
    for run in &runs.starts {
        let bytes = run.target * width..(run.target + runs.len) * width;
        if let Some(place) = dst.get_mut(bytes) {
            fill(place, cell);
        }
    }
}

/// Copies the cells at `picks` one after the other.
pub(crate) fn gather(src: &[u8], picks: &[u32], width: usize, dst: &mut [u8]) -> Result<()> {
    fn fixed<const W: usize>(src: &[u8], picks: &[u32], dst: &mut [u8]) -> Option<()> {
        let (src, _) = src.as_chunks::<W>();
        let (dst, _) = dst.as_chunks_mut::<W>();
        for (to, pick) in dst.iter_mut().zip(picks) {
            *to = *src.get(*pick as usize)?;
        }
        Some(())
    }
    let done = match width {
        1 => fixed::<1>(src, picks, dst),
        2 => fixed::<2>(src, picks, dst),
        4 => fixed::<4>(src, picks, dst),
        8 => fixed::<8>(src, picks, dst),
        _ => picks.iter().zip(dst.chunks_exact_mut(width.max(1))).try_for_each(|(pick, to)| {
            let from = *pick as usize * width;
            to.copy_from_slice(src.get(from..from + width)?);
            Some(())
        }),
    };
    done.ok_or_else(|| Error::internal("a cell lies outside its tile"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::grid::Run;

    #[test]
    fn stepped_runs_pick_every_nth_cell_of_any_width() {
        for width in [1, 2, 3, 4, 8, 12] {
            let src: Vec<u8> = (0..10 * width).map(|i| i as u8).collect();
            let runs = Runs { len: 3, step: 3, starts: vec![Run { source: 1, target: 2 }] };
            let mut dst = vec![0xff; 6 * width];
            copy_runs(&runs, &src, &mut dst, width).unwrap();
            for (i, cell) in [1, 4, 7].into_iter().enumerate() {
                assert_eq!(dst[(2 + i) * width..(3 + i) * width], src[cell * width..(cell + 1) * width]);
            }
            let outside = Runs { len: 4, step: 3, starts: vec![Run { source: 1, target: 2 }] };
            assert!(copy_runs(&outside, &src, &mut vec![0; 6 * width], width).is_err());
        }
    }
}
