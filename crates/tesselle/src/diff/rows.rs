//! Comparing rows, by position or by key.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt64Array};
use arrow_buffer::BooleanBuffer;
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_ord::cmp::distinct;
use arrow_ord::ord::{DynComparator, make_comparator};
use arrow_schema::{Field, Schema, SchemaRef, SortOptions};
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take_record_batch;
use tesselle_core::{Driver, Error, Result};

use super::common::Common;
use super::digest::{Digest, Digester, Surplus};
use super::sort::{KeyOrder, Sorter};
use super::tolerance::Tolerance;
use super::{DiffOptions, Difference, DifferingValue, RowPlace};

/// A stream of batches.
pub(super) type Batches = Box<dyn Iterator<Item = Result<RecordBatch>>>;

/// Starts a stream of all batches of a side.
pub(super) type Source<'a> = &'a dyn Fn() -> Result<Batches>;

/// A stream of batches in the order of a key.
type Sorted<'a> = Box<dyn Iterator<Item = Result<RecordBatch>> + 'a>;

/// Bytes of differing rows that are held, so that they need not be read again.
const HELD_BYTES: u64 = 16 << 20;

/// A comparison and how many differences are shown.
pub(super) struct Comparison {
    /// The columns that both sides have, with types that represent the values of either.
    schema: SchemaRef,
    /// How each of them gets its type.
    common: Arc<[Common]>,
    shown: usize,
    memory: u64,
    tolerance: Option<Tolerance>,
    driver: Driver,
}

impl Comparison {
    /// A comparison of these columns.
    pub(super) fn try_new(
        left: &Schema,
        right: &Schema,
        names: &[String],
        options: &DiffOptions,
        driver: &Driver,
    ) -> Result<Self> {
        let common = names.iter().map(|name| {
            let (a, b) = (left.field_with_name(name)?, right.field_with_name(name)?);
            Common::try_new(name, a.data_type(), b.data_type())
        });
        let common = common.collect::<Result<Arc<[Common]>>>()?;
        let fields =
            names.iter().zip(&*common).map(|(name, of)| Field::new(name, of.data_type.clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<Field>>()));
        let DiffOptions { shown, memory, tolerance, .. } = options;
        let (memory, driver) = (*memory, driver.clone());
        Ok(Self { schema, common, shown: *shown, memory, tolerance: *tolerance, driver })
    }

