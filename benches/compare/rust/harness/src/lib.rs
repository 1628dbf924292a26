//! What the bench binaries share: the arguments they take and the way they tell results.

use std::path::{Path, PathBuf};
use std::time::Instant;

/// The arguments every bench binary takes: a job and the folder with the data.
pub fn arguments() -> (String, PathBuf) {
    let mut args = std::env::args().skip(1);
    let job = args.next().expect("the first argument is the job");
    let folder = args.next().expect("the second argument is the data folder");
    (job, folder.into())
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
    println!("{}", serde_json::json!({ "seconds": seconds, "answer": 0.0 }));
}

/// Removes a file of an earlier run: freeing its blocks is not part of writing a new one.
pub fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
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
    println!("{}", serde_json::json!({ "seconds": seconds, "answer": answer }));
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
