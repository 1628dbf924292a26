//! Single rows: by key through the sparse index, by number through the page headers, with a small cache of
//! pages.

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError};

use arrow_array::builder::BinaryBuilder;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_buffer::BooleanBuffer;
use arrow_select::interleave::interleave;
use tesselle_core::{Action, At, Context, Error, Result, Scalar};

use super::blob::{BlobIndex, DecodedRun};
use super::cache::{PageAt, PageCache};
use super::chunk::page_headers;
use super::column::{ColumnBuilder, blob_array};
use super::live::is_set;
use crate::meta::groups::{Chunk, RowGroup};
use crate::meta::page_index::{self, PageEntry};
use crate::meta::record::RECORD_LEN;
use crate::meta::types::LogicalType;
use crate::meta::zone::{Zone, compare, from_scalar};
use crate::open::{File, page_piece};
use crate::scalars::{binary_at, bytes_at};

impl File {
    /// The row (counted over the whole file) of the first key that equals `key`, through the sparse key
    /// index: decodes at most one data page.
    pub fn lookup(&self, key: &Scalar) -> Result<Option<u64>> {
        self.lookup_key(key).in_file(self.path())
    }

    fn lookup_key(&self, key: &Scalar) -> Result<Option<u64>> {
        let schema = &self.footer().schema;
        let sorted = schema.sort_key().and_then(|column| Some((column, schema.fields.get(column)?)));
        let Some((column, field)) = sorted else {
            return Err(Error::invalid("the file has no sort key to look up")
                .suggest("use {} to search all rows", [Action::Filter]));
        };
        let Some(key) = from_scalar(field.logical, key) else { return Ok(None) };
        let groups = &self.footer().groups;
        let all_bounded = groups.iter().all(|g| g.bounds.is_some());
        let first = if all_bounded {
            groups.partition_point(|g| {
                g.bounds.as_ref().is_some_and(|b| compare(field.logical, &b.max, &key).is_lt())
            })
        } else {
            0
        };
        for (g, group) in groups.iter().enumerate().skip(first) {
            if let Some(bounds) = &group.bounds {
                if compare(field.logical, &bounds.min, &key).is_gt() {
                    if all_bounded {
                        return Ok(None);
                    }
                    continue;
                }
                if compare(field.logical, &bounds.max, &key).is_lt() {
                    continue;
                }
            }
            if let Some(row) = self.lookup_in_group(g, group, column, field.logical, &key)? {
                let row = group.first_row.saturating_add(row);
                return self.first_live(row, column, field.logical, &key);
            }
            if all_bounded {
                return Ok(None);
            }
        }
        Ok(None)
    }

    fn lookup_in_group(
        &self,
        g: usize,
        group: &RowGroup,
        column: usize,
        logical: LogicalType,
        key: &[u8],
    ) -> Result<Option<u64>> {
        let chunk = self.chunk_of(g, group, column)?;
        let pages = self.directory(g, column, chunk)?;
        let candidates = match chunk.page_index {
            Some(offset) => {
                let entries = self.page_index(g, offset)?;
                if entries.len() != pages.len() {
                    let message = format!("the page index lists {} pages of {}", entries.len(), pages.len());
                    let error = Error::corrupt(message).class("bad_page_index").offset(offset);
                    return Err(error.piece(format!("page index of row group {g}")));
                }
                pages_with(&entries, logical, key)
            }
            None => 0..pages.len(),
        };
        for number in candidates {
            let page = pages.at(number)?;
            let array = self.page(g, column, number, page)?;
            if let Some(at) = first_equal(array.as_ref(), logical, key) {
                return Ok(Some(page.rows.start + at as u64));
            }
        }
        Ok(None)
    }

