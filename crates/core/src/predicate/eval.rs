//! Evaluation of a predicate over a record batch, column by column.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, Datum, LargeBinaryArray, LargeStringArray,
    PrimitiveArray, RecordBatch, StringArray, StringViewArray,
};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, NullBuffer};
use arrow_ord::cmp;
use arrow_schema::{DataType, TimeUnit};
use arrow_select::filter::filter_record_batch;

use super::integers::match_integers;
use super::list::is_one_of;
use super::{Comparison, Predicate, coded, decimal};
use crate::error::{Error, Result};
use crate::scalar::Scalar;

impl Predicate {
    /// The rows of `batch` where the predicate is true.
    pub fn filter(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let mask = self.evaluate(batch)?;
        if mask.null_count() == 0 && mask.true_count() == batch.num_rows() {
            return Ok(batch.clone());
        }
        Ok(filter_record_batch(batch, &mask)?)
    }

    /// True, false or null (unknown) for each row of `batch`.
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        self.evaluate_coded(batch, &[])
    }

    /// The same, if the columns of strings `coded` come as dictionaries.
    pub(crate) fn evaluate_coded(&self, batch: &RecordBatch, coded: &[&str]) -> Result<BooleanArray> {
        let rows = batch.num_rows();
        match self {
            Self::Always(value) => Ok(constant(*value, rows)),
            Self::Compare { column, op, value } => compare(column_of(batch, column)?, column, *op, value),
            Self::In { column, values } => is_in(column_of(batch, column)?, column, values),
            Self::IsNull { column } => {
                let array = column_of(batch, column)?;
                let nulls = array.logical_nulls();
                Ok(nulls.map_or_else(|| constant(false, rows), |n| BooleanArray::new(!n.inner(), None)))
            }
            Self::And(parts) => all_of(parts, batch, coded),
            Self::Or(parts) => {
                let parts = parts.iter().map(|part| part.evaluate_coded(batch, coded));
                fold(parts, constant(false, rows), arrow_kleene_or)
            }
            Self::Not(inner) => {
                let mask = inner.evaluate_coded(batch, coded)?;
                Ok(BooleanArray::new(!mask.values(), mask.nulls().cloned()))
            }
            Self::Custom(custom) => coded::evaluate(custom.condition(), batch, coded),
        }
    }
}

/// Whether the rows are one of `values`: unknown for nulls, and for other rows if a value is null.
fn is_in(array: &ArrayRef, column: &str, values: &[Scalar]) -> Result<BooleanArray> {
    if values.is_empty() {
        // Nothing is in an empty list, not even null.
        return Ok(constant(false, array.len()));
    }
    if let DataType::Dictionary(..) = array.data_type() {
        return by_entry(array, |entries| is_in(entries, column, values));
    }
    let none = || (constant(false, array.len()), values.iter().collect());
    let (found, left) = is_one_of(array, values).unwrap_or_else(none);
    let left = left.into_iter().map(|value| compare(array, column, Comparison::Eq, value));
    fold(left, found, arrow_kleene_or)
}

/// The verdict on each entry of a dictionary, for the rows that have it. A null entry is a null row as well.
fn by_entry(array: &ArrayRef, judge: impl Fn(&ArrayRef) -> Result<BooleanArray>) -> Result<BooleanArray> {
    let dictionary = array.as_any_dictionary();
    let verdicts = judge(dictionary.values())?;
    let (is_true, is_false) = (known(&verdicts, true), known(&verdicts, false));
    // The key of a null row may be none of the entries.
    let valid = array.nulls().map(NullBuffer::inner);
    let rows = |entries: &BooleanBuffer| {
        let table: Vec<bool> = entries.iter().collect();
        let is_set = |key: usize| table.get(key).is_some_and(|set| *set);
        let bits = if let Some(short) = array.as_dictionary_opt::<UInt16Type>() {
            let keys = short.keys().values();
            BooleanBuffer::collect_bool(keys.len(), |row| is_set(usize::from(keys[row])))
        } else {
            let keys = dictionary.normalized_keys();
            BooleanBuffer::collect_bool(keys.len(), |row| is_set(keys[row]))
        };
        match valid {
            Some(valid) => &bits & valid,
            None => bits,
        }
    };
    if verdicts.null_count() == 0 {
        return Ok(BooleanArray::new(rows(&is_true), array.nulls().cloned()));
    }
    Ok(from_known(&rows(&is_true), &rows(&is_false)))
}

