//! A range of rows of a row group that is decoded at once, with its selected rows.

use std::collections::BTreeMap;
use std::ops::Range;

use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::BooleanBuffer;
use arrow_schema::FieldRef;
use arrow_select::concat::concat;
use arrow_select::filter::filter;
use tesselle_core::{At, Context, Error, Result};

use super::GroupTask;
use crate::meta::schema::Field;
use crate::meta::types::{Encoding, LogicalType};
use crate::open::page_piece;
use crate::read::chunk::{ChunkReader, Page};
use crate::read::column::ColumnBuilder;

/// A decoded page, with its number, that extends into the next window.
pub(super) type Straddling = (usize, ArrayRef);

/// Rows that are decoded at once.
pub(super) struct Window {
    rows: Range<u64>,
    /// Selected rows; `None` for all.
    mask: Option<BooleanBuffer>,
    /// Selected rows of decoded columns.
    arrays: BTreeMap<usize, ArrayRef>,
    /// Ordinals of the blobs of the selected rows; only for blob columns.
    pub(super) blobs: BTreeMap<usize, Vec<Option<u64>>>,
    /// Number of selected rows already returned.
    done: usize,
}

impl Window {
    pub(super) fn new(rows: Range<u64>) -> Self {
        Self { rows, mask: None, arrays: BTreeMap::new(), blobs: BTreeMap::new(), done: 0 }
    }

    /// Keeps the rows where `passed` is true; returns false if there is none.
    pub(super) fn apply(&mut self, passed: &BooleanArray) -> bool {
        let bits = match passed.nulls() {
            Some(nulls) => passed.values() & nulls.inner(),
            None => passed.values().clone(),
        };
        self.keep_rows(&bits)
    }

    /// Keeps the rows with set bits; returns false if there is none left.
    pub(super) fn keep_rows(&mut self, bits: &BooleanBuffer) -> bool {
        let bits = match &self.mask {
            Some(mask) => mask & bits,
            None => bits.clone(),
        };
        let count = bits.count_set_bits();
        if count < bits.len() {
            self.mask = Some(bits);
        }
        count > 0
    }

    /// Keeps the selected rows of a column that was decoded for the filter.
    pub(super) fn keep(&mut self, column: usize, array: &ArrayRef) -> Result<()> {
        let array = match &self.mask {
            Some(mask) => filter(array, &BooleanArray::new(mask.clone(), None))?,
            None => ArrayRef::clone(array),
        };
        self.arrays.insert(column, array);
        Ok(())
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

    fn mask_of(&self, part: &Range<u64>) -> Option<BooleanBuffer> {
        let mask = self.mask.as_ref()?;
        Some(mask.slice((part.start - self.rows.start) as usize, (part.end - part.start) as usize))
    }
}

impl GroupTask {
    /// All rows of a column in a window.
    pub(super) fn column(&self, column: usize, window: &Window) -> Result<ArrayRef> {
        Ok(self.selected_column(column, &Window::new(window.rows.clone()))?.0)
    }

    /// The selected rows of a column in a window, and the page that extends into the next one.
    pub(super) fn selected_column(
        &self,
        column: usize,
        window: &Window,
    ) -> Result<(ArrayRef, Option<Straddling>)> {
        let pages = self.pages_of(column, &window.rows)?;
        let inside = |page: &Page| page.rows.start >= window.rows.start && page.rows.end <= window.rows.end;
        if window.mask.is_none() && pages.iter().all(|(_, page)| inside(page)) {
            return Ok((self.decode_pages(column, &pages)?, None));
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
            if let Some(mask) = mask.as_ref().filter(|_| inside(page))
                && let Some(array) = self.decode_some(column, *number, page, mask)?
            {
                parts.push(array);
                continue;
            }
            let kept = self.straddling.get(&column).filter(|(kept, _)| kept == number);
            let array = match kept {
                Some((_, array)) => ArrayRef::clone(array),
                None => self.decode_pages(column, &[(*number, page.clone())])?,
            };
            if !inside(page) {
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
            [] => self.decode_pages(column, &[])?,
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

    /// The selected rows of one page of strings, if they are few: neither the others nor anything after the
    /// last one is decoded. `None` if that is impossible or not worthwhile.
    fn decode_some(
        &self,
        column: usize,
        number: usize,
        page: &Page,
        mask: &BooleanBuffer,
    ) -> Result<Option<ArrayRef>> {
        let (field, arrow) = self.field(column)?;
        let plain = page.record.encoding == Encoding::Plain.id() && !page.record.has_nulls();
        let is_string = matches!(field.logical, LogicalType::String | LogicalType::Bytes);
        if !is_string || !plain || mask.count_set_bits() > mask.len() / 8 {
            return Ok(None);
        }
        let piece = || page_piece(self.group, column, number);
        let profile = self.file.profile();
        let front = profile.front(&page.record, self.reader(column)?.payload(page)?, page.offset);
        let Some(front) = front.in_piece(piece)? else { return Ok(None) };
        let decoding = self.file.decoding(column);
        let mut builder = ColumnBuilder::new(field.logical, None);
        builder.append_some(front, mask).at_offset(page.offset).in_piece(piece)?;
        builder.finish(&arrow, &decoding).in_piece(piece).map(Some)
    }

    /// Decodes whole pages into one array.
    fn decode_pages(&self, column: usize, pages: &[(usize, Page)]) -> Result<ArrayRef> {
        let (field, arrow) = self.field(column)?;
        let reader = self.reader(column)?;
        let decoding = self.file.decoding(column);
        let mut builder = ColumnBuilder::new(field.logical, field.element_type());
        for (number, page) in pages {
            let piece = || page_piece(self.group, column, *number);
            let payload = self.file.profile().decompress(&page.record, reader.payload(page)?, page.offset);
            let payload = payload.in_piece(piece)?;
            builder.append_page(&page.record, &payload, &decoding).at_offset(page.offset).in_piece(piece)?;
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
