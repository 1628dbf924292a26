//! Arrays over one grid as a table: the axes, then a column for each array, in row-major order.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions, make_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use tesselle_core::array::{coordinates, narrow, read_region_here};
use tesselle_core::{
    ArrayView, ColumnRole, ColumnStats, Cost, DType, Error, GridAxis, Known, Plan, Predicate, Pushdown,
    Region, Result, Scan, Span, Step, Storage, TYPE_KEY, Table, TableFacts, TableStats, Task,
};

/// Bytes of one array that a task decodes at a time, unless its tiles are larger.
const BAND: u64 = 16 << 20;
/// Rows of a batch.
const BATCH_ROWS: u64 = 64 << 10;

/// One of the arrays.
#[derive(Clone)]
pub(crate) struct GridColumn {
    /// The name of its column.
    pub(crate) name: String,
    /// Its cells.
    pub(crate) array: Arc<dyn ArrayView>,
    /// Whether its bytes are truth values.
    pub(crate) is_bool: bool,
}

impl GridColumn {
    /// The only array of a table, as a column of this name; `None` where it is not just one array.
    pub(crate) fn of(table: &dyn Table, name: &str) -> Option<Self> {
        let facts = table.facts().ok()?;
        let values = facts.named(&[ColumnRole::Value]);
        let [value] = values.as_slice() else { return None };
        let is_bool = *table.schema().field_with_name(value).ok()?.data_type() == DataType::Boolean;
        Some(Self { name: name.to_owned(), array: table.array(value)?, is_bool })
    }
}

/// A table over arrays of one shape.
pub(crate) struct GridTable {
    name: String,
    axes: Vec<String>,
    shape: Vec<u64>,
    columns: Vec<GridColumn>,
    schema: SchemaRef,
    storage: Arc<dyn Storage>,
    facts: TableFacts,
}

impl GridTable {
    /// The arrays must have one shape; the axes are those of the first.
    pub(crate) fn new(name: &str, columns: Vec<GridColumn>, storage: Arc<dyn Storage>) -> Result<Self> {
        let first = columns.first().ok_or_else(|| Error::invalid("there is no array to read"))?;
        let (shape, mut axes) = (first.array.shape().to_vec(), first.array.axis_names().to_vec());
        if columns.iter().any(|column| column.array.shape() != shape) {
            return Err(Error::invalid("the arrays have different shapes and do not form one table")
                .hint("name one of them"));
        }
        for (i, axis) in axes.iter_mut().enumerate() {
            if columns.iter().any(|column| column.name == *axis) || axis.is_empty() {
                *axis = format!("i{i}");
            }
        }
        let typed = |field: Field, source: &str| {
            field.with_metadata([(TYPE_KEY.to_owned(), source.to_owned())].into())
        };
        let mut fields: Vec<Field> =
            axes.iter().map(|axis| typed(Field::new(axis, DataType::Int64, false), "axis")).collect();
        for column in &columns {
            let (kind, source) = if column.is_bool {
                (DataType::Boolean, "bool")
            } else {
                (column.array.dtype().arrow(), column.array.dtype().name())
            };
            fields.push(typed(Field::new(&column.name, kind, false), source));
        }
        let tiles = first.array.tile_shape();
        let grid = axes.iter().zip(&shape).zip(tiles);
        let grid = grid.map(|((name, extent), tile)| GridAxis::positions(name, *extent, *tile)).collect();
        let mut facts = TableFacts::of_grid(grid);
        facts.roles.extend(columns.iter().map(|column| (column.name.clone(), ColumnRole::Value)));
        Ok(Self {
            name: name.to_owned(),
            facts,
            axes,
            shape,
            columns,
            schema: Arc::new(Schema::new(fields)),
            storage,
        })
    }

    /// What the table is, for those who know more of it than its grid.
    pub(crate) fn facts_mut(&mut self) -> &mut TableFacts {
        &mut self.facts
    }

    fn cells(&self) -> Result<u64> {
        let cells = Region::whole(&self.shape).cells();
        cells.ok_or_else(|| Error::limit("the array has more cells than can be counted"))
    }
}

