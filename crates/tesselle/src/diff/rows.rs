//! Comparing rows, by position or by key.

use std::cmp::Ordering;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_ord::ord::{DynComparator, make_comparator};
use arrow_ord::sort::{SortColumn, lexsort_to_indices};
use arrow_schema::SortOptions;
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use serde_json::json;
use tesselle_core::{Error, Result};

use super::{Difference, plain_type};

/// A stream of batches.
type Batches = Box<dyn Iterator<Item = Result<RecordBatch>>>;

/// What is compared, and how much of it is shown.
pub(super) struct Comparison<'a> {
    pub(super) columns: &'a [String],
    pub(super) shown: usize,
    pub(super) memory: u64,
}

impl Comparison<'_> {
    fn nothing() -> Difference {
        Difference { schema: Vec::new(), rows: (0, 0), values: 0, unmatched: (0, 0), first: Vec::new() }
    }

    /// Row n of one side against row n of the other, streamed.
    pub(super) fn by_position(&self, mut left: Batches, mut right: Batches) -> Result<Difference> {
        let mut found = Self::nothing();
        let (mut a, mut b): (Option<RecordBatch>, Option<RecordBatch>) = (None, None);
        let mut position = 0;
        loop {
            refill(&mut a, &mut left)?;
            refill(&mut b, &mut right)?;
            let (Some(x), Some(y)) = (&a, &b) else { break };
            let n = x.num_rows().min(y.num_rows());
            let (head, rest) = (x.slice(0, n), x.slice(n, x.num_rows() - n));
            let (other, other_rest) = (y.slice(0, n), y.slice(n, y.num_rows() - n));
            self.compare_columns(&head, &other, &mut found, |row| json!({ "row": position + row as u64 }))?;
            position += n as u64;
            (a, b) = (Some(rest), Some(other_rest));
        }
        let left_over = |batch: Option<RecordBatch>, rest: Batches| -> Result<u64> {
            let mut rows = batch.map_or(0, |b| b.num_rows() as u64);
            for batch in rest {
                rows += batch?.num_rows() as u64;
            }
            Ok(rows)
        };
        found.unmatched = (left_over(a, left)?, left_over(b, right)?);
        found.rows = (position + found.unmatched.0, position + found.unmatched.1);
        Ok(found)
    }

    /// Rows with equal keys against each other, wherever they stand. Both sides are sorted in memory.
    pub(super) fn by_key(&self, left: Batches, right: Batches, key: &[String]) -> Result<Difference> {
        let (Some(left), Some(right)) = (self.sorted(left, key)?, self.sorted(right, key)?) else {
            return Err(Error::internal("a table has no columns in common with its counterpart"));
        };
        let mut found = Self::nothing();
        found.rows = (left.num_rows() as u64, right.num_rows() as u64);
        let comparators = key
            .iter()
            .map(|name| comparator(&column(&left, name)?, &column(&right, name)?))
            .collect::<Result<Vec<_>>>()?;
        let order = |i, j| comparators.iter().map(|c| c(i, j)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal);
        let (mut i, mut j) = (0, 0);
        let (mut matched_left, mut matched_right) = (Vec::new(), Vec::new());
        while i < left.num_rows() && j < right.num_rows() {
            match order(i, j) {
                Ordering::Less => i += 1,
                Ordering::Greater => j += 1,
                Ordering::Equal => {
                    matched_left.push(i as u64);
                    matched_right.push(j as u64);
                    i += 1;
                    j += 1;
                }
            }
        }
        let matched = matched_left.len() as u64;
        found.unmatched = (found.rows.0 - matched, found.rows.1 - matched);
        let left = take_record_batch(&left, &arrow_array::UInt64Array::from(matched_left))?;
        let right = take_record_batch(&right, &arrow_array::UInt64Array::from(matched_right))?;
        self.compare_columns(&left, &right, &mut found, |row| {
            let cells = key.iter().map(|name| (name.clone(), shown(column(&left, name).ok().as_ref(), row)));
            json!({ "key": cells.collect::<serde_json::Map<_, _>>() })
        })?;
        Ok(found)
    }

    /// All rows of one side, ordered by the key and then by everything else, so that equal keys pair up well.
    fn sorted(&self, batches: Batches, key: &[String]) -> Result<Option<RecordBatch>> {
        let mut held = Vec::new();
        let mut bytes = 0;
        for batch in batches {
            let batch = batch?;
            bytes += batch.get_array_memory_size() as u64;
            if bytes > self.memory / 2 {
                return Err(Error::limit("matching rows by key needs more memory than the limit")
                    .hint("raise --memory-limit, or compare parts with --columns"));
            }
            held.push(batch);
        }
        let Some(first) = held.first() else { return Ok(None) };
        let whole = concat_batches(&first.schema(), &held)?;
        let others = self.columns.iter().filter(|name| !key.contains(name));
        let mut columns = Vec::new();
        for name in key.iter().chain(others) {
            let values = column(&whole, name)?;
            // Lists have no order of their own; a key column must have one.
            if !values.data_type().is_nested() || key.contains(name) {
                columns.push(SortColumn { values, options: None });
            }
        }
        let indices = lexsort_to_indices(&columns, None)?;
        Ok(Some(take_record_batch(&whole, &indices)?))
    }

    /// Counts and shows the values that differ between two batches of equally many rows.
    fn compare_columns(
        &self,
        left: &RecordBatch,
        right: &RecordBatch,
        found: &mut Difference,
        place: impl Fn(usize) -> serde_json::Value,
    ) -> Result<()> {
        for name in self.columns {
            let (a, b) = (column(left, name)?, column(right, name)?);
            if a.to_data() == b.to_data() {
                continue;
            }
            let compare = comparator(&a, &b)?;
            for row in (0..left.num_rows()).filter(|row| compare(*row, *row).is_ne()) {
                found.values += 1;
                if found.first.len() < self.shown {
                    let mut value = place(row);
                    value["column"] = json!(name);
                    value["left"] = shown(Some(&a), row);
                    value["right"] = shown(Some(&b), row);
                    found.first.push(value);
                }
            }
        }
        Ok(())
    }
}

