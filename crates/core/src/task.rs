//! The unit of reading: of parallelism, progress, memory accounting, retries and distribution.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;

use crate::driver::take_share;
use crate::error::Result;
use crate::stats::RunStats;

/// A byte range of one file of a container.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ByteRange {
    /// The path in the storage.
    pub file: Arc<str>,
    /// The bytes.
    pub range: Range<u64>,
}

impl ByteRange {
    /// A range of `file`.
    pub fn new(file: impl Into<Arc<str>>, range: Range<u64>) -> Self {
        Self { file: file.into(), range }
    }
}

/// A request of a task to its driver.
#[derive(Debug)]
pub enum Step {
    /// Fetch these ranges and call again with them, in this order.
    Need(Vec<ByteRange>),
    /// Get the sizes of these files and call again with them, in this order: 8 little-endian bytes each, empty for a
    /// missing file.
    Sizes(Vec<Arc<str>>),
    /// Take this batch and call again with nothing.
    Batch(RecordBatch),
    /// There is no more.
    Done,
}

/// The expected cost of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// Chunks, pages or tiles it decodes.
    pub pieces: u64,
    /// Bytes it fetches.
    pub bytes_in: u64,
    /// Peak memory, fetched and decoded bytes together.
    pub memory: u64,
    /// Rows of its batches if nothing is filtered; 0 if unknown.
    pub rows: u64,
}

impl Cost {
    /// Takes the bytes that `rows` of the rest account for; all of them are left where the rows are unknown.
    pub(crate) fn take(&mut self, rows: u64) -> u64 {
        take_share(&mut self.bytes_in, &mut self.rows, rows)
    }
}

/// Decodes one or a few chunks, pages or tiles; does no I/O itself.
///
/// A task can be recreated elsewhere from (uri, table, scan, position in the plan): plans are deterministic.
pub trait Task: Send {
    /// The expected cost.
    fn cost(&self) -> Cost;

    /// The decoded bytes of its largest piece as far as it is known, which it holds at once however it goes about its work.
    /// Asked before each step: a task may learn the sizes of its pieces on the way, before it decodes them.
    fn largest_piece(&self) -> u64 {
        0
    }

    /// The next step. `fetched` answers the last [`Step::Need`] or [`Step::Sizes`], one by one, and is empty otherwise.
    ///
    /// Not called again after an error or [`Step::Done`].
    fn step(&mut self, fetched: Vec<Bytes>) -> Result<Step>;
}

/// The tasks of a scan, in row order if the table has one.
pub struct Plan {
    /// The tasks.
    pub tasks: Vec<Box<dyn Task>>,
    /// Chunks, pages or tiles of the table, for the columns and rows of the scan.
    pub pieces: u64,
    /// Those pruned by index, selection and statistics.
    pub pruned: u64,
}

impl Plan {
    /// A plan that reads nothing.
    pub fn empty() -> Self {
        Self { tasks: Vec::new(), pieces: 0, pruned: 0 }
    }

    /// Cuts the tasks into at most `parts` runs of about equal cost, so that row order is kept inside each.
    pub fn runs(&self, parts: usize) -> Vec<Range<usize>> {
        let costs: Vec<u64> = self.tasks.iter().map(|task| task.cost().bytes_in.max(1)).collect();
        cut(&costs, parts)
    }

    /// The counts of the plan, before it runs.
    pub fn stats(&self) -> RunStats {
        RunStats { pieces: self.pieces, pruned: self.pruned, ..RunStats::default() }
    }
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plan")
            .field("tasks", &self.tasks.len())
            .field("pieces", &self.pieces)
            .field("pruned", &self.pruned)
            .finish()
    }
}

fn cut(costs: &[u64], parts: usize) -> Vec<Range<usize>> {
    let total: u128 = costs.iter().map(|cost| u128::from(*cost)).sum();
    let mut runs = Vec::new();
    let (mut start, mut sum) = (0, 0_u128);
    for (i, cost) in costs.iter().enumerate() {
        sum += u128::from(*cost);
        let goal = total * (runs.len() as u128 + 1) / parts.max(1) as u128;
        if sum >= goal {
            runs.push(start..i + 1);
            start = i + 1;
        }
    }
    if start < costs.len() || runs.is_empty() {
        runs.push(start..costs.len());
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn runs_cover_all_tasks_and_cost_about_the_same() {
        assert_eq!(cut(&[], 4), vec![0..0; 1]);
        assert_eq!(cut(&[1, 1, 1, 1], 2), [0..2, 2..4]);
        assert_eq!(cut(&[9, 1, 1, 1], 2), [0..1, 1..4]);
        assert_eq!(cut(&[1, 1], 8), [0..1, 1..2]);
        assert_eq!(cut(&[1, 1, 100], 3), vec![0..3; 1]);
        for parts in 1..9 {
            let costs: Vec<u64> = (0..37).map(|i| i * 7 % 11 + 1).collect();
            let runs = cut(&costs, parts);
            assert!(runs.len() <= parts, "{runs:?}");
            let flat: Vec<usize> = runs.into_iter().flatten().collect();
            assert_eq!(flat, (0..37).collect::<Vec<_>>());
        }
    }
}
