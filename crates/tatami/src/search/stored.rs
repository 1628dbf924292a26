//! Stored fields of hits, and the stored text in which phrases are checked if positions are not stored.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use serde_json::Value;
use tesselle_core::{Result, json_bytes, json_float};

use super::adjacent::Adjacent;
use super::analyzer;
use super::highlight::{Highlight, highlight};
use super::hit::Fields;
use super::phrase::contains_phrase;
use super::query::{Phrase, SearchField};
use super::retrieve::Phrases;
use super::segment::{Segment, Shape, bytes_at, columns};

impl Segment {
    /// The stored fields of `docs`, in the given order; reads only the pages that contain them.
    pub(crate) fn fields(&self, docs: &[u32]) -> Result<Vec<Fields>> {
        let mut wanted = vec![columns::DOC_ID, columns::URL, columns::TITLE];
        if self.shape() == Shape::Snippet {
            wanted.push(columns::TEXT);
        }
        let fixed = wanted.len();
        wanted.extend(self.extra_columns());
        let batch = self.take(docs, &wanted)?;
        let row = |row: usize| Fields {
            doc_id: bytes_at(&batch, 0, row).to_vec(),
            url: bytes_at(&batch, 1, row).to_vec(),
            title: bytes_at(&batch, 2, row).to_vec(),
            snippet: if fixed > 3 { bytes_at(&batch, 3, row).to_vec() } else { Vec::new() },
            extra: extra(&batch, fixed, row),
        };
        Ok((0..docs.len()).map(row).collect())
    }

    /// The external ids of `docs`, in the given order.
    pub(crate) fn doc_ids(&self, docs: &[u32]) -> Result<Vec<Vec<u8>>> {
        let batch = self.take(docs, &[columns::DOC_ID])?;
        Ok((0..docs.len()).map(|row| bytes_at(&batch, 0, row).to_vec()).collect())
    }

    /// Highlights of the tokens in the documents' bodies, or else in their titles.
    pub(crate) fn highlights(&self, docs: &[u32], tokens: &[&str], limit: usize) -> Result<Vec<Highlight>> {
        let batch = self.take(docs, &[columns::TEXT, columns::TITLE])?;
        let row = |row: usize| {
            let body = highlight(bytes_at(&batch, 0, row), tokens, limit);
            if !body.marks.is_empty() {
                return body;
            }
            let title = highlight(bytes_at(&batch, 1, row), tokens, limit);
            if title.marks.is_empty() { body } else { title }
        };
        Ok((0..docs.len()).map(row).collect())
    }
}

/// The columns from `from` on as JSON.
fn extra(batch: &RecordBatch, from: usize, row: usize) -> Vec<(String, Value)> {
    let schema = batch.schema_ref();
    let fields = schema.fields().iter().zip(batch.columns()).skip(from);
    fields.map(|(field, array)| (field.name().clone(), json_at(array, row))).collect()
}

fn json_at(array: &dyn Array, row: usize) -> Value {
    if row >= array.len() || array.is_null(row) {
        return Value::Null;
    }
    macro_rules! number {
        ($type:ty) => {
            array.as_primitive::<$type>().value(row).into()
        };
    }
    match array.data_type() {
        DataType::Boolean => array.as_boolean().value(row).into(),
        DataType::Int8 => number!(Int8Type),
        DataType::Int16 => number!(Int16Type),
        DataType::Int32 => number!(Int32Type),
        DataType::Int64 => number!(Int64Type),
        DataType::UInt8 => number!(UInt8Type),
        DataType::UInt16 => number!(UInt16Type),
        DataType::UInt32 => number!(UInt32Type),
        DataType::UInt64 => number!(UInt64Type),
        DataType::Timestamp(_, _) => {
            array.as_primitive_opt::<TimestampMicrosecondType>().map_or(Value::Null, |a| a.value(row).into())
        }
        DataType::Float32 => json_float(array.as_primitive::<Float32Type>().value(row).into()),
        DataType::Float64 => json_float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::Binary => json_bytes(array.as_binary::<i32>().value(row)),
        _ => Value::Null,
    }
}

/// Checks phrases by the positions of words, or else in the stored text of a segment's documents.
pub(crate) struct StoredPhrases<'a> {
    segment: &'a Segment,
    adjacent: Option<Adjacent<'a>>,
    /// The last read document: a query may check several phrases of it.
    last: Option<(u32, RecordBatch)>,
    /// Number of documents without enough stored text.
    pub(crate) unverified: u64,
}

impl<'a> StoredPhrases<'a> {
    pub(crate) fn new(segment: &'a Segment) -> Self {
        Self { segment, adjacent: Adjacent::new(segment.index()), last: None, unverified: 0 }
    }
}

impl Phrases for StoredPhrases<'_> {
    fn contains(&mut self, doc: u32, phrase: &Phrase) -> Result<bool> {
        if let Some(adjacent) = &mut self.adjacent {
            return adjacent.contains(doc, phrase);
        }
        let batch = match self.last.take() {
            Some((last, batch)) if last == doc => batch,
            _ => {
                let wanted =
                    [columns::TEXT, columns::TITLE, columns::URL, columns::NORM_BODY, columns::NORM_ANCHOR];
                self.segment.take(&[doc], &wanted)?
            }
        };
        let fields = match phrase.field {
            None => 0..3,
            Some(SearchField::Body) => 0..1,
            Some(SearchField::Title) => 1..2,
            Some(SearchField::Url) => 2..3,
        };
        let found =
            fields.into_iter().any(|column| contains_phrase(bytes_at(&batch, column, 0), &phrase.words));
        if !found && !is_complete(self.segment.shape(), &batch, phrase.field) {
            self.unverified += 1;
        }
        self.last = Some((doc, batch));
        Ok(found)
    }
}

/// Whether the row holds every word of the field that was indexed, of all fields where none is named: anchor strings
/// never are stored, bodies sometimes in part, titles and urls always.
fn is_complete(shape: Shape, batch: &RecordBatch, field: Option<SearchField>) -> bool {
    let norm = |column: usize| {
        let array = batch.columns().get(column).and_then(|array| array.as_primitive_opt::<UInt16Type>());
        array.filter(|array| !array.is_empty()).map_or(0, |array| usize::from(array.value(0)))
    };
    let body = || analyzer::tokens(bytes_at(batch, 0, 0)).len();
    let whole_body = || shape == Shape::Body || body() == norm(3);
    match field {
        None => norm(4) == 0 && whole_body(),
        Some(SearchField::Body) => whole_body(),
        Some(SearchField::Title | SearchField::Url) => true,
    }
}
