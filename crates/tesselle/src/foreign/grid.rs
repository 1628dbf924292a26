//! Arrays over one grid as a table, and what its columns are for.

pub(crate) use tesselle_core::array::{GridColumn, GridTable};

use crate::layout::Layout;

/// What the columns of a table over a grid are for.
pub(crate) fn layout(table: &GridTable) -> Layout {
    Layout::of_grid(table.axes(), table.shape(), table.tile_shape())
}
