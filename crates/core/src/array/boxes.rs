//! Strided copies between two boxes of cells.

/// One axis of a copy: how many positions, and the bytes from one to the next on either side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CopyAxis {
    pub(crate) len: usize,
    pub(crate) src: usize,
    pub(crate) dst: usize,
}

/// Copies a box of cells of `size` bytes whose first cell is the first of `src` and of `dst`; outermost axis first.
/// Cells that lie outside of either slice are left out.
pub(crate) fn copy_box(size: usize, axes: &[CopyAxis], src: &[u8], dst: &mut [u8]) {
    if axes.iter().any(|axis| axis.len == 0) {
        return;
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
        return;
    }
    each(&joined, src, dst, &mut |src, dst| {
        if let (Some(src), Some(dst)) = (src.get(..run), dst.get_mut(..run)) {
            dst.copy_from_slice(src);
        }
    });
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
