//! What the bench binaries share: the jobs' data and the way results are told.

use std::path::{Path, PathBuf};
use std::time::Instant;

/// Side of the square tensor.
pub const SIDE: u64 = 16384;
/// Side of a chunk, and of a window.
pub const CHUNK: u64 = 512;

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

/// The upper left corners of the windows: the same sequence in every engine.
pub fn windows() -> impl Iterator<Item = (u64, u64)> {
    let mut state = 12345_u64;
    let mut next = move || {
        state = (state * 1_103_515_245 + 12345) % (1 << 31);
        state % (SIDE - CHUNK)
    };
    (0..100).map(move |_| (next(), next()))
}

/// The tensor of `base.npy`, as bytes.
pub fn base(folder: &Path) -> Vec<u8> {
    let mut bytes = std::fs::read(folder.join("base.npy")).expect("base.npy is there");
    let header = bytes.len() - (SIDE * SIDE * 4) as usize;
    bytes.drain(..header);
    bytes
}

/// One little-endian single.
pub fn cell(bytes: &[u8], index: usize) -> f64 {
    let at = index * 4;
    f64::from(f32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]))
}
