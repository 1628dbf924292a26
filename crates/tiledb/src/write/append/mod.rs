//! Rows for an array that exists: cells of a sparse one as a new fragment, a box behind the rows of a dense one.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use tesselle_core::{
    Action, AppendRequest, Driver, Error, OpenOptions, Result, RowStream, Scalar, Summary, Table as _,
};

use super::array::{ArrayWriter, Written};
use super::dense::CellOrder;
use super::sparse::SparseOptions;
use crate::meta::schema::ArrayKind;
use crate::meta::value::Bounds;
use crate::open::{Array, key_of};
use crate::order::grid::{CellBox, Grid};
use crate::table::ArrayTable;

/// Adds rows to an array.
///
/// Cells of a sparse array become visible together. A dense array grows along an axis: rows with a column for each
/// dimension go where these say, others and arrays go behind the rows that there are. A current domain grows with them.
pub(crate) fn append(mut request: AppendRequest<'_>, driver: &Driver) -> Result<Summary> {
    request.settings.expect_only(&["timestamp"])?;
    let timestamp = request.settings.parse("timestamp", "milliseconds since the epoch")?;
    if request.open.between.is_some() {
        return Err(Error::invalid("an append takes no times of reading")
            .suggest("set the time with {}", [Action::setting("timestamp", "TIME")]));
    }
    if let Some(name) = request.table.as_deref().filter(|name| !name.is_empty()) {
        request.location = crate::group::member_location(&request.location, name, &request.open)?;
    }
    let key = request.open.key.as_ref().map(|secret| key_of(secret.expose())).transpose()?;
    let writer = ArrayWriter::open(&request.location, key)?.with_driver(driver);
    let written = if writer.schema().kind == ArrayKind::Sparse {
        request.refuse_axis()?;
        let rows = request.rows.conform(&stored_schema(&request.location, &request.open)?)?;
        let options = SparseOptions { timestamp, ..SparseOptions::default() };
        writer.write_sparse_all(rows.batches, &options)?
    } else {
        Dense::new(writer, &request.open, driver)?.append(request, timestamp)?
    };
    Ok(Summary { rows: written.cells, bytes: written.bytes, pieces: written.tiles, lost: Vec::new() })
}

/// The columns of an array; enumerated ones take any number of distinct values, which are looked up.
fn stored_schema(location: &tesselle_core::Location, open: &OpenOptions) -> Result<SchemaRef> {
    let open = open.clone().with_raw(false).with_text_as_binary(false);
    let schema = ArrayTable::new(Arc::new(Array::open(location, &open)?)).schema();
    let fields = schema.fields().iter().map(|field| match field.data_type() {
        DataType::Dictionary(_, values) => {
            let kind = DataType::Dictionary(Box::new(DataType::Int32), values.clone());
            Arc::new(Field::clone(field).with_data_type(kind))
        }
        _ => Arc::clone(field),
    });
    Ok(Arc::new(Schema::new(fields.collect::<Vec<_>>())))
}

/// A dense array that grows.
struct Dense {
    writer: ArrayWriter,
    grid: Grid,
    /// The box of its rows.
    rows: Option<CellBox>,
    /// All columns.
    schema: SchemaRef,
    /// Most bytes of rows that are held.
    most: u64,
}

impl Dense {
    fn new(writer: ArrayWriter, open: &OpenOptions, driver: &Driver) -> Result<Self> {
        let grid = writer.schema().grid()?;
        let open = open.clone().with_full_domain(false);
        let rows = Array::open(&writer.location, &open)?.row_box(&grid)?;
        let schema = stored_schema(&writer.location, &open)?;
        Ok(Self { writer, grid, rows, schema, most: driver.budget().total() / 2 })
    }

    fn append(mut self, request: AppendRequest<'_>, timestamp: Option<u64>) -> Result<Written> {
        let dimensions: Vec<String> =
            self.writer.schema().dimensions.iter().map(|dim| dim.name.clone()).collect();
        let has = |name: &String| request.rows.schema.index_of(name).is_ok();
        if request.array.is_none() && request.axis.is_none() && dimensions.iter().all(has) {
            let batch = self.collect(request.rows, &self.schema)?;
            let region = self.writer.box_of(&batch)?;
            self.grow(&region)?;
            let written = self.writer.write_dense_rows(None, std::slice::from_ref(&batch), timestamp)?;
            return self.settle(&region, written);
        }
        let names: Vec<&str> = dimensions.iter().map(String::as_str).collect();
        let axis = request.axis_of(&names)?;
        let values = self.values_schema(&dimensions);
        let (rows, shape) = match &request.array {
            Some(array) => {
                let shape = array.shape().to_vec();
                (values_of(request.rows, &values)?, Some(shape))
            }
            None => (without(request.rows, &dimensions), None),
        };
        let batch = self.collect(rows, &values)?;
        let region = self.behind(axis, shape.as_deref(), batch.num_rows() as u64)?;
        self.grow(&region)?;
        let ranges = self.grid.ranges_of(&region);
        let written = self.writer.write_dense(&ranges, &batch, CellOrder::RowMajor, timestamp)?;
        self.settle(&region, written)
    }

    fn values_schema(&self, dimensions: &[String]) -> SchemaRef {
        let fields = self.schema.fields().iter().filter(|field| !dimensions.contains(field.name()));
        Arc::new(Schema::new(fields.cloned().collect::<Vec<_>>()))
    }

