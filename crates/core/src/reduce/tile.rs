//! Passes the selected cells of one tile to a kernel, in the longest possible runs or rows.

use super::cell::Cell;
use super::fold::{Fold, Rows};
use crate::Within;
use crate::array::{CopyAxis, copy_box};

/// One axis of a box of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Axis {
    /// Wanted positions.
    pub(super) len: usize,
    /// Bytes from one to the next.
    pub(super) src: usize,
    /// Outputs from one to the next; 0 on a reduced axis.
    pub(super) out: usize,
    /// Stride of the indexes among the reduced axes; 0 on a kept axis.
    pub(super) index: u64,
    pub(super) reduced: bool,
}

/// Rows narrower than this are joined with the next ones if they are contiguous.
const NARROW: usize = 64;

/// Folds the box whose first cell is the first of `bytes` and whose axes are `axes`, outermost first. `scratch` is a
/// buffer to gather cells in; `index` is that of the first cell.
pub(super) fn fold_box<F: Fold>(
    fold: &mut F,
    bytes: &[u8],
    axes: &mut Vec<Axis>,
    index: u64,
    scratch: &mut Vec<u8>,
) {
    axes.retain(|axis| axis.len > 1);
    let size = F::Cell::SIZE;
    let bytes = if axes.last().is_some_and(|inner| inner.src != size) {
        gather(bytes, axes, size, scratch);
        scratch.as_slice()
    } else {
        bytes
    };
    collapse(axes, F::INDEXED);
    let Some(inner) = axes.pop() else {
        fold.run(0, F::Cell::cells(bytes.within(..size)), index, 0);
        return;
    };
    if inner.reduced && F::INDEXED && inner.index != 1 {
        // The cells are a column of the array: their indexes are not consecutive.
        walk(axes, &mut |src, out, offset| {
            let bytes = bytes.within(src..);
            fold.rows(out, Rows::new(bytes, inner.src, inner.len, 1), index + offset, inner.index);
        });
        return;
    }
    if inner.reduced {
        let run = inner.len * size;
        walk(axes, &mut |src, out, offset| {
            let cells = bytes.within(src..src + run);
            fold.run(out, F::Cell::cells(cells), index + offset, inner.index);
        });
        return;
    }
    let rows =
        axes.pop_if(|axis| axis.reduced).unwrap_or(Axis { len: 1, src: 0, out: 0, index: 0, reduced: true });
    walk(axes, &mut |src, out, offset| {
        let bytes = bytes.within(src..);
        let joins = !F::INDEXED && inner.len < NARROW && rows.src == inner.len * size;
        if joins && rows.len >= 2 * (NARROW / inner.len) {
            narrow_rows(fold, out, bytes, rows.len, inner.len);
        } else {
            fold.rows(out, Rows::new(bytes, rows.src, rows.len, inner.len), index + offset, rows.index);
        }
    });
}

/// Rows of a few cells: several are processed as one row, and their accumulators are merged at the end.
fn narrow_rows<F: Fold>(fold: &mut F, at: usize, bytes: &[u8], rows: usize, width: usize) {
    let size = F::Cell::SIZE;
    let joined = NARROW / width + 1;
    let wide = width * joined;
    let mut sums = F::new(wide);
    sums.rows(0, Rows::new(bytes, wide * size, rows / joined, wide), 0, 0);
    for part in 0..joined {
        fold.merge(at, &sums, part * width, width);
    }
    let done = rows / joined * joined;
    if done < rows {
        let rest = bytes.within(done * width * size..);
        fold.rows(at, Rows::new(rest, width * size, rows - done, width), 0, 0);
    }
}

/// Packs the selected cells densely into `scratch`, and updates `axes`.
fn gather(bytes: &[u8], axes: &mut [Axis], size: usize, scratch: &mut Vec<u8>) {
    let mut dense = size;
    let mut copies = Vec::with_capacity(axes.len());
    for axis in axes.iter_mut().rev() {
        copies.push(CopyAxis { len: axis.len, src: axis.src, dst: dense });
        axis.src = dense;
        dense *= axis.len;
    }
    copies.reverse();
    scratch.clear();
    scratch.resize(dense, 0);
    let copied = copy_box(size, &copies, bytes, scratch);
    debug_assert!(copied, "the size of a tile is checked when it is loaded");
}

/// Joins adjacent axes that can be walked as one. Outputs are dense; indexes among the reduced axes are dense only if
/// the tile spans the axis, which matters to kernels that need them.
fn collapse(axes: &mut Vec<Axis>, indexed: bool) {
    let mut joined: Vec<Axis> = Vec::with_capacity(axes.len());
    for axis in axes.drain(..) {
        if let Some(outer) = joined.last_mut() {
            let follows = outer.reduced == axis.reduced
                && outer.src == axis.src.saturating_mul(axis.len)
                && outer.out == axis.out * axis.len
                && (!indexed || outer.index == axis.index.saturating_mul(axis.len as u64));
            if follows {
                *outer = Axis { len: outer.len * axis.len, ..axis };
                continue;
            }
        }
        joined.push(axis);
    }
    *axes = joined;
}

/// Calls `visit` with byte offset, output and index of each position of `axes`, row-major.
fn walk(axes: &[Axis], visit: &mut impl FnMut(usize, usize, u64)) {
    let mut at = vec![0_usize; axes.len()];
    let (mut src, mut out, mut index) = (0, 0, 0);
    loop {
        visit(src, out, index);
        let mut moved = false;
        for (axis, position) in axes.iter().zip(&mut at).rev() {
            *position += 1;
            src += axis.src;
            out += axis.out;
            index += axis.index;
            if *position < axis.len {
                moved = true;
                break;
            }
            src -= axis.src * axis.len;
            out -= axis.out * axis.len;
            index -= axis.index * axis.len as u64;
            *position = 0;
        }
        if !moved {
            return;
        }
    }
}