fn constant(value: bool, rows: usize) -> BooleanArray {
    let values = if value { BooleanBuffer::new_set(rows) } else { BooleanBuffer::new_unset(rows) };
    BooleanArray::new(values, None)
}

fn fold(
    mut parts: impl Iterator<Item = Result<BooleanArray>>,
    start: BooleanArray,
    combine: fn(&BooleanArray, &BooleanArray) -> BooleanArray,
) -> Result<BooleanArray> {
    parts.try_fold(start, |sum, part| Ok(combine(&sum, &part?)))
}

/// Custom conditions come last, and see only rows that no other condition has excluded, if these
/// are few or if they fail for others: `n <> 0 AND 1 / n > 2` divides by no zero.
fn all_of(parts: &[Predicate], batch: &RecordBatch, coded: &[&str]) -> Result<BooleanArray> {
    let rows = batch.num_rows();
    let own = parts.iter().filter(|part| !part.has_custom()).map(|part| part.evaluate_coded(batch, coded));
    let mut sum = fold(own, constant(true, rows), arrow_kleene_and)?;
    for part in parts.iter().filter(|part| part.has_custom()) {
        let open = !&known(&sum, false);
        let left = open.count_set_bits();
        if left == 0 {
            break;
        }
        let all = if left > rows / 2 { part.evaluate_coded(batch, coded).ok() } else { None };
        let part = match all {
            Some(mask) => mask,
            None => evaluate_some(part, batch, &open, coded)?,
        };
        sum = arrow_kleene_and(&sum, &part);
    }
    Ok(sum)
}

/// The values of a condition for the rows that are set in `open`; false for the others.
fn evaluate_some(
    part: &Predicate,
    batch: &RecordBatch,
    open: &BooleanBuffer,
    coded: &[&str],
) -> Result<BooleanArray> {
    let schema = batch.schema_ref();
    let columns = part.columns().into_iter().filter_map(|name| schema.index_of(name).ok());
    let few = batch.project(&columns.collect::<Vec<_>>())?;
    let few = filter_record_batch(&few, &BooleanArray::new(open.clone(), None))?;
    let found = part.evaluate_coded(&few, coded)?;
    let (mut values, mut valid) = (BooleanBufferBuilder::new(open.len()), found.nulls().map(|_| Vec::new()));
    values.append_n(open.len(), false);
    for (at, row) in open.set_indices().enumerate() {
        values.set_bit(row, found.value(at));
        if let Some(unknown) = valid.as_mut().filter(|_| found.is_null(at)) {
            unknown.push(row);
        }
    }
    let nulls = valid.map(|unknown| {
        let mut known = BooleanBufferBuilder::new(open.len());
        known.append_n(open.len(), true);
        for row in unknown {
            known.set_bit(row, false);
        }
        NullBuffer::new(known.finish())
    });
    Ok(BooleanArray::new(values.finish(), nulls))
}

/// Three-valued AND: false wins over unknown.
fn arrow_kleene_and(a: &BooleanArray, b: &BooleanArray) -> BooleanArray {
    let (a_true, b_true) = (known(a, true), known(b, true));
    let (a_false, b_false) = (known(a, false), known(b, false));
    from_known(&(&a_true & &b_true), &(&a_false | &b_false))
}

