//! Strided copies between two boxes of cells.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;

use crate::error::{Error, Result};

/// Runs shorter than this are copied from a buffer, not read one by one.
pub(super) const SHORTEST_RUN: usize = 512;
/// Runs shorter than this are copied from a tile in one piece.
const SHORTEST_PART: usize = 64;
/// Most runs that are read one by one.
const MOST_RUNS: usize = 1 << 16;

/// One axis of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyAxis {
    /// How many positions move.
    pub len: usize,
    /// Bytes from one position to the next in the source.
    pub src: usize,
    /// Bytes from one position to the next in the destination.
    pub dst: usize,
}

/// Copies a box of cells of `size` bytes (1, 2, 4 or 8) whose first cell is the first of `src` and of `dst`; outermost
/// axis first. Returns `false` and copies nothing if the box is not inside both.
#[must_use]
pub fn copy_box(size: usize, axes: &[CopyAxis], src: &[u8], dst: &mut [u8]) -> bool {
    if axes.iter().any(|axis| axis.len == 0) {
        return true;
    }
    let reach = |step: fn(&CopyAxis) -> usize| {
        axes.iter().try_fold(size, |end, axis| (axis.len - 1).checked_mul(step(axis))?.checked_add(end))
    };
    let inside = |step, len| reach(step).is_some_and(|end| end <= len);
    if !inside(|axis| axis.src, src.len()) || !inside(|axis| axis.dst, dst.len()) {
        return false;
    }
    // Joins axes that follow each other without a gap on both sides into longer runs.
    let mut joined: Vec<CopyAxis> = Vec::with_capacity(axes.len());
    for axis in axes.iter().filter(|axis| axis.len > 1) {
        match joined.last_mut() {
            Some(outer) if outer.src == axis.len * axis.src && outer.dst == axis.len * axis.dst => {
                *outer = CopyAxis { len: outer.len * axis.len, ..*axis };
            }
            _ => joined.push(*axis),
        }
    }
    let run = joined.pop_if(|axis| axis.src == size && axis.dst == size).map_or(size, |axis| axis.len * size);
    if run == size
        && let Some(inner) = joined.pop()
    {
        each(&joined, src, dst, &mut |src, dst| match size {
            1 => copy_cells::<1>(inner, src, dst),
            2 => copy_cells::<2>(inner, src, dst),
            4 => copy_cells::<4>(inner, src, dst),
            _ => copy_cells::<8>(inner, src, dst),
        });
        return true;
    }
    each(&joined, src, dst, &mut |src, dst| {
        if let (Some(src), Some(dst)) = (src.get(..run), dst.get_mut(..run)) {
            dst.copy_from_slice(src);
        }
    });
    true
}

/// Calls `copy` for each position of `axes`.
fn each(axes: &[CopyAxis], src: &[u8], dst: &mut [u8], copy: &mut impl FnMut(&[u8], &mut [u8])) {
    let Some((axis, inner)) = axes.split_first() else { return copy(src, dst) };
    for i in 0..axis.len {
        let (Some(src), Some(dst)) = (src.get(i * axis.src..), dst.get_mut(i * axis.dst..)) else { return };
        each(inner, src, dst, copy);
    }
}

/// Copies cells one by one. Distances are whole cells: they are strides of row-major boxes.
fn copy_cells<const N: usize>(axis: CopyAxis, src: &[u8], dst: &mut [u8]) {
    let (src, dst) = (src.as_chunks::<N>().0, dst.as_chunks_mut::<N>().0);
    let (from, to) = ((axis.src / N).max(1), (axis.dst / N).max(1));
    match (from, to) {
        // The common steps have specialized loops, which the compiler vectorizes.
        (2, 1) => every::<N, 2>(src, dst, axis.len),
        (3, 1) => every::<N, 3>(src, dst, axis.len),
        (4, 1) => every::<N, 4>(src, dst, axis.len),
        _ => {
            let cells = dst.iter_mut().step_by(to).zip(src.iter().step_by(from));
            cells.take(axis.len).for_each(|(dst, src)| *dst = *src);
        }
    }
}

