//! Times in order, after those already flushed.

use tesselle_core::{Action, Error, Result, Within};

use super::super::values::Rows;
use super::super::writer_options::Order;

/// The buffered times, and the max of earlier ones.
#[derive(Debug)]
pub(crate) struct Timeline {
    /// Times of the buffered rows.
    pub(crate) times: Vec<i64>,
    /// The max time so far.
    last: Option<i64>,
    /// The max flushed time.
    flushed: Option<i64>,
    /// The max time of the file that is added to.
    resumed: Option<i64>,
    sorted: bool,
}

/// A saved state of a timeline, restored when a write fails.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    len: usize,
    last: Option<i64>,
    sorted: bool,
}

/// Whether every time is after the previous one. Counts instead of stopping early: almost always all are.
pub(crate) fn ascends(times: &[i64]) -> bool {
    times.iter().zip(times.iter().skip(1)).filter(|(a, b)| a >= b).count() == 0
}

impl Timeline {
    pub(crate) fn new() -> Self {
        Self { times: Vec::new(), last: None, flushed: None, resumed: None, sorted: true }
    }

    /// Goes on after the last time of a file.
    pub(crate) fn resume_after(&mut self, last: i64) {
        (self.last, self.flushed, self.resumed) = (Some(last), Some(last), Some(last));
    }

    /// Whether these times, which ascend, come after all earlier ones.
    pub(crate) fn continues(&self, times: &[i64]) -> bool {
        times.first().is_none_or(|first| self.last.is_none_or(|last| *first > last))
    }

    /// Checks times before anything is stored.
    pub(crate) fn check(&self, times: impl Iterator<Item = i64>, order: Order) -> Result<()> {
        let mut last = self.last;
        for time in times {
            if let Some(resumed) = self.resumed.filter(|resumed| time <= *resumed) {
                return Err(Error::invalid(format!(
                    "time {time} is not after {resumed}, the last time of the series in the file"
                ))
                .hint("an append needs later times; merge older points into a new file instead"));
            }
            if order == Order::Refuse && last.is_some_and(|last| time <= last) {
                return Err(not_ascending(time, last.unwrap_or_default()));
            }
            if let Some(flushed) = self.flushed.filter(|flushed| time <= *flushed) {
                return Err(Error::invalid(format!(
                    "time {time} comes after {flushed} has been written to the file"
                ))
                .hint("sort the input, or raise group_bytes so that more of it is sorted at a time"));
            }
            last = Some(time);
        }
        Ok(())
    }

    /// Appends the times that `keep` selects.
    pub(crate) fn append(&mut self, times: &[i64], keep: Rows<'_>) {
        let from = self.times.len();
        keep.copy(times, &mut self.times);
        let new = self.times.within(from..);
        let Some(max) = new.iter().copied().max() else { return };
        self.sorted &= ascends(new) && new.first().zip(self.last).is_none_or(|(first, last)| *first > last);
        self.last = Some(self.last.map_or(max, |last| last.max(max)));
    }

    /// Records times that were encoded without buffering.
    pub(crate) fn pass(&mut self, times: &[i64]) {
        self.last = times.last().copied().or(self.last);
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { len: self.times.len(), last: self.last, sorted: self.sorted }
    }

    pub(crate) fn go_back(&mut self, mark: Mark) {
        self.times.truncate(mark.len);
        (self.last, self.sorted) = (mark.last, mark.sorted);
    }

    /// The rows in time order, of equal times the last; `None` if they are in order already.
    pub(crate) fn sorted_rows(&self) -> Option<Vec<usize>> {
        if self.sorted {
            return None;
        }
        let at = |i: &usize| self.times.get(*i).copied();
        let mut rows: Vec<usize> = (0..self.times.len()).collect();
        rows.sort_by_key(at);
        // Equal times are adjacent in their original order; the last of them is kept.
        rows.reverse();
        rows.dedup_by_key(|i| at(i));
        rows.reverse();
        Some(rows)
    }

    pub(crate) fn sort(&mut self, rows: &[usize]) {
        let mut times = Vec::with_capacity(rows.len());
        Rows::At(rows).copy(&self.times, &mut times);
        self.times = times;
        self.sorted = true;
    }

    pub(crate) fn flush(&mut self) {
        self.flushed = self.last.max(self.flushed);
        self.times = Vec::new();
        self.sorted = true;
    }
}

fn not_ascending(time: i64, last: i64) -> Error {
    if time == last {
        return Error::invalid(format!("time {time} occurs twice")).suggest(
            "remove one of the two, or add {} to keep the last",
            [Action::setting("order", "sort")],
        );
    }
    Error::invalid(format!("time {time} comes after {last}; times must ascend")).suggest(
        "sort the input, or add {}, which keeps the last of equal times",
        [Action::setting("order", "sort")],
    )
}