impl Table for GridTable {
    fn name(&self) -> &str {
        &self.name
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn stats(&self) -> TableStats {
        let rows = self.cells().map_or(Known::Absent, Known::Exact);
        let known = |extent: &u64| ColumnStats {
            min: Known::Exact(0_u64.into()),
            max: Known::Exact(extent.saturating_sub(1).into()),
            nulls: Known::Exact(0),
            ..ColumnStats::default()
        };
        let some = self.shape.iter().all(|extent| *extent > 0);
        let axes = self.axes.iter().zip(&self.shape).filter(|_| some);
        TableStats {
            rows,
            bytes: Known::Absent,
            columns: axes.map(|(name, extent)| (name.clone(), known(extent))).collect(),
        }
    }

    fn stats_of(&self, columns: &[&str]) -> TableStats {
        let mut stats = self.stats();
        // Bounds of bytes are none of truth values.
        let wanted = self.columns.iter().filter(|c| !c.is_bool && columns.contains(&c.name.as_str()));
        stats.columns.extend(wanted.map(|column| (column.name.clone(), column.array.stats())));
        stats
    }

    fn facts(&self) -> Result<TableFacts> {
        Ok(self.facts.clone())
    }

    fn pushdown(&self, predicate: &Predicate) -> Pushdown {
        let mut region = Region::whole(&self.shape);
        if narrow(predicate, &self.axes, &mut region) { Pushdown::Exact } else { Pushdown::Inexact }
    }

    fn plan(&self, scan: &Scan) -> Result<Plan> {
        self.cells()?;
        let wanted = scan.column_indices(&self.schema)?;
        let origin = vec![0; self.shape.len()];
        let whole = match &scan.selection {
            Some(selection) => selection.resolve(&origin, &self.shape)?,
            None => Region::whole(&self.shape),
        };
        let mut region = whole.clone();
        let exact = scan.predicate.as_ref().is_none_or(|p| narrow(p, &self.axes, &mut region));
        let read: Vec<&GridColumn> =
            wanted.iter().filter_map(|at| self.columns.get(at.checked_sub(self.axes.len())?)).collect();
        let cell: u64 = read.iter().map(|column| column.array.dtype().size() as u64).sum();
        let tile = read.first().map_or(&[][..], |column| column.array.tile_shape());
        let schema = Arc::new(self.schema.project(&wanted)?);
        // Rows that are still filtered must not be counted.
        let mut left = scan.limit.filter(|_| exact).unwrap_or(u64::MAX);
        let mut tasks: Vec<Box<dyn Task>> = Vec::new();
        let mut boxes = Vec::new();
        cut(&whole, tile, cell.max(1), 0, &mut boxes);
        let pieces = boxes.len() as u64;
        if region != whole {
            boxes.clear();
            cut(&region, tile, cell.max(1), 0, &mut boxes);
        }
        for part in boxes {
            if left == 0 {
                break;
            }
            let cells = part.cells().unwrap_or(u64::MAX);
            left = left.saturating_sub(cells);
            tasks.push(Box::new(GridTask {
                axes: self.axes.len(),
                columns: self.columns.clone(),
                wanted: wanted.clone(),
                schema: Arc::clone(&schema),
                cost: Cost {
                    pieces: 1,
                    bytes_in: cells.saturating_mul(cell),
                    memory: cells.saturating_mul(cell + 8),
                },
                cells,
                region: part,
                done: 0,
                read: None,
            }));
        }
        let pruned = pieces.saturating_sub(tasks.len() as u64);
        Ok(Plan { tasks, pieces, pruned })
    }

    fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(&self.storage)
    }

    fn sort_columns(&self) -> Vec<String> {
        self.axes.clone()
    }

    fn array(&self, column: &str) -> Option<Arc<dyn ArrayView>> {
        let found = self.columns.iter().find(|c| c.name == column);
        found.map(|column| Arc::clone(&column.array))
    }

    fn array_columns(&self) -> Vec<String> {
        self.columns.iter().filter(|c| !c.is_bool).map(|column| column.name.clone()).collect()
    }
}

