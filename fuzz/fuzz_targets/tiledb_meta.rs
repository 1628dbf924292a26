//! The structures of a TileDB array behind their filters. The first byte chooses which.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use tesselle::tiledb::testing::parse;
use tesselle_core::ErrorKind;

fuzz_target!(|bytes: &[u8]| {
    let Some((structure, bytes)) = bytes.split_first() else { return };
    if let Err(error) = parse(*structure, bytes) {
        assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, _seed: u32| {
    if size < 2 || max_size < 2 {
        return fuzzer_mutate(data, size, max_size);
    }
    1 + fuzzer_mutate(&mut data[1..], size - 1, max_size - 1)
});
