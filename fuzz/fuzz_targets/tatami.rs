//! Any bytes, taken for a tatami file and for a search segment. Mutations keep its checksums right, mostly.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use tesselle::tatami::search::{SearchOptions, Syntax, search};
use tesselle_core::testing::exercise;
use tesselle_fuzz::{DRIVER, file, options, seal};

fuzz_target!(|bytes: &[u8]| {
    let format = &tesselle::tatami::Tatami;
    let _ = exercise(format, bytes, &DRIVER);
    let request = SearchOptions::default().with_syntax(Syntax::Boolean).with_highlight(40);
    let query = "the OR (river AND NOT \"a b\")";
    let _ = DRIVER.install(|| search(&file(format, bytes), query, &request, &options(), &DRIVER));
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let size = fuzzer_mutate(data, size, max_size);
    // Wrong checksums have to be found as well.
    if seed % 16 != 0 {
        seal::tatami(&mut data[..size]);
    }
    size
});
