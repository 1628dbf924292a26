//! Copying a box between two row-major buffers.

use tesselle_core::array::{CopyAxis, copy_box};

/// How a box of elements moves from one buffer to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BoxCopy {
    /// Outermost first.
    axes: Vec<CopyAxis>,
    /// Bytes of an element.
    size: usize,
    /// Bytes that lie side by side in both buffers: axes that are whole on both sides melt into longer runs.
    run: usize,
    /// Where the first run starts in the source.
    pub(crate) src_start: usize,
    /// Where the first run goes in the destination.
    pub(crate) dst_start: usize,
}

/// One axis of a box.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AxisCopy {
    /// How many positions move.
    pub(crate) len: u64,
    /// First position in the source.
    pub(crate) src_first: u64,
    /// Distance of positions in the source.
    pub(crate) src_step: u64,
    /// Extent of the source.
    pub(crate) src_extent: u64,
    /// First position in the destination, where they lie side by side.
    pub(crate) dst_first: u64,
    /// Extent of the destination.
    pub(crate) dst_extent: u64,
}

impl BoxCopy {
    /// Plans a copy of elements of `size` bytes. The caller has checked that both buffers fit into memory.
    pub(crate) fn new(axes: &[AxisCopy], size: usize) -> Self {
        let mut copies = Vec::with_capacity(axes.len());
        let (mut src_stride, mut dst_stride) = (size, size);
        let (mut src_start, mut dst_start) = (0, 0);
        let (mut run, mut grows) = (size, true);
        for axis in axes.iter().rev() {
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

    /// Whether it is one run on both sides.
    pub(crate) fn is_one_run(&self) -> bool {
        self.run == self.axes.iter().map(|axis| axis.len).product::<usize>() * self.size
    }

    /// Bytes of the run, where there is one.
    pub(crate) fn run(&self) -> usize {
        self.run
    }

    /// Copies; `false` when a buffer is too short, which is a defect of the caller.
    #[must_use]
    pub(crate) fn copy(&self, src: &[u8], dst: &mut [u8]) -> bool {
        let (Some(src), Some(dst)) = (src.get(self.src_start..), dst.get_mut(self.dst_start..)) else {
            return false;
        };
        copy_box(self.size, &self.axes, src, dst)
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
    fn whole_axes_melt_into_runs() {
        let axes = [axis(2, (1, 1, 4), (3, 9)), axis(3, (0, 1, 3), (0, 3)), axis(5, (0, 1, 5), (0, 5))];
        let copy = BoxCopy::new(&axes, 4);
        assert!(copy.is_one_run());
        assert_eq!((copy.run(), copy.src_start, copy.dst_start), (120, 60, 180));
    }

    #[test]
    fn strided_boxes_land_where_they_should() {
        let src: Vec<u8> = (0..20).collect(); // 4 x 5
        let mut dst = vec![99; 6]; // 2 x 3
        let axes = [axis(2, (1, 2, 4), (0, 2)), axis(2, (0, 3, 5), (1, 3))];
        assert!(BoxCopy::new(&axes, 1).copy(&src, &mut dst));
        assert_eq!(dst, [99, 5, 8, 99, 15, 18]);
        assert!(!BoxCopy::new(&axes, 1).copy(&src[..10], &mut dst));
    }
}
