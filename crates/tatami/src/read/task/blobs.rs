//! The blobs of a row group: fetched run by run, so that batches stay small regardless of the size of the
//! group.

use std::collections::BTreeMap;
use std::ops::Range;

use arrow_array::builder::BinaryBuilder;
use arrow_array::{ArrayRef, BinaryArray};
use arrow_buffer::{BooleanBuffer, OffsetBuffer, ScalarBuffer};
use bytes::Bytes;
use tesselle_core::driver::parallel;
use tesselle_core::{At, Context, Error, Result};

use super::window::Window;
use super::{GroupTask, Purpose};
use crate::meta::types::LogicalType;
use crate::open::{File, page_piece};
use crate::read::blob::{BlobIndex, DecodedRun};
use crate::read::chunk::ChunkReader;
use crate::read::column::{ColumnBuilder, blob_array};

/// Target size of the decoded runs of a batch.
pub(super) const BATCH_BYTES: u64 = 32 << 20;

/// One blob column of a row group.
pub(super) struct BlobReader {
    column: usize,
    index: BlobIndex,
    number: u64,
    /// The rows of the group with a blob; `None` for all.
    validity: Option<BooleanBuffer>,
    /// Ordinal of the first blob of the group.
    base: u64,
    /// Fetched runs, as stored.
    runs: BTreeMap<usize, Bytes>,
}

impl BlobReader {
    pub(super) fn try_new(file: &File, column: usize) -> Result<Self> {
        let index = BlobIndex::try_new(file, column)?;
        let number = file.footer().blob_column(column).map_or(0, |b| b.dictionary);
        Ok(Self { column, index, number, validity: None, base: 0, runs: BTreeMap::new() })
    }

    /// The number of its content dictionary; 0 is none.
    pub(super) fn dictionary(&self) -> u64 {
        self.number
    }

    /// Reads which rows of the group have a blob.
    pub(super) fn read_validity(&mut self, file: &File, group: usize, reader: &ChunkReader) -> Result<()> {
        let decoding = file.decoding(self.column);
        let mut builder = ColumnBuilder::new(LogicalType::BlobRef, None);
        for (number, page) in reader.pages().iter().enumerate() {
            let piece = || page_piece(group, self.column, number);
            let payload = file
                .profile()
                .decompress(&page.record, reader.payload(page)?, page.offset)
                .in_piece(piece)?;
            builder.append_page(&page.record, payload, &decoding).at_offset(page.offset).in_piece(piece)?;
        }
        self.validity = builder.into_validity();
        self.base = file.blob_base(self.column, group)?;
        Ok(())
    }

    /// The ordinals of the blobs of these rows, ascending rows of the group.
    fn ordinals(&self, rows: &[u64]) -> Vec<Option<u64>> {
        let Some(validity) = &self.validity else {
            return rows.iter().map(|row| Some(self.base.saturating_add(*row))).collect();
        };
        let (mut seen, mut upto) = (self.base, 0usize);
        let ordinals = rows.iter().map(|row| {
            let row = *row as usize;
            seen = seen.saturating_add(validity.slice(upto, row - upto).count_set_bits() as u64);
            upto = row;
            validity.value(row).then_some(seen)
        });
        ordinals.collect()
    }

    /// Stores a fetched run.
    pub(super) fn put(&mut self, run: usize, bytes: Bytes) {
        self.runs.insert(run, bytes);
    }

    /// The values of these ordinals, whose runs have been fetched.
    pub(super) fn array(&self, ordinals: &[Option<u64>], file: &File) -> Result<ArrayRef> {
        if let Some(wanted) = consecutive(ordinals) {
            let (first, last) = (self.index.run_of(wanted.start)?, self.index.run_of(wanted.end - 1)?);
            let runs = (first..=last).map(|run| Ok((run, self.stored(run)?))).collect::<Result<Vec<_>>>()?;
            if let Some((offsets, bytes)) = self.index.decode_joined(&runs, &wanted, file)? {
                let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
                return self.finish(BinaryArray::try_new(offsets, bytes, None)?, file);
            }
        }
        self.finish(self.array_of_some(ordinals, file)?, file)
    }

    fn finish(&self, values: BinaryArray, file: &File) -> Result<ArrayRef> {
        let schema = file.schema();
        let field = schema.fields().get(self.column);
        blob_array(values, field.ok_or_else(|| Error::internal("a column that is not listed"))?)
    }

    fn stored(&self, run: usize) -> Result<Bytes> {
        self.runs.get(&run).cloned().ok_or_else(|| Error::internal("a blob run was not fetched"))
    }

