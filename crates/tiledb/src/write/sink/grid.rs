//! Rows that fill the domain of a dense array, or a box of it, in row-major order.

use std::sync::Arc;

use arrow_array::RecordBatch;
use tesselle_core::{Action, Error, Result, Scalar};

use super::{Cells as Rows, Target, schema_of};
use crate::meta::layout::Layout;
use crate::meta::schema::ArraySchema;
use crate::meta::value::{Bounds, parse_scalar};
use crate::order::grid::{CellBox, Grid};
use crate::write::cells::Cells;
use crate::write::dense::checked_region;
use crate::write::fragment::{FinishedFragment, FragmentWriter};
use crate::write::options::SinkSettings;
use crate::write::schema::{ColumnPlan, DimensionPlan};
use crate::write::tile_rows::TileRows;

/// Default tile extent of a dimension.
const EXTENT: i128 = 100;

/// Collects a row of tiles at a time.
pub(super) struct GridCells {
    dims: Vec<DimensionPlan>,
    tiles: TileRows,
    writer: FragmentWriter,
}

impl GridCells {
    pub(super) fn try_new(
        target: &Target,
        settings: &SinkSettings,
        mut dims: Vec<DimensionPlan>,
        columns: &[ColumnPlan],
    ) -> Result<Self> {
        for plan in &mut dims {
            let dimension = &mut plan.dimension;
            let Some(Bounds { low: Scalar::Int(low), high: Scalar::Int(high) }) = &dimension.domain else {
                return Err(Error::invalid(format!(
                    "dimension '{}' of a dense array needs a domain",
                    dimension.name
                ))
                .suggest(
                    "add {}, or {}",
                    [
                        Action::setting(format!("domain.{}", dimension.name), "low:high"),
                        Action::setting("kind", "sparse"),
                    ],
                ));
            };
            let size = (high - low + 1).max(1);
            dimension.extent.get_or_insert(Scalar::Int(size.min(EXTENT)));
        }
        if settings.tile_order != Layout::RowMajor {
            return Err(Error::invalid("rows can be streamed only into tiles in row-major order"));
        }
        let schema = schema_of(settings, &dims, columns)?;
        crate::write::schema_builder::check(&schema_without_enumerations(&schema), &[])?;
        let grid = schema.grid()?;
        let rows = row_box(&schema, &grid, &dims, settings)?;
        let schema = Arc::new(schema);
        let writer = FragmentWriter::create(target.plan(&schema))?;
        Ok(Self { dims, tiles: TileRows::new(schema, grid, rows, columns.len()), writer })
    }

    /// Refuses rows that are not at their place.
    fn check_places(&self, batch: &RecordBatch) -> Result<()> {
        for (axis, plan) in self.dims.iter().enumerate() {
            let cells = plan.cells(batch)?;
            for row in 0..cells.count {
                let number = self.tiles.next() + row as u64;
                let expected = self.tiles.coordinate(number, axis);
                let found = parse_scalar(plan.dimension.datatype, cells.cell(row))?;
                if found != Scalar::Int(expected) {
                    return Err(Error::invalid(format!(
                        "row {number} has the coordinate {found} in dimension '{}', expected {expected}",
                        plan.dimension.name
                    ))
                    .suggest(
                        "rows must fill the domain in row-major order; otherwise add {}",
                        [Action::setting("kind", "sparse")],
                    ));
                }
            }
        }
        Ok(())
    }
}

/// The box given by the settings, or the whole domain.
fn row_box(
    schema: &ArraySchema,
    grid: &Grid,
    dims: &[DimensionPlan],
    settings: &SinkSettings,
) -> Result<CellBox> {
    let mut ranges = Vec::with_capacity(dims.len());
    for DimensionPlan { dimension, .. } in dims {
        let given = settings.row_range(&dimension.name, dimension.datatype)?;
        let range = given.or_else(|| dimension.domain.clone());
        ranges.push(range.ok_or_else(|| Error::internal("a dimension was checked, but has no domain"))?);
    }
    checked_region(schema, grid, &ranges)
}

fn schema_without_enumerations(schema: &ArraySchema) -> ArraySchema {
    let mut schema = schema.clone();
    for attribute in &mut schema.attributes {
        attribute.enumeration = None;
    }
    schema
}

impl Rows for GridCells {
    fn write(&mut self, batch: &RecordBatch, attributes: Vec<Cells>) -> Result<()> {
        self.check_places(batch)?;
        self.tiles.push(attributes, batch.num_rows() as u64, &mut self.writer)
    }

    fn finish(mut self: Box<Self>) -> Result<(Vec<FinishedFragment>, ArraySchema)> {
        let end = self.tiles.finish(&mut self.writer)?;
        let schema = ArraySchema::clone(self.tiles.schema());
        Ok(match end {
            Some(end) => (vec![self.writer.finish(&end)?], schema),
            None => (Vec::new(), schema),
        })
    }
}