    /// The first live row from `row` on with the same key.
    fn first_live(&self, row: u64, column: usize, logical: LogicalType, key: &[u8]) -> Result<Option<u64>> {
        let Some(live) = self.live()? else { return Ok(Some(row)) };
        for row in row..self.rows() {
            let array = self.take_column(column, &[self.place(row)?])?;
            if first_equal(array.as_ref(), logical, key).is_none() {
                break;
            }
            if is_set(&live, row) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// The page index of the sort key in a row group.
    fn page_index(&self, g: usize, offset: u64) -> Result<Arc<Vec<PageEntry>>> {
        if let Some(known) = self.locked().indexes.get(&g) {
            return Ok(known);
        }
        let (record, payload) = self.record(offset)?;
        record.check(&payload, offset).in_piece(|| format!("page index of row group {g}"))?;
        let entries = Arc::new(page_index::parse(&payload, offset)?);
        self.locked().indexes.put(g, Arc::clone(&entries));
        Ok(entries)
    }

    /// Reads the given rows (counted over the whole file) in the given order, with these columns (`None` for
    /// all). Reads only the pages and blob runs that contain them. Fails on a deleted document, unless the
    /// file was opened with deleted ones.
    pub fn take(&self, rows: &[u64], columns: Option<&[&str]>) -> Result<RecordBatch> {
        self.take_rows(rows, columns).in_file(self.path())
    }

    fn take_rows(&self, rows: &[u64], columns: Option<&[&str]>) -> Result<RecordBatch> {
        let schema = self.schema();
        let known = || schema.fields().iter().map(|f| f.name().as_str());
        let indices: Vec<usize> = match columns {
            None => (0..schema.fields().len()).collect(),
            Some(names) => {
                let find = |name: &&str| {
                    schema.index_of(name).map_err(|_| Error::unknown_name("column", name, known()))
                };
                names.iter().map(find).collect::<Result<_>>()?
            }
        };
        let places = rows.iter().map(|row| self.place(*row)).collect::<Result<Vec<_>>>()?;
        rows.iter().try_for_each(|row| self.check_live(*row))?;
        let arrays =
            indices.iter().map(|column| self.take_column(*column, &places)).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        Ok(RecordBatch::try_new_with_options(Arc::new(schema.project(&indices)?), arrays, &options)?)
    }

    /// The row group of a row, and the row inside it.
    fn place(&self, row: u64) -> Result<(usize, u64)> {
        let groups = &self.footer().groups;
        let g = groups.partition_point(|g| g.first_row <= row).saturating_sub(1);
        let inside =
            groups.get(g).and_then(|group| row.checked_sub(group.first_row).filter(|r| *r < group.rows));
        inside.map(|r| (g, r)).ok_or_else(|| {
            Error::invalid(format!("row {row} does not exist"))
                .hint(format!("the file has {} rows", self.rows()))
        })
    }

    fn take_column(&self, column: usize, places: &[(usize, u64)]) -> Result<ArrayRef> {
        let field = self
            .footer()
            .schema
            .fields
            .get(column)
            .ok_or_else(|| Error::internal("a column that is not listed"))?;
        if field.logical == LogicalType::BlobRef {
            return self.take_blobs(column, places);
        }
        let mut arrays: Vec<ArrayRef> = Vec::new();
        let mut known: HashMap<(usize, usize), usize> = HashMap::new();
        let mut picks = Vec::with_capacity(places.len());
        for (g, row) in places {
            let group = self.group(*g)?;
            let pages = self.directory(*g, column, self.chunk_of(*g, group, column)?)?;
            let number = pages.partition_point(|p| p.rows.end <= *row);
            let page = pages.get(number).ok_or_else(|| missing_row(*g, column, *row))?;
            let slot = if let Some(slot) = known.get(&(*g, number)) {
                *slot
            } else {
                arrays.push(self.page(*g, column, number, page)?);
                known.insert((*g, number), arrays.len() - 1);
                arrays.len() - 1
            };
            picks.push((slot, (row - page.rows.start) as usize));
        }
        if arrays.is_empty() {
            let schema = self.schema();
            let arrow =
                schema.fields().get(column).ok_or_else(|| Error::internal("a column that is not listed"))?;
            return Ok(arrow_array::new_empty_array(arrow.data_type()));
        }
        let sources: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
        Ok(interleave(&sources, &picks)?)
    }

    fn take_blobs(&self, column: usize, places: &[(usize, u64)]) -> Result<ArrayRef> {
        let index = self.blob_index(column)?;
        let mut builder = BinaryBuilder::new();
        let mut bytes = 0usize;
        for (g, row) in places {
            let validity = self.blob_validity(*g, column)?;
            let (row, base) = (*row as usize, self.blob_base(column, *g)?);
            let ordinal = match validity.as_ref() {
                Some(bits) if row >= bits.len() => return Err(missing_row(*g, column, row as u64)),
                Some(bits) if !bits.value(row) => {
                    builder.append_null();
                    continue;
                }
                Some(bits) => base.saturating_add(bits.slice(0, row).count_set_bits() as u64),
                None => base.saturating_add(row as u64),
            };
            let run = index.run_of(ordinal)?;
            let decoded = self.run(&index, column, run)?;
            let value = decoded.value(ordinal - index.start(run)?)?;
            bytes = bytes.saturating_add(value.len());
            if i32::try_from(bytes).is_err() {
                return Err(
                    Error::limit("the blobs of these rows exceed 2 GiB").hint("read fewer rows at once")
                );
            }
            builder.append_value(value);
        }
        let schema = self.schema();
        let field =
            schema.fields().get(column).ok_or_else(|| Error::internal("a column that is not listed"))?;
        blob_array(builder.finish(), field)
    }

    fn group(&self, g: usize) -> Result<&RowGroup> {
        self.footer().groups.get(g).ok_or_else(|| Error::internal("a row group that is not listed"))
    }

    fn chunk_of<'a>(&self, g: usize, group: &'a RowGroup, column: usize) -> Result<&'a Chunk> {
        group.chunk(column).ok_or_else(|| {
            Error::corrupt(format!("column {column} is missing in row group {g}"))
                .class("missing_chunk")
                .offset(self.trailer().footer_offset)
        })
    }