/// Three-valued OR: true wins over unknown.
fn arrow_kleene_or(a: &BooleanArray, b: &BooleanArray) -> BooleanArray {
    let (a_true, b_true) = (known(a, true), known(b, true));
    let (a_false, b_false) = (known(a, false), known(b, false));
    from_known(&(&a_true | &b_true), &(&a_false & &b_false))
}

fn known(array: &BooleanArray, value: bool) -> BooleanBuffer {
    let bits = if value { array.values().clone() } else { !array.values() };
    array.nulls().map_or_else(|| bits.clone(), |nulls| &bits & nulls.inner())
}

fn from_known(is_true: &BooleanBuffer, is_false: &BooleanBuffer) -> BooleanArray {
    let valid = is_true | is_false;
    let nulls = (valid.count_set_bits() < valid.len()).then(|| valid.into());
    BooleanArray::new(is_true.clone(), nulls)
}

fn column_of<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef> {
    batch.column_by_name(name).ok_or_else(|| {
        let schema = batch.schema_ref();
        Error::unknown_name("column", name, schema.fields().iter().map(|f| f.name().as_str()))
    })
}

fn mismatch(column: &str, array: &dyn Array, value: &Scalar) -> Error {
    Error::invalid(format!("column '{column}' of type {} cannot be compared with {value}", array.data_type()))
}

/// Compares a column with one literal; null rows and a null literal yield unknown.
fn compare(array: &ArrayRef, column: &str, op: Comparison, value: &Scalar) -> Result<BooleanArray> {
    if *value == Scalar::Null {
        return Ok(BooleanArray::new_null(array.len()));
    }
    macro_rules! ints {
        ($type:ty) => {
            compare_integers(array.as_primitive::<$type>(), op, value)
        };
    }
    macro_rules! floats {
        ($type:ty) => {
            compare_floats(array.as_primitive::<$type>(), op, value)
        };
    }
    match_integers!(array.data_type(), ints, {
        DataType::Decimal128(_, scale) => {
            decimal::compare(array.as_primitive::<Decimal128Type>(), *scale, op, value)
        }
        DataType::Float16 => floats!(Float16Type),
        DataType::Float32 => floats!(Float32Type),
        DataType::Float64 => floats!(Float64Type),
        DataType::Boolean => {
            let values = array.as_boolean();
            by_row(array, |i| Scalar::Bool(values.value(i)).compare(value), op)
        }
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView => return compare_strings(array, column, op, value),
        DataType::FixedSizeBinary(_) => compare_bytes(array.as_fixed_size_binary().iter(), op, value),
        DataType::Dictionary(_, _) => {
            return by_entry(array, |entries| compare(entries, column, op, value));
        }
        _ => None,
    })
    .ok_or_else(|| mismatch(column, array, value))
}

/// Compares by the rules of scalars, row by row; for types that are rare or cheap.
fn by_row(
    array: &ArrayRef,
    ordering: impl Fn(usize) -> Option<Ordering>,
    op: Comparison,
) -> Option<BooleanArray> {
    (0..array.len())
        .map(|i| if array.is_null(i) { Some(None) } else { ordering(i).map(|o| Some(op.holds(o))) })
        .collect::<Option<Vec<_>>>()
        .map(BooleanArray::from)
}

fn masked<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    holds: impl Fn(T::Native) -> bool,
) -> BooleanArray {
    let values = array.values();
    let bits = BooleanBuffer::collect_bool(values.len(), |i| holds(values[i]));
    BooleanArray::new(bits, array.nulls().cloned())
}

