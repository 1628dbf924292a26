//! Strided copies between two boxes of cells.

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
/// axis first. `false`, and nothing is copied, where the box does not lie inside of both.
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
    // Longest runs first: axes that follow each other without a gap on both sides are one.
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
        // The common steps have loops of their own, which the compiler vectorises.
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