    fn locked(&self) -> MutexGuard<'_, PageCache> {
        self.cache().lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The locations of the pages of a chunk, from their headers alone.
    fn directory(&self, g: usize, column: usize, chunk: &Chunk) -> Result<Arc<Vec<PageAt>>> {
        if let Some(known) = self.locked().directories.get(&(g, column)) {
            return Ok(known);
        }
        let mut row = 0u64;
        let pages = page_headers(self, chunk, g)?.into_iter().map(|(offset, record)| {
            let start = row;
            row = row.saturating_add(u64::from(record.values));
            PageAt { offset, record, rows: start..row }
        });
        let pages = Arc::new(pages.collect::<Vec<_>>());
        self.locked().directories.put((g, column), Arc::clone(&pages));
        Ok(pages)
    }

    fn page_payload(&self, g: usize, column: usize, number: usize, page: &PageAt) -> Result<Vec<u8>> {
        let piece = || page_piece(g, column, number);
        let stored = self
            .read(page.offset.saturating_add(RECORD_LEN), u64::from(page.record.compressed))
            .in_piece(piece)?;
        Ok(self.profile().open(&page.record, &stored, page.offset).in_piece(piece)?.into_owned())
    }

    /// One decoded page.
    fn page(&self, g: usize, column: usize, number: usize, page: &PageAt) -> Result<ArrayRef> {
        let key = (g, column, number);
        if let Some(known) = self.locked().pages.get(&key) {
            return Ok(known);
        }
        self.load_value_dictionary(column)?;
        let schema = self.schema();
        let (Some(field), Some(arrow)) =
            (self.footer().schema.fields.get(column), schema.fields().get(column))
        else {
            return Err(Error::internal("a column that is not listed"));
        };
        let payload = self.page_payload(g, column, number, page)?;
        let decoding = self.decoding(column);
        let mut builder = ColumnBuilder::new(field.logical, field.element_type());
        builder
            .append_page(&page.record, payload.into(), &decoding)
            .at_offset(page.offset)
            .in_piece(|| page_piece(g, column, number))?;
        let array = builder.finish(arrow, &decoding)?;
        self.locked().pages.put(key, ArrayRef::clone(&array));
        Ok(array)
    }

    /// The rows of a group with a blob; `None` for all.
    fn blob_validity(&self, g: usize, column: usize) -> Result<Arc<Option<BooleanBuffer>>> {
        if let Some(known) = self.locked().validity.get(&(g, column)) {
            return Ok(known);
        }
        let chunk = self.chunk_of(g, self.group(g)?, column)?;
        let mut builder = ColumnBuilder::new(LogicalType::BlobRef, None);
        if chunk.nulls > 0 {
            for (number, page) in self.directory(g, column, chunk)?.iter().enumerate() {
                let payload = self.page_payload(g, column, number, page)?;
                let decoding = self.decoding(column);
                builder
                    .append_page(&page.record, payload.into(), &decoding)
                    .in_piece(|| page_piece(g, column, number))?;
            }
        }
        let validity = Arc::new(builder.into_validity());
        self.locked().validity.put((g, column), Arc::clone(&validity));
        Ok(validity)
    }

