//! Arbitrary bytes as a TsFile, and as the deletions next to one.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tesselle_core::{Driver, DriverOptions};

static DRIVER: LazyLock<Driver> =
    LazyLock::new(|| Driver::new(&DriverOptions { threads: Some(1), memory: Some(256 << 20) }).unwrap());

fuzz_target!(|bytes: &[u8]| {
    let _ = tesselle_core::testing::exercise(&tesselle_tsfile::TsFile, bytes, &DRIVER);
    let _ = tesselle_tsfile::meta::mods2::parse_all(bytes);
});
