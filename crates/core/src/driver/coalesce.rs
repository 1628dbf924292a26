//! Fetching many small ranges in few requests.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::counters::Counters;
use crate::at::At;
use crate::error::{Error, Result, VANISHED};
use crate::stats::RunStats;
use crate::storage::{IoHints, Storage};
use crate::task::ByteRange;

/// Fetches `ranges` in order, coalescing nearby ones of one file as the storage prefers.
pub fn fetch(storage: &dyn Storage, ranges: &[ByteRange], counters: &Counters) -> Result<Vec<Bytes>> {
    if let [only] = ranges {
        // The common case of sequential walks along a file.
        let bytes_fetched = only.range.end.saturating_sub(only.range.start);
        counters.add(&RunStats { requests: 1, bytes_fetched, ..RunStats::default() });
        return storage.read(&only.file, std::slice::from_ref(&only.range)).map_err(vanished);
    }
    let mut answers = vec![Bytes::new(); ranges.len()];
    let hints = storage.hints();
    let mut order: Vec<usize> = (0..ranges.len()).collect();
    order.sort_by(|a, b| {
        let (a, b) = (&ranges[*a], &ranges[*b]);
        (&a.file, a.range.start, a.range.end).cmp(&(&b.file, b.range.start, b.range.end))
    });
    for group in order.chunk_by(|a, b| ranges[*a].file == ranges[*b].file) {
        let Some(first) = group.first() else { continue };
        let sorted: Vec<Range<u64>> = group.iter().map(|i| ranges[*i].range.clone()).collect();
        let requests = coalesce(&sorted, hints);
        let fetched = storage.read(&ranges[*first].file, &requests).map_err(vanished)?;
        counters.add(&RunStats {
            requests: requests.len() as u64,
            bytes_fetched: requests.iter().map(|r| r.end - r.start).sum(),
            ..RunStats::default()
        });
        let mut at = 0;
        for index in group {
            let wanted = &ranges[*index].range;
            while requests
                .get(at)
                .is_some_and(|request| request.end < wanted.end || request.start > wanted.start)
            {
                at += 1;
            }
            let (request, bytes) = (requests.at(at)?, fetched.at(at)?);
            let start = (wanted.start - request.start) as usize;
            answers[*index] = bytes.slice(start..start + (wanted.end - wanted.start) as usize);
        }
    }
    Ok(answers)
}

fn vanished(error: Error) -> Error {
    if !error.is_missing() {
        return error;
    }
    error.class(VANISHED).hint("another process has removed it since it was opened; open it again")
}

/// The sizes of files in order, as 8 little-endian bytes each; empty for a missing file.
pub fn sizes(storage: &dyn Storage, files: &[Arc<str>], counters: &Counters) -> Result<Vec<Bytes>> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    counters.add(&RunStats { requests: files.len() as u64, ..RunStats::default() });
    let sizes = storage.sizes(files)?;
    let bytes =
        |size: Option<u64>| size.map_or_else(Bytes::new, |n| Bytes::copy_from_slice(&n.to_le_bytes()));
    Ok(sizes.into_iter().map(bytes).collect())
}

/// Joins sorted ranges that overlap or are closer than the gap, up to the largest request.
fn coalesce(sorted: &[Range<u64>], hints: IoHints) -> Vec<Range<u64>> {
    let mut requests: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        if let Some(last) = requests.last_mut() {
            let near = range.start <= last.end.saturating_add(hints.gap);
            let joined = last.end.max(range.end);
            if range.end <= last.end || (near && joined - last.start <= hints.max_request) {
                last.end = joined;
                continue;
            }
        }
        requests.push(range.clone());
    }
    requests
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryStorage;

    #[test]
    fn near_ranges_are_joined_and_far_ones_are_not() {
        let hints = IoHints { gap: 10, max_request: 100, concurrency: 1, zero_copy: false };
        let joined = coalesce(&[0..10, 15..20, 31..40, 40..140, 50..60], hints);
        assert_eq!(joined, [0..20, 31..40, 40..140]);
    }

    #[test]
    fn sizes_distinguish_missing_files_from_empty_ones() {
        let storage = MemoryStorage::new();
        storage.put("a", vec![7; 300]);
        storage.put("b/c", vec![]);
        let files = ["a", "none", "b/c", "b"].map(Arc::from);
        let answers = sizes(&storage, &files, &Counters::default()).unwrap();
        let number = |n: u64| n.to_le_bytes().to_vec();
        assert_eq!(answers, [number(300), Vec::new(), number(0), Vec::new()]);
    }

    #[test]
    fn a_file_that_disappeared_has_a_class_of_its_own() {
        let storage = MemoryStorage::new();
        storage.put("a", vec![7; 10]);
        let ranges = ["gone", "a"].map(|name| ByteRange::new(name, 0..1));
        for ranges in [&ranges[..1], &ranges] {
            let error = fetch(&storage, ranges, &Counters::default()).unwrap_err();
            assert!(error.is_vanished() && error.is_missing(), "{error}");
        }
    }

    #[test]
    fn answers_come_in_the_order_of_the_question() {
        let storage = MemoryStorage::new();
        storage.put("a", (0..100).collect::<Vec<u8>>());
        storage.put("b", vec![7; 10]);
        let ranges = [
            ByteRange::new("a", 50..52),
            ByteRange::new("b", 0..1),
            ByteRange::new("a", 0..3),
            ByteRange::new("a", 1..60),
            ByteRange::new("a", 9..9),
        ];
        let counters = Counters::default();
        let answers = fetch(&storage, &ranges, &counters).unwrap();
        assert_eq!(answers[0][..], [50, 51]);
        assert_eq!(answers[1][..], [7]);
        assert_eq!(answers[2][..], [0, 1, 2]);
        assert_eq!(answers[3].len(), 59);
        assert!(answers[4].is_empty());
        assert_eq!(counters.snapshot().requests, 2);
    }
}