fn every<const N: usize, const STEP: usize>(src: &[[u8; N]], dst: &mut [[u8; N]], len: usize) {
    let (groups, rest) = src.as_chunks::<STEP>();
    let firsts = groups.iter().map(|group| group[0]).chain(rest.first().copied());
    dst.iter_mut().take(len).zip(firsts).for_each(|(dst, src)| *dst = src);
}

/// One axis of a box copied between row-major buffers.
#[derive(Debug, Clone, Copy)]
pub struct AxisCopy {
    /// How many positions move.
    pub len: u64,
    /// First position in the source.
    pub src_first: u64,
    /// Distance of positions in the source.
    pub src_step: u64,
    /// Extent of the source.
    pub src_extent: u64,
    /// First position in the destination, where positions are adjacent.
    pub dst_first: u64,
    /// Extent of the destination.
    pub dst_extent: u64,
}

/// A copy of a box of cells between row-major buffers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoxCopy {
    /// Outermost first.
    pub(crate) axes: Vec<CopyAxis>,
    /// Bytes of a cell.
    size: usize,
    /// Bytes that are adjacent in both buffers: axes that are complete on both sides join into longer runs.
    run: usize,
    /// Where the first run starts in the source.
    pub src_start: usize,
    /// The position of the first run in the destination.
    pub dst_start: usize,
}

impl BoxCopy {
    /// Plans a copy of cells of `size` bytes. The caller has checked that both buffers fit into memory.
    pub fn new(axes: impl DoubleEndedIterator<Item = AxisCopy> + ExactSizeIterator, size: usize) -> Self {
        let mut copies = Vec::with_capacity(axes.len());
        let (mut src_stride, mut dst_stride) = (size, size);
        let (mut src_start, mut dst_start) = (0, 0);
        let (mut run, mut grows) = (size, true);
        for axis in axes.rev() {
            let (len, src) = (axis.len as usize, (axis.src_step as usize).saturating_mul(src_stride));
            src_start += axis.src_first as usize * src_stride;
            dst_start += axis.dst_first as usize * dst_stride;
            grows &= len == 1 || (src == run && dst_stride == run);
            if grows {
                run *= len;
            }
            copies.push(CopyAxis { len, src, dst: dst_stride });
            src_stride *= axis.src_extent as usize;
            dst_stride *= axis.dst_extent as usize;
        }
        copies.reverse();
        Self { axes: copies, size, run, src_start, dst_start }
    }

    /// Bytes of the cells that move.
    pub fn bytes(&self) -> usize {
        self.axes.iter().map(|axis| axis.len).product::<usize>() * self.size
    }

    /// Whether it is one run on both sides.
    pub fn is_one_run(&self) -> bool {
        self.run == self.bytes()
    }

    /// Bytes that are adjacent on both sides.
    pub fn run(&self) -> usize {
        self.run
    }

    /// Whether [`BoxCopy::runs`] has an answer.
    pub(crate) fn has_long_runs(&self) -> bool {
        self.run >= SHORTEST_RUN && self.bytes() / self.run <= MOST_RUNS
    }

