//! Labels: values that name the positions of a column.

use std::sync::Arc;

use crate::table::Table;

/// Values that name the positions of a column, as a table of their own: a row per position.
pub struct Label {
    /// The column whose positions are named.
    pub column: String,
    /// The table of the label.
    pub table: Arc<dyn Table>,
    /// Its column of positions.
    pub position: String,
    /// Its column of names.
    pub value: String,
}
