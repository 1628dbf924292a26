//! Fetching many small ranges in few requests.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::counters::Counters;
use super::parallel;
use crate::at::At;
use crate::error::{Error, Result, VANISHED};
use crate::stats::RunStats;
use crate::storage::{IoHints, Storage};
use crate::task::ByteRange;

/// From this many files on they are read on the threads of the driver: opening one takes longer than passing it on.
const MANY_FILES: usize = 16;

/// Fetches `ranges` in order, coalescing nearby ones of one file as the storage prefers. On a thread of a driver, many
/// files are read at once.
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
    let groups: Vec<&[usize]> = order.chunk_by(|a, b| ranges[*a].file == ranges[*b].file).collect();
    let read = |group: &[usize]| fetch_file(storage, ranges, group, hints, counters);
    let files = if groups.len() >= MANY_FILES || hints.concurrency > 1 {
        parallel::try_map(groups.iter().copied(), read)?
    } else {
        groups.iter().copied().map(read).collect::<Result<_>>()?
    };
    for (group, bytes) in groups.into_iter().zip(files) {
        for (index, bytes) in group.iter().zip(bytes) {
            answers[*index] = bytes;
        }
    }
    Ok(answers)
}

/// Fetches the ranges `group` of one file, which are sorted.
fn fetch_file(
    storage: &dyn Storage,
    ranges: &[ByteRange],
    group: &[usize],
    hints: IoHints,
    counters: &Counters,
) -> Result<Vec<Bytes>> {
    let Some(first) = group.first() else { return Ok(Vec::new()) };
    if let [only] = group {
        return fetch(storage, std::slice::from_ref(&ranges[*only]), counters);
    }
    let sorted: Vec<Range<u64>> = group.iter().map(|i| ranges[*i].range.clone()).collect();
    let requests = coalesce(&sorted, hints);
    let fetched = storage.read(&ranges[*first].file, &requests).map_err(vanished)?;
    counters.add(&RunStats {
        requests: requests.len() as u64,
        bytes_fetched: requests.iter().map(|r| r.end - r.start).sum(),
        ..RunStats::default()
    });
    let mut at = 0;
    let cut = |wanted: Range<u64>| {
        while requests.get(at).is_some_and(|request| request.end < wanted.end || request.start > wanted.start)
        {
            at += 1;
        }
        let (request, bytes) = (requests.at(at)?, fetched.at(at)?);
        let start = (wanted.start - request.start) as usize;
        Ok(bytes.slice(start..start + (wanted.end - wanted.start) as usize))
    };
    sorted.into_iter().map(cut).collect()
}

/// A file that was there when the container was opened has been removed since.
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
    use super::super::{Driver, DriverOptions};
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
    fn many_files_are_read_at_once_with_the_same_answers() {
        let storage = MemoryStorage::new();
        let name = |file: usize| format!("f{:02}", file % 40);
        (0..40_u8).for_each(|file| storage.put(name(file.into()), vec![file; 100]));
        let ranges: Vec<ByteRange> =
            (0..120).map(|i| ByteRange::new(name(i * 7), i as u64 % 50..i as u64 % 50 + 9)).collect();
        let counters = Counters::default();
        let here = fetch(&storage, &ranges, &counters).unwrap();
        let driver = Driver::try_new(&DriverOptions::default().with_threads(3)).unwrap();
        assert_eq!(driver.install(|| fetch(&storage, &ranges, &counters)).unwrap(), here);
        assert!(here.iter().enumerate().all(|(i, bytes)| bytes[..] == [(i * 7 % 40) as u8; 9]));
        assert_eq!(counters.snapshot().requests, 240);
        let missing = [ranges, vec![ByteRange::new("f99", 0..1), ByteRange::new("f98", 0..1)]].concat();
        let error = driver.install(|| fetch(&storage, &missing, &counters)).unwrap_err();
        assert!(error.to_string().contains("f98"), "{error}");
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
