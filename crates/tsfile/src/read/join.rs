//! Joins the sources of a device on time into rows.
//!
//! The join goes window by window. A window ends where the first of the decoded runs ends, so every source
//! knows all its times in it. Most devices write their series together: then all runs have equal times and
//! values are copied in bulk; otherwise the times are merged and each source is mapped to its row, if any, at
//! each time.

use std::sync::Arc;

use tesselle_core::At;
use tesselle_core::Result;
use tesselle_core::Within;

use super::batch::BatchBuilder;
use super::column::NONE;
use super::run::Run;
use super::source::{Source, TaskInput};
use super::times::Buffers;

/// Appends the next window of rows. Returns `false` when all sources are exhausted.
pub(crate) fn join_window(
    sources: &mut [Source],
    input: &TaskInput,
    buffers: &mut Buffers,
    batch: &mut BatchBuilder,
) -> Result<bool> {
    let most = batch.batch_rows().max(1);
    let mut end: Option<i64> = None;
    for source in sources.iter_mut() {
        source.fill(input, buffers)?;
        let rest = source.run.as_ref().map(Run::rest).unwrap_or_default();
        let last = rest.get(most.min(rest.len()).saturating_sub(1));
        end = match (end, last) {
            (Some(end), Some(last)) => Some(end.min(*last)),
            (end, last) => end.or(last.copied()),
        };
    }
    let Some(end) = end else { return Ok(false) };
    if make_one_batch(sources, batch)? {
        return Ok(true);
    }
    let parts: Vec<usize> = sources
        .iter()
        .map(|s| s.run.as_ref().map_or(0, |run| run.rest().partition_point(|time| *time <= end)))
        .collect();
    let times = union(sources, &parts);
    batch.begin_rows(&times);
    for (source, n) in sources.iter_mut().zip(parts) {
        let Some(run) = source.run.as_mut().filter(|_| n > 0) else { continue };
        let (from, to) = (run.position, run.position + n);
        let mine = run.times.part(from..to)?;
        if mine.len() == times.len() {
            for (column, values) in source.columns.iter().zip(&run.columns) {
                batch.range(column.slot, values, from, to)?;
            }
        } else {
            let rows = place(mine, from, &times);
            for (column, values) in source.columns.iter().zip(&run.columns) {
                batch.picks(column.slot, values, &rows)?;
            }
        }
        run.position = to;
    }
    batch.end_rows();
    Ok(true)
}

/// Turns the decoded runs into a batch without copying, if they are pages with equal times and large enough.
fn make_one_batch(sources: &mut [Source], batch: &mut BatchBuilder) -> Result<bool> {
    let mut runs = sources.iter().map(|source| source.run.as_ref());
    let Some(Some(first)) = runs.next() else { return Ok(false) };
    let same = |run: &Run| Arc::ptr_eq(&run.times, &first.times) || run.times == first.times;
    if !first.is_whole()
        || !batch.is_batch(first.times.len())
        || !runs.all(|run| run.is_some_and(|run| run.is_whole() && same(run)))
    {
        return Ok(false);
    }
    let last = first.times.last().copied();
    batch.adopt(sources.iter_mut().filter_map(|source| {
        source.last = last;
        Some((source.run.take()?, source.columns.as_slice()))
    }))?;
    Ok(true)
}

/// All times of the window, ascending and distinct.
fn union(sources: &[Source], parts: &[usize]) -> Vec<i64> {
    let mut all: Vec<i64> = Vec::new();
    // Runs that share their decoded times need no comparison.
    let mut last: Option<(&Arc<Vec<i64>>, usize, usize)> = None;
    for (source, n) in sources.iter().zip(parts) {
        let Some(run) = source.run.as_ref().filter(|_| *n > 0) else { continue };
        if last.is_some_and(|(times, at, m)| Arc::ptr_eq(times, &run.times) && (at, m) == (run.position, *n))
        {
            continue;
        }
        last = Some((&run.times, run.position, *n));
        let mine = run.rest().within(..*n);
        if all.is_empty() {
            all.extend_from_slice(mine);
        } else if all != mine {
            all = merge(&all, mine);
        }
    }
    all
}

fn merge(a: &[i64], b: &[i64]) -> Vec<i64> {
    let mut out = Vec::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
        let next = **x.min(y);
        a.next_if(|x| **x == next);
        b.next_if(|y| **y == next);
        out.push(next);
    }
    out.extend(a);
    out.extend(b);
    out
}

/// For each of `times` the row at that time, counted from `first`, or [`NONE`].
fn place(mine: &[i64], first: usize, times: &[i64]) -> Vec<u32> {
    let mut next = mine.iter().zip(first as u32..).peekable();
    times.iter().map(|time| next.next_if(|(mine, _)| *mine == time).map_or(NONE, |(_, row)| row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_merge_and_rows_are_matched() {
        let all = merge(&[1, 3, 5], &[2, 3, 9]);
        assert_eq!(all, [1, 2, 3, 5, 9]);
        assert_eq!(place(&[2, 3, 9], 10, &all), [NONE, 10, 11, NONE, 12]);
    }
}
