//! Answering one band: fetch what its tiles need, put the values in row-major order, count the coordinates.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions, make_array};
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_data::ArrayData;
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;
use bytes::Bytes;
use tesselle_core::array::{TileGrid, TilePart, coordinates};
use tesselle_core::driver::parallel;
use tesselle_core::{ByteRange, Cost, Error, Region, Result, Span, Step, Task};

use super::band::Band;
use super::copy::{AxisCopy, BoxCopy};
use super::opened::Opened;
use crate::meta::geometry::Grid;
use crate::meta::index::{Codec, Row};

/// A column that comes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// The positions of an axis.
    Axis(usize),
    /// The elements.
    Value,
}

/// What all tasks of a plan share.
pub(crate) struct Shared {
    pub(crate) opened: Arc<Opened>,
    pub(crate) id: usize,
    pub(crate) grid: Grid,
    pub(crate) tiles: TileGrid,
    pub(crate) region: Region,
    pub(crate) columns: Vec<Column>,
    pub(crate) schema: SchemaRef,
    /// Whether each touched tile can hold a matching row, row-major; `None` when all can.
    pub(crate) keep: Option<Vec<bool>>,
    pub(crate) batch_rows: usize,
}

impl Shared {
    fn reads(&self) -> bool {
        self.columns.contains(&Column::Value)
    }

    /// Calls `visit` for each tile of a band, row-major, with its numbers in the lists of parts and whether it is
    /// wanted.
    pub(crate) fn each_tile(&self, band: &Band, mut visit: impl FnMut(&[usize], bool)) {
        let mut numbers: Vec<usize> = band.iter().map(|axis| axis.parts.start).collect();
        if band.iter().any(|axis| axis.parts.is_empty()) {
            return;
        }
        loop {
            let linear =
                numbers.iter().zip(&self.tiles.axes).fold(0, |n, (i, axis)| n * axis.parts.len() + i);
            let keep = self.keep.as_ref().is_none_or(|keep| keep.get(linear).copied().unwrap_or(true));
            visit(&numbers, keep);
            let advanced = numbers.iter_mut().zip(band).rev().any(|(number, axis)| {
                *number += 1;
                let fits = *number < axis.parts.end;
                if !fits {
                    *number = axis.parts.start;
                }
                fits
            });
            if !advanced {
                return;
            }
        }
    }

    /// The part of a tile that lies in a band, axis by axis, with the tile's own coordinates.
    fn placed(&self, band: &Band, numbers: &[usize]) -> (Vec<u64>, Vec<AxisCopy>) {
        let axes = numbers.iter().zip(band).zip(&self.tiles.axes);
        axes.map(|((number, in_band), axis)| {
            let part = axis.parts.get(*number).copied().unwrap_or(NOWHERE);
            let first = in_band.first(axis);
            let skip = first.saturating_sub(part.index).min(part.len);
            let index = part.index + skip;
            let len = (part.len - skip).min((first + in_band.len).saturating_sub(index));
            let copy = AxisCopy {
                len,
                src_first: part.first + skip * axis.step,
                src_step: axis.step,
                src_extent: part.extent,
                dst_first: index - first,
                dst_extent: in_band.len,
            };
            (part.tile, copy)
        })
        .unzip()
    }
}

/// Decoded bytes from which on the tiles of a band are decoded by several threads.
const SHARED_BYTES: u64 = 2 << 20;

const NOWHERE: TilePart = TilePart { tile: 0, first: 0, len: 0, index: 0, extent: 0 };

/// One tile of a band.
struct Piece {
    tile: Vec<u64>,
    row: Row,
    copy: BoxCopy,
    /// The bytes that hold the wanted elements.
    range: Range<u64>,
}

enum State {
    Start,
    /// One range holds all values as they come out.
    Whole,
    Tiles {
        pieces: Vec<Piece>,
        mask: Option<Vec<bool>>,
    },
    Ready {
        values: Option<Buffer>,
        mask: Option<Vec<bool>>,
        row: u64,
    },
}