    /// The runs of the box: their offsets from its first cell in the source, and their places in `dst`. `None` if
    /// there are so many that copying them one by one does not pay.
    pub(crate) fn runs<'d>(&self, dst: &'d mut [u8]) -> Option<Vec<Run<'d>>> {
        self.runs_from(SHORTEST_RUN, dst)
    }

    /// The runs of the box, if they have at least `shortest` bytes.
    fn runs_from<'d>(&self, shortest: usize, dst: &'d mut [u8]) -> Option<Vec<Run<'d>>> {
        if self.run < shortest || self.run_count() > MOST_RUNS {
            return None;
        }
        let mut runs = Vec::with_capacity(self.run_count());
        let mut rest = Rest { bytes: dst, at: 0 };
        for (src, place) in self.run_positions() {
            runs.push((src, rest.split(place, self.run)?));
        }
        Some(runs)
    }

    /// How many runs the box has.
    pub(crate) fn run_count(&self) -> usize {
        self.bytes() / self.run.max(1)
    }

    /// The runs of the box, ascending: their offsets from its first cell in the source, and their positions in the
    /// destination.
    fn run_positions(&self) -> impl Iterator<Item = (usize, usize)> {
        let mut inside = self.size;
        let inner = self.axes.iter().rev().take_while(|axis| {
            inside *= axis.len;
            inside <= self.run
        });
        let outer = self.axes.get(..self.axes.len() - inner.count()).unwrap_or_default();
        let (innermost, outer) =
            outer.split_last().map_or((None, outer), |(last, others)| (Some(last), others));
        let rows = innermost.map_or(1, |axis| axis.len);
        (0..self.run_count().checked_div(rows).unwrap_or(0)).flat_map(move |number| {
            let (mut src, mut place, mut left) = (0, self.dst_start, number);
            for axis in outer.iter().rev() {
                let position = left % axis.len;
                (src, place) = (src + position * axis.src, place + position * axis.dst);
                left /= axis.len;
            }
            let (src_step, place_step) = innermost.map_or((0, 0), |axis| (axis.src, axis.dst));
            (0..rows).map(move |row| (src + row * src_step, place + row * place_step))
        })
    }

    /// Copies from a source in slices that follow each other. Returns `false`, without copying, if there are so many runs
    /// that a source in one piece is faster.
    pub(crate) fn copy_parts(&self, parts: &[Bytes], dst: &mut [u8]) -> Result<bool> {
        let misfit = || Error::internal("a tile does not fit its place");
        let Some(runs) = self.runs_from(SHORTEST_PART, dst) else { return Ok(false) };
        // Runs ascend in the source, as the slices do.
        let (mut rest, mut start) = (parts, 0);
        for (offset, mut place) in runs {
            let mut at = self.src_start + offset;
            while !place.is_empty() {
                let (part, others) = rest.split_first().ok_or_else(misfit)?;
                let Some(bytes) =
                    at.checked_sub(start).and_then(|skip| part.get(skip..)).filter(|b| !b.is_empty())
                else {
                    (rest, start) = (others, start + part.len());
                    continue;
                };
                let (now, later) = place.split_at_mut(bytes.len().min(place.len()));
                now.copy_from_slice(bytes.get(..now.len()).ok_or_else(misfit)?);
                at += now.len();
                place = later;
            }
        }
        Ok(true)
    }

    /// The runs of the box in `src`, which starts with its first cell, in order.
    pub fn source_runs<'s>(&self, src: &'s [u8]) -> Result<Vec<&'s [u8]>> {
        let runs = self.run_positions().map(|(start, _)| src.get(start..start.checked_add(self.run)?));
        let runs: Option<Vec<&[u8]>> = runs.collect();
        runs.ok_or_else(|| Error::internal("a source is shorter than its box"))
    }

    /// Bytes from the first cell of the box to the end of the last one in the source.
    pub(crate) fn src_reach(&self) -> usize {
        self.axes.iter().fold(self.size, |end, axis| end + axis.len.saturating_sub(1) * axis.src)
    }

    /// Copies; `src` starts with the first cell of the box.
    pub fn copy(&self, src: &[u8], dst: &mut [u8]) -> Result<()> {
        self.copy_rows(0, 0..self.axes.first().map_or(1, |axis| axis.len), src, dst)
    }

    /// Copies the positions `rows` of one axis to a destination that starts with the first of them.
    pub(crate) fn copy_rows(
        &self,
        axis: usize,
        rows: Range<usize>,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<()> {
        let misfit = || Error::internal("a tile does not fit its place");
        let mut axes = Cow::Borrowed(self.axes.as_slice());
        let mut skip = 0;
        if let Some(outer) = self.axes.get(axis)
            && rows.len() != outer.len
        {
            skip = rows.start * outer.src;
            if let Some(outer) = axes.to_mut().get_mut(axis) {
                outer.len = rows.len();
            }
        }
        let (src, dst) = src.get(skip..).zip(dst.get_mut(self.dst_start..)).ok_or_else(misfit)?;
        if copy_box(self.size, &axes, src, dst) { Ok(()) } else { Err(misfit()) }
    }
}

