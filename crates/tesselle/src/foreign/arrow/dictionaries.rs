//! Dictionaries that differ from batch to batch, joined: in a file the dictionary of a column may only grow.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array, make_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_row::{OwnedRow, RowConverter, SortField};
use arrow_schema::{ArrowError, DataType, Schema};
use arrow_select::concat::concat;
use arrow_select::take::take;

/// The dictionaries of the columns so far.
pub(super) struct Dictionaries {
    columns: Vec<Option<JoinedDictionary>>,
}

impl Dictionaries {
    pub(super) fn new(schema: &Schema) -> Self {
        let is_dictionary = |data_type: &DataType| matches!(data_type, DataType::Dictionary(..));
        let columns = schema
            .fields()
            .iter()
            .map(|field| is_dictionary(field.data_type()).then(JoinedDictionary::default));
        Self { columns: columns.collect() }
    }

    /// The batch with dictionaries that begin with those of the batches before.
    pub(super) fn join(&mut self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        if self.columns.iter().all(Option::is_none) {
            return Ok(batch.clone());
        }
        let columns = batch.columns().iter().zip(&mut self.columns).map(|(column, joined)| match joined {
            Some(joined) => joined.join(column),
            None => Ok(Arc::clone(column)),
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(batch.schema(), columns, &options)
    }
}

/// The values of one column so far, and their places once a dictionary has differed.
#[derive(Default)]
struct JoinedDictionary {
    values: Option<ArrayRef>,
    places: Option<(RowConverter, HashMap<OwnedRow, u64>)>,
}

impl JoinedDictionary {
    fn join(&mut self, column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        let dictionary = column.as_any_dictionary();
        let own = dictionary.values();
        let Some(known) = self.values.clone() else {
            self.values = Some(Arc::clone(own));
            return Ok(Arc::clone(column));
        };
        let (known_data, own_data) = (known.to_data(), own.to_data());
        if known_data.ptr_eq(&own_data) || known_data == own_data {
            return Ok(Arc::clone(column));
        }
        let (places, values) = self.extend(&known, own)?;
        let keys = dictionary.keys();
        // Keys of nulls may be anything, and a dictionary without values has no others.
        let numbers = if own.is_empty() { vec![0; column.len()] } else { dictionary.normalized_keys() };
        let place =
            |(row, key): (usize, &usize)| if keys.is_null(row) { None } else { places.get(*key).copied() };
        let numbers: UInt64Array = numbers.iter().enumerate().map(place).collect();
        let strict = CastOptions { safe: false, ..CastOptions::default() };
        let keys = cast_with_options(&numbers, keys.data_type(), &strict)?.to_data();
        let joined = keys.into_builder().data_type(column.data_type().clone());
        Ok(make_array(joined.child_data(vec![values.to_data()]).build()?))
    }

    /// Adds values of another dictionary; returns the place of each of them, and all values.
    fn extend(&mut self, known: &ArrayRef, own: &ArrayRef) -> Result<(Vec<u64>, ArrayRef), ArrowError> {
        if self.places.is_none() {
            let converter = RowConverter::new(vec![SortField::new(known.data_type().clone())])?;
            let rows = converter.convert_columns(&[Arc::clone(known)])?;
            let places = rows.iter().enumerate().map(|(place, row)| (row.owned(), place as u64)).collect();
            self.places = Some((converter, places));
        }
        let Some((converter, known_places)) = &mut self.places else {
            return Ok((Vec::new(), Arc::clone(known)));
        };
        let rows = converter.convert_columns(&[Arc::clone(own)])?;
        let (mut places, mut added) = (Vec::with_capacity(own.len()), Vec::new());
        let mut next = known.len() as u64;
        for (at, row) in rows.iter().enumerate() {
            let place = *known_places.entry(row.owned()).or_insert_with(|| {
                added.push(at as u64);
                next += 1;
                next - 1
            });
            places.push(place);
        }
        let added = take(own, &UInt64Array::from(added), None)?;
        let values = concat(&[known.as_ref(), added.as_ref()])?;
        self.values = Some(Arc::clone(&values));
        Ok((places, values))
    }
}
