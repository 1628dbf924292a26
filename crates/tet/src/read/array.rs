//! The array and the table view of a dataset.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use tesselle_core::array::{Answer, Ask, GridColumn, GridTable, Place};
use tesselle_core::{
    ArrayView, Attribute, AttributeScope, ByteRange, ColumnBounds, ColumnStats, Context, DType, Error, Known,
    Result, Storage,
};

use super::schema;
use crate::format::NAME;
use crate::meta::geometry::Grid;
use crate::meta::index::{Codec, Row};
use crate::notes::Notes;
use crate::open::{Opened, decode_front};

/// One dataset as a grid of numbers.
#[derive(Debug)]
pub(crate) struct Array {
    opened: Arc<Opened>,
    id: usize,
    file: Arc<str>,
    grid: Grid,
    /// The codec of its first chunk.
    codec: Codec,
    names: Vec<String>,
}

impl Array {
    pub(crate) fn try_new(opened: &Arc<Opened>, id: usize) -> Result<Self> {
        let grid = opened
            .grid(id)
            .in_file(opened.location.path())
            .in_piece(|| format!("dataset '{}'", opened.name(id)))?
            .clone();
        let dataset =
            opened.catalog.datasets.get(id).ok_or_else(|| Error::internal("a dataset is missing"))?;
        let names = schema::names(dataset, opened.catalog.metadata_of(&dataset.name));
        let file = opened.location.path().into();
        let codec = opened.first_codec(id, &grid)?;
        Ok(Self { opened: Arc::clone(opened), id, file, grid, codec, names })
    }

    /// Where the chunk of a row is, or the part of the index to ask for.
    fn place(&self, row: Result<Row, Range<u64>>) -> Place {
        let range = |range| ByteRange::new(Arc::clone(&self.file), range);
        match row {
            Ok(row) if row.codec == Codec::Raw => Place::Raw(range(row.span())),
            Ok(row) => Place::Encoded(vec![range(row.span())]),
            Err(missing) => Place::Ask(Ask::Bytes(range(missing))),
        }
    }

    /// The part of a decoded chunk up to the last requested row, if the others are worth skipping.
    fn front<'d>(&self, chunk: &[u64], rows: &Range<u64>, dst: &'d mut [u8]) -> Option<&'d mut [u8]> {
        let [extent, ..] = self.grid.extents(chunk);
        let row = dst.len().checked_div(usize::try_from(extent).ok()?)?;
        let len = usize::try_from(rows.end).ok()?.checked_mul(row)?;
        dst.get_mut(..len).filter(|front| front.len() <= (extent as usize * row) / 8 * 7)
    }

    /// Whether the chunks may be the tensor in row-major order.
    fn may_be_whole(&self) -> bool {
        self.codec == Codec::Raw && self.grid.bytes > 0 && self.grid.chunk_order_is_logical()
    }
}

/// The table view of a dataset: axis columns, then `value`, row-major.
pub(crate) fn table(opened: &Arc<Opened>, id: usize) -> Result<GridTable> {
    let array = Array::try_new(opened, id)?;
    let stored = opened.catalog.rows.dataset(id).map(|rows| rows.stored_bytes);
    let metadata = schema::schema_metadata(&array.grid);
    let column = GridColumn { name: schema::VALUE.to_owned(), array: Arc::new(array), is_bool: false };
    let table = GridTable::try_new(opened.name(id), vec![column], Arc::clone(opened.location.storage()))?;
    let table = table.with_metadata(metadata);
    let mut table = match stored {
        Some(stored) => table.with_stored_bytes(stored),
        None => table,
    };
    let (name, facts) = (opened.name(id), table.facts_mut());
    facts.format = NAME;
    facts.table = Some(name.to_owned());
    let own = opened.catalog.metadata_of(name);
    let attribute = |(name, value): (&String, &String)| Attribute {
        scope: AttributeScope::Table,
        ..Attribute::new(name, value.as_str())
    };
    facts.attributes = own.iter().flat_map(|own| &own.attrs).map(attribute).collect();
    facts.native = Some(Notes::of(&opened.catalog).native(name));
    Ok(table)
}

impl ArrayView for Array {
    fn dtype(&self) -> DType {
        self.grid.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.grid.shape
    }

    fn tile_shape(&self) -> &[u64] {
        &self.grid.chunk_shape
    }

    fn axis_names(&self) -> &[String] {
        &self.names
    }

    fn storage(&self) -> Option<Arc<dyn Storage>> {
        Some(Arc::clone(self.opened.location.storage()))
    }

    fn locate(&self, chunk: &[u64], _rows: &Range<u64>) -> Result<Place> {
        self.opened.find_row(self.id, &self.grid, chunk).map(|row| self.place(row))
    }

    fn locate_with(&self, chunk: &[u64], rows: &Range<u64>, ask: &Ask, answer: &Answer) -> Result<Place> {
        let Ask::Bytes(range) = ask else { return Err(Error::internal("no size was requested")) };
        self.opened.answer(&range.range, answer.bytes()?.clone())?;
        self.locate(chunk, rows)
    }

    fn decode(&self, chunk: &[u64], rows: Range<u64>, fetched: &[Bytes], dst: &mut [u8]) -> Result<()> {
        let row = self.opened.find_row(self.id, &self.grid, chunk)?;
        let row = row.map_err(|_| Error::internal("a chunk is decoded before it is located"))?;
        let [payload] = fetched else { return Err(Error::internal("a chunk has one range")) };
        if self.front(chunk, &rows, dst).is_some_and(|front| decode_front(&row, payload, front)) {
            return Ok(());
        }
        self.opened.decode(self.id, chunk, &row, payload, dst)
    }

    fn is_raw(&self) -> bool {
        self.codec == Codec::Raw
    }

    fn survey(&self) -> Vec<ByteRange> {
        if !self.may_be_whole() {
            return Vec::new();
        }
        let unread = self.opened.catalog.rows.unsurveyed(self.id..self.id + 1).into_iter();
        unread.map(|range| ByteRange::new(Arc::clone(&self.file), range)).collect()
    }

    fn surveyed(&self, range: &ByteRange, bytes: &[u8]) {
        self.opened.catalog.rows.survey(&range.range, bytes, &self.opened.catalog.grids);
    }

    fn whole(&self) -> Option<Place> {
        let rows = self.opened.catalog.rows.dataset(self.id).filter(|_| self.may_be_whole())?;
        let end = rows.payload_offset.checked_add(self.grid.bytes)?;
        let range = ByteRange::new(Arc::clone(&self.file), rows.payload_offset..end);
        (rows.regular && rows.exact && rows.packed_raw).then_some(Place::Raw(range))
    }

    fn bounds(&self, chunk: &[u64]) -> Option<ColumnBounds> {
        self.opened.zones()?.bounds(&self.opened, self.id, self.grid.linear(chunk)?)
    }

    fn stats(&self) -> ColumnStats {
        let pieces = self.opened.zones().map(|zones| {
            let chunks = 0..self.grid.chunks;
            ColumnStats::of_pieces(chunks.map(|chunk| zones.bounds(&self.opened, self.id, chunk)))
        });
        // Cells are never null, regardless of the null counts of zone maps.
        ColumnStats { nulls: Known::Exact(0), ..pieces.unwrap_or_default() }
    }
}
