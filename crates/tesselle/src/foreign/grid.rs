//! Arrays over one grid as a table.

pub(crate) use tesselle_core::array::{GridColumn, GridTable};