fn refill(batch: &mut Option<RecordBatch>, more: &mut Batches) -> Result<()> {
    while batch.as_ref().is_none_or(|b| b.num_rows() == 0) {
        let Some(next) = more.next() else {
            *batch = None;
            return Ok(());
        };
        *batch = Some(next?);
    }
    Ok(())
}

fn column(batch: &RecordBatch, name: &str) -> Result<ArrayRef> {
    let column =
        batch.column_by_name(name).ok_or_else(|| Error::internal(format!("column '{name}' went missing")))?;
    let plain = plain_type(column.data_type());
    if plain == *column.data_type() {
        return Ok(column.clone());
    }
    Ok(arrow_cast::cast(column, &plain)?)
}

/// Orders the rows of two columns; columns of different types are brought to one that holds both.
fn comparator(a: &ArrayRef, b: &ArrayRef) -> Result<DynComparator> {
    if a.data_type() == b.data_type() {
        return Ok(make_comparator(a, b, SortOptions::default())?);
    }
    let common = if a.data_type().is_floating() || b.data_type().is_floating() {
        arrow_schema::DataType::Float64
    } else if a.data_type().is_integer() && b.data_type().is_integer() {
        arrow_schema::DataType::Decimal128(38, 0)
    } else {
        a.data_type().clone()
    };
    let incomparable = |_| {
        Error::invalid(format!("{} and {} cannot be compared", a.data_type(), b.data_type()))
            .hint("leave the column out, or convert one side first")
    };
    let a = arrow_cast::cast(a, &common).map_err(incomparable)?;
    let b = arrow_cast::cast(b, &common).map_err(incomparable)?;
    Ok(make_comparator(&a, &b, SortOptions::default())?)
}

fn shown(array: Option<&ArrayRef>, row: usize) -> serde_json::Value {
    let Some(array) = array.filter(|array| !array.is_null(row)) else { return serde_json::Value::Null };
    let options = FormatOptions::new().with_display_error(true);
    ArrayFormatter::try_new(array.as_ref(), &options)
        .map_or(serde_json::Value::Null, |f| f.value(row).to_string().into())
}
