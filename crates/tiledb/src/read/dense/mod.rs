//! Reading dense arrays: blocks of the row-major order, each with the tiles that contribute to it.

mod assemble;
mod plan;
mod task;
mod view;

pub(crate) use plan::{field_of, plan};
pub(crate) use view::DenseView;
