//! Rows as a dense array along one dimension, `row`; an empty table becomes a sparse array.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::RecordBatch;
use tesselle_core::{Error, Result, Scalar};

use super::{Cells as Rows, Target, schema_of};
use crate::Datatype;
use crate::filter::{Filter, Pipeline};
use crate::meta::attribute::Attribute;
use crate::meta::dimension::Dimension;
use crate::meta::schema::{ArrayKind, ArraySchema};
use crate::meta::value::Bounds;
use crate::write::cells::Cells;
use crate::write::fragment::{FinishedFragment, FragmentEnd, FragmentWriter, TileSet};
use crate::write::options::SinkSettings;
use crate::write::schema::{ColumnPlan, DimensionPlan};

/// Default cells per tile.
const EXTENT: u64 = 50_000;

/// Cells that are looked at to choose the filters of a column.
const SAMPLE: usize = 50_000;
/// Strings are worth a dictionary if each occurs this often, on average.
const REPEATS: usize = 16;

/// Fills tile after tile.
pub(super) struct RowCells {
    target: Target,
    schema: ArraySchema,
    /// Whether the filters of an attribute may follow from its first cells.
    chooses: Vec<bool>,
    extent: usize,
    pending: Vec<Vec<Cells>>,
    pending_rows: usize,
    rows: u64,
    writer: Option<FragmentWriter>,
}

impl RowCells {
    pub(super) fn try_new(target: &Target, settings: &SinkSettings, columns: &[ColumnPlan]) -> Result<Self> {
        let extent = settings.common_extent(0).unwrap_or(EXTENT);
        let extent_cells = usize::try_from(extent).ok().filter(|extent| *extent > 0 && *extent <= 1 << 30);
        let extent = extent_cells.ok_or_else(|| Error::invalid(format!("tiles of {extent} rows")))?;
        let taken = |name: &str| columns.iter().any(|column| column.attribute.name == name);
        let name =
            ["row", "row_number", "tesselle_row"].into_iter().find(|name| !taken(name)).unwrap_or("row_");
        let dimension = Dimension::new(name, Datatype::Uint64, 0_u64, 0_u64, 1_u64);
        let schema = schema_of(settings, &[DimensionPlan { dimension, index: 0, cast: None }], columns)?;
        let chooses = columns.iter().map(|column| settings.leaves_filters(&column.attribute.name)).collect();
        Ok(Self {
            target: target.clone(),
            schema,
            chooses,
            extent,
            pending: vec![Vec::new(); columns.len()],
            pending_rows: 0,
            rows: 0,
            writer: None,
        })
    }

    /// Gives strings that repeat a dictionary: there is less to decompress, and their offsets are not stored.
    fn choose_filters(&mut self, columns: &[Cells]) {
        let attributes = self.schema.attributes.iter_mut().zip(&self.chooses).zip(columns);
        for ((attribute, _), _) in attributes
            .filter(|((attribute, chooses), cells)| **chooses && is_text(attribute) && repeats(cells))
        {
            attribute.filters = Pipeline::new([Filter::Dictionary { level: -1 }, Filter::zstd(3)]);
        }
    }

    /// Writes the pending rows: whole tiles, and with `last` the rest in a tile of `cells`.
    fn flush(&mut self, last: Option<usize>) -> Result<()> {
        let columns: Vec<Cells> =
            self.pending.iter_mut().filter_map(|parts| Cells::concat(std::mem::take(parts))).collect();
        let cells = last.unwrap_or(self.extent);
        let whole = if last.is_some() { self.pending_rows } else { self.pending_rows / cells * cells };
        let tile = |start: usize| {
            let end = (start + cells).min(whole);
            let indexes: Vec<u32> = (start as u32..end as u32).collect();
            let fields = columns.iter().map(|column| column.gather_padded(&indexes, cells)).collect();
            TileSet { fields, real: std::iter::once(0..end - start).collect() }
        };
        let tiles: Vec<TileSet> = (0..whole).step_by(cells).map(tile).collect();
        if self.writer.is_none() {
            self.choose_filters(&columns);
            self.writer = Some(FragmentWriter::create(self.target.plan(&Arc::new(self.schema.clone())))?);
        }
        if let Some(writer) = &mut self.writer {
            writer.append(&tiles)?;
        }
        for (parts, column) in self.pending.iter_mut().zip(&columns) {
            if whole < self.pending_rows {
                parts.push(column.slice(whole, self.pending_rows));
            }
        }
        self.pending_rows -= whole;
        Ok(())
    }
}

fn is_text(attribute: &Attribute) -> bool {
    attribute.is_var() && matches!(attribute.datatype, Datatype::StringAscii | Datatype::StringUtf8)
}

/// Whether the first cells have few distinct values.
fn repeats(cells: &Cells) -> bool {
    let sample = cells.count.min(SAMPLE);
    let mut seen = HashSet::new();
    (0..sample).all(|row| {
        seen.insert(cells.cell(row));
        seen.len() <= sample / REPEATS
    })
}

impl Rows for RowCells {
    fn write(&mut self, batch: &RecordBatch, attributes: Vec<Cells>) -> Result<()> {
        for (parts, cells) in self.pending.iter_mut().zip(attributes) {
            parts.push(cells);
        }
        self.pending_rows += batch.num_rows();
        self.rows += batch.num_rows() as u64;
        // A few tiles at once, so that several are filtered in parallel.
        if self.pending_rows >= self.extent * 4 { self.flush(None) } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<(Vec<FinishedFragment>, ArraySchema)> {
        // An array with fewer rows than one tile gets a tile of just these rows.
        let cells = if self.writer.is_none() { self.extent.min(self.pending_rows) } else { self.extent };
        if self.rows == 0 {
            // A dense array has at least one cell, which would read as a row.
            self.schema.kind = ArrayKind::Sparse;
        }
        let last = self.rows.max(1) - 1;
        if self.pending_rows > 0 {
            self.flush(Some(cells))?;
        }
        let extent = if self.rows == 0 { 1 } else { cells.max(1).min(self.rows as usize) };
        if let Some(dimension) = self.schema.dimensions.first_mut() {
            dimension.domain = Some(Bounds { low: Scalar::Int(0), high: Scalar::from(last) });
            dimension.extent = Some(Scalar::from(extent as u64));
        }
        let end = FragmentEnd {
            domain: Some(vec![Bounds { low: Scalar::Int(0), high: Scalar::from(last) }]),
            last_tile_cells: extent as u64,
            ..FragmentEnd::default()
        };
        let fragment = self.writer.map(|writer| writer.finish(&end)).transpose()?;
        Ok((fragment.into_iter().collect(), self.schema))
    }
}
