//! Encodes a row group: all pages of all columns in parallel, then laid out in order.

use std::ops::Range;

use arrow_array::{Array, ArrayRef};
use arrow_select::concat::concat;
use tesselle_core::driver::parallel;
use tesselle_core::{Action, Error, Result};

use super::dictionary::DictionaryBuilder;
use super::page::{EncodedPage, Packing, encode};
use crate::meta::bloom::BloomBuilder;
use crate::meta::schema::{Schema, flags};
use crate::meta::types::LogicalType;
use crate::scalars::for_each;

/// The rows of one column in the current row group, in the arrays of their batches.
#[derive(Debug, Default, Clone)]
pub(crate) struct Pending {
    arrays: Vec<ArrayRef>,
}

impl Pending {
    pub(crate) fn push(&mut self, array: ArrayRef) {
        self.arrays.push(array);
    }

    /// Some rows as one array; copied only if they span several arrays.
    fn rows(&self, rows: Range<usize>) -> Result<ArrayRef> {
        let mut parts = Vec::new();
        let mut at = 0;
        for array in &self.arrays {
            let (start, end) = (rows.start.max(at), rows.end.min(at + array.len()));
            if start < end {
                parts.push(array.slice(start - at, end - start));
            }
            at += array.len();
        }
        if let [only] = parts.as_slice() {
            return Ok(ArrayRef::clone(only));
        }
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        concat(&parts).map_err(|e| {
            Error::limit("a page of strings exceeds 2 GiB")
                .source(e)
                .suggest("write with fewer rows per page: {}", [Action::setting("page_rows", "N")])
        })
    }
}

/// One column of an encoded row group.
pub(crate) struct EncodedChunk {
    pub(crate) pages: Vec<EncodedPage>,
    pub(crate) bloom: Option<Vec<u8>>,
}

/// Encodes a row group. `dictionaries` has an entry for each column that may use one.
pub(crate) fn encode_group(
    schema: &Schema,
    columns: &[Pending],
    rows: usize,
    page_rows: usize,
    packing: Packing,
    dictionaries: &mut [Option<DictionaryBuilder>],
) -> Result<Vec<EncodedChunk>> {
    let pages: Vec<Range<usize>> =
        (0..rows).step_by(page_rows).map(|start| start..rows.min(start + page_rows)).collect();
    // Codes are assigned in row order: columns are coded in parallel, the pages of one column are not.
    let coded = dictionaries.iter_mut().zip(columns);
    let codes: Vec<Vec<Option<Vec<u32>>>> = parallel::try_map(coded, |(dictionary, pending)| {
        let Some(dictionary) = dictionary else { return Ok(Vec::new()) };
        let codes = pages.iter().map(|rows| Ok(dictionary.encode(pending.rows(rows.clone())?.as_ref())));
        codes.collect::<Result<_>>()
    })?;
    let jobs: Vec<(usize, usize)> =
        (0..columns.len()).flat_map(|c| (0..pages.len()).map(move |p| (c, p))).collect();
    let encoded: Vec<EncodedPage> = parallel::try_map(jobs, |(column, page)| {
        let (Some(field), Some(pending), Some(rows)) =
            (schema.fields.get(column), columns.get(column), pages.get(page))
        else {
            return Err(Error::internal("a page outside its row group"));
        };
        let codes = codes.get(column).and_then(|all| all.get(page)).and_then(Option::as_deref);
        encode(pending.rows(rows.clone())?.as_ref(), field.logical, rows.start as u32, codes, packing)
    })?;
    let blooms = parallel::map(schema.fields.iter().zip(columns), |(field, pending)| {
        let wanted = field.has(flags::BLOOM) && !field.has(flags::SORT_KEY) && field.logical.has_scalars();
        wanted.then(|| bloom_of(pending, field.logical)).flatten()
    });
    let mut encoded = encoded.into_iter();
    let chunks = blooms
        .into_iter()
        .map(|bloom| EncodedChunk { pages: encoded.by_ref().take(pages.len()).collect(), bloom });
    Ok(chunks.collect())
}

fn bloom_of(pending: &Pending, logical: LogicalType) -> Option<Vec<u8>> {
    let mut builder = BloomBuilder::default();
    pending.arrays.iter().for_each(|array| for_each(array.as_ref(), logical, |key| builder.add(key)));
    builder.finish()
}
