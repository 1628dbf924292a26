//! Columns of strings that come as a dictionary: a condition is decided once for each of the distinct strings.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt16Type;
use arrow_array::{Array, ArrayRef, BooleanArray, DictionaryArray, RecordBatch, StringArray, new_null_array};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat;

use super::Condition;
use crate::At;
use crate::error::{Error, Result};

/// Strings of at most this many bytes are appended by a copy of constant size.
const SHORT: usize = 16;

/// The dictionary of a column whose type is `declared`, if its strings come so.
pub(crate) fn coded<'a>(
    array: &'a dyn Array,
    declared: &DataType,
) -> Option<&'a DictionaryArray<UInt16Type>> {
    if *declared == DataType::Utf8 { array.as_dictionary_opt() } else { None }
}

/// The strings of all rows.
pub(crate) fn expand(dictionary: &DictionaryArray<UInt16Type>) -> Result<ArrayRef> {
    let entries = dictionary.values().as_string_opt::<i32>();
    let entries = entries.ok_or_else(|| Error::internal("a dictionary has other values than strings"))?;
    let started = |string: &[u8]| {
        let mut start = [0; SHORT];
        start.iter_mut().zip(string).for_each(|(place, byte)| *place = *byte);
        start
    };
    let strings = (0..entries.len()).map(|entry| entries.value(entry).as_bytes());
    let strings: Vec<([u8; SHORT], &[u8])> = strings.map(|string| (started(string), string)).collect();
    let nulls = dictionary.nulls().filter(|nulls| nulls.null_count() > 0);
    let of = |row: usize, key: u16| {
        // The key of a null row may be none of the entries.
        if nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return Ok(None);
        }
        strings.at(usize::from(key)).map(Some)
    };
    let keys = dictionary.keys().values();
    let mut size = 0;
    for (row, key) in keys.iter().enumerate() {
        size += of(row, *key)?.map_or(0, |(_, string)| string.len());
    }
    i32::try_from(size)
        .map_err(|_| Error::limit("the strings of a batch exceed 2 GiB").hint("read fewer rows at once"))?;
    // There is room for a copy of constant size after the last string.
    let mut data = vec![0; size + SHORT];
    let (mut end, mut offsets) = (0, Vec::with_capacity(keys.len() + 1));
    offsets.push(0);
    for (row, key) in keys.iter().enumerate() {
        if let Some((start, string)) = of(row, *key)? {
            let place = data.part_mut(end..)?;
            if string.len() <= SHORT
                && let Some(place) = place.first_chunk_mut()
            {
                *place = *start;
            } else {
                place.iter_mut().zip(*string).for_each(|(place, byte)| *place = *byte);
            }
            end += string.len();
        }
        offsets.push(end as i32);
    }
    data.truncate(size);
    Ok(Arc::new(StringArray::try_new(OffsetBuffer::new(offsets.into()), data.into(), nulls.cloned())?))
}