    /// The same for a subset of the values of their runs.
    fn array_of_some(&self, ordinals: &[Option<u64>], file: &File) -> Result<BinaryArray> {
        let mut builder = BinaryBuilder::with_capacity(ordinals.len(), 0);
        let mut bytes = 0usize;
        let mut open: Option<(usize, DecodedRun)> = None;
        for ordinal in ordinals {
            let Some(ordinal) = ordinal else {
                builder.append_null();
                continue;
            };
            let run = self.index.run_of(*ordinal)?;
            let decoded = match open.take().filter(|(number, _)| *number == run) {
                Some((_, decoded)) => decoded,
                None => self.index.decode(run, &self.stored(run)?, file)?,
            };
            let piece = || format!("column {}, blob run {run}", self.column);
            let value = decoded.value(ordinal - self.index.start(run)?).in_piece(piece)?;
            bytes = bytes.saturating_add(value.len());
            if i32::try_from(bytes).is_err() {
                return Err(Error::limit("a blob of 2 GiB or more does not fit a column of a batch"));
            }
            builder.append_value(value);
            open = Some((run, decoded));
        }
        Ok(builder.finish())
    }
}

/// The ordinals as a range, if they are contiguous.
fn consecutive(ordinals: &[Option<u64>]) -> Option<Range<u64>> {
    let first = ordinals.first().copied().flatten()?;
    let all = (first..).zip(ordinals).all(|(expected, found)| *found == Some(expected));
    all.then(|| first..first + ordinals.len() as u64)
}

impl GroupTask {
    /// The selected rows of a window to return next: all that are left, or as many as their blobs allow.
    pub(super) fn next_rows(&self, window: &mut Window) -> Result<Range<usize>> {
        let (start, end) = (window.done(), window.selected());
        if self.blobs.is_empty() {
            return Ok(start..end);
        }
        if window.blobs.is_empty() {
            let rows = window.selected_rows();
            window.blobs = self.blobs.iter().map(|(column, blob)| (*column, blob.ordinals(&rows))).collect();
        }
        let mut bytes = 0u64;
        let mut last: BTreeMap<usize, usize> = BTreeMap::new();
        for row in start..end {
            for (column, blob) in &self.blobs {
                let Some(ordinal) = *window.ordinals(*column, &(row..row + 1))?.at(0)? else { continue };
                let run = blob.index.run_of(ordinal).in_piece(|| format!("row group {}", self.group))?;
                if last.insert(*column, run) != Some(run) {
                    bytes = bytes.saturating_add(blob.index.decoded_len(run)?);
                }
            }
            if bytes > BATCH_BYTES && row > start {
                return Ok(start..row);
            }
        }
        Ok(start..end)
    }

    /// Splits `rows` into one part per thread, each of which becomes a batch, at run boundaries: no run is
    /// decoded twice.
    pub(super) fn parts(&self, window: &Window, rows: Range<usize>) -> Result<Vec<Range<usize>>> {
        let threads = parallel::threads();
        let Some((column, blob)) = self.blobs.first_key_value().filter(|_| threads > 1) else {
            return Ok(vec![rows]);
        };
        let target = rows.len().div_ceil(threads);
        let (mut parts, mut start, mut last) = (Vec::new(), rows.start, None);
        for (row, ordinal) in rows.clone().zip(window.ordinals(*column, &rows)?) {
            let Some(ordinal) = ordinal else { continue };
            let run = blob.index.run_of(*ordinal)?;
            if last.replace(run) != Some(run) && row - start >= target {
                parts.push(start..row);
                start = row;
            }
        }
        parts.push(start..rows.end);
        Ok(parts)
    }

    /// The runs of these rows that have not been fetched. Earlier runs are dropped.
    pub(super) fn missing_runs(
        &mut self,
        window: &Window,
        rows: &Range<usize>,
    ) -> Result<Vec<(Purpose, Range<u64>)>> {
        let mut out = Vec::new();
        for (column, blob) in &mut self.blobs {
            let mut wanted = Vec::new();
            for ordinal in window.ordinals(*column, rows)?.iter().flatten() {
                let run = blob.index.run_of(*ordinal)?;
                if wanted.last() != Some(&run) {
                    wanted.push(run);
                }
            }
            let Some(first) = wanted.first().copied() else { continue };
            blob.runs.retain(|run, _| *run >= first);
            for run in wanted.into_iter().filter(|run| !blob.runs.contains_key(run)) {
                out.push((Purpose::Run(*column, run), blob.index.range(run, &self.file)?));
            }
        }
        Ok(out)
    }
}
