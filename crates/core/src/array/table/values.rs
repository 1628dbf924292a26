//! The value columns of a table over a grid: fetched and decoded per band.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, make_array};
use arrow_buffer::{BooleanBuffer, Buffer, MutableBuffer};
use arrow_data::ArrayData;
use bytes::Bytes;

use crate::array::request::{answers, split};
use crate::array::{ArrayView, Ask, Cut, Request, Target};
use crate::driver::parallel;
use crate::error::{Error, Result};
use crate::predicate::ColumnBounds;
use crate::selection::Region;
use crate::task::ByteRange;

/// Decoded bytes from which the tiles of a band are decoded by several threads.
const SHARED_BYTES: u64 = 2 << 20;

/// A request of a [`ColumnRead`], or its result.
#[derive(Debug)]
pub(super) enum ColumnStep {
    /// The sizes of these files.
    Sizes(Vec<Arc<str>>),
    /// These ranges.
    Need(Vec<ByteRange>),
    /// The values of all cells of the band.
    Values(ArrayRef),
}

/// The cells of an array as a column.
#[derive(Clone)]
pub(super) struct Values {
    pub(super) array: Arc<dyn ArrayView>,
    pub(super) is_bool: bool,
}

impl Values {
    pub(super) fn tile_shape(&self) -> &[u64] {
        self.array.tile_shape()
    }

    /// Bytes of a cell.
    pub(super) fn cell_bytes(&self) -> u64 {
        self.array.dtype().size() as u64
    }

    /// The metadata bounds of a tile's values.
    pub(super) fn bounds(&self, tile: &[u64]) -> Option<ColumnBounds> {
        // Bounds of bytes are not bounds of Booleans.
        if self.is_bool { None } else { self.array.bounds(tile) }
    }

    /// Starts to read `region`, skipping tiles that `wanted` rejects, whose values are never used. No I/O.
    pub(super) fn read(&self, region: &Region, wanted: impl Fn(&[u64]) -> bool) -> Result<ColumnRead> {
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
        let request = Request::new(&cut, pieces)?;
        Ok(ColumnRead { values: self.clone(), bytes, request, state: State::Start })
    }
}

/// The values of a band on their way.
pub(super) struct ColumnRead {
    values: Values,
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

impl ColumnRead {
    /// The next step. `fetched` answers the previous one, and is empty at first.
    pub(super) fn step(&mut self, fetched: &[Bytes]) -> Result<ColumnStep> {
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

    /// Requests answers to open questions, or the ranges.
    fn ask(&mut self) -> Result<ColumnStep> {
        let asks = self.request.asks();
        let (files, indexes) = split(&asks);
        if !files.is_empty() {
            self.state = State::Sizes(asks);
            return Ok(ColumnStep::Sizes(files));
        }
        if !indexes.is_empty() {
            self.state = State::Indexes(asks);
            return Ok(ColumnStep::Need(indexes));
        }
        let whole = self.request.one_range();
        if let Some(range) = whole.filter(|all| all.range.end - all.range.start == self.bytes as u64) {
            self.state = State::Whole;
            return Ok(ColumnStep::Need(vec![range]));
        }
        if self.request.ranges().is_empty() {
            return self.column(self.assemble(&[])?);
        }
        self.state = State::Tiles;
        Ok(ColumnStep::Need(self.request.ranges().to_vec()))
    }

    /// Assembles the values of all tiles in one buffer.
    fn assemble(&self, fetched: &[Bytes]) -> Result<Buffer> {
        let array = &*self.values.array;
        let mut values = MutableBuffer::from_len_zeroed(self.bytes);
        let dst = values.as_slice_mut();
        let pieces = self.request.pieces();
        // A wide band of encoded tiles is shared with the other threads of the driver.
        let shared =
            pieces.len() > 1 && self.request.encoded_bytes() >= SHARED_BYTES && parallel::threads() > 1;
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
        let mut values = MutableBuffer::from_len_zeroed(bytes.len());
        values.as_slice_mut().copy_from_slice(&bytes);
        Ok(values.into())
    }

    fn column(&self, values: Buffer) -> Result<ColumnStep> {
        let dtype = self.values.array.dtype();
        let cells = values.len() / dtype.size();
        if self.values.is_bool {
            let bits = BooleanBuffer::collect_bool(cells, |i| values.get(i).is_some_and(|byte| *byte != 0));
            return Ok(ColumnStep::Values(Arc::new(BooleanArray::new(bits, None))));
        }
        let data = ArrayData::try_new(dtype.arrow(), cells, None, 0, vec![values], Vec::new())?;
        Ok(ColumnStep::Values(make_array(data)))
    }
}
