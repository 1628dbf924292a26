//! A file of another format, or the folder of a Zarr array. The first byte chooses which.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use tesselle::foreign::{ArrowIpc, Csv, JsonLines, Npy, Parquet, Zarr, silence_reader_panics};
use tesselle_core::Format;
use tesselle_core::testing::exercise_at;
use tesselle_fuzz::{Bundle, DRIVER, bundle, file, folder, options};

const ZARR: u8 = b'z';

fuzz_target!(|bytes: &[u8]| {
    silence_reader_panics();
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let format: &dyn Format = match choice {
        b'a' => &ArrowIpc,
        b'c' => &Csv,
        b'j' => &JsonLines,
        b'n' => &Npy,
        b'p' => &Parquet,
        &ZARR => &Zarr,
        _ => return,
    };
    let location = if *choice == ZARR { folder(&Bundle::parse(bytes)) } else { file(format, bytes) };
    let _ = exercise_at(format, &location, &options(), &DRIVER);
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if size > 0 && data[0] == ZARR {
        return bundle::mutate(data, size, max_size, seed, 1, |_| {});
    }
    if size < 2 || max_size < 2 {
        return fuzzer_mutate(data, size, max_size);
    }
    // The choice stays: what was learned of one format does not help with another.
    1 + fuzzer_mutate(&mut data[1..], size - 1, max_size - 1)
});
