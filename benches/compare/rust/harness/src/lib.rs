//! Shared parts of the bench binaries: their arguments and the report of results.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

/// The arguments every bench binary takes: a job and the folder with the data.
pub fn arguments() -> (String, PathBuf) {
    let mut args = std::env::args().skip(1);
    let job = args.next().expect("the first argument is the job");
    let folder = args.next().expect("the second argument is the data folder");
    (job, folder.into())
}

/// A size of the data: `tiny` where the drivers are only tried, with `compare.py --tiny`.
pub fn sized<T>(full: T, tiny: T) -> T {
    if std::env::var_os("COMPARE_TINY").is_some() { tiny } else { full }
}

/// Like [`report`], with something to do before each run that is not timed.
pub fn report_after(runs: usize, mut before: impl FnMut(), mut work: impl FnMut()) {
    let mut seconds = Vec::new();
    for _ in 0..runs {
        before();
        let start = Instant::now();
        work();
        seconds.push(start.elapsed().as_secs_f64());
    }
    println!("{}", json!({ "seconds": seconds, "answer": 0.0 }));
}

/// Removes a file or folder of an earlier run: freeing its blocks is not part of writing a new one.
pub fn remove(path: &Path) {
    let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
}

/// Runs `work` a few times and prints the seconds of each run and the answer, which all engines must agree on.
pub fn report(runs: usize, mut work: impl FnMut() -> f64) {
    let mut seconds = Vec::new();
    let mut answer = 0.0;
    for _ in 0..runs {
        let start = Instant::now();
        answer = work();
        seconds.push(start.elapsed().as_secs_f64());
    }
    println!("{}", json!({ "seconds": seconds, "answer": answer }));
}

/// Writes `target` a few times; prints the seconds and the size of what was written.
pub fn report_written(runs: usize, target: &Path, mut work: impl FnMut()) {
    let mut seconds = Vec::new();
    for _ in 0..runs {
        remove(target);
        let start = Instant::now();
        work();
        seconds.push(start.elapsed().as_secs_f64());
    }
    println!("{}", json!({ "seconds": seconds, "answer": 0.0, "bytes": size(target) }));
}

/// The bytes of a file, or of all files in a folder.
pub fn size(path: &Path) -> u64 {
    if !path.is_dir() {
        return path.metadata().map_or(0, |meta| meta.len());
    }
    std::fs::read_dir(path).unwrap().map(|entry| size(&entry.unwrap().path())).sum()
}

/// Does `work` for each of `items`, after one round to warm up; prints the seconds of each round, the sum of the
/// answers, how many items there were, and the time that 99 of 100 did not exceed.
pub fn report_each<T>(runs: usize, items: &[T], mut work: impl FnMut(&T) -> f64) {
    let (mut seconds, mut each, mut answer) = (Vec::new(), Vec::new(), 0.0);
    for run in 0..=runs {
        let start = Instant::now();
        answer = 0.0;
        for item in items {
            let begun = Instant::now();
            answer += work(item);
            if run > 0 {
                each.push(begun.elapsed().as_secs_f64());
            }
        }
        if run > 0 {
            seconds.push(start.elapsed().as_secs_f64());
        }
    }
    each.sort_by(f64::total_cmp);
    let p99: Value = each.get(each.len() * 99 / 100).copied().into();
    println!("{}", json!({ "seconds": seconds, "answer": answer, "done": items.len(), "p99": p99 }));
}

/// Runs `work` a few times and prints the seconds of each run with an answer that was found before: adding up the
/// values is not part of reading them.
pub fn report_known(runs: usize, answer: f64, mut work: impl FnMut()) {
    let mut seconds = Vec::new();
    for _ in 0..runs {
        let start = Instant::now();
        work();
        seconds.push(start.elapsed().as_secs_f64());
    }
    println!("{}", serde_json::json!({ "seconds": seconds, "answer": answer }));
}
