//! Dense arrays that grow along an axis.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use tesselle_core::{Action, AppendRequest, At, Driver, Error, OpenOptions, Result, RowStream, Scalar};

use super::bands::{Bands, Place, partial_plane};
use super::{stored_schema, values_of, without};
use crate::meta::value::Bounds;
use crate::open::Array;
use crate::order::grid::{CellBox, Grid};
use crate::write::array::{ArrayWriter, Written};
use crate::write::outside::domain_hint;

/// A dense array that grows.
pub(super) struct Dense {
    pub(super) writer: ArrayWriter,
    pub(super) grid: Grid,
    /// The box of its rows.
    rows: Option<CellBox>,
    /// All columns.
    schema: SchemaRef,
    /// Most bytes of rows that are held.
    pub(super) most: u64,
}

/// The length of the new box along its axis.
enum Length {
    /// An array of this shape.
    Shape(Vec<u64>),
    /// So many cells.
    Cells(u64),
    /// As many planes as there will be rows for.
    Open,
}

impl Dense {
    pub(super) fn try_new(writer: ArrayWriter, open: &OpenOptions, driver: &Driver) -> Result<Self> {
        let grid = writer.schema().grid()?;
        let open = open.clone().with_full_domain(false);
        let rows = Array::open(&writer.location, &open)?.row_box(&grid)?;
        let schema = stored_schema(&writer.location, &open)?;
        Ok(Self { writer, grid, rows, schema, most: driver.budget().total() / 2 })
    }

    pub(super) fn append(self, request: AppendRequest<'_>, timestamp: Option<u64>) -> Result<Written> {
        let dimensions: Vec<String> =
            self.writer.schema().dimensions.iter().map(|dim| dim.name.clone()).collect();
        let has = |name: &String| request.rows.schema.index_of(name).is_ok();
        if request.array.is_none() && request.axis.is_none() && dimensions.iter().all(has) {
            let rows = request.rows.conform(&self.schema)?;
            return Bands::new(self, Place::Named { last: 0, ordered: true }, timestamp)
                .write_all(rows.batches);
        }
        let names: Vec<&str> = dimensions.iter().map(String::as_str).collect();
        let axis = request.axis_of(&names)?;
        let values = self.values_schema(&dimensions);
        let (rows, length) = match &request.array {
            Some(array) => (values_of(request.rows, &values)?, Length::Shape(array.shape().to_vec())),
            None => (without(request.rows, &dimensions), Length::Open),
        };
        let rows = rows.conform(&values)?;
        if matches!(length, Length::Open) && axis > 0 {
            // Where a row belongs depends on how many there are.
            let batch = self.collect(rows)?;
            let region = self.behind(axis, &Length::Cells(batch.num_rows() as u64))?;
            return Bands::new(self, Place::next(region), timestamp).write_all([Ok(batch)]);
        }
        let region = self.behind(axis, &length)?;
        Bands::new(self, Place::next(region), timestamp).write_all(rows.batches)
    }

    /// The positions of rows along the first axis.
    pub(super) fn first_axis(&self, batch: &RecordBatch) -> Result<Vec<u64>> {
        self.writer.positions(&self.grid, 0, &self.writer.fit(batch)?)
    }

    fn values_schema(&self, dimensions: &[String]) -> SchemaRef {
        let fields = self.schema.fields().iter().filter(|field| !dimensions.contains(field.name()));
        Arc::new(Schema::new(fields.cloned().collect::<Vec<_>>()))
    }

    /// All rows in one batch, within half of the memory.
    fn collect(&self, rows: RowStream<'_>) -> Result<RecordBatch> {
        let (mut batches, mut bytes) = (Vec::new(), 0_u64);
        for batch in rows.batches {
            self.writer.check_canceled()?;
            let batch = batch?;
            bytes = bytes.saturating_add(batch.get_array_memory_size() as u64);
            if bytes > self.most {
                return Err(Error::limit(
                    "rows that grow an axis other than the first are counted before they are placed, and these exceed half of \
                     the memory limit",
                )
                .suggest(
                    "append an array or rows with columns for the dimensions, or allow more with {}",
                    [Action::Memory],
                ));
            }
            batches.push(batch);
        }
        Ok(arrow_select::concat::concat_batches(&rows.schema, &batches)?)
    }

