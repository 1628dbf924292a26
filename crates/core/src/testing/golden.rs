//! Counting the golden files that tests have compared.

use std::io::Write as _;
use std::path::Path;

/// Records that a golden file of `format` was compared with its expectation, and equal: adds a line to the file that the
/// variable `TESSELLE_GOLDEN` names, if it is set. `make test` counts the lines.
pub fn compared(format: &str, case: &Path) {
    let Some(list) = std::env::var_os("TESSELLE_GOLDEN") else { return };
    let mut list = std::fs::OpenOptions::new().create(true).append(true).open(list).unwrap();
    // One write, so that lines of concurrent tests do not mix.
    list.write_all(format!("{format} {}\n", case.display()).as_bytes()).unwrap();
}