/// Answers one band.
pub(crate) struct BandTask {
    shared: Arc<Shared>,
    band: Band,
    /// The band as a region of the dataset.
    region: Region,
    state: State,
}

impl BandTask {
    pub(crate) fn new(shared: &Arc<Shared>, band: Band) -> Self {
        let axes = band.iter().zip(&shared.tiles.axes).zip(&shared.region.spans);
        let spans = axes.map(|((in_band, tiles), span)| {
            let start = span.start + in_band.first(tiles) * span.step;
            Span { start, stop: start + in_band.len.saturating_sub(1) * span.step + 1, step: span.step }
        });
        let region = Region { spans: spans.collect() };
        Self { shared: Arc::clone(shared), band, region, state: State::Start }
    }

    fn cells(&self) -> u64 {
        self.band.iter().map(|axis| axis.len).product()
    }

    /// Finds the tiles, and asks for their bytes.
    fn start(&mut self) -> Result<Step> {
        let mut wanted = Vec::new();
        let mut skipped = false;
        self.shared.each_tile(&self.band, |numbers, keep| {
            skipped |= !keep;
            if keep {
                wanted.push(self.shared.placed(&self.band, numbers));
            }
        });
        let mask = skipped.then(|| self.mask(&wanted)).transpose()?;
        if !self.shared.reads() {
            self.state = State::Ready { values: None, mask, row: 0 };
            return self.ready();
        }
        let pieces =
            wanted.into_iter().map(|(tile, axes)| self.piece(tile, &axes)).collect::<Result<Vec<Piece>>>()?;
        let file: Arc<str> = self.shared.opened.location.path().into();
        if let Some(range) = one_range(&pieces).filter(|_| mask.is_none()) {
            self.state = State::Whole;
            return Ok(Step::Need(vec![ByteRange::new(file, range)]));
        }
        let ranges =
            pieces.iter().map(|piece| ByteRange::new(Arc::clone(&file), piece.range.clone())).collect();
        self.state = State::Tiles { pieces, mask };
        Ok(Step::Need(ranges))
    }

    fn piece(&self, tile: Vec<u64>, axes: &[AxisCopy]) -> Result<Piece> {
        let shared = &self.shared;
        let row = shared.opened.tile_row(shared.id, &shared.grid, &tile)?;
        let size = shared.grid.dtype.size();
        let mut copy = BoxCopy::new(axes, size);
        let range = match row.codec {
            Codec::Zstd => row.span(),
            Codec::Raw => {
                // From the first wanted element to the last.
                let last = axes.iter().fold(0, |at, axis| {
                    at * axis.src_extent + axis.src_first + axis.len.saturating_sub(1) * axis.src_step
                });
                let start = row.payload_offset + copy.src_start as u64;
                copy.src_start = 0;
                start..row.payload_offset + (last + 1) * size as u64
            }
        };
        Ok(Piece { tile, row, copy, range })
    }

    /// Which cells come out, where some tiles were left out.
    fn mask(&self, wanted: &[(Vec<u64>, Vec<AxisCopy>)]) -> Result<Vec<bool>> {
        let mut marks = vec![0; address(self.cells())?];
        for (_, axes) in wanted {
            let solid: Vec<AxisCopy> = axes
                .iter()
                .map(|axis| AxisCopy { src_first: 0, src_step: 1, src_extent: axis.len, ..*axis })
                .collect();
            let ones = vec![1; address(axes.iter().map(|axis| axis.len).product())?];
            fits(BoxCopy::new(&solid, 1).copy(&ones, &mut marks))?;
        }
        Ok(marks.into_iter().map(|mark: u8| mark != 0).collect())
    }

    fn buffer(&self) -> Result<MutableBuffer> {
        let bytes = self.cells().checked_mul(self.shared.grid.dtype.size() as u64);
        Ok(MutableBuffer::from_len_zeroed(address(bytes.unwrap_or(u64::MAX))?))
    }