/// Cuts a region into boxes, in row-major order: bands along `axis` that end where tiles end, and where a single
/// position is too large still, along the axes after it.
fn cut(region: &Region, tile: &[u64], cell: u64, axis: usize, boxes: &mut Vec<Region>) {
    if region.cells() == Some(0) {
        return;
    }
    let Some(span) = region.spans.get(axis).copied() else {
        boxes.push(region.clone());
        return;
    };
    let inner = region.spans.iter().skip(axis + 1).try_fold(cell, |n, span| n.checked_mul(span.len()));
    let height = tile.get(axis).copied().unwrap_or(1).max(1);
    let fits = inner.map_or(0, |inner| BAND / inner.max(1));
    // Whole rows of tiles where they fit at least roughly; decoding a tile twice costs more than some memory.
    let rows =
        if fits.saturating_mul(8) >= height { fits.max(height) / height * height } else { fits.max(1) };
    let last = axis + 1 == region.spans.len();
    let mut start = span.start;
    while start < span.stop {
        // The end of the tile row, or as many positions as fit.
        let stop = (start / rows + 1).saturating_mul(rows).min(span.stop);
        let Some(part) = span.within(start, stop) else {
            start = stop;
            continue;
        };
        let mut piece = region.clone();
        if let Some(place) = piece.spans.get_mut(axis) {
            *place = Span {
                start: part.first,
                stop: part.first + (part.len - 1) * span.step + 1,
                step: span.step,
            };
        }
        if fits == 0 && !last {
            cut(&piece, tile, cell, axis + 1, boxes);
        } else {
            boxes.push(piece);
        }
        start = stop;
    }
}

/// Reads one box and hands it out batch by batch.
struct GridTask {
    axes: usize,
    columns: Vec<GridColumn>,
    wanted: Vec<usize>,
    schema: SchemaRef,
    region: Region,
    cells: u64,
    done: u64,
    cost: Cost,
    read: Option<Vec<Option<ArrayRef>>>,
}

impl Task for GridTask {
    fn cost(&self) -> Cost {
        self.cost
    }

    fn step(&mut self, _fetched: Vec<Bytes>) -> Result<Step> {
        if self.done == self.cells {
            return Ok(Step::Done);
        }
        if self.read.is_none() {
            let values = self.wanted.iter().map(|at| self.values(*at)).collect::<Result<_>>()?;
            self.read = Some(values);
        }
        let rows = BATCH_ROWS.min(self.cells - self.done);
        let range = self.done..self.done + rows;
        let values = self.read.as_deref().unwrap_or_default();
        let columns = self.wanted.iter().zip(values).map(|(at, values)| match values {
            Some(values) => values.slice(range.start as usize, rows as usize),
            None => Arc::new(Int64Array::from(coordinates(&self.region, *at, range.clone(), 0))) as ArrayRef,
        });
        let options = RecordBatchOptions::new().with_row_count(Some(rows as usize));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns.collect(), &options)?;
        self.done += rows;
        Ok(Step::Batch(batch))
    }
}

impl GridTask {
    /// The cells of a value column; `None` for an axis.
    fn values(&self, at: usize) -> Result<Option<ArrayRef>> {
        let Some(column) = at.checked_sub(self.axes).and_then(|at| self.columns.get(at)) else {
            return Ok(None);
        };
        let dtype = column.array.dtype();
        let size = usize::try_from(self.cells).ok().and_then(|n| n.checked_mul(dtype.size()));
        let mut bytes =
            vec![0; size.ok_or_else(|| Error::limit("a band of the array exceeds the address space"))?];
        read_region_here(&*column.array, &self.region, &mut bytes)?;
        if column.is_bool {
            let values: BooleanArray = bytes.iter().map(|byte| Some(*byte != 0)).collect();
            return Ok(Some(Arc::new(values)));
        }
        values(dtype, bytes).map(Some)
    }
}

