//! Any bytes, taken for a tet file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tesselle_core::testing::exercise;
use tesselle_fuzz::DRIVER;

fuzz_target!(|bytes: &[u8]| {
    let _ = exercise(&tesselle::tet::Tet, bytes, &DRIVER);
});