    /// Puts the values of all tiles into one buffer.
    fn assemble(&self, pieces: &[Piece], fetched: &[Bytes]) -> Result<Buffer> {
        let mut values = self.buffer()?;
        let dst = values.as_slice_mut();
        let packed = pieces.iter().filter(|piece| piece.row.codec == Codec::Zstd);
        // A wide band of compressed tiles is shared with the other threads of the pool, where there is one.
        let shared = packed.map(|piece| piece.row.raw_len).sum::<u64>() >= SHARED_BYTES
            && pieces.len() > 1
            && parallel::threads() > 1;
        if !shared {
            let mut scratch = Vec::new();
            for (piece, bytes) in pieces.iter().zip(fetched) {
                self.place(piece, bytes, dst, &mut scratch)?;
            }
            return Ok(values.into());
        }
        let group = parallel::threads() * 2;
        for (pieces, fetched) in pieces.chunks(group).zip(fetched.chunks(group)) {
            let pairs = pieces.iter().zip(fetched);
            let decoded = parallel::try_map(pairs, |(piece, bytes)| match piece.row.codec {
                Codec::Raw => Ok(None),
                Codec::Zstd => {
                    let mut tile = vec![0; address(piece.row.raw_len)?];
                    self.decode(piece, bytes, &mut tile)?;
                    Ok::<_, Error>(Some(tile))
                }
            })?;
            for ((piece, bytes), decoded) in pieces.iter().zip(fetched).zip(&decoded) {
                fits(piece.copy.copy(decoded.as_deref().unwrap_or(bytes), dst))?;
            }
        }
        Ok(values.into())
    }

    fn decode(&self, piece: &Piece, bytes: &[u8], tile: &mut [u8]) -> Result<()> {
        self.shared.opened.decode(self.shared.id, &piece.tile, &piece.row, bytes, tile)
    }

    /// Puts the values of one tile where they belong.
    fn place(&self, piece: &Piece, bytes: &[u8], dst: &mut [u8], scratch: &mut Vec<u8>) -> Result<()> {
        if piece.row.codec == Codec::Raw {
            return fits(piece.copy.copy(bytes, dst));
        }
        let size = address(piece.row.raw_len)?;
        let whole = piece.copy.is_one_run() && piece.copy.run() == size;
        let place = dst.get_mut(piece.copy.dst_start..piece.copy.dst_start + size).filter(|_| whole);
        if let Some(place) = place {
            return self.decode(piece, bytes, place);
        }
        scratch.resize(size, 0);
        self.decode(piece, bytes, scratch)?;
        fits(piece.copy.copy(scratch, dst))
    }

    /// Values that lie in the file as they come out: borrowed where their alignment allows.
    fn borrow(&self, bytes: Bytes) -> Result<Buffer> {
        if bytes.as_ptr().align_offset(self.shared.grid.dtype.size()) == 0 {
            return Ok(Buffer::from(bytes));
        }
        let mut values = self.buffer()?;
        fits(values.len() == bytes.len())?;
        values.as_slice_mut().copy_from_slice(&bytes);
        Ok(values.into())
    }

    /// The next batch.
    fn ready(&mut self) -> Result<Step> {
        let cells = self.cells();
        let State::Ready { values, mask, row } = &mut self.state else {
            return Err(Error::internal("a task is asked for rows before it has any"));
        };
        let start = *row;
        if start >= cells {
            return Ok(Step::Done);
        }
        let count = (cells - start).min(self.shared.batch_rows as u64);
        *row += count;
        let rows = address(start)?..address(start + count)?;
        let columns = self.shared.columns.iter().map(|column| match column {
            Column::Axis(axis) => {
                let positions = coordinates(&self.region, *axis, start..start + count, 0);
                Ok(Arc::new(Int64Array::from(positions)) as ArrayRef)
            }
            Column::Value => values_of(&self.shared.grid, values.as_ref(), &rows),
        });
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let schema = Arc::clone(&self.shared.schema);
        let batch = RecordBatch::try_new_with_options(schema, columns.collect::<Result<_>>()?, &options)?;
        let Some(mask) = mask else { return Ok(Step::Batch(batch)) };
        let mask = BooleanArray::from(mask.get(rows).unwrap_or_default().to_vec());
        Ok(Step::Batch(filter_record_batch(&batch, &mask)?))
    }
}

