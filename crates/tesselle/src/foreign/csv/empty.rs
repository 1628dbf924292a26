//! Empty strings: `""` fields, which the parser treats as null just like fields without content.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericStringArray, OffsetSizeTrait, RecordBatch, StringViewArray};
use arrow_buffer::NullBuffer;
use arrow_csv::reader::Decoder;
use arrow_schema::{ArrowError, DataType};
use memchr::memmem;
use tesselle_core::Within;

use super::read::{BYTE_ORDER_MARK, ScanState};
use crate::foreign::text::Decode;

/// Whether a block may have such a field. Quotes within quotes look the same at times, but not often.
pub(super) fn may_be_in(block: &[u8], delimiter: u8) -> bool {
    let is_edge =
        |byte: Option<&u8>| byte.is_none_or(|byte| matches!(byte, b'\n' | b'\r') || *byte == delimiter);
    memmem::find_iter(block, b"\"\"").any(|at| {
        let before = block.within(..at);
        is_edge(block.get(at + 2)) && (is_edge(before.last()) || before == BYTE_ORDER_MARK)
    })
}

/// Scans the text of records for fields that begin with `""`; the parser decides what else such a field contains.
#[derive(Debug)]
pub(super) struct Fields {
    delimiter: u8,
    state: ScanState,
    record: usize,
    field: usize,
    /// Whether the record has any content yet; an empty line is not a record.
    begun: bool,
    /// Whether the field consists of an opening quote so far.
    opened: bool,
    /// Whether any input was seen.
    started: bool,
}

impl Fields {
    pub(super) fn new(delimiter: u8) -> Self {
        let state = ScanState::default();
        Self { delimiter, state, record: 0, field: 0, begun: false, opened: false, started: false }
    }

    /// Reports of each such field its record and its number in it. Records are counted from the last call of `restart`.
    pub(super) fn scan(&mut self, text: &[u8], mut found: impl FnMut(usize, usize)) {
        let mark = if self.started { None } else { text.strip_prefix(BYTE_ORDER_MARK) };
        self.started |= !text.is_empty();
        for byte in mark.unwrap_or(text) {
            let (before, opened) = (self.state, std::mem::take(&mut self.opened));
            self.state = before.after(*byte, self.delimiter);
            match byte {
                _ if before == ScanState::Quoted => {
                    if opened && self.state == ScanState::Quote {
                        found(self.record, self.field);
                    }
                }
                b'\n' | b'\r' => {
                    self.record += usize::from(std::mem::take(&mut self.begun));
                    self.field = 0;
                }
                byte if *byte == self.delimiter => {
                    self.begun = true;
                    self.field += 1;
                }
                _ => {
                    self.begun = true;
                    self.opened = before == ScanState::Start && self.state == ScanState::Quoted;
                }
            }
        }
    }

    fn restart(&mut self) {
        self.record = 0;
    }
}

/// Parses records and restores empty strings.
pub(super) struct EmptyStrings {
    parser: Decoder,
    fields: Fields,
    /// For each requested column its field number, if it is a string column, and the records whose field is `""`.
    columns: Vec<(Option<usize>, Vec<usize>)>,
    /// Records that are not rows.
    header: usize,
}

impl EmptyStrings {
    /// `columns` are the field numbers of the parsed columns, and their types.
    pub(super) fn new<'a>(
        parser: Decoder,
        fields: Fields,
        columns: impl Iterator<Item = (usize, &'a DataType)>,
        has_header: bool,
    ) -> Self {
        let columns = columns.map(|(field, kind)| (is_string(kind).then_some(field), Vec::new()));
        Self { parser, fields, columns: columns.collect(), header: usize::from(has_header) }
    }
}