/// A run of a box: its offset from the first cell of the box in the source, and its place in the destination.
pub(crate) type Run<'d> = (usize, &'d mut [u8]);

/// The runs of each of several boxes in one destination, where they do not overlap. `None` if they do, or exceed it.
pub(crate) fn split_runs<'d>(copies: &[&BoxCopy], dst: &'d mut [u8]) -> Option<Vec<Vec<Run<'d>>>> {
    let mut all = Vec::with_capacity(copies.iter().map(|copy| copy.run_count()).sum());
    for (number, copy) in copies.iter().enumerate() {
        all.extend(copy.run_positions().map(|(src, place)| (place, number, src)));
    }
    // Stable, because that is fast where ascending runs are to be merged.
    all.sort_by_key(|(place, ..)| *place);
    let mut split: Vec<Vec<Run<'d>>> =
        copies.iter().map(|copy| Vec::with_capacity(copy.run_count())).collect();
    let mut rest = Rest { bytes: dst, at: 0 };
    for (place, number, src) in all {
        let run = rest.split(place, copies.get(number)?.run)?;
        split.get_mut(number)?.push((src, run));
    }
    Some(split)
}

/// What is left of a destination.
struct Rest<'d> {
    bytes: &'d mut [u8],
    /// Where it starts.
    at: usize,
}

impl<'d> Rest<'d> {
    /// Splits off the `len` bytes from position `place` on, and drops what is before them.
    fn split(&mut self, place: usize, len: usize) -> Option<&'d mut [u8]> {
        let (_, after) = std::mem::take(&mut self.bytes).split_at_mut_checked(place.checked_sub(self.at)?)?;
        let (run, after) = after.split_at_mut_checked(len)?;
        (self.bytes, self.at) = (after, place + len);
        Some(run)
    }
}

