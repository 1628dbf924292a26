//! Dense writes from a stream of rows, with one row of tiles in memory.

use std::cmp::Ordering;

use arrow_array::RecordBatch;
use tesselle_core::At;

use super::array::{ArrayWriter, Written};
use super::commit::commit;
use super::dense::checked_region;
use super::fragment::{FragmentWriter, stored_fields};
use super::name::stamp;
use super::tile_rows::TileRows;
use crate::meta::attribute::DataOrder;
use crate::meta::layout::Layout;
use crate::meta::schema::ArrayKind;
use crate::meta::value::Bounds;
use crate::order::grid::CellBox;
use crate::{Error, Result};

/// Where rows belong that have a column for every dimension.
#[derive(Debug, Clone)]
pub struct Placement {
    /// The smallest box that holds them.
    pub region: Vec<Bounds>,
    /// Whether they come in row-major order, each once.
    pub ordered: bool,
}

impl ArrayWriter {
    /// Whether rows of these columns name their cells: they have all dimensions.
    pub fn places(&self, schema: &arrow_schema::Schema) -> bool {
        self.schema().dimensions.iter().all(|dim| schema.index_of(&dim.name).is_ok())
    }

    /// Whether cells can be written as they come in row-major order. Otherwise they are collected, for
    /// [`ArrayWriter::write_dense_rows`].
    pub fn streams_dense(&self) -> bool {
        let schema = self.schema();
        schema.kind == ArrayKind::Dense
            && schema.tile_order == Layout::RowMajor
            && schema.attributes.iter().all(|attribute| attribute.order == DataOrder::Unordered)
    }

    /// Where the rows of a dense write belong, from their dimensions alone; `None` where there are no rows.
    pub fn placement(
        &self,
        rows: impl IntoIterator<Item = Result<RecordBatch>>,
    ) -> Result<Option<Placement>> {
        let grid = self.schema().grid()?;
        let mut hull: Option<CellBox> = None;
        let mut last: Option<Vec<u64>> = None;
        let mut ordered = true;
        for batch in rows {
            let batch = self.fit(&batch?)?;
            let axes: Vec<Vec<u64>> = (0..grid.axes.len())
                .map(|axis| self.positions(&grid, axis, &batch))
                .collect::<Result<_>>()?;
            for row in 0..batch.num_rows() {
                let here: Vec<u64> = axes.iter().map(|axis| axis.at(row).copied()).collect::<Result<_>>()?;
                ordered &= last.as_ref().is_none_or(|last| (**last).cmp(&*here) == Ordering::Less);
                let cell = CellBox { low: here.clone(), high: here.clone() };
                match &mut hull {
                    None => hull = Some(cell),
                    Some(hull) => hull.include(&cell),
                }
                last = Some(here);
            }
        }
        Ok(hull.map(|hull| Placement { region: grid.ranges_of(&hull), ordered }))
    }

    /// Writes a box from rows that fill it in row-major order, as they come. Rows that have all dimensions must be at their
    /// places. See [`ArrayWriter::streams_dense`].
    pub fn write_dense_stream(
        &self,
        region: &[Bounds],
        rows: impl IntoIterator<Item = Result<RecordBatch>>,
        timestamp: Option<u64>,
    ) -> Result<Written> {
        if !self.streams_dense() {
            return Err(Error::invalid("cells of this array cannot be written as they come"));
        }
        let grid = self.schema().grid()?;
        let region = checked_region(self.schema(), &grid, region)?;
        let cells = region.cells().unwrap_or(u64::MAX);
        let fields = stored_fields(self.schema(), false, false);
        let timestamps = stamp(timestamp);
        let plan = self.plan(timestamps);
        let mut tiles = TileRows::new(plan.schema.clone(), grid, region, fields.len());
        let mut writer = FragmentWriter::create(plan)?;
        for batch in rows {
            self.check_canceled()?;
            let batch = self.fit(&batch?)?;
            let count = batch.num_rows() as u64;
            if tiles.next().saturating_add(count) > cells {
                return Err(too_many(cells));
            }
            self.check_places(&tiles, &batch)?;
            let columns = self.cells_of(&batch, &fields)?;
            self.install(|| tiles.push(columns, count, &mut writer))?;
        }
        if tiles.next() != cells {
            let rows = tiles.next();
            return Err(Error::invalid(format!("the box has {cells} cells, but there are {rows} rows")));
        }
        let fragment = self.install(|| {
            let end = tiles.finish(&mut writer)?;
            self.check_canceled()?;
            writer.finish(&end.ok_or_else(|| Error::invalid("there are no rows to write"))?)
        })?;
        commit(&self.location, std::slice::from_ref(&fragment.name), timestamps)?;
        Ok(Written { fragments: vec![fragment.name], cells, tiles: fragment.tiles, bytes: fragment.bytes })
    }

    /// Refuses rows that name other cells than the next ones.
    fn check_places(&self, tiles: &TileRows, batch: &RecordBatch) -> Result<()> {
        if !self.places(&batch.schema()) {
            return Ok(());
        }
        let grid = self.schema().grid()?;
        for (axis, dimension) in self.schema().dimensions.iter().enumerate() {
            let low = grid.axes.at(axis)?.low;
            for (row, position) in self.positions(&grid, axis, batch)?.into_iter().enumerate() {
                let number = tiles.next() + row as u64;
                let (found, expected) = (low + i128::from(position), tiles.coordinate(number, axis));
                if found != expected {
                    return Err(Error::invalid(format!(
                        "row {number} has the coordinate {found} in dimension '{}', where {expected} belongs",
                        dimension.name
                    )));
                }
            }
        }
        Ok(())
    }
}

fn too_many(cells: u64) -> Error {
    Error::invalid(format!("the box has {cells} cells, but there are more rows"))
}
