//! A range of rows of a row group that is decoded at once, with its selected rows.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::BooleanBufferBuilder;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_buffer::BooleanBuffer;
use arrow_schema::FieldRef;
use arrow_select::concat::concat;
use arrow_select::filter::filter;
use tesselle_core::{At, Context, Error, Result};

use super::GroupTask;
use super::test::{StringTest, Test};
use crate::meta::schema::Field;
use crate::meta::types::{Encoding, LogicalType};
use crate::open::page_piece;
use crate::read::chunk::{ChunkReader, Page};
use crate::read::column::{ColumnBuilder, Stored};

/// Whether a page stores its values one after the other, without nulls.
fn is_plain(page: &Page) -> bool {
    page.record.encoding == Encoding::Plain.id() && !page.record.has_nulls()
}

/// A decoded page, with its number, that extends into the next window.
pub(super) type Straddling = (usize, ArrayRef);

/// Rows that are decoded at once.
pub(super) struct Window {
    rows: Range<u64>,
    /// Selected rows; `None` for all.
    mask: Option<BooleanBuffer>,
    /// Selected rows of decoded columns.
    arrays: BTreeMap<usize, ArrayRef>,
    /// Decompressed pages of string columns that were tested without decoding them, by column and number.
    payloads: BTreeMap<(usize, usize), Vec<u8>>,
    /// Ordinals of the blobs of the selected rows; only for blob columns.
    pub(super) blobs: BTreeMap<usize, Vec<Option<u64>>>,
    /// Number of selected rows already returned.
    done: usize,
}

impl Window {
    pub(super) fn new(rows: Range<u64>) -> Self {
        let (arrays, payloads, blobs) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { rows, mask: None, arrays, payloads, blobs, done: 0 }
    }

    /// Keeps those of the selected rows that are set in `passed`; returns false if there is none left.
    pub(super) fn keep(&mut self, passed: &BooleanBuffer) -> Result<bool> {
        let count = passed.count_set_bits();
        if count < passed.len() {
            let bits = BooleanArray::new(passed.clone(), None);
            for array in self.arrays.values_mut() {
                *array = filter(array, &bits)?;
            }
            self.mask = Some(match &self.mask {
                Some(mask) => spread(mask, passed),
                None => passed.clone(),
            });
        }
        Ok(count > 0)
    }

    pub(super) fn put(&mut self, column: usize, selected: ArrayRef) {
        self.arrays.insert(column, selected);
    }

    pub(super) fn has(&self, column: usize) -> bool {
        self.arrays.contains_key(&column)
    }

    /// The selected rows of a column in `rows`.
    pub(super) fn slice(&self, column: usize, rows: &Range<usize>) -> Result<ArrayRef> {
        let array = self.arrays.get(&column).ok_or_else(|| Error::internal("a column was not decoded"))?;
        Ok(if rows.len() == array.len() {
            ArrayRef::clone(array)
        } else {
            array.slice(rows.start, rows.len())
        })
    }

    /// The blob ordinals of the selected rows in `rows`.
    pub(super) fn ordinals(&self, column: usize, rows: &Range<usize>) -> Result<&[Option<u64>]> {
        let all = self.blobs.get(&column).ok_or_else(|| Error::internal("a blob column was not decoded"))?;
        all.part(rows.clone())
    }

    /// Number of selected rows.
    pub(super) fn selected(&self) -> usize {
        self.mask.as_ref().map_or((self.rows.end - self.rows.start) as usize, BooleanBuffer::count_set_bits)
    }

    /// The selected rows of the group, ascending.
    pub(super) fn selected_rows(&self) -> Vec<u64> {
        match &self.mask {
            None => self.rows.clone().collect(),
            Some(mask) => mask.set_indices().map(|i| self.rows.start + i as u64).collect(),
        }
    }

    pub(super) fn done(&self) -> usize {
        self.done
    }

    pub(super) fn advance(&mut self, to: usize) {
        self.done = to;
    }

    pub(super) fn is_done(&self) -> bool {
        self.done >= self.selected()
    }

    fn includes(&self, page: &Page) -> bool {
        page.rows.start >= self.rows.start && page.rows.end <= self.rows.end
    }

    fn mask_of(&self, part: &Range<u64>) -> Option<BooleanBuffer> {
        let mask = self.mask.as_ref()?;
        Some(mask.slice((part.start - self.rows.start) as usize, (part.end - part.start) as usize))
    }
}