/// Integer columns against a literal: the literal is converted to the column's type once, so that the loop over the
/// rows is monomorphic.
fn compare_integers<T>(array: &PrimitiveArray<T>, op: Comparison, value: &Scalar) -> Option<BooleanArray>
where
    T: ArrowPrimitiveType,
    T::Native: Ord + TryFrom<i128>,
{
    let all = |holds: bool| Some(masked(array, |_| holds));
    match value {
        Scalar::Int(value) => match T::Native::try_from(*value) {
            Ok(value) => Some(compare_native(array, op, value)),
            // A literal outside the type's range compares the same with every row.
            Err(_) => all(op.holds(if *value > 0 { Ordering::Less } else { Ordering::Greater })),
        },
        Scalar::Float(value) if value.is_nan() || value.abs() > 1.7e38 => {
            all(op.holds(if value.is_nan() || *value > 0.0 { Ordering::Less } else { Ordering::Greater }))
        }
        Scalar::Float(value) => {
            // x < 2.5 is x <= 2; x = 2.5 is never true.
            let floor = value.floor();
            if *value > floor {
                let op = match op {
                    Comparison::Eq => return all(false),
                    Comparison::Ne => return all(true),
                    Comparison::Lt | Comparison::Le => Comparison::Le,
                    Comparison::Gt | Comparison::Ge => Comparison::Gt,
                };
                return compare_integers(array, op, &Scalar::Int(floor as i128));
            }
            compare_integers(array, op, &Scalar::Int(floor as i128))
        }
        Scalar::Bool(value) => compare_integers(array, op, &Scalar::Int(i128::from(*value))),
        _ => None,
    }
}

pub(super) fn compare_native<T>(array: &PrimitiveArray<T>, op: Comparison, value: T::Native) -> BooleanArray
where
    T: ArrowPrimitiveType,
    T::Native: Ord,
{
    match op {
        Comparison::Eq => masked(array, |x| x == value),
        Comparison::Ne => masked(array, |x| x != value),
        Comparison::Lt => masked(array, |x| x < value),
        Comparison::Le => masked(array, |x| x <= value),
        Comparison::Gt => masked(array, |x| x > value),
        Comparison::Ge => masked(array, |x| x >= value),
    }
}

/// Float columns: widened to double; NaN is above all values and equal to itself.
fn compare_floats<T>(array: &PrimitiveArray<T>, op: Comparison, value: &Scalar) -> Option<BooleanArray>
where
    T: ArrowPrimitiveType,
    T::Native: Into<f64>,
{
    let Scalar::Float(literal) = *value else {
        let Scalar::Int(_) = value else { return None };
        return Some(masked(array, |x| {
            Scalar::Float(x.into()).compare(value).is_some_and(|ordering| op.holds(ordering))
        }));
    };
    if literal.is_nan() {
        return Some(masked(array, |x| {
            op.holds(if x.into().is_nan() { Ordering::Equal } else { Ordering::Less })
        }));
    }
    Some(match op {
        Comparison::Eq => masked(array, |x| x.into() == literal),
        Comparison::Ne => masked(array, |x| x.into() != literal),
        Comparison::Lt => masked(array, |x| x.into() < literal),
        Comparison::Le => masked(array, |x| x.into() <= literal),
        Comparison::Gt => masked(array, |x| x.into() > literal || x.into().is_nan()),
        Comparison::Ge => masked(array, |x| x.into() >= literal || x.into().is_nan()),
    })
}