/// Fills a buffer with copies of one cell.
pub fn fill(dst: &mut [u8], cell: &[u8]) {
    if let (Some(first), true) = (cell.first(), cell.iter().all(|byte| Some(byte) == cell.first())) {
        dst.fill(*first);
        return;
    }
    for place in dst.chunks_exact_mut(cell.len().max(1)) {
        place.copy_from_slice(cell);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(len: u64, src: (u64, u64, u64), dst: (u64, u64)) -> AxisCopy {
        let (src_first, src_step, src_extent) = src;
        AxisCopy { len, src_first, src_step, src_extent, dst_first: dst.0, dst_extent: dst.1 }
    }

    #[test]
    fn whole_axes_join_into_runs() {
        let axes = [axis(2, (1, 1, 4), (3, 9)), axis(3, (0, 1, 3), (0, 3)), axis(5, (0, 1, 5), (0, 5))];
        let copy = BoxCopy::new(axes.into_iter(), 4);
        assert!(copy.is_one_run());
        assert_eq!((copy.run(), copy.src_start, copy.dst_start, copy.src_reach()), (120, 60, 180, 120));
    }

    #[test]
    fn a_source_in_slices_is_copied_like_one_in_a_piece() {
        let src: Vec<u8> = (0..40 * 300_u32).map(|i| (i * 7 / 3) as u8).collect();
        let axes = [axis(30, (4, 1, 40), (1, 33)), axis(200, (70, 1, 300), (2, 211))];
        let copy = BoxCopy::new(axes.into_iter(), 1);
        let mut expected = vec![9; 33 * 211];
        copy.copy(&src[copy.src_start..], &mut expected).unwrap();
        for len in [1, 77, 300, 301, 4096, 12_000] {
            let parts: Vec<Bytes> = src.chunks(len).map(Bytes::copy_from_slice).collect();
            let mut found = vec![9; 33 * 211];
            assert!(copy.copy_parts(&parts, &mut found).unwrap());
            assert!(found == expected, "{len}");
            assert!(copy.copy_parts(&parts[..parts.len() / 2], &mut found).is_err(), "{len}");
        }
        // Cells that are apart are copied from one piece.
        let steps = BoxCopy::new([axis(10, (0, 3, 40), (0, 10))].into_iter(), 1);
        assert!(!steps.copy_parts(&[Bytes::from(src)], &mut [0; 10]).unwrap());
    }

    #[test]
    fn strided_boxes_land_where_they_should() {
        let src: Vec<u8> = (0..20).collect(); // 4 x 5
        let mut dst = vec![99; 6]; // 2 x 3
        let axes = [axis(2, (1, 2, 4), (0, 2)), axis(2, (0, 3, 5), (1, 3))];
        let copy = BoxCopy::new(axes.into_iter(), 1);
        copy.copy(&src[copy.src_start..], &mut dst).unwrap();
        assert_eq!(dst, [99, 5, 8, 99, 15, 18]);
        assert!(copy.copy(&src[..10], &mut dst).is_err());
        let mut row = vec![99; 3];
        copy.copy_rows(0, 1..2, &src[copy.src_start..], &mut row).unwrap();
        assert_eq!(row, [99, 15, 18]);
    }

    #[test]
    fn runs_are_what_a_copy_moves() {
        for (outer, rows, cells) in [(1, 4, 600), (3, 2, 700), (2, 5, 513), (1, 1, 1024)] {
            let src: Vec<u8> = (0..outer * rows * 2048).map(|i| (i * 31 / 7) as u8).collect();
            let axes = [
                axis(outer, (0, 1, outer), (1, outer + 2)),
                axis(rows, (0, 1, rows), (0, rows)),
                axis(cells, (100, 1, 2048), (5, 1500)),
            ];
            let copy = BoxCopy::new(axes.into_iter(), 1);
            let size = ((outer + 2) * rows * 1500) as usize;
            let (mut copied, mut read) = (vec![0; size], vec![0; size]);
            copy.copy(&src[copy.src_start..], &mut copied).unwrap();
            let sources = copy.source_runs(&src[copy.src_start..]).unwrap();
            for ((offset, run), source) in copy.runs(&mut read).unwrap().into_iter().zip(sources) {
                run.copy_from_slice(&src[copy.src_start + offset..][..run.len()]);
                assert_eq!(run, source);
            }
            assert!(copy.source_runs(&src[..copy.src_reach() - 1]).is_err());
            assert!(copied == read, "{outer} {rows} {cells}");
        }
        let short =
            BoxCopy::new([axis(2, (0, 1, 2), (0, 2)), axis(100, (0, 1, 200), (0, 200))].into_iter(), 1);
        assert!(short.runs(&mut [0; 400]).is_none());
    }

    #[test]
    fn several_boxes_share_a_destination() {
        let src: Vec<u8> = (0..40 * 30_u32).map(|i| (i * 7 / 3) as u8).collect();
        // A grid of 2 x 2 boxes in a destination of 12 x 20 cells.
        let boxes: Vec<BoxCopy> = [(0, 5), (5, 7)]
            .into_iter()
            .flat_map(|(row, rows)| [(0, 13), (13, 7)].map(|(column, columns)| (row, rows, column, columns)))
            .map(|(row, rows, column, columns)| {
                let axes =
                    [axis(rows, (row, 1, 40), (row, 12)), axis(columns, (column, 1, 30), (column, 20))];
                BoxCopy::new(axes.into_iter(), 1)
            })
            .collect();
        let (mut copied, mut placed) = (vec![0; 240], vec![0; 240]);
        for copy in &boxes {
            copy.copy(&src[copy.src_start..], &mut copied).unwrap();
        }
        let copies: Vec<&BoxCopy> = boxes.iter().rev().collect();
        for (copy, runs) in copies.iter().zip(split_runs(&copies, &mut placed).unwrap()) {
            assert_eq!(runs.len(), copy.run_count());
            for (offset, run) in runs {
                run.copy_from_slice(&src[copy.src_start + offset..][..run.len()]);
            }
        }
        assert_eq!(copied, placed);
        assert!(split_runs(&[&boxes[0], &boxes[0]], &mut placed).is_none());
        assert!(split_runs(&copies, &mut placed[..239]).is_none());
    }

    #[test]
    fn fills_repeat_the_cell() {
        let mut dst = [0; 6];
        fill(&mut dst, &[1, 2]);
        assert_eq!(dst, [1, 2, 1, 2, 1, 2]);
    }
}