    fn blob_index(&self, column: usize) -> Result<Arc<BlobIndex>> {
        if let Some(known) = self.locked().blobs.get(&column) {
            return Ok(known);
        }
        let index = Arc::new(BlobIndex::try_new(self, column)?);
        self.locked().blobs.put(column, Arc::clone(&index));
        Ok(index)
    }

    fn run(&self, index: &BlobIndex, column: usize, run: usize) -> Result<Arc<DecodedRun>> {
        if let Some(known) = self.locked().runs.get(&(column, run)) {
            return Ok(known);
        }
        let range = index.range(run, self)?;
        let bytes = self.read(range.start, range.end - range.start)?;
        let decoded = Arc::new(index.decode(run, &bytes, self)?);
        self.locked().runs.put((column, run), Arc::clone(&decoded));
        Ok(decoded)
    }
}

fn missing_row(g: usize, column: usize, row: u64) -> Error {
    Error::corrupt(format!("the pages of column {column} in row group {g} end before row {row}"))
        .class("row_count_mismatch")
}

/// The pages that may contain `key`. They are sorted; if one has no bounds, because of null keys, its order
/// is unknown and a binary search is not possible.
fn pages_with(entries: &[PageEntry], logical: LogicalType, key: &[u8]) -> std::ops::Range<usize> {
    if entries.iter().any(|entry| entry.zone.is_none()) {
        return 0..entries.len();
    }
    let zones =
        |test: &dyn Fn(&Zone) -> bool| entries.partition_point(|entry| entry.zone.as_ref().is_some_and(test));
    let first = zones(&|zone| compare(logical, &zone.max, key).is_lt());
    let end = zones(&|zone| !compare(logical, &zone.min, key).is_gt());
    first..end.max(first)
}

/// The first row that equals `key`: by binary search if the page has no nulls, because then it is sorted.
fn first_equal(array: &dyn Array, logical: LogicalType, key: &[u8]) -> Option<usize> {
    let order = |row: usize| {
        if logical.is_binary() {
            binary_at(array, row).cmp(key)
        } else {
            compare(logical, &bytes_at(array, logical, row), key)
        }
    };
    if array.null_count() > 0 {
        return (0..array.len()).find(|row| array.is_valid(*row) && order(*row).is_eq());
    }
    let (mut low, mut high) = (0, array.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if order(middle).is_lt() {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    (low < array.len() && order(low).is_eq()).then_some(low)
}

#[cfg(test)]
mod tests {
    use arrow_array::Int64Array;
    use tesselle_codec::crc::crc32c;
    use tesselle_core::driver::default_driver;
    use tesselle_core::storage::MemoryStorage;
    use tesselle_core::{Location, OpenOptions, Sink};

    use super::*;
    use crate::meta::record::Record;
    use crate::write::options::WriterOptions;
    use crate::write::writer::Writer;

    #[test]
    fn a_lookup_fails_if_the_page_index_lacks_a_page() {
        let keys: ArrayRef = Arc::new(Int64Array::from_iter_values(0..6));
        let batch = RecordBatch::try_from_iter([("k", keys)]).unwrap();
        let storage = Arc::new(MemoryStorage::new());
        let location = Location::new(storage.clone(), "k.tatami");
        let options = WriterOptions { sort_key: Some("k".into()), page_rows: 2, ..WriterOptions::default() };
        let driver = default_driver().unwrap();
        let writer = Writer::create(&location, &batch.schema(), options, false, &driver).unwrap();
        let mut writer = Box::new(writer);
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        let open = || File::open(&location, &OpenOptions::default()).unwrap();
        assert_eq!(open().lookup(&Scalar::from(5_i64)).unwrap(), Some(5));

        let file = open();
        let offset = file.footer().groups[0].chunk(0).unwrap().page_index.unwrap();
        let (record, payload) = file.record(offset).unwrap();
        let mut payload = payload.to_vec();
        assert_eq!(payload[0], 3);
        payload[0] = 2;
        let mut bytes = location.read_range(0..file.size()).unwrap().to_vec();
        let start = offset as usize;
        let end = start + RECORD_LEN as usize;
        bytes[start..end].copy_from_slice(&Record { crc: crc32c(&payload), ..record }.to_bytes());
        bytes[end..end + payload.len()].copy_from_slice(&payload);
        storage.put("k.tatami", bytes);
        let error = open().lookup(&Scalar::from(5_i64)).unwrap_err();
        assert_eq!(error.class_name(), "bad_page_index", "{error}");
    }
}