/// The value of a condition over a batch in which the columns `names` come as dictionaries.
pub(super) fn evaluate(
    condition: &dyn Condition,
    batch: &RecordBatch,
    names: &[&str],
) -> Result<BooleanArray> {
    let is_coded = |name: &str| names.contains(&name);
    if let [column] = condition.columns()
        && is_coded(column)
        && let Some(dictionary) = batch.column_by_name(column).and_then(|a| a.as_dictionary_opt())
        && dictionary.values().len() < dictionary.len()
        // The condition may fail for an entry that no row has.
        && let Ok(found) = by_entry(condition, column, dictionary)
    {
        return Ok(found);
    }
    if !condition.columns().iter().any(|column| is_coded(column)) {
        return condition.evaluate(batch);
    }
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for name in condition.columns() {
        let Some((at, field)) = batch.schema_ref().column_with_name(name) else { continue };
        let array = batch.column(at);
        if let Some(dictionary) = array.as_dictionary_opt().filter(|_| is_coded(name)) {
            columns.push(expand(dictionary)?);
            fields.push(Arc::new(field.clone().with_data_type(DataType::Utf8)));
        } else {
            columns.push(Arc::clone(array));
            fields.push(Arc::new(field.clone()));
        }
    }
    condition.evaluate(&RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
}

/// The value of a condition for each distinct string and for null, in the rows that have it.
fn by_entry(
    condition: &dyn Condition,
    column: &str,
    dictionary: &DictionaryArray<UInt16Type>,
) -> Result<BooleanArray> {
    let entries = dictionary.values();
    let nulls = dictionary.nulls().filter(|nulls| nulls.null_count() > 0);
    let judged = match nulls {
        Some(_) => concat(&[entries.as_ref(), new_null_array(entries.data_type(), 1).as_ref()])?,
        None => Arc::clone(entries),
    };
    let schema = Schema::new(vec![Field::new(column, judged.data_type().clone(), true)]);
    let verdicts = condition.evaluate(&RecordBatch::try_new(Arc::new(schema), vec![judged])?)?;
    let null = entries.len();
    let keys = dictionary.keys().values();
    let entry = |row: usize| match nulls {
        Some(nulls) if nulls.is_null(row) => null,
        _ => keys.get(row).map_or(null, |key| usize::from(*key)),
    };
    let rows = |bits: &BooleanBuffer| {
        let table: Vec<bool> = bits.iter().collect();
        BooleanBuffer::collect_bool(keys.len(), |row| table.get(entry(row)).is_some_and(|bit| *bit))
    };
    let known = verdicts.nulls().map(|nulls| NullBuffer::new(rows(nulls.inner())));
    Ok(BooleanArray::new(rows(verdicts.values()), known))
}

#[cfg(test)]
mod tests {
    use std::fmt;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use arrow_array::UInt16Array;
    use proptest::prelude::*;

    use super::*;
    use crate::predicate::{Comparison, Custom, Predicate};
    use crate::scalar::Scalar;

    /// True for strings of even length and for null, unknown for the empty string; fails for "x". Counts the rows it sees.
    #[derive(Debug)]
    struct Even(Vec<String>, Arc<AtomicUsize>);

    impl fmt::Display for Even {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("even")
        }
    }

    impl Condition for Even {
        fn columns(&self) -> &[String] {
            &self.0
        }

        fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray> {
            self.1.fetch_add(batch.num_rows(), Ordering::Relaxed);
            let strings = batch.column_by_name("s").unwrap().as_string::<i32>();
            strings
                .iter()
                .map(|string| match string {
                    Some("x") => Err(Error::invalid("x")),
                    Some("") => Ok(None),
                    Some(string) => Ok(Some(string.len() % 2 == 0)),
                    None => Ok(Some(true)),
                })
                .collect()
        }
    }

    fn even(columns: &[&str]) -> (Predicate, Arc<AtomicUsize>) {
        let seen = Arc::new(AtomicUsize::new(0));
        let columns = columns.iter().map(|&name| name.to_owned()).collect();
        (Predicate::Custom(Custom::new(Even(columns, Arc::clone(&seen)))), seen)
    }

    /// Entries and the keys of rows, the same as strings, and a second column.
    fn batches(entries: &[String], keys: &[Option<u16>]) -> (RecordBatch, RecordBatch) {
        let rows = keys.iter().map(|key| key.map(|key| entries[usize::from(key)].as_str()));
        let strings: ArrayRef = Arc::new(rows.collect::<StringArray>());
        let values = Arc::new(StringArray::from_iter_values(entries));
        let keys = keys.iter().copied().collect::<UInt16Array>();
        let coded: ArrayRef = Arc::new(DictionaryArray::try_new(keys, values).unwrap());
        let of = |s: ArrayRef| {
            let n: ArrayRef = Arc::new(arrow_array::Int64Array::from_iter_values(0..s.len() as i64));
            RecordBatch::try_from_iter_with_nullable([("s", s, true), ("n", n, false)]).unwrap()
        };
        (of(coded), of(strings))
    }

    fn predicate() -> impl Strategy<Value = Predicate> {
        let text = || "[ab]{0,3}|[bé]{15,18}".prop_map(Scalar::String);
        let op = prop::sample::select(&["=", "<>", "<", "<=", ">", ">="][..]);
        let compare = (op, text()).prop_map(|(op, value)| {
            let all = [Comparison::Eq, Comparison::Ne, Comparison::Lt, Comparison::Le, Comparison::Gt];
            let at = ["=", "<>", "<", "<=", ">"].iter().position(|known| *known == op);
            Predicate::compare("s", at.map_or(Comparison::Ge, |at| all[at]), value)
        });
        let value = prop_oneof![5 => text(), 1 => Just(Scalar::Null)];
        let list = prop::collection::vec(value, 0..12);
        let leaf = prop_oneof![
            compare,
            list.prop_map(|values| Predicate::In { column: "s".into(), values }),
            Just(Predicate::IsNull { column: "s".into() }),
            Just(even(&["s"]).0),
            Just(even(&["n", "s"]).0),
            (0_i64..40).prop_map(|n| Predicate::compare("n", Comparison::Lt, n)),
        ];
        leaf.prop_recursive(3, 10, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 1..4).prop_map(Predicate::And),
                prop::collection::vec(inner.clone(), 1..4).prop_map(Predicate::Or),
                inner.prop_map(|inner| Predicate::Not(Box::new(inner))),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_dictionary_answers_as_its_strings_do(
            entries in prop::collection::vec("[ab]{0,3}|[bé]{15,18}", 1..9),
            keys in prop::collection::vec(prop::option::weighted(0.9, 0_u16..9), 0..40),
            predicate in predicate(),
        ) {
            let keys: Vec<_> = keys.iter().map(|key| key.map(|key| key % entries.len() as u16)).collect();
            let (coded, strings) = batches(&entries, &keys);
            let (found, wanted) = (predicate.evaluate_coded(&coded, &["s"]).unwrap(), predicate.evaluate(&strings).unwrap());
            prop_assert_eq!(found.iter().collect::<Vec<_>>(), wanted.iter().collect::<Vec<_>>());
            prop_assert_eq!(&expand(coded.column(0).as_dictionary()).unwrap(), strings.column(0));
        }
    }

    #[test]
    fn a_condition_is_decided_once_for_each_string() {
        let entries = ["a".to_owned(), "bb".to_owned()];
        let keys: Vec<_> = (0..50).map(|i| Some(i % 2)).collect();
        let (coded, _) = batches(&entries, &keys);
        let (even, seen) = even(&["s"]);
        assert_eq!(even.evaluate_coded(&coded, &["s"]).unwrap().true_count(), 25);
        assert_eq!(seen.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_condition_that_fails_for_a_string_of_no_row_does_not_fail() {
        let entries = ["a".to_owned(), "x".to_owned()];
        let (even, _) = even(&["s"]);
        let (unused, _) = batches(&entries, &[Some(0), None, Some(0)]);
        assert_eq!(even.evaluate_coded(&unused, &["s"]).unwrap().true_count(), 1);
        let (used, _) = batches(&entries, &[Some(0), Some(1), Some(0)]);
        assert!(even.evaluate_coded(&used, &["s"]).is_err());
    }
}
