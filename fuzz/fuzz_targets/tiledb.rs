//! A folder, taken for a TileDB array or group.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use tesselle_core::testing::exercise_at;
use tesselle_fuzz::{Bundle, DRIVER, bundle, folder, options};

fuzz_target!(|bytes: &[u8]| {
    let location = folder(&Bundle::parse(bytes));
    let _ = exercise_at(&tesselle::tiledb::TileDb, &location, &options(), &DRIVER);
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    bundle::mutate(data, size, max_size, seed, 0, |_| {})
});
