//! The kept and reduced axes.

use super::axes::no_such_axis;
use crate::array::ArrayView;
use crate::error::{Error, Result};
use crate::selection::Region;

/// The axes of a reduction, checked.
#[derive(Debug)]
pub(super) struct Shape {
    /// For each axis, whether it is reduced.
    pub(super) reduced: Vec<bool>,
    /// The extents of the result.
    pub(super) kept_shape: Vec<u64>,
    /// How many values the result has.
    pub(super) kept_cells: usize,
    /// The number of cells per output.
    pub(super) reduced_cells: u64,
}

impl Shape {
    pub(super) fn try_new(array: &dyn ArrayView, region: &Region, axes: &[usize]) -> Result<Self> {
        let rank = array.shape().len();
        if region.spans.len() != rank {
            return Err(Error::internal("region and array differ in rank"));
        }
        let outside =
            region.spans.iter().zip(array.shape()).any(|(s, extent)| !s.is_empty() && s.stop > *extent);
        if outside {
            return Err(Error::invalid("the region exceeds the array"));
        }
        let mut reduced = vec![axes.is_empty(); rank];
        for axis in axes {
            let flag = reduced.get_mut(*axis).ok_or_else(|| no_such_axis(*axis, rank))?;
            if std::mem::replace(flag, true) {
                return Err(Error::invalid(format!("axis {axis} is given twice")));
            }
        }
        let extents = region.shape();
        let pick =
            |wanted: bool| extents.iter().zip(&reduced).filter(move |(_, r)| **r == wanted).map(|(n, _)| *n);
        let product = |wanted| pick(wanted).try_fold(1_u64, u64::checked_mul);
        let too_large = || Error::limit("the reduction has more than 2^64 cells");
        let kept_cells = product(false).and_then(|n| usize::try_from(n).ok()).ok_or_else(too_large)?;
        let reduced_cells = product(true).ok_or_else(too_large)?;
        Ok(Self { kept_shape: pick(false).collect(), kept_cells, reduced_cells, reduced })
    }
}
