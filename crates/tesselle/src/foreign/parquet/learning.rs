//! Conditions that learn while a scan runs, such as the bound of a sort for its first rows. What they know when rows of a
//! group are decoded skips its pages, and selects the rows by the columns of the condition before other columns are decoded.

use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{Array as _, BooleanArray, RecordBatch};
use arrow_select::filter::prep_null_mask_filter;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, RowSelection, RowSelector};
use tesselle_core::{Predicate, Result, Scan};

use super::bounds::{GroupBounds, selected_rows};
use super::table::{converter, row_count};
use super::task::GroupRows;

/// Rows after which a condition is judged.
const TRIAL_ROWS: usize = 64 << 10;
/// A condition that more than one of so many rows passes is not worth reading its columns first.
const SELECTIVE: usize = 16;
/// Row groups, or parts of them, in which a condition may turn out to select too many rows.
const MOST_LOST: usize = 2;

/// The conditions of a plan that learn.
pub(super) struct Learning {
    predicate: Predicate,
    /// The tasks in which too many rows passed.
    lost: AtomicUsize,
}

/// What is left of the rows of a task.
pub(super) enum Narrowed {
    /// None of them can pass.
    Nothing,
    /// These, all of whose columns are decoded.
    Rows(GroupRows),
    /// These, of which the condition selects those to decode.
    Tested(GroupRows, Probe),
}

impl Learning {
    /// `None` if no condition of `predicate` learns.
    pub(super) fn new(predicate: &Predicate) -> Option<Self> {
        predicate.has_custom().then(|| Self { predicate: predicate.clone(), lost: AtomicUsize::new(0) })
    }

    /// Whether the conditions know something.
    pub(super) fn has_learned(&self) -> bool {
        self.predicate.learned().is_some()
    }

    /// A test for the columns of the condition turned out to select too many rows.
    pub(super) fn lose(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether tests are still worth their time.
    pub(super) fn is_worth(&self) -> bool {
        self.lost.load(Ordering::Relaxed) < MOST_LOST
    }

    /// The rows of a row group that can pass what the conditions know by now.
    pub(super) fn narrow(
        &self,
        metadata: &ArrowReaderMetadata,
        group: usize,
        rows: GroupRows,
    ) -> Result<Narrowed> {
        let Some(learned) = self.predicate.learned() else { return Ok(Narrowed::Rows(rows)) };
        let parquet = metadata.metadata();
        let find = |column: &str| converter(metadata, column);
        let Some(entry) = parquet.row_groups().get(group) else { return Ok(Narrowed::Rows(rows)) };
        let left = GroupBounds::new(&learned, std::slice::from_ref(entry), &find).left(0);
        if left == Predicate::Always(false) {
            return Ok(Narrowed::Nothing);
        }
        let all = row_count(entry)?;
        let rows = match selected_rows(parquet, group, all, &left, &find) {
            Some(pages) => rows.intersection(all, &pages),
            None => rows,
        };
        if rows.count == 0 {
            return Ok(Narrowed::Nothing);
        }
        if !self.is_worth() || left.columns().is_empty() {
            return Ok(Narrowed::Rows(rows));
        }
        // Conditions on fewer columns are tested by themselves; otherwise those that learn test more than they state.
        let customs = self.predicate.conjuncts().into_iter().filter(|part| part.has_custom()).cloned();
        let customs = Predicate::And(customs.collect());
        let fewer = left.columns().len() < customs.columns().len();
        let tested = if fewer { left } else { customs };
        let columns = Scan::all().columns(tested.columns()).column_indices(metadata.schema())?;
        let mask = ProjectionMask::roots(parquet.file_metadata().schema_descr(), columns);
        Ok(Narrowed::Tested(rows, Probe { predicate: tested, mask, filters: Vec::new(), seen: 0, passed: 0 }))
    }
}

/// The test of rows by the columns of a condition.
pub(super) struct Probe {
    predicate: Predicate,
    mask: ProjectionMask,
    filters: Vec<BooleanArray>,
    seen: usize,
    passed: usize,
}

impl Probe {
    /// The columns of the condition.
    pub(super) fn mask(&self) -> &ProjectionMask {
        &self.mask
    }

    /// Tests the next rows.
    pub(super) fn test(&mut self, batch: &RecordBatch) -> Result<()> {
        let passing = self.predicate.evaluate(batch)?;
        let passing = if passing.is_nullable() { prep_null_mask_filter(&passing) } else { passing };
        self.seen += passing.len();
        self.passed += passing.true_count();
        self.filters.push(passing);
        Ok(())
    }

    /// Whether so many rows pass that the others are not worth skipping, as far as has been seen.
    pub(super) fn is_lost(&self) -> bool {
        self.seen >= TRIAL_ROWS && self.has_many()
    }

    /// Whether many rows pass.
    pub(super) fn has_many(&self) -> bool {
        self.passed > self.seen / SELECTIVE
    }

    /// The rows of `tested` that pass.
    pub(super) fn passing(&self, tested: &GroupRows, all: usize) -> GroupRows {
        tested.and_then(all, &RowSelection::from_filters(&self.filters))
    }
}

impl GroupRows {
    fn selection_of(&self, all: usize) -> RowSelection {
        self.selection.clone().unwrap_or_else(|| RowSelection::from(vec![RowSelector::select(all)]))
    }

    /// Those of the rows that are also in `other`, which is about all rows of the group.
    fn intersection(&self, all: usize, other: &RowSelection) -> Self {
        Self::of(self.selection_of(all).intersection(other))
    }

    /// Those of the rows that `picked`, which is about them only, selects.
    fn and_then(&self, all: usize, picked: &RowSelection) -> Self {
        Self::of(self.selection_of(all).and_then(picked))
    }

    /// The rows after the first `done`.
    pub(super) fn after(&self, all: usize, done: usize) -> Self {
        let left = RowSelector::select(self.count.saturating_sub(done));
        self.and_then(all, &RowSelection::from(vec![RowSelector::skip(done), left]))
    }

    fn of(selection: RowSelection) -> Self {
        Self { count: selection.row_count(), selection: Some(selection) }
    }
}
