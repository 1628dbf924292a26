//! Runs of equal strings: `run length | string length | string`, repeated.

use super::{Output, cells, check_width, put, take, take_int, width_of};
use crate::Result;

const WHAT: &str = "string run-length stream";

/// The widths of the two integers of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Widths {
    /// Bytes of a run length.
    pub run: u8,
    /// Bytes of a string length.
    pub string: u8,
}

/// Appends the runs of the strings of `data` that start at `offsets`.
pub fn encode(data: &[u8], offsets: &[u64], dst: &mut Vec<u8>) -> Result<Widths> {
    let mut runs: Vec<(&[u8], u64)> = Vec::new();
    for cell in cells(WHAT, data, offsets) {
        let cell = cell?;
        match runs.last_mut() {
            Some((last, count)) if *last == cell => *count += 1,
            _ => runs.push((cell, 1)),
        }
    }
    let run = width_of(runs.iter().map(|(_, count)| *count).max().unwrap_or(0));
    let string = width_of(runs.iter().map(|(cell, _)| cell.len() as u64).max().unwrap_or(0));
    for (cell, count) in runs {
        put(count, run, dst);
        put(cell.len() as u64, string, dst);
        dst.extend_from_slice(cell);
    }
    Ok(Widths { run, string })
}

/// Fills `data` and `offsets` with the strings of a run-length stream; their number must match exactly.
pub fn decode(widths: Widths, mut src: &[u8], data: &mut [u8], offsets: &mut [u64]) -> Result<()> {
    let run_width = check_width(WHAT, widths.run)?;
    let string_width = check_width(WHAT, widths.string)?;
    let mut out = Output { what: WHAT, data, offsets, filled: 0, strings: 0 };
    while !src.is_empty() {
        let run = take_int(WHAT, &mut src, run_width)?;
        let len = take_int(WHAT, &mut src, string_width)?;
        let string = take(WHAT, &mut src, len)?;
        // Stops early on a hostile count, because `offsets` bounds it.
        for _ in 0..run {
            out.push(string)?;
        }
    }
    out.finish()
}
