//! Damaged arrays: every file of small arrays truncated and with flipped bits. Nothing panics; a read either fails with
//! an error that states the position, or returns rows.

use std::path::PathBuf;
use std::sync::Arc;

use tesselle_core::storage::MemoryStorage;
use tesselle_core::testing::{Random, exercise_at, is_thorough};
use tesselle_core::{Driver, Location, OpenOptions};
use tesselle_tiledb::TileDb;

use crate::support::{cases, driver, expected, files, options};

fn stored(files: &[(String, Vec<u8>)]) -> Location {
    let storage = MemoryStorage::new();
    for (name, bytes) in files {
        storage.put(format!("array/{name}"), bytes.clone());
    }
    Location::new(Arc::new(storage), "array")
}

fn survive(location: &Location, options: &OpenOptions, driver: &Driver) {
    let _ = exercise_at(&TileDb, location, options, driver);
}

/// Damaged copies of each file.
fn samples() -> usize {
    if is_thorough() { 24 } else { 12 }
}

const SMALL: [&str; 10] = [
    "bc_v7_sparse",
    "consolidated_ignore_file",
    "deletes_consolidated_late",
    "dense_1d_partial_multi",
    "encrypted_sparse",
    "enumeration_extended",
    "hilbert_str_i64",
    "non_split_coords_v1_4_0",
    "pw_v3_sparse",
    "str_dict_zstd_ascii",
];

fn small() -> Vec<PathBuf> {
    cases().into_iter().filter(|case| SMALL.iter().any(|name| case.ends_with(name))).collect()
}

#[test]
fn files_cut_short_are_survived() {
    let driver = driver();
    for case in small() {
        let options = options(&expected(&case));
        let mut intact = Vec::new();
        files(&case.join("array"), &case.join("array"), &mut intact);
        for (at, (name, bytes)) in intact.iter().enumerate() {
            // Every offset near both ends, a sample in between.
            let (step, ends) = ((bytes.len() / samples()).max(1), samples() / 3);
            let lens =
                (0..bytes.len()).filter(|len| *len < ends || bytes.len() - len < ends || len % step == 0);
            for len in lens {
                let mut damaged = intact.clone();
                damaged[at] = (name.clone(), bytes[..len].to_vec());
                survive(&stored(&damaged), &options, &driver);
            }
        }
    }
}

#[test]
fn flipped_bytes_are_survived() {
    let (mut random, driver) = (Random::new(1), driver());
    for case in small() {
        let options = options(&expected(&case));
        let mut intact = Vec::new();
        files(&case.join("array"), &case.join("array"), &mut intact);
        for (at, (name, bytes)) in intact.iter().enumerate() {
            for _ in 0..samples().min(bytes.len()) {
                let mut damaged = bytes.clone();
                let position = random.place(bytes.len());
                damaged[position] ^= 1 << random.below(8);
                let mut all = intact.clone();
                all[at] = (name.clone(), damaged);
                survive(&stored(&all), &options, &driver);
            }
        }
    }
}

#[test]
fn missing_files_are_reported_or_passed_over() {
    let driver = driver();
    for case in small() {
        let options = options(&expected(&case));
        let mut intact = Vec::new();
        files(&case.join("array"), &case.join("array"), &mut intact);
        for at in 0..intact.len() {
            let mut damaged = intact.clone();
            damaged.remove(at);
            survive(&stored(&damaged), &options, &driver);
        }
    }
}