/// The set bits of `mask` whose place among them is set in `passed`.
fn spread(mask: &BooleanBuffer, passed: &BooleanBuffer) -> BooleanBuffer {
    let mut bits = BooleanBufferBuilder::new(mask.len());
    bits.append_n(mask.len(), false);
    for (_, row) in mask.set_indices().enumerate().filter(|(at, _)| passed.value(*at)) {
        bits.set_bit(row, true);
    }
    bits.finish()
}

impl GroupTask {
    /// Keeps the selected rows of a window that pass a test; returns false if there is none.
    pub(super) fn passes(&self, test: &Test, window: &mut Window) -> Result<bool> {
        if let ([column], Some(stored)) = (test.columns.as_slice(), &test.stored)
            && let Some(passed) = self.passes_stored(*column, stored, window)?
        {
            return window.keep(&passed);
        }
        for column in &test.columns {
            if !window.has(*column) {
                let (array, _) = self.selected_column(*column, window)?;
                window.put(*column, array);
            }
        }
        let all = self.file.schema();
        let schema = Arc::new(all.project(&test.columns)?);
        let rows = 0..window.selected();
        let arrays = test.columns.iter().map(|column| window.slice(*column, &rows)).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options)?;
        let passed = test.predicate.evaluate(&batch)?;
        window.keep(&match passed.nulls() {
            Some(nulls) => passed.values() & nulls.inner(),
            None => passed.values().clone(),
        })
    }

    /// Tests the selected rows of a column of strings in its pages as they are stored; `None` if a page has another form.
    fn passes_stored(
        &self,
        column: usize,
        test: &StringTest,
        window: &mut Window,
    ) -> Result<Option<BooleanBuffer>> {
        let pages = self.pages_of(column, &window.rows)?;
        if window.has(column) || !pages.iter().all(|(_, page)| is_plain(page) && window.includes(page)) {
            return Ok(None);
        }
        let wanted = self.wanted.projection.contains(&column);
        let wanted =
            wanted || self.wanted.tests.iter().filter(|test| test.columns.contains(&column)).count() > 1;
        let mut passed = BooleanBufferBuilder::new(window.selected());
        for (number, page) in &pages {
            let mask = window.mask_of(&page.rows);
            if mask.as_ref().is_some_and(|mask| mask.count_set_bits() == 0) {
                continue;
            }
            let piece = || page_piece(self.group, column, *number);
            let payload = self.payload(column, *number, page, window)?;
            let rows = page.record.values as usize;
            test.evaluate(&payload, rows, mask.as_ref(), &mut passed)
                .at_offset(page.offset)
                .in_piece(piece)?;
            let owned = match payload {
                Cow::Owned(payload) if wanted => Some(payload),
                _ => None,
            };
            window.payloads.extend(owned.map(|payload| ((column, *number), payload)));
        }
        Ok(Some(passed.finish()))
    }

    /// Leaves a tested window with the selected rows of those of its tested columns that are returned.
    pub(super) fn settle(&self, window: &mut Window) -> Result<()> {
        let tested = self.wanted.projection.iter().filter(|column| self.wanted.filter.contains(column));
        for column in tested {
            if !window.has(*column) {
                let (array, _) = self.selected_column(*column, window)?;
                window.put(*column, array);
            }
        }
        window.arrays.retain(|column, _| self.wanted.projection.contains(column));
        window.payloads.clear();
        Ok(())
    }

    /// The selected rows of a column in a window, and the page that extends into the next one.
    pub(super) fn selected_column(
        &self,
        column: usize,
        window: &Window,
    ) -> Result<(ArrayRef, Option<Straddling>)> {
        let pages = self.pages_of(column, &window.rows)?;
        if window.mask.is_none() && pages.iter().all(|(_, page)| window.includes(page)) {
            return Ok((self.decode_pages(column, &pages, window)?, None));
        }
        let mut parts: Vec<ArrayRef> = Vec::new();
        let mut straddling: Option<Straddling> = None;
        for (number, page) in &pages {
            let part = page.rows.start.max(window.rows.start)..page.rows.end.min(window.rows.end);
            let mask = window.mask_of(&part);
            // A page without a selected row is not decoded.
            if mask.as_ref().is_some_and(|m| m.count_set_bits() == 0) {
                continue;
            }
            if let Some(mask) = mask.as_ref().filter(|_| window.includes(page))
                && let Some(array) = self.decode_some(column, *number, page, mask, window)?
            {
                parts.push(array);
                continue;
            }
            let kept = self.straddling.get(&column).filter(|(kept, _)| kept == number);
            let array = match kept {
                Some((_, array)) => ArrayRef::clone(array),
                None => self.decode_pages(column, &[(*number, page.clone())], window)?,
            };
            if !window.includes(page) {
                straddling = Some((*number, ArrayRef::clone(&array)));
            }
            let array =
                array.slice((part.start - page.rows.start) as usize, (part.end - part.start) as usize);
            parts.push(match mask {
                Some(mask) => filter(&array, &BooleanArray::new(mask, None))?,
                None => array,
            });
        }
        let array = match parts.as_slice() {
            [] => self.decode_pages(column, &[], window)?,
            [only] => ArrayRef::clone(only),
            many => {
                let many: Vec<&dyn Array> = many.iter().map(AsRef::as_ref).collect();
                concat(&many)?
            }
        };
        Ok((array, straddling))
    }

    fn pages_of(&self, column: usize, rows: &Range<u64>) -> Result<Vec<(usize, Page)>> {
        let pages = self.reader(column)?.pages();
        let first = pages.partition_point(|page| page.rows.end <= rows.start);
        let touching =
            pages.iter().enumerate().skip(first).take_while(|(_, page)| page.rows.start < rows.end);
        Ok(touching.filter(|(_, page)| !page.rows.is_empty()).map(|(i, page)| (i, page.clone())).collect())
    }

    /// The selected rows of one page of strings; the others are not decoded, and if the selected ones are few and near the start
    /// of the page, nothing after the last one is decompressed. `None` if that is impossible.
    fn decode_some(
        &self,
        column: usize,
        number: usize,
        page: &Page,
        mask: &BooleanBuffer,
        window: &Window,
    ) -> Result<Option<ArrayRef>> {
        let (field, arrow) = self.field(column)?;
        let is_string = matches!(field.logical, LogicalType::String | LogicalType::Bytes);
        if !is_string || !is_plain(page) {
            return Ok(None);
        }
        let piece = || page_piece(self.group, column, number);
        let early = mask.set_indices().all(|row| row < mask.len() / 2);
        let front = if early && !window.payloads.contains_key(&(column, number)) {
            let stored = self.reader(column)?.payload(page)?;
            self.file.profile().front(&page.record, stored, page.offset).in_piece(piece)?
        } else {
            None
        };
        let payload;
        let stored = if let Some(front) = front {
            Stored::Front(front)
        } else {
            payload = self.payload(column, number, page, window)?;
            Stored::Whole(&payload)
        };
        let decoding = self.file.decoding(column);
        let mut builder = ColumnBuilder::new(field.logical, None);
        builder.append_some(stored, mask).at_offset(page.offset).in_piece(piece)?;
        builder.finish(&arrow, &decoding).in_piece(piece).map(Some)
    }

    /// The decompressed bytes of a page.
    fn payload<'b>(
        &'b self,
        column: usize,
        number: usize,
        page: &Page,
        window: &'b Window,
    ) -> Result<Cow<'b, [u8]>> {
        if let Some(payload) = window.payloads.get(&(column, number)) {
            return Ok(Cow::Borrowed(payload));
        }
        let payload = self.reader(column)?.payload(page)?;
        let payload = self.file.profile().decompress(&page.record, payload, page.offset);
        payload.in_piece(|| page_piece(self.group, column, number))
    }

    /// Decodes whole pages into one array.
    fn decode_pages(&self, column: usize, pages: &[(usize, Page)], window: &Window) -> Result<ArrayRef> {
        let (field, arrow) = self.field(column)?;
        let decoding = self.file.decoding(column);
        let mut builder = ColumnBuilder::new(field.logical, field.element_type());
        for (number, page) in pages {
            let piece = || page_piece(self.group, column, *number);
            let payload = self.payload(column, *number, page, window)?;
            builder.append_page(&page.record, payload, &decoding).at_offset(page.offset).in_piece(piece)?;
        }
        let at = || format!("row group {}, column {column}", self.group);
        builder.finish(&arrow, &decoding).in_piece(at)
    }

    fn field(&self, column: usize) -> Result<(&Field, FieldRef)> {
        let field = self.file.footer().schema.fields.get(column);
        let arrow = self.file.schema().fields().get(column).cloned();
        field.zip(arrow).ok_or_else(|| Error::internal("a column that is not listed"))
    }

    fn reader(&self, column: usize) -> Result<&ChunkReader> {
        self.readers.get(&column).ok_or_else(|| Error::internal("a column was not fetched"))
    }
}
