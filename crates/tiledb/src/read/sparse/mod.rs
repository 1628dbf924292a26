//! Reading sparse arrays: groups of tiles; where fragments overlap, the newest version of each cell.

mod assemble;
mod cells;
mod dedup;
mod plan;
pub(crate) mod survive;
mod task;

pub(crate) use cells::{ColumnTiles, Decoded};
pub(crate) use plan::plan;
