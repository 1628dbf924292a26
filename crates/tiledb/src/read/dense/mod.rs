//! Reading dense arrays: attributes as columns of core's grid, composed of the tiles of all fragments.

mod column;
mod compose;
mod plan;
mod view;

pub(crate) use compose::field_of;
pub(crate) use plan::plan;
pub(crate) use view::DenseView;
