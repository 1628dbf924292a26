//! The inputs of a scan over a grid: axes, extents and columns.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::SchemaRef;

use super::plan;
use super::values::GridValues;
use crate::array::coordinates;
use crate::error::Result;
use crate::scan::Scan;
use crate::selection::Region;
use crate::task::Plan;

/// Makes the column of an axis, given its number, for some cells of a region (row-major positions in its result).
pub type Coordinates = Arc<dyn Fn(&Region, usize, Range<u64>) -> Result<ArrayRef> + Send + Sync>;

/// An axis as a column.
#[derive(Clone)]
pub struct AxisColumn {
    /// The coordinate of position 0.
    pub origin: i128,
    /// Whether the column shows each coordinate as the integer it is, so that comparing the one is comparing the other.
    pub integers: bool,
    /// Whether no coordinate is shown as null.
    pub complete: bool,
    /// Makes the column.
    pub column: Coordinates,
}

impl AxisColumn {
    /// An axis that counts positions.
    pub fn positions() -> Self {
        let column: Coordinates = Arc::new(|region, axis, cells| {
            let positions = coordinates(region, axis, cells, u64::cast_signed);
            Ok(Arc::new(Int64Array::from(positions)))
        });
        Self { origin: 0, integers: true, complete: true, column }
    }
}

/// A grid of cells whose axes and values are the columns of a table.
pub struct Grid {
    /// One per axis, the first columns of the schema.
    pub axes: Vec<AxisColumn>,
    /// The extent of each axis.
    pub shape: Vec<u64>,
    /// The extents of a tile, for scans that read no values.
    pub tile_shape: Vec<u64>,
    /// The region of a scan without a selection, and the open bounds of a selection.
    pub rows: Region,
    /// The axes, then the values.
    pub schema: SchemaRef,
}

impl Grid {
    /// The names of the axes.
    pub fn axis_names(&self) -> impl Iterator<Item = &str> {
        self.schema.fields().iter().take(self.axes.len()).map(|field| field.name().as_str())
    }

    /// Plans a scan; `values` makes the column of this number, of which it reads this region.
    pub fn plan(
        self: &Arc<Self>,
        scan: &Scan,
        values: impl Fn(usize, &Region) -> Result<Arc<dyn GridValues>>,
    ) -> Result<Plan> {
        plan::plan(self, scan, values)
    }

    /// The positions that a scan selects.
    pub(super) fn selected(&self, scan: &Scan) -> Result<Region> {
        let Some(selection) = &scan.selection else { return Ok(self.rows.clone()) };
        let origin: Vec<i128> = self.axes.iter().map(|axis| axis.origin).collect();
        let first = origin.iter().zip(&self.rows.spans);
        let first: Vec<i128> = first.map(|(origin, span)| origin + i128::from(span.start)).collect();
        selection.bounded(&first, &self.rows.shape()).resolve(&origin, &self.shape)
    }
}