/// Whether a column of this type can have empty strings.
pub(super) fn is_string(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

impl Decode for EmptyStrings {
    fn decode(&mut self, text: &[u8]) -> Result<usize, ArrowError> {
        let taken = self.parser.decode(text)?;
        let (columns, header) = (&mut self.columns, self.header);
        self.fields.scan(text.within(..taken), |record, field| {
            let Some(row) = record.checked_sub(header) else { return };
            for (_, rows) in columns.iter_mut().filter(|(own, _)| *own == Some(field)) {
                rows.push(row);
            }
        });
        Ok(taken)
    }

    fn flush(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let Some(batch) = self.parser.flush()? else { return Ok(None) };
        self.fields.restart();
        self.header = 0;
        let mut columns = batch.columns().to_vec();
        for (column, (_, rows)) in columns.iter_mut().zip(&mut self.columns) {
            if !rows.is_empty() {
                *column = with_empty(column, rows)?;
                rows.clear();
            }
        }
        Ok(Some(RecordBatch::try_new(batch.schema(), columns)?))
    }
}

/// A column whose nulls in these rows become empty strings; neither takes space in it.
fn with_empty(column: &ArrayRef, rows: &[usize]) -> Result<ArrayRef, ArrowError> {
    let Some(nulls) = column.nulls() else { return Ok(Arc::clone(column)) };
    let mut valid: Vec<bool> = nulls.iter().collect();
    for row in rows {
        if let Some(valid) = valid.get_mut(*row) {
            *valid = true;
        }
    }
    let nulls = Some(NullBuffer::from(valid)).filter(|nulls| nulls.null_count() > 0);
    match column.data_type() {
        DataType::Utf8 => with_nulls(column.as_string::<i32>(), nulls),
        DataType::LargeUtf8 => with_nulls(column.as_string::<i64>(), nulls),
        DataType::Utf8View => {
            let (views, buffers, _) = column.as_string_view().clone().into_parts();
            Ok(Arc::new(StringViewArray::try_new(views, buffers, nulls)?))
        }
        _ => Ok(Arc::clone(column)),
    }
}

fn with_nulls<O: OffsetSizeTrait>(
    column: &GenericStringArray<O>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let (offsets, values, _) = column.clone().into_parts();
    Ok(Arc::new(GenericStringArray::<O>::try_new(offsets, values, nulls)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(text: &[u8], window: usize) -> Vec<(usize, usize)> {
        let (mut fields, mut all) = (Fields::new(b','), Vec::new());
        for part in text.chunks(window) {
            fields.scan(part, |record, field| all.push((record, field)));
        }
        all
    }

    #[test]
    fn quotes_alone_are_found() {
        let text = "\u{feff}\"\",b\r\n\r\na,\"x,\"\",y\"\n\"\",\"\"\"\"\n,\"\"";
        let want = [(0, 0), (2, 0), (2, 1), (3, 1)];
        for window in [3, 4, 100] {
            assert_eq!(found(text.as_bytes(), window), want);
        }
        for (text, maybe) in [
            ("a,b\n", false),
            ("a,\"x\"\"y\"\n", false),
            ("a,\"\"\n", true),
            ("\"\"", true),
            ("\"\",a", true),
            ("\u{feff}\"\"\n", true),
            ("\"a,\"\",b\"", true),
        ] {
            assert_eq!(may_be_in(text.as_bytes(), b','), maybe, "{text:?}");
        }
    }

    proptest! {
        /// Records and fields are counted as the parser counts them, and the first check misses no empty field.
        #[test]
        fn fields_are_counted_as_the_parser_counts(text in "(\u{feff})?[a\",\n\r]{0,30}", window in 3_usize..40) {
            let bytes = text.as_bytes();
            let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
            let records: Vec<csv::ByteRecord> = reader.byte_records().map(Result::unwrap).collect();
            let all = found(bytes, window);
            for (record, field) in &all {
                prop_assert!(records.get(*record).is_some_and(|record| record.get(*field).is_some()));
            }
            let empty = |(record, field): &(usize, usize)| records[*record].get(*field) == Some(b"");
            prop_assert!(may_be_in(bytes, b',') || !all.iter().any(empty));
        }
    }
}
