//! The structures of a TileDB array behind their filters. The first byte chooses which.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use tesselle::tiledb::meta::commits::{parse_consolidated, parse_lines};
use tesselle::tiledb::meta::condition::Condition;
use tesselle::tiledb::meta::consolidated::ConsolidatedFooters;
use tesselle::tiledb::meta::enumeration::Enumeration;
use tesselle::tiledb::meta::generic_tile::GenericTile;
use tesselle::tiledb::meta::group::GroupDetails;
use tesselle::tiledb::meta::key_value;
use tesselle::tiledb::meta::schema::ArraySchema;
use tesselle::tiledb::meta::statistics::{parse_numbers, parse_summary};
use tesselle_core::{ErrorKind, Result};

fn judge<T>(result: Result<T>) {
    if let Err(error) = result {
        assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    match choice {
        b's' => judge(ArraySchema::parse(bytes)),
        b'k' => judge(key_value::parse(bytes)),
        b'c' => judge(Condition::parse(bytes, 64)),
        b'e' => judge(Enumeration::parse(bytes)),
        b'g' => judge(GroupDetails::parse(bytes)),
        b't' => judge(GenericTile::parse(bytes, 0, None, 1 << 20)),
        b'f' => judge(ConsolidatedFooters::parse(bytes)),
        b'm' => {
            judge(parse_numbers(bytes, "numbers"));
            judge(parse_summary(bytes, 5));
        }
        b'v' => {
            judge(parse_consolidated(bytes));
            parse_lines(bytes);
        }
        _ => {}
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, _seed: u32| {
    if size < 2 || max_size < 2 {
        return fuzzer_mutate(data, size, max_size);
    }
    1 + fuzzer_mutate(&mut data[1..], size - 1, max_size - 1)
});
