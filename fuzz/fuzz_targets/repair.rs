//! The repair contract, on any bytes: a repair fails clearly, or produces a container that verifies and has the contents that it
//! claims. The first byte chooses the format.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use tesselle_core::Format;
use tesselle_core::testing::repair_contract;
use tesselle_fuzz::{Bundle, DRIVER, bundle, file, folder, options, seal};

const TATAMI: u8 = b'a';
const TILEDB: u8 = b'd';

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let format: &dyn Format = match *choice {
        TATAMI => &tesselle::tatami::Tatami,
        TILEDB => &tesselle::tiledb::TileDb,
        b's' => &tesselle::tsfile::TsFile,
        b't' => &tesselle::tet::Tet,
        _ => return,
    };
    let damaged = if *choice == TILEDB { folder(&Bundle::parse(bytes)) } else { file(format, bytes) };
    // Values as stored: a number that is not a date is kept, not repaired.
    let options = options().with_raw(true);
    let _ = repair_contract(format, &damaged, None, &options, &DRIVER, "the input");
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if size > 0 && data[0] == TILEDB {
        return bundle::mutate(data, size, max_size, seed, 1, |_| {});
    }
    if size < 2 || max_size < 2 {
        return fuzzer_mutate(data, size, max_size);
    }
    let new = 1 + fuzzer_mutate(&mut data[1..], size - 1, max_size - 1);
    if data[0] == TATAMI && seed % 2 == 0 {
        seal::tatami(&mut data[1..new]);
    }
    new
});
