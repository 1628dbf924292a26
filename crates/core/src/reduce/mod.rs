//! Reductions over arrays: one number for everything, or one per cell of the kept axes.
//!
//! A reduction streams: each tile is decoded once into a thread's buffer and folded into accumulators, so memory holds
//! a few tiles and the result, not the data. The loops are monomorphic per cell type and operation.
//!
//! The result does not depend on threads, timing or the memory budget: which cells are folded together, and in which
//! order partial results are merged, follows from the array and the region alone.
//!
//! Tiles with the same position on the kept axes form a group, which owns its part of the result:
//!
//! ```text
//!  axis 0 reduced      tile row 0   a0 b0 c0
//!  axis 1 kept         tile row 1   a1 b1 c1      groups: a0+a1, b0+b1, c0+c1
//! ```
//!
//! [`quantile`] is the exception: it reads all cells of each value at once, band by band.
//!
//! If there are few groups, they are split into chunks of tiles, whose accumulators are merged in tile order.

mod arg;
mod axes;
mod cell;
mod float_sum;
mod fold;
mod integer_sum;
mod min_max;
mod moments;
mod nan;
mod op;
mod quantile;
mod result;
mod run;
mod shape;
#[cfg(test)]
mod tests;
mod tile;

pub use axes::resolve_axes;
use cell::{Cell, F16, F32, F64, Integer, Integral, Number};
pub use op::ReduceOp;
pub use quantile::{Quantiles, quantile};
pub use result::{Reduced, Values};
use run::Reduction;
use shape::Shape;

use crate::array::{ArrayView, DType};
use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::selection::Region;

/// Reduces `region` of `array` over `axes` (all of them if the list is empty) on the driver's threads.
///
/// The result has the shape of the kept axes, in their order; it is one value if none is kept. See [`ReduceOp`] for the
/// operations and [`Values`] for the result types.
///
/// ```
/// use tesselle_core::reduce::{ReduceOp, reduce};
/// # use tesselle_core::{ArrayView, Driver, DriverOptions, Error, Region};
/// # fn example(array: &dyn ArrayView) -> Result<(), Error> {
/// let driver = Driver::try_new(&DriverOptions::default())?;
/// let means = reduce(array, &Region::whole(array.shape()), ReduceOp::Mean, &[0], &driver)?;
/// assert_eq!(means.shape, array.shape()[1..]);
/// # Ok(())
/// # }
/// ```
pub fn reduce(
    array: &dyn ArrayView,
    region: &Region,
    op: ReduceOp,
    axes: &[usize],
    driver: &Driver,
) -> Result<Reduced> {
    let shape = Shape::try_new(array, region, axes)?;
    let values = match op {
        // These need no data.
        ReduceOp::Count => Values::repeated(i128::from(shape.reduced_cells), shape.kept_cells)?,
        ReduceOp::NanCount if !array.dtype().is_float() => Values::repeated(0, shape.kept_cells)?,
        _ if shape.kept_cells > 0 && shape.reduced_cells == 0 && !op.has_value_of_nothing() => {
            return Err(Error::invalid(format!("the {} of an empty selection is undefined", op.name()))
                .hint("widen the selection; only sum and count of an empty selection are defined (0)"));
        }
        _ if shape.kept_cells == 0 || shape.reduced_cells == 0 => {
            Values::of_nothing(op.is_float(array.dtype()), shape.kept_cells)?
        }
        _ => {
            let reduction = Reduction::try_new(array, region, op, &shape, driver)?;
            match array.dtype() {
                DType::I8 => integers::<Integral<i8>>(&reduction),
                DType::I16 => integers::<Integral<i16>>(&reduction),
                DType::I32 => integers::<Integral<i32>>(&reduction),
                DType::I64 => integers::<Integral<i64>>(&reduction),
                DType::U8 => integers::<Integral<u8>>(&reduction),
                DType::U16 => integers::<Integral<u16>>(&reduction),
                DType::U32 => integers::<Integral<u32>>(&reduction),
                DType::U64 => integers::<Integral<u64>>(&reduction),
                DType::F16 => floats::<F16>(&reduction),
                DType::F32 => floats::<F32>(&reduction),
                DType::F64 => floats::<F64>(&reduction),
            }?
        }
    };
    Ok(Reduced { op, shape: shape.kept_shape, values })
}

fn integers<C: Cell<Value: Integer>>(reduction: &Reduction<'_>) -> Result<Values> {
    match reduction.op() {
        ReduceOp::Sum | ReduceOp::Mean => reduction.run::<integer_sum::IntegerSum<C>>(),
        _ => numbers::<C>(reduction),
    }
}

fn floats<C: Cell>(reduction: &Reduction<'_>) -> Result<Values> {
    match reduction.op() {
        ReduceOp::Sum | ReduceOp::Mean => reduction.run::<float_sum::FloatSum<C>>(),
        _ => numbers::<C>(reduction),
    }
}

fn numbers<C: Cell<Value: Number>>(reduction: &Reduction<'_>) -> Result<Values> {
    match reduction.op() {
        ReduceOp::Min => reduction.run::<min_max::MinMax<C, false>>(),
        ReduceOp::Max => reduction.run::<min_max::MinMax<C, true>>(),
        ReduceOp::ArgMin => reduction.run::<arg::Arg<C, false>>(),
        ReduceOp::ArgMax => reduction.run::<arg::Arg<C, true>>(),
        ReduceOp::Var | ReduceOp::Std => reduction.run::<moments::Moments<C>>(),
        ReduceOp::Count | ReduceOp::NanCount | ReduceOp::Sum | ReduceOp::Mean => {
            reduction.run::<nan::NanCount<C>>()
        }
    }
}