/// Little-endian cells as an Arrow column.
pub(super) fn values(dtype: DType, bytes: Vec<u8>) -> Result<ArrayRef> {
    let len = bytes.len() / dtype.size();
    let data = arrow_data::ArrayData::builder(dtype.arrow())
        .len(len)
        .add_buffer(bytes.into())
        .align_buffers(true)
        .build()?;
    Ok(make_array(data))
}

#[cfg(test)]
mod tests {
    use tesselle_core::storage::MemoryStorage;

    use super::*;

    fn boxes(shape: &[u64], tile: &[u64], cell: u64) -> Vec<Region> {
        let mut out = Vec::new();
        cut(&Region::whole(shape), tile, cell, 0, &mut out);
        out
    }

    #[test]
    fn boxes_cover_a_region_in_order_and_end_with_tiles() {
        let parts = boxes(&[1000, 10_000], &[64, 64], 8);
        let rows: Vec<(u64, u64)> = parts.iter().map(|p| (p.spans[0].start, p.spans[0].stop)).collect();
        assert_eq!(rows.first(), Some(&(0, 192)));
        assert!(rows.windows(2).all(|pair| pair[0].1 == pair[1].0), "{rows:?}");
        assert_eq!(rows.last().map(|r| r.1), Some(1000));
        // One position of the first axis is too large: the second is cut.
        let parts = boxes(&[2, 100_000, 1000], &[1, 10, 1000], 8);
        assert!(parts.len() > 80, "{}", parts.len());
        assert_eq!(parts.iter().map(|p| p.cells().unwrap()).sum::<u64>(), 200_000_000);
        assert!(boxes(&[0, 5], &[1, 1], 8).is_empty());
    }

    #[test]
    fn conditions_on_axes_leave_boxes_out() {
        let shape = [10_000, 1000];
        let bytes: Vec<u8> = (0..10_000_000_u32).flat_map(u32::to_le_bytes).collect();
        let array =
            tesselle_core::testing::TiledArray::new(DType::U32, &shape, &[100, 1000], &bytes).unwrap();
        let column = GridColumn { name: "value".to_owned(), array: Arc::new(array), is_bool: false };
        let table = GridTable::new("", vec![column], Arc::new(MemoryStorage::new())).unwrap();
        let driver = tesselle_core::Driver::new(&tesselle_core::DriverOptions::default()).unwrap();
        let run = |text: &str, limit: Option<u64>| {
            let predicate: Predicate = text.parse().unwrap();
            let scan = Scan { predicate: Some(predicate.clone()), limit, ..Scan::default() };
            let plan = table.plan(&scan).unwrap();
            let counts = (plan.tasks.len() as u64, plan.pruned, plan.pieces);
            let batches =
                tesselle_core::driver::scan(&table, &scan, &driver, tesselle_core::driver::Order::Plan);
            let rows: usize = batches.unwrap().map(|batch| batch.unwrap().num_rows()).sum();
            (table.pushdown(&predicate), counts, rows)
        };
        let (pushdown, (read, pruned, pieces), rows) =
            run("axis_0 >= 1990 AND axis_0 < 2010 AND axis_1 = 5", None);
        assert_eq!((pushdown, rows), (Pushdown::Exact, 20));
        assert!(read == 1 && pruned + read == pieces && pieces > 2, "{read} + {pruned} of {pieces}");
        let (pushdown, (_, pruned, _), rows) = run("value > 9999990", Some(3));
        assert_eq!((pushdown, pruned, rows), (Pushdown::Inexact, 0, 3));
    }

    #[test]
    fn steps_are_kept_across_boxes() {
        let region = "0:1000:7,:"
            .parse::<tesselle_core::Selection>()
            .unwrap()
            .resolve(&[0, 0], &[1000, 40_000])
            .unwrap();
        let mut out = Vec::new();
        cut(&region, &[10, 40_000], 8, 0, &mut out);
        let rows: Vec<u64> = out
            .iter()
            .flat_map(|p| (p.spans[0].start..p.spans[0].stop).step_by(p.spans[0].step as usize))
            .collect();
        assert_eq!(rows, (0..1000).step_by(7).collect::<Vec<u64>>());
    }
}