    /// The box after the existing rows along an axis. A box of open length extends to the end of the domain.
    fn behind(&self, axis: usize, length: &Length) -> Result<CellBox> {
        let count = self.grid.axes.len();
        let mut region = match (&self.rows, length) {
            (Some(rows), _) => rows.clone(),
            (None, Length::Shape(shape)) if shape.len() == count && !shape.contains(&0) => {
                let high = shape.iter().map(|extent| extent - 1).collect();
                return self.inside(CellBox { low: vec![0; count], high });
            }
            (None, _) => {
                return Err(Error::invalid("the array is empty, so rows need columns for its dimensions"));
            }
        };
        let others: Vec<u64> = (0..count).filter(|at| *at != axis).map(|at| region.len(at)).collect();
        let plane = others.iter().copied().try_fold(1_u64, u64::checked_mul).unwrap_or(u64::MAX).max(1);
        let mine = match length {
            // The rows are counted as they come.
            Length::Open => 1,
            Length::Cells(cells) if cells.is_multiple_of(plane) => cells / plane,
            Length::Cells(cells) => return Err(partial_plane(*cells, plane)),
            Length::Shape(shape) => {
                let theirs = shape.iter().enumerate().filter(|(at, _)| *at != axis).map(|(_, extent)| extent);
                if shape.len() != count || !theirs.eq(&others) {
                    let rows: Vec<u64> = (0..count).map(|at| region.len(at)).collect();
                    return Err(Error::invalid(format!(
                        "the input has the shape {shape:?}, the rows of the array {rows:?}: all axes but {axis} must agree"
                    )));
                }
                *shape.at(axis)?
            }
        };
        if mine == 0 {
            return Err(Error::invalid("there are no rows to add"));
        }
        if let (Some(low), Some(high)) = (region.low.get_mut(axis), region.high.get_mut(axis)) {
            *low = high.saturating_add(1);
            *high = high.saturating_add(mine);
        }
        let mut region = self.inside(region)?;
        if let (Length::Open, Some(high), Some(axis)) =
            (length, region.high.get_mut(axis), self.grid.axes.get(axis))
        {
            *high = axis.last;
        }
        Ok(region)
    }

    /// Refuses a box that leaves the domain.
    pub(super) fn inside(&self, region: CellBox) -> Result<CellBox> {
        for (at, axis) in self.grid.axes.iter().enumerate() {
            let high = *region.high.at(at)?;
            if high > axis.last {
                let name = self.writer.schema().dimensions.get(at).map_or("", |dim| dim.name.as_str());
                let (end, wanted) = (axis.low + i128::from(axis.last), axis.low + i128::from(high));
                return Err(Error::invalid(format!(
                    "dimension '{name}' ends at {}, the rows would reach {}",
                    Scalar::Int(end),
                    Scalar::Int(wanted)
                ))
                .hint(domain_hint(name)));
            }
        }
        Ok(region)
    }

    /// The current domain with the box in it, for the write alone: readers see it once the cells are there.
    pub(super) fn grow(&mut self, region: &CellBox) -> Result<()> {
        let Some(current) = self.grown(region)? else { return Ok(()) };
        let mut schema = self.writer.schema().clone();
        schema.current_domain = Some(current);
        self.writer.schema = Arc::new(schema);
        Ok(())
    }

    fn grown(&self, region: &CellBox) -> Result<Option<Vec<Bounds>>> {
        let Some(current) = &self.writer.schema().current_domain else { return Ok(None) };
        let mut all = self.grid.region_of(current)?;
        all.include(region);
        let all = self.grid.ranges_of(&all);
        Ok((all != *current).then_some(all))
    }

    /// Makes the box visible: expands the current domain to it.
    pub(super) fn settle(self, region: &CellBox, written: Written) -> Result<Written> {
        let mut stored = ArrayWriter::open(&self.writer.location, self.writer.key.clone())?;
        let old = Self { writer: stored.clone(), ..self };
        if let Some(current) = old.grown(region)? {
            stored.evolve().expand_current_domain(current)?.apply(None)?;
        }
        Ok(written)
    }
}