    /// Batches with the compared columns and types.
    fn plain(&self, batches: Batches) -> Batches {
        let (schema, common) = (Arc::clone(&self.schema), Arc::clone(&self.common));
        Box::new(batches.map(move |batch| {
            let batch = batch?;
            let columns = schema.fields().iter().zip(&*common).map(|(field, common)| {
                let column = batch
                    .column_by_name(field.name())
                    .ok_or_else(|| Error::internal(format!("column '{}' is missing", field.name())))?;
                common.convert(column)
            });
            let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
            let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            Ok(RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options)?)
        }))
    }

    /// Compares row n of one side with row n of the other, streaming.
    pub(super) fn by_position(&self, left: Batches, right: Batches) -> Result<Difference> {
        let (mut left, mut right) = (self.plain(left), self.plain(right));
        let mut found = Difference::default();
        let (mut a, mut b): (Option<RecordBatch>, Option<RecordBatch>) = (None, None);
        let mut position = 0;
        loop {
            refill(&mut a, &mut left)?;
            refill(&mut b, &mut right)?;
            let (Some(x), Some(y)) = (&a, &b) else { break };
            let n = x.num_rows().min(y.num_rows());
            let (head, rest) = (x.slice(0, n), x.slice(n, x.num_rows() - n));
            let (other, other_rest) = (y.slice(0, n), y.slice(n, y.num_rows() - n));
            self.compare_columns(&head, &other, &mut found, |row| RowPlace::Number(position + row as u64))?;
            position += n as u64;
            (a, b) = (Some(rest), Some(other_rest));
        }
        found.unmatched = (left_over(a, 0, left)?, left_over(b, 0, right)?);
        found.rows = (position + found.unmatched.0, position + found.unmatched.1);
        Ok(found)
    }

    /// Compares rows with equal keys, regardless of their position. Two sides that are sorted by the key are streamed. Else rows
    /// that are equal are a pair, and only the others are sorted, within the memory limit, with temporary files if there
    /// are more.
    pub(super) fn by_key(
        &self,
        left: Source<'_>,
        right: Source<'_>,
        in_order: bool,
        key: &[String],
    ) -> Result<Difference> {
        let at = |name: &String| self.schema.index_of(name).map_err(Error::from);
        let key_columns = key.iter().map(at).collect::<Result<Vec<usize>>>()?;
        let key_order = KeyOrder::try_new(&self.schema, key_columns.clone())?;
        if in_order {
            return self.merge(self.plain(left()?), self.plain(right()?), &key_order, key, 0);
        }
        // Equal keys pair up best if all other columns determine their order.
        let others = (0..self.schema.fields().len()).filter(|at| !key_columns.contains(at));
        let order = KeyOrder::try_new(&self.schema, key_columns.iter().copied().chain(others).collect())?;
        let (mut a, mut b) = (Sorter::new(&order, self.memory / 2), Sorter::new(&order, self.memory / 2));
        let digester = Digester::new();
        let pairs = if let Some(paired) = self.pair_anywhere(left, right, digester)? {
            let pairs = paired.pairs;
            self.keep([left, right], digester, paired, [&mut a, &mut b])?;
            pairs
        } else {
            // Too many differ: only those at the same position are pairs.
            let rest = |rows: [&RecordBatch; 2], differing: Option<&BooleanArray>| {
                for (rows, rest) in rows.into_iter().zip([&mut a, &mut b]) {
                    rest.push(match differing {
                        Some(differing) => filter_record_batch(rows, differing)?,
                        None => rows.clone(),
                    })?;
                }
                Ok(true)
            };
            pair_off(self.plain(left()?), self.plain(right()?), rest)?.unwrap_or_default()
        };
        self.merge(Box::new(a.finish()?), Box::new(b.finish()?), &key_order, key, pairs)
    }

    /// Pairs equal rows of the two sides; `None` if the others exceed the memory.
    fn pair_anywhere(
        &self,
        left: Source<'_>,
        right: Source<'_>,
        digester: Digester,
    ) -> Result<Option<Paired>> {
        let (mut surplus, mut elsewhere) = (Surplus::new(), 0);
        let mut held = Some(Held::default());
        let rest = |rows: [&RecordBatch; 2], differing: Option<&BooleanArray>| {
            let differing = differing.filter(|differing| differing.false_count() > 0);
            let rows = match differing {
                Some(differing) => {
                    [filter_record_batch(rows[0], differing)?, filter_record_batch(rows[1], differing)?]
                }
                None => rows.map(RecordBatch::clone),
            };
            let digests = digester.both(rows.each_ref(), &self.driver)?;
            elsewhere += surplus.add(digests.each_ref().map(Vec::as_slice), &self.driver);
            held = held.take().and_then(|held| held.with(rows, digests, self.memory));
            Ok(surplus.bytes() <= self.memory)
        };
        let pairs = pair_off(self.plain(left()?), self.plain(right()?), rest)?;
        surplus.shrink();
        Ok(pairs.map(|pairs| Paired { pairs: pairs + elsewhere, surplus, held }))
    }

    /// Passes on the rows of both sides that are part of the surplus. They are read again if they are not held.
    fn keep(
        &self,
        [left, right]: [Source<'_>; 2],
        digester: Digester,
        paired: Paired,
        [to_left, to_right]: [&mut Sorter<'_>; 2],
    ) -> Result<()> {
        let Paired { mut surplus, held, .. } = paired;
        if surplus.is_empty() {
            return Ok(());
        }
        let mut pass_on = |batches: [&RecordBatch; 2], digests: [Vec<Digest>; 2]| {
            let sides = [(1, &mut *to_left), (-1, &mut *to_right)];
            for ((batch, digests), (side, to)) in batches.into_iter().zip(digests).zip(sides) {
                let kept = digests.into_iter().map(|digest| Some(surplus.take(digest, side)));
                let kept: BooleanArray = kept.collect();
                if kept.true_count() > 0 {
                    to.push(filter_record_batch(batch, &kept)?)?;
                }
            }
            Ok::<_, Error>(())
        };
        if let Some(held) = held {
            return held.rows.into_iter().try_for_each(|(rows, digests)| pass_on(rows.each_ref(), digests));
        }
        let (mut left, mut right) = (self.plain(left()?), self.plain(right()?));
        let none = RecordBatch::new_empty(Arc::clone(&self.schema));
        loop {
            let (a, b) = (left.next().transpose()?, right.next().transpose()?);
            if a.is_none() && b.is_none() {
                return Ok(());
            }
            let batches = [a.as_ref().unwrap_or(&none), b.as_ref().unwrap_or(&none)];
            pass_on(batches, digester.both(batches, &self.driver)?)?;
        }
    }

    /// Compares the rows of two sides that are sorted by the key, besides `pairs` that are known to be equal.
    fn merge(
        &self,
        mut left: Sorted<'_>,
        mut right: Sorted<'_>,
        key_order: &KeyOrder,
        key: &[String],
        pairs: u64,
    ) -> Result<Difference> {
        let mut found = Difference::default();
        let (mut a, mut b): (Option<RecordBatch>, Option<RecordBatch>) = (None, None);
        loop {
            refill(&mut a, &mut left)?;
            refill(&mut b, &mut right)?;
            let (Some(x), Some(y)) = (&a, &b) else { break };
            let (x_keys, y_keys) = (key_order.rows(x)?, key_order.rows(y)?);
            let (mut i, mut j) = (0, 0);
            let (mut matched_x, mut matched_y) = (Vec::new(), Vec::new());
            while i < x.num_rows() && j < y.num_rows() {
                match x_keys.row(i).cmp(&y_keys.row(j)) {
                    Ordering::Less => {
                        found.unmatched.0 += 1;
                        i += 1;
                    }
                    Ordering::Greater => {
                        found.unmatched.1 += 1;
                        j += 1;
                    }
                    Ordering::Equal => {
                        matched_x.push(i as u64);
                        matched_y.push(j as u64);
                        i += 1;
                        j += 1;
                    }
                }
            }
            found.rows = (found.rows.0 + i as u64, found.rows.1 + j as u64);
            let (head, other) = (picked(x, matched_x)?, picked(y, matched_y)?);
            self.compare_columns(&head, &other, &mut found, |row| {
                let cells = key.iter().map(|name| (name.clone(), shown(head.column_by_name(name), row)));
                RowPlace::Key(cells.collect())
            })?;
            (a, b) = (Some(x.slice(i, x.num_rows() - i)), Some(y.slice(j, y.num_rows() - j)));
        }
        let (only_left, only_right) = (left_over(a, 0, left)?, left_over(b, 0, right)?);
        found.unmatched = (found.unmatched.0 + only_left, found.unmatched.1 + only_right);
        found.rows = (found.rows.0 + only_left + pairs, found.rows.1 + only_right + pairs);
        Ok(found)
    }

    /// Counts and shows the values that differ between two batches with the same number of rows.
    fn compare_columns(
        &self,
        left: &RecordBatch,
        right: &RecordBatch,
        found: &mut Difference,
        place: impl Fn(usize) -> RowPlace,
    ) -> Result<()> {
        for (field, (a, b)) in self.schema.fields().iter().zip(left.columns().iter().zip(right.columns())) {
            if a.to_data() == b.to_data() {
                continue;
            }
            let compare = comparator(a, b)?;
            let near = self.tolerance.and_then(|tolerance| tolerance.compare(a, b));
            let differs =
                |row: &usize| compare(*row, *row).is_ne() && !near.as_ref().is_some_and(|near| near(*row));
            for row in (0..left.num_rows()).filter(differs) {
                found.values += 1;
                if found.first.len() < self.shown {
                    found.first.push(DifferingValue {
                        table: None,
                        row: place(row),
                        column: field.name().clone(),
                        left: shown(Some(a), row),
                        right: shown(Some(b), row),
                    });
                }
            }
        }
        Ok(())
    }
}

/// What pairing equal rows found.
struct Paired {
    /// How many rows are equal to one of the other side.
    pairs: u64,
    /// The others.
    surplus: Surplus,
    /// Rows among which the others are, if they are few.
    held: Option<Held>,
}

/// Rows of both sides that differ from those at the same position, and their digests.
#[derive(Default)]
struct Held {
    rows: Vec<([RecordBatch; 2], [Vec<Digest>; 2])>,
    bytes: u64,
}

impl Held {
    /// With more rows; `None` if they are too many to hold.
    fn with(mut self, rows: [RecordBatch; 2], digests: [Vec<Digest>; 2], memory: u64) -> Option<Self> {
        self.bytes += rows.iter().map(|rows| rows.get_array_memory_size() as u64).sum::<u64>();
        self.rows.push((rows, digests));
        (self.bytes <= HELD_BYTES.min(memory / 8)).then_some(self)
    }
}

/// The rows of two batches of equal length that are not equal; `None` if all are.
fn differing(left: &RecordBatch, right: &RecordBatch) -> Result<Option<BooleanArray>> {
    let mut all: Option<BooleanBuffer> = None;
    for (a, b) in left.columns().iter().zip(right.columns()) {
        if a.to_data() == b.to_data() {
            continue;
        }
        let bits = if a.data_type().is_nested() {
            let compare = comparator(a, b)?;
            BooleanBuffer::collect_bool(a.len(), |row| compare(row, row).is_ne())
        } else {
            distinct(a, b)?.values().clone()
        };
        all = Some(match all {
            Some(all) => &all | &bits,
            None => bits,
        });
    }
    Ok(all.filter(|all| all.count_set_bits() > 0).map(|all| BooleanArray::new(all, None)))
}

/// The rows at these positions; a run of adjacent rows is a slice.
fn picked(batch: &RecordBatch, rows: Vec<u64>) -> Result<RecordBatch> {
    if let (Some(first), Some(last)) = (rows.first(), rows.last())
        && last - first + 1 == rows.len() as u64
    {
        return Ok(batch.slice(*first as usize, rows.len()));
    }
    Ok(take_record_batch(batch, &UInt64Array::from(rows))?)
}

fn refill(
    batch: &mut Option<RecordBatch>,
    more: &mut dyn Iterator<Item = Result<RecordBatch>>,
) -> Result<()> {
    while batch.as_ref().is_none_or(|b| b.num_rows() == 0) {
        let Some(next) = more.next() else {
            *batch = None;
            return Ok(());
        };
        *batch = Some(next?);
    }
    Ok(())
}

/// How many rows are left.
fn left_over(
    batch: Option<RecordBatch>,
    from: usize,
    rest: impl Iterator<Item = Result<RecordBatch>>,
) -> Result<u64> {
    let mut rows = batch.map_or(0, |b| (b.num_rows() - from) as u64);
    for batch in rest {
        rows += batch?.num_rows() as u64;
    }
    Ok(rows)
}

/// Compares rows of two columns of one type.
fn comparator(a: &ArrayRef, b: &ArrayRef) -> Result<DynComparator> {
    Ok(make_comparator(a, b, SortOptions::default())?)
}

fn shown(array: Option<&ArrayRef>, row: usize) -> Option<String> {
    let array = array.filter(|array| !array.is_null(row))?;
    let options = FormatOptions::new().with_display_error(true);
    let formatter = ArrayFormatter::try_new(array.as_ref(), &options).ok()?;
    Some(formatter.value(row).to_string())
}

/// Passes on the rows of both sides that are not equal to the row at the same position of the other side: all rows, or those
/// that are marked. The answer is how many are equal, `None` if `rest` wants no more.
fn pair_off(
    mut left: Batches,
    mut right: Batches,
    mut rest: impl FnMut([&RecordBatch; 2], Option<&BooleanArray>) -> Result<bool>,
) -> Result<Option<u64>> {
    let (mut a, mut b): (Option<RecordBatch>, Option<RecordBatch>) = (None, None);
    let mut pairs = 0;
    loop {
        refill(&mut a, &mut left)?;
        refill(&mut b, &mut right)?;
        let (x, y) = match (a.take(), b.take()) {
            (Some(x), Some(y)) => (x, y),
            (None, None) => return Ok(Some(pairs)),
            (x, y) => {
                // Rows after the end of the other side.
                let none = x.as_ref().or(y.as_ref()).map(|rows| rows.slice(0, 0));
                let sides = [&x, &y].map(|rows| rows.as_ref().or(none.as_ref()));
                match sides {
                    [Some(x), Some(y)] if !rest([x, y], None)? => return Ok(None),
                    _ => continue,
                }
            }
        };
        let n = x.num_rows().min(y.num_rows());
        let (head, other) = (x.slice(0, n), y.slice(0, n));
        let differing = differing(&head, &other)?;
        let count = differing.as_ref().map_or(0, BooleanArray::true_count);
        pairs += (n - count) as u64;
        if let Some(differing) = &differing
            && !rest([&head, &other], Some(differing))?
        {
            return Ok(None);
        }
        (a, b) = (Some(x.slice(n, x.num_rows() - n)), Some(y.slice(n, y.num_rows() - n)));
    }
}
