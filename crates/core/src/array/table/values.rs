//! The value columns of a table over a grid: fetched and decoded per band.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, make_array};
use arrow_buffer::{BooleanBuffer, Buffer};
use arrow_data::ArrayData;
use bytes::Bytes;

use crate::array::request::{answers, split};
use crate::array::{ArrayView, Ask, Cut, Request, Target};
use crate::driver::parallel;
use crate::error::{Error, Result};
use crate::predicate::ColumnBounds;
use crate::selection::Region;
use crate::task::ByteRange;
use crate::value_buffer::ValueBuffer;

/// Decoded bytes from which the tiles of a band are decoded by several threads.
const SHARED_BYTES: u64 = 2 << 20;

/// The cost of reading a part of a tile, cheapest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartCost {
    /// The part alone: tiles are stored uncompressed.
    Part,
    /// The rows of the part, along the first axis of the tile.
    Rows,
    /// The whole tile.
    Tile,
}

/// A column of values over a grid. It does no I/O.
pub trait GridValues: Send + Sync {
    /// The nominal extent of a tile on each axis.
    fn tile_shape(&self) -> &[u64];

    /// Decoded bytes of a cell, on average if cells differ.
    fn cell_bytes(&self) -> u64;

    /// The cost of reading a part of a tile.
    fn part_cost(&self) -> PartCost;

    /// The metadata bounds of a tile's values.
    fn bounds(&self, tile: &[u64]) -> Option<ColumnBounds>;

    /// Starts to read `region`, skipping tiles that `wanted` rejects, whose values are never used.
    fn read(&self, region: &Region, wanted: &dyn Fn(&[u64]) -> bool) -> Result<Box<dyn ValuesRead>>;
}

/// The values of a region on their way.
pub trait ValuesRead: Send {
    /// The next step. `fetched` answers the last one, and is empty at first.
    fn step(&mut self, fetched: &[Bytes]) -> Result<ValuesStep>;
}

/// A request of a [`ValuesRead`], or its result.
#[derive(Debug)]
pub enum ValuesStep {
    /// The sizes of these files.
    Sizes(Vec<Arc<str>>),
    /// These ranges.
    Need(Vec<ByteRange>),
    /// The values of all cells of the region, row-major. Strings may come as a dictionary of strings with keys of 16 bits.
    Values(ArrayRef),
}

/// The cells of an array as a column.
#[derive(Clone)]
pub(super) struct ArrayValues {
    pub(super) array: Arc<dyn ArrayView>,
    /// Whether its bytes are Booleans: all but 0 are true.
    pub(super) is_bool: bool,
}

impl GridValues for ArrayValues {
    fn tile_shape(&self) -> &[u64] {
        self.array.tile_shape()
    }

    fn cell_bytes(&self) -> u64 {
        self.array.dtype().size() as u64
    }

    fn part_cost(&self) -> PartCost {
        match (self.array.is_raw(), self.array.decodes_rows()) {
            (true, _) => PartCost::Part,
            (false, true) => PartCost::Rows,
            (false, false) => PartCost::Tile,
        }
    }

    fn bounds(&self, tile: &[u64]) -> Option<ColumnBounds> {
        // Bounds of bytes are not bounds of Booleans.
        if self.is_bool { None } else { self.array.bounds(tile) }
    }

    fn read(&self, region: &Region, wanted: &dyn Fn(&[u64]) -> bool) -> Result<Box<dyn ValuesRead>> {
        let (first, shape) = (vec![0; region.spans.len()], region.shape());
        let cells = region.cells().and_then(|cells| usize::try_from(cells).ok());
        let bytes = cells.and_then(|cells| cells.checked_mul(self.array.dtype().size()));
        let bytes = bytes.ok_or_else(|| Error::limit("a band of the array exceeds the address space"))?;
        let cut = Cut::along_tiles(&*self.array);
        let grid = cut.grid(region)?;
        let mut pieces = Vec::new();
        for parts in grid.combinations(0..shape.len()) {
            let piece = cut.piece(&grid, &parts, Target { first: &first, shape: &shape })?;
            if wanted(&piece.tile) {
                pieces.push(piece);
            }
        }
        let request = Request::try_new(&cut, pieces)?;
        Ok(Box::new(ArrayRead { values: self.clone(), bytes, request, state: State::Start }))
    }
}

/// The cells of a band on their way.
struct ArrayRead {
    values: ArrayValues,
    /// Bytes of the band.
    bytes: usize,
    request: Request,
    state: State,
}