/// Columns of strings and bytes against a literal of either kind, by the bytes.
fn compare_strings(array: &ArrayRef, column: &str, op: Comparison, value: &Scalar) -> Result<BooleanArray> {
    let bytes: &[u8] = match value {
        Scalar::String(text) => text.as_bytes(),
        Scalar::Bytes(bytes) => bytes,
        _ => return Err(mismatch(column, array, value)),
    };
    let text = std::str::from_utf8(bytes);
    let literal: Box<dyn Datum> = match (array.data_type(), text) {
        (DataType::Utf8, Ok(text)) => Box::new(StringArray::new_scalar(text)),
        (DataType::LargeUtf8, Ok(text)) => Box::new(LargeStringArray::new_scalar(text)),
        (DataType::Utf8View, Ok(text)) => Box::new(StringViewArray::new_scalar(text)),
        (DataType::Binary, _) => Box::new(BinaryArray::new_scalar(bytes)),
        (DataType::LargeBinary, _) => Box::new(LargeBinaryArray::new_scalar(bytes)),
        (DataType::BinaryView, _) => Box::new(BinaryViewArray::new_scalar(bytes)),
        // No string equals bytes that are no text, but they have an order.
        (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View, Err(_)) => {
            let array = arrow_cast::cast(array, &DataType::BinaryView)?;
            return compare_strings(&array, column, op, value);
        }
        _ => return Err(mismatch(column, array, value)),
    };
    let array: &dyn Array = array;
    Ok(match op {
        Comparison::Eq => cmp::eq(&array, &*literal),
        Comparison::Ne => cmp::neq(&array, &*literal),
        Comparison::Lt => cmp::lt(&array, &*literal),
        Comparison::Le => cmp::lt_eq(&array, &*literal),
        Comparison::Gt => cmp::gt(&array, &*literal),
        Comparison::Ge => cmp::gt_eq(&array, &*literal),
    }?)
}