    /// All rows in one batch: a dense write fills a box in any order of its tiles.
    fn collect(&self, rows: RowStream<'_>, schema: &SchemaRef) -> Result<RecordBatch> {
        let (mut batches, mut bytes) = (Vec::new(), 0_u64);
        for batch in rows.conform(schema)?.batches {
            self.writer.check_canceled()?;
            let batch = batch?;
            bytes = bytes.saturating_add(batch.get_array_memory_size() as u64);
            if bytes > self.most {
                return Err(Error::limit("the rows exceed the memory that one box may take")
                    .suggest("append them in parts, or allow more with {}", [Action::Memory]));
            }
            batches.push(batch);
        }
        Ok(arrow_select::concat::concat_batches(schema, &batches)?)
    }

    /// The box behind the rows along an axis, for an array of this shape or for so many cells.
    fn behind(&self, axis: usize, shape: Option<&[u64]>, cells: u64) -> Result<CellBox> {
        let count = self.grid.axes.len();
        let whole = |shape: &[u64]| CellBox {
            low: vec![0; count],
            high: shape.iter().map(|extent| extent.saturating_sub(1)).collect(),
        };
        if cells == 0 {
            return Err(Error::invalid("there are no rows to add"));
        }
        let mut region = match (&self.rows, shape) {
            (Some(rows), _) => rows.clone(),
            (None, Some(shape)) if shape.len() == count => return self.inside(whole(shape)),
            (None, _) => {
                return Err(Error::invalid("the array is empty, so rows need columns for its dimensions"));
            }
        };
        let others = (0..count).filter(|at| *at != axis).map(|at| region.len(at));
        let plane = others.clone().try_fold(1_u64, u64::checked_mul).unwrap_or(u64::MAX).max(1);
        let mine = match shape {
            None if cells.is_multiple_of(plane) => cells / plane,
            None => {
                return Err(Error::invalid(format!(
                    "{cells} rows do not fill planes of {plane} cells along axis {axis}"
                )));
            }
            Some(shape) => {
                let theirs =
                    shape.iter().enumerate().filter(|(at, _)| *at != axis).map(|(_, extent)| *extent);
                if shape.len() != count || !theirs.eq(others) {
                    let rows: Vec<u64> = (0..count).map(|at| region.len(at)).collect();
                    return Err(Error::invalid(format!(
                        "the input has the shape {shape:?}, the rows of the array {rows:?}: all axes but {axis} must agree"
                    )));
                }
                shape.get(axis).copied().unwrap_or(0)
            }
        };
        if let (Some(low), Some(high)) = (region.low.get_mut(axis), region.high.get_mut(axis)) {
            *low = high.saturating_add(1);
            *high = high.saturating_add(mine);
        }
        self.inside(region)
    }

    /// Refuses a box that leaves the domain.
    fn inside(&self, region: CellBox) -> Result<CellBox> {
        for (at, axis) in self.grid.axes.iter().enumerate() {
            let high = region.high.get(at).copied().unwrap_or(u64::MAX);
            if high > axis.last {
                let name = self.writer.schema().dimensions.get(at).map_or("", |dim| dim.name.as_str());
                let (end, wanted) = (axis.low + i128::from(axis.last), axis.low + i128::from(high));
                return Err(Error::invalid(format!(
                    "dimension '{name}' ends at {}, the rows would reach {}",
                    Scalar::Int(end),
                    Scalar::Int(wanted)
                ))
                .hint("a domain is fixed; convert into an array with a larger one"));
            }
        }
        Ok(region)
    }

    /// The current domain with the box in it, for the write alone: readers see it once the cells are there.
    fn grow(&mut self, region: &CellBox) -> Result<()> {
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

    /// Shows what was written: the current domain covers it from here on.
    fn settle(self, region: &CellBox, written: Written) -> Result<Written> {
        let mut stored = ArrayWriter::open(&self.writer.location, self.writer.key.clone())?;
        let old = Self { writer: stored.clone(), ..self };
        if let Some(current) = old.grown(region)? {
            stored.evolve().expand_current_domain(current)?.apply(None)?;
        }
        Ok(written)
    }
}

/// The rows without the columns of these names.
fn without<'a>(rows: RowStream<'a>, names: &[String]) -> RowStream<'a> {
    let fields = rows.schema.fields().iter().enumerate();
    let kept: Vec<usize> =
        fields.filter(|(_, field)| !names.contains(field.name())).map(|(at, _)| at).collect();
    let fields: Vec<_> = kept.iter().map(|at| Arc::clone(&rows.schema.fields()[*at])).collect();
    let batches = rows.batches.map(move |batch| Ok(batch?.project(&kept)?));
    RowStream { schema: Arc::new(Schema::new(fields)), batches: Box::new(batches) }
}

/// The cells of an array, whose other columns are its axes, under the name of the one attribute.
fn values_of<'a>(rows: RowStream<'a>, target: &Schema) -> Result<RowStream<'a>> {
    let [attribute] = target.fields().as_ref() else {
        return Err(Error::invalid(format!(
            "the array has {} attributes, the input one value per cell",
            target.fields().len()
        )));
    };
    let Some(last) = rows.schema.fields().len().checked_sub(1) else {
        return Err(Error::invalid("the input has no values"));
    };
    let field = rows.schema.field(last).clone().with_name(attribute.name());
    let schema: SchemaRef = Arc::new(Schema::new(vec![field]));
    let named = Arc::clone(&schema);
    let batches = rows.batches.map(move |batch| {
        let columns = batch?.columns().last().cloned().into_iter().collect();
        Ok(RecordBatch::try_new(Arc::clone(&named), columns)?)
    });
    Ok(RowStream { schema, batches: Box::new(batches) })
}
