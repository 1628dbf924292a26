//! Any bytes, taken for a TsFile, and for the deletions next to one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tesselle_core::testing::exercise;
use tesselle_fuzz::DRIVER;

fuzz_target!(|bytes: &[u8]| {
    let _ = exercise(&tesselle::tsfile::TsFile, bytes, &DRIVER);
    let _ = tesselle::tsfile::testing::parse_all(bytes);
});