fn compare_bytes<'a>(
    rows: impl Iterator<Item = Option<&'a [u8]>>,
    op: Comparison,
    value: &Scalar,
) -> Option<BooleanArray> {
    let literal = match value {
        Scalar::String(text) => text.as_bytes(),
        Scalar::Bytes(bytes) => bytes,
        _ => return None,
    };
    Some(rows.map(|row| row.map(|bytes| op.holds(bytes.cmp(literal)))).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Float64Array, Int8Array, StringArray, UInt64Array};

    use super::*;

    fn rows(text: &str) -> Vec<Option<bool>> {
        let batch = RecordBatch::try_from_iter([
            ("i", Arc::new(Int8Array::from(vec![Some(1), Some(2), None])) as ArrayRef),
            ("u", Arc::new(UInt64Array::from(vec![0, u64::MAX, 7]))),
            ("f", Arc::new(Float64Array::from(vec![1.5, f64::NAN, -0.0]))),
            ("s", Arc::new(StringArray::from(vec![Some("a"), None, Some("c")]))),
        ])
        .unwrap();
        text.parse::<Predicate>().unwrap().evaluate(&batch).unwrap().iter().collect()
    }

    const T: Option<bool> = Some(true);
    const F: Option<bool> = Some(false);
    const N: Option<bool> = None;

    #[test]
    fn comparisons_follow_sql() {
        for (text, want) in [
            ("i = 1", [T, F, N]),
            ("i < 1.5", [T, F, N]),
            ("i > 1000", [F, F, N]),
            ("i < 1000", [T, T, N]),
            ("i <> -1000", [T, T, N]),
            ("i = 1.5", [F, F, N]),
            ("u = 18446744073709551615", [F, T, F]),
            ("u >= -1", [T, T, T]),
            ("f > 1", [T, T, F]),
            ("f >= 1.5", [T, T, F]),
            ("f = 0", [F, F, T]),
            ("s >= 'b'", [F, N, T]),
            ("s IS NULL", [F, T, F]),
            ("s IN ('a', 'c')", [T, N, T]),
            ("i = 2 OR s = 'c'", [F, T, T]),
            ("i = 2 AND s = 'c'", [F, N, N]),
            ("NOT i = 1", [F, T, N]),
            ("i IN (1, NULL)", [T, N, N]),
            ("TRUE", [T, T, T]),
        ] {
            assert_eq!(rows(text), want, "{text}");
        }
    }

    #[test]
    fn strings_and_bytes_of_every_kind_compare_by_their_bytes() {
        let words = StringArray::from(vec![Some("a"), None, Some("bé"), Some("")]);
        let column: ArrayRef = Arc::new(words);
        for kind in [
            DataType::Utf8,
            DataType::LargeUtf8,
            DataType::Utf8View,
            DataType::Binary,
            DataType::LargeBinary,
            DataType::BinaryView,
            DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8)),
        ] {
            let column = arrow_cast::cast(&column, &kind).unwrap();
            let batch = RecordBatch::try_from_iter([("s", column)]).unwrap();
            let rows = |op, value: Scalar| {
                let mask = Predicate::compare("s", op, value).evaluate(&batch).unwrap();
                mask.iter().collect::<Vec<_>>()
            };
            let text = |text: &str| Scalar::String(text.into());
            assert_eq!(rows(Comparison::Eq, text("bé")), [F, N, T, F], "{kind}");
            assert_eq!(rows(Comparison::Ne, text("a")), [F, N, T, T], "{kind}");
            assert_eq!(rows(Comparison::Lt, text("b")), [T, N, F, T], "{kind}");
            assert_eq!(rows(Comparison::Ge, text("a")), [T, N, T, F], "{kind}");
            assert_eq!(rows(Comparison::Le, Scalar::Bytes(b"bz".to_vec())), [T, N, F, T], "{kind}");
            // Bytes that are no text.
            assert_eq!(rows(Comparison::Gt, Scalar::Bytes(vec![b'b', 0x80])), [F, N, T, F], "{kind}");
            assert_eq!(rows(Comparison::Eq, Scalar::Bytes(vec![0xff])), [F, N, F, F], "{kind}");
        }
    }

    /// True where `i` is even, unknown where it is a multiple of three; counts the rows it sees.
    #[derive(Debug)]
    struct Even(Vec<String>, std::sync::atomic::AtomicUsize);

    impl std::fmt::Display for Even {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("even")
        }
    }

    impl super::super::Condition for Arc<Even> {
        fn columns(&self) -> &[String] {
            &self.0
        }

        fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray> {
            self.1.fetch_add(batch.num_rows(), std::sync::atomic::Ordering::Relaxed);
            let i = column_of(batch, "i")?.as_primitive::<Int64Type>();
            Ok(i.values().iter().map(|i| (i % 3 != 0).then_some(i % 2 == 0)).collect())
        }
    }

    #[test]
    fn a_condition_of_others_sees_only_the_rows_that_are_still_open() {
        let even = Arc::new(Even(vec!["i".into()], 0.into()));
        let custom = Predicate::Custom(super::super::Custom::new(Arc::clone(&even)));
        let column: ArrayRef =
            Arc::new((0..40).map(|i| (i != 7).then_some(i)).collect::<arrow_array::Int64Array>());
        let batch = RecordBatch::try_from_iter([("i", column)]).unwrap();
        for (below, seen) in [(9, 9), (30, 40), (0, 1)] {
            even.1.store(0, std::sync::atomic::Ordering::Relaxed);
            let few = Predicate::compare("i", Comparison::Lt, below);
            let parts = [few.evaluate(&batch).unwrap(), custom.evaluate(&batch).unwrap()];
            even.1.store(0, std::sync::atomic::Ordering::Relaxed);
            let both = Predicate::And(vec![custom.clone(), few]);
            assert_eq!(both.evaluate(&batch).unwrap(), arrow_kleene_and(&parts[0], &parts[1]), "{below}");
            assert_eq!(even.1.load(std::sync::atomic::Ordering::Relaxed), seen, "{below}");
            let none = Predicate::Not(Box::new(both)).evaluate(&batch).unwrap();
            assert_eq!(none.true_count(), arrow_kleene_and(&parts[0], &parts[1]).false_count(), "{below}");
        }
    }

    #[test]
    fn kinds_that_do_not_compare_are_refused() {
        let batch =
            RecordBatch::try_from_iter([("i", Arc::new(Int8Array::from(vec![1])) as ArrayRef)]).unwrap();
        for text in ["i = 'a'", "j = 1"] {
            let error = text.parse::<Predicate>().unwrap().evaluate(&batch).unwrap_err();
            assert_eq!(error.kind().exit_code(), 2, "{text}");
        }
    }
}