enum State {
    Start,
    Sizes(Vec<Ask>),
    Indexes(Vec<Ask>),
    /// One range contains all values uncompressed.
    Whole,
    Tiles,
}

impl ValuesRead for ArrayRead {
    fn step(&mut self, fetched: &[Bytes]) -> Result<ValuesStep> {
        match std::mem::replace(&mut self.state, State::Start) {
            State::Start => self.ask(),
            State::Sizes(asks) => {
                self.request.answer(&*self.values.array, &answers(&asks, fetched, true)?)?;
                self.ask()
            }
            State::Indexes(asks) => {
                self.request.answer(&*self.values.array, &answers(&asks, fetched, false)?)?;
                self.ask()
            }
            State::Whole => {
                let bytes = fetched.first().ok_or_else(|| Error::internal("nothing was fetched"))?;
                self.column(self.borrow(bytes.clone())?)
            }
            State::Tiles => self.column(self.assemble(fetched)?),
        }
    }
}

impl ArrayRead {
    /// Requests answers to open questions, or the ranges.
    fn ask(&mut self) -> Result<ValuesStep> {
        let asks = self.request.asks();
        let (files, indexes) = split(&asks);
        if !files.is_empty() {
            self.state = State::Sizes(asks);
            return Ok(ValuesStep::Sizes(files));
        }
        if !indexes.is_empty() {
            self.state = State::Indexes(asks);
            return Ok(ValuesStep::Need(indexes));
        }
        let whole = self.request.one_range();
        if let Some(range) = whole.filter(|all| all.range.end - all.range.start == self.bytes as u64) {
            self.state = State::Whole;
            return Ok(ValuesStep::Need(vec![range]));
        }
        if self.request.ranges().is_empty() {
            return self.column(self.assemble(&[])?);
        }
        self.state = State::Tiles;
        Ok(ValuesStep::Need(self.request.ranges().to_vec()))
    }

    /// Assembles the values of all tiles in one buffer.
    fn assemble(&self, fetched: &[Bytes]) -> Result<Buffer> {
        let array = &*self.values.array;
        let mut values = ValueBuffer::zeroed(self.bytes);
        let dst = values.as_slice_mut();
        let pieces = self.request.pieces();
        // A wide band of encoded tiles is shared with the other threads of the driver; bands that cut through tiles are
        // small.
        let shared = !array.decodes_rows()
            && pieces.len() > 1
            && self.request.encoded_bytes() >= SHARED_BYTES
            && parallel::threads() > 1;
        if !shared {
            let mut scratch = Vec::new();
            for at in 0..pieces.len() {
                self.request.place(at, array, fetched, dst, &mut scratch)?;
            }
            return Ok(values.into());
        }
        let mut scratches = vec![Vec::new(); parallel::threads() * 2];
        for first in (0..pieces.len()).step_by(scratches.len()) {
            let group = scratches.iter_mut().zip(pieces.iter().enumerate().skip(first));
            let decoded = parallel::try_map(group, |(scratch, (at, piece))| {
                Ok::<_, Error>((piece, self.request.cells(at, array, fetched, scratch)?))
            })?;
            decoded.iter().try_for_each(|(piece, cells)| piece.copy.copy(cells, dst))?;
        }
        Ok(values.into())
    }

    /// Uncompressed values: zero-copy if their alignment allows.
    fn borrow(&self, bytes: Bytes) -> Result<Buffer> {
        if bytes.len() != self.bytes {
            return Err(Error::internal("the size of a band does not match its cells"));
        }
        if bytes.as_ptr().align_offset(self.values.array.dtype().size()) == 0 {
            return Ok(Buffer::from(bytes));
        }
        let mut values = ValueBuffer::zeroed(bytes.len());
        values.as_slice_mut().copy_from_slice(&bytes);
        Ok(values.into())
    }

    fn column(&self, values: Buffer) -> Result<ValuesStep> {
        let dtype = self.values.array.dtype();
        let cells = values.len() / dtype.size();
        if self.values.is_bool {
            let bits = BooleanBuffer::collect_bool(cells, |i| values.get(i).is_some_and(|byte| *byte != 0));
            return Ok(ValuesStep::Values(Arc::new(BooleanArray::new(bits, None))));
        }
        let data = ArrayData::try_new(dtype.arrow(), cells, None, 0, vec![values], Vec::new())?;
        Ok(ValuesStep::Values(make_array(data)))
    }
}
