//! Reading of CSV, one block of whole records at a time.

use std::collections::{HashMap, HashSet};

use arrow_csv::ReaderBuilder;
use arrow_csv::reader::Decoder;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use memchr::{memchr, memrchr};
use regex::Regex;
use tesselle_core::{TextOptions, Within};

use super::empty::{EmptyStrings, Fields, is_string, may_be_in};
use super::infer::Kinds;
use crate::foreign::text::{BoxError, Decode, Syntax};

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Delimited values. Types come from all records, so that a late value cannot break them.
pub(crate) struct CsvText {
    pub(super) delimiter: u8,
    pub(super) header: bool,
    /// The null string, and a pattern for it that also matches empty fields.
    null: Option<(String, Regex)>,
}

impl CsvText {
    /// How files that begin with `head` are read. Without a delimiter the first line shows it: a comma, else the most
    /// frequent of semicolon, tab and bar.
    pub(super) fn try_new(head: &[u8], default: Option<u8>, options: &TextOptions) -> Result<Self, BoxError> {
        let null = match &options.null {
            Some(null) => Some((null.clone(), Regex::new(&format!("^(?:{})?$", regex::escape(null)))?)),
            None => None,
        };
        let delimiter = options.delimiter.or(default).unwrap_or_else(|| delimiter_in(head));
        Ok(Self { delimiter, header: !options.no_header, null })
    }

    fn reader<'a>(&self, has_header: bool, text: &'a [u8]) -> csv::Reader<&'a [u8]> {
        csv::ReaderBuilder::new().delimiter(self.delimiter).has_headers(has_header).from_reader(text)
    }
}

/// The byte that separates the fields of the first line.
fn delimiter_in(head: &[u8]) -> u8 {
    let (mut state, mut counts) = (ScanState::default(), [0_usize; 4]);
    let candidates = *b",;\t|";
    for byte in head {
        if state != ScanState::Quoted {
            if matches!(byte, b'\n' | b'\r') {
                break;
            }
            for (count, candidate) in counts.iter_mut().zip(candidates) {
                *count += usize::from(*byte == candidate);
            }
        }
        // A quote after any separator opens a field.
        let byte = if candidates.contains(byte) { b',' } else { *byte };
        state = state.after(byte, b',');
    }
    let [commas, others @ ..] = counts;
    let most = others.iter().max().copied().unwrap_or(0);
    let other = others.iter().zip(&candidates[1..]).find(|(count, _)| **count == most && most > 0);
    if commas > 0 { b',' } else { other.map_or(b',', |(_, candidate)| *candidate) }
}

/// The state of a scan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ScanState {
    /// Before the first byte of a field.
    #[default]
    Start,
    /// In a field that does not start with a quote, or after its closing quote: quotes have no meaning here.
    Plain,
    /// Between quotes.
    Quoted,
    /// After a quote that ends the field or, followed by a second one, is a literal quote.
    Quote,
}

impl ScanState {
    pub(super) fn after(self, byte: u8, delimiter: u8) -> Self {
        match (self, byte) {
            (Self::Quoted, b'"') => Self::Quote,
            (Self::Quoted, _) | (Self::Start | Self::Quote, b'"') => Self::Quoted,
            (_, b'\n' | b'\r') => Self::Start,
            (_, byte) if byte == delimiter => Self::Start,
            _ => Self::Plain,
        }
    }
}

impl Syntax for CsvText {
    type ScanState = ScanState;
    type Inferred = Vec<Kinds>;