impl Task for BandTask {
    fn largest_piece(&self) -> u64 {
        let Shared { opened, grid, id, .. } = &*self.shared;
        let raw = opened.catalog.index.datasets.get(*id).is_some_and(|rows| rows.packed_raw);
        // The first tile is as large as any; raw ones lie in the file as they come out.
        if raw || !self.shared.reads() { 0 } else { grid.tile_bytes(&vec![0; grid.rank()]) }
    }

    fn cost(&self) -> Cost {
        let pieces: u64 = self.band.iter().map(|axis| axis.parts.len() as u64).product();
        let bytes = self.cells().saturating_mul(self.shared.grid.dtype.size() as u64);
        let axes = self.shared.columns.iter().filter(|column| **column != Column::Value).count() as u64;
        let batch = (self.shared.batch_rows as u64).min(self.cells()).saturating_mul(axes * 8);
        if !self.shared.reads() {
            return Cost { pieces: 0, bytes_in: 0, memory: batch };
        }
        Cost { pieces, bytes_in: bytes, memory: bytes.saturating_mul(2).saturating_add(batch) }
    }

    fn step(&mut self, fetched: Vec<Bytes>) -> Result<Step> {
        match std::mem::replace(&mut self.state, State::Start) {
            State::Start => self.start(),
            State::Whole => {
                let bytes =
                    fetched.into_iter().next().ok_or_else(|| Error::internal("nothing was fetched"))?;
                self.state = State::Ready { values: Some(self.borrow(bytes)?), mask: None, row: 0 };
                self.ready()
            }
            State::Tiles { pieces, mask } => {
                let values = self.assemble(&pieces, &fetched)?;
                self.state = State::Ready { values: Some(values), mask, row: 0 };
                self.ready()
            }
            ready @ State::Ready { .. } => {
                self.state = ready;
                self.ready()
            }
        }
    }
}

/// The one range that holds the values of all pieces in order, where there is such a range.
fn one_range(pieces: &[Piece]) -> Option<Range<u64>> {
    let first = pieces.first()?;
    let mut end = first.range.start;
    let mut dst = 0;
    for piece in pieces {
        let fits = piece.row.codec == Codec::Raw && piece.copy.is_one_run();
        if !fits || piece.range.start != end || piece.copy.dst_start != dst {
            return None;
        }
        end = piece.range.end;
        dst += piece.copy.run();
    }
    Some(first.range.start..end)
}

fn address(n: u64) -> Result<usize> {
    usize::try_from(n).map_err(|_| Error::limit("a band exceeds the address space"))
}

fn fits(ok: bool) -> Result<()> {
    if ok { Ok(()) } else { Err(Error::internal("a tile does not fit its place")) }
}

fn values_of(grid: &Grid, values: Option<&Buffer>, rows: &Range<usize>) -> Result<ArrayRef> {
    let size = grid.dtype.size();
    let values = values.ok_or_else(|| Error::internal("values were not fetched"))?;
    if rows.end.checked_mul(size).is_none_or(|end| end > values.len()) {
        return Err(Error::internal("a band is shorter than its rows"));
    }
    let part = values.slice_with_length(rows.start * size, rows.len() * size);
    let data = ArrayData::try_new(grid.dtype.arrow(), rows.len(), None, 0, vec![part], Vec::new())?;
    Ok(make_array(data))
}