    fn name(&self) -> &'static str {
        "CSV"
    }

    fn header_lines(&self) -> u64 {
        u64::from(self.header)
    }

    fn end_of_records(&self, window: &[u8], state: &mut ScanState, first: bool) -> Option<usize> {
        // A byte order mark at the start is not part of the first field.
        let skip = if first && window.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let text = window.within(skip..);
        let mut end = None;
        if *state == ScanState::Quoted || memchr(b'"', text).is_some() {
            for (at, byte) in text.iter().enumerate() {
                if *byte == b'\n' && *state != ScanState::Quoted {
                    end = Some(at);
                }
                *state = state.after(*byte, self.delimiter);
            }
        } else if let Some(last) = text.last() {
            *state = ScanState::Plain.after(*last, self.delimiter);
            end = memrchr(b'\n', text);
        }
        end.map(|at| skip + at + 1)
    }

    fn is_open(state: &ScanState) -> bool {
        *state == ScanState::Quoted
    }

    fn names(&self, head: &[u8]) -> Result<Option<Vec<String>>, BoxError> {
        let mut reader = self.reader(self.header, head);
        if self.header {
            return Ok(Some(distinct(&reader.headers()?.iter().collect::<Vec<_>>())));
        }
        let mut first = csv::ByteRecord::new();
        reader.read_byte_record(&mut first)?;
        Ok(Some((1..=first.len()).map(|number| format!("column_{number}")).collect()))
    }

    fn infer(&self, block: &[u8], first: bool) -> Result<(Self::Inferred, u64), BoxError> {
        let first = first && self.header;
        let mut reader = self.reader(first, block);
        let null = self.null.as_ref().map(|(null, _)| null.as_bytes());
        let mut kinds = Vec::new();
        let mut record = csv::ByteRecord::new();
        let mut records = 0;
        while reader.read_byte_record(&mut record).map_err(by_line)? {
            records += 1;
            kinds.resize(kinds.len().max(record.len()), Kinds::default());
            for (kinds, field) in kinds.iter_mut().zip(&record) {
                if Some(field) != null {
                    kinds.add(field);
                }
            }
        }
        if kinds.len() > 1 && may_be_in(block, self.delimiter) {
            Fields::new(self.delimiter).scan(block, |record, field| {
                let kinds = kinds.get_mut(field).filter(|_| record >= usize::from(first));
                kinds.into_iter().for_each(Kinds::add_quotes);
            });
        }
        Ok((kinds, records))
    }

    fn join(&self, mut a: Self::Inferred, b: Self::Inferred) -> Self::Inferred {
        a.resize(a.len().max(b.len()), Kinds::default());
        for (a, b) in a.iter_mut().zip(b) {
            *a = a.or(b);
        }
        a
    }

    fn schema(&self, names: Vec<String>, found: Self::Inferred) -> Result<Schema, BoxError> {
        let types = found.into_iter().map(Kinds::data_type).chain(std::iter::repeat(DataType::Null));
        let fields = names.into_iter().zip(types).map(|(name, kind)| Field::new(name, kind, true));
        Ok(Schema::new(fields.collect::<Vec<Field>>()))
    }

    fn decoder(
        &self,
        schema: &SchemaRef,
        columns: &[usize],
        rows: usize,
        (block, first): (&[u8], bool),
    ) -> Result<Box<dyn Decode>, BoxError> {
        let first = first && self.header;
        let mut builder = ReaderBuilder::new(schema.clone()).with_header(first).with_batch_size(rows);
        builder = builder.with_delimiter(self.delimiter).with_projection(columns.to_vec());
        if let Some((_, pattern)) = &self.null {
            builder = builder.with_null_regex(pattern.clone());
        }
        let parser = builder.build_decoder();
        let mut wanted = columns.iter().filter_map(|at| Some((*at, schema.fields().get(*at)?.data_type())));
        // A record of one null is written as `""`, because an empty line is not a record.
        let can_have = schema.fields().len() > 1 && wanted.clone().any(|(_, kind)| is_string(kind));
        if can_have && may_be_in(block, self.delimiter) {
            let fields = Fields::new(self.delimiter);
            return Ok(Box::new(EmptyStrings::new(parser, fields, &mut wanted, first)));
        }
        Ok(Box::new(parser))
    }
}

/// Reports the line in which the number of fields differs from the lines before.
fn by_line(error: csv::Error) -> BoxError {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { pos: Some(at), expected_len, len } => {
            format!("line {} has {len} fields, but the lines before it have {expected_len}", at.line()).into()
        }
        _ => error.into(),
    }
}

impl Decode for Decoder {
    fn decode(&mut self, text: &[u8]) -> Result<usize, arrow_schema::ArrowError> {
        Self::decode(self, text)
    }

    fn flush(&mut self) -> Result<Option<arrow_array::RecordBatch>, arrow_schema::ArrowError> {
        Self::flush(self)
    }
}

/// Names that are all different: a repeated one gets a number, as in `c`, `c_1`.
fn distinct(names: &[&str]) -> Vec<String> {
    let stated: HashSet<&str> = names.iter().copied().collect();
    let mut uses: HashMap<&str, u64> = HashMap::new();
    let mut all = Vec::with_capacity(names.len());
    for name in names {
        let used = uses.entry(name).or_default();
        let mut own = (*name).to_owned();
        while *used > 0 && stated.contains(own.as_str()) {
            own = format!("{name}_{used}");
            *used += 1;
        }
        *used = (*used).max(1);
        all.push(own);
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn repeated_names_are_numbered() {
        assert_eq!(distinct(&["a", "c", "c", "c_1", "c", ""]), ["a", "c", "c_2", "c_1", "c_3", ""]);
    }

    #[test]
    fn the_first_line_shows_the_delimiter() {
        for (head, want) in [
            ("a,b;c\n1;2;3", b','),
            ("a;b\n1,5;2", b';'),
            ("a\tb|c\td\n", b'\t'),
            ("\"a;b\"|c\n", b'|'),
            ("\"a;b\"\n", b','),
            ("alone\n1;2", b','),
            ("", b','),
        ] {
            assert_eq!(delimiter_in(head.as_bytes()), want, "{head}");
        }
    }

    proptest! {
        /// For any division into windows, blocks end where the parser ends a record.
        #[test]
        fn blocks_end_where_records_end(text in "(\u{feff})?[a\",\n\r ]{0,40}", window in 1_usize..9) {
            let bytes = text.as_bytes();
            let syntax = CsvText { delimiter: b',', header: true, null: None };
            let (mut state, mut start, mut at) = (ScanState::default(), 0, 0);
            let mut blocks = Vec::new();
            while at < bytes.len() {
                let end = bytes.len().min(at + window.max(3));
                if let Some(n) = syntax.end_of_records(&bytes[at..end], &mut state, at == 0) {
                    blocks.push(&bytes[start..at + n]);
                    start = at + n;
                }
                at = end;
            }
            blocks.push(&bytes[start..]);
            let records = |text: &[u8]| -> Vec<csv::ByteRecord> {
                let mut reader =
                    csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text);
                reader.byte_records().map(|record| record.unwrap()).collect()
            };
            let cut: Vec<_> = blocks.into_iter().flat_map(records).collect();
            prop_assert_eq!(cut, records(bytes));
        }
    }
}
