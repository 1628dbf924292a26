//! Damage: whatever happens to the bytes, a reader returns.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod golden;

use golden::{Case, driver};
use tesselle_tet::exercise;

/// Small cases that between them have every structure.
fn small(names: &[&str]) -> Vec<Case> {
    golden::cases().into_iter().filter(|case| names.contains(&&*case.name)).collect()
}

#[test]
fn truncation_at_every_offset_is_survived() {
    let names = [
        "dtype_f32_zstd",
        "rank3_raw",
        "names_utf8_groups",
        "footer_v1_provenance",
        "empty_32",
        "mixed_codecs_two_datasets",
    ];
    for case in small(&names) {
        let bytes = case.bytes();
        for end in 0..bytes.len() {
            exercise(&bytes[..end], &driver());
        }
        assert!(exercise(&bytes, &driver()));
    }
}

#[test]
fn truncated_documents_are_survived() {
    for case in small(&["session_weather_v2"]) {
        let bytes = case.bytes();
        for end in (0..bytes.len()).step_by(13) {
            exercise(&bytes[..end], &driver());
        }
    }
}

/// A generator whose every run is the same.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Flips a few bits or bytes of `original`, again and again; how often the result was refused.
fn flip(original: &[u8], seed: u64, times: u32) -> u32 {
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ seed);
    let mut refused = 0;
    for _ in 0..times {
        let mut bytes = original.to_vec();
        for _ in 0..=random.next() % 4 {
            let at = random.next() as usize % bytes.len();
            // Half of the time one bit, else a byte that lengths like.
            bytes[at] = match random.next() % 4 {
                0 => 0,
                1 => 0xff,
                _ => bytes[at] ^ (1 << (random.next() % 8)),
            };
        }
        refused += u32::from(!exercise(&bytes, &driver()));
    }
    refused
}

#[test]
fn random_flips_are_survived() {
    let names = [
        "dtype_f32_zstd",
        "footer_v1_provenance",
        "odd_index_rows_reversed",
        "odd_zstd_two_frames",
        "budget_both",
    ];
    let refused: u32 = (1..).zip(small(&names)).map(|(seed, case)| flip(&case.bytes(), seed, 10_000)).sum();
    assert!(refused > 1000, "{refused}");
}

/// The whole collection: `make hostile`, in an optimised build.
#[test]
#[ignore = "minutes of work; run by make hostile"]
fn every_small_file_survives_every_cut_and_ten_thousand_flips() {
    let mut files = 0;
    for (seed, case) in (1..).zip(golden::cases()) {
        let bytes = case.bytes();
        if bytes.is_empty() || bytes.len() > 16 << 10 {
            continue;
        }
        for end in 0..bytes.len() {
            exercise(&bytes[..end], &driver());
        }
        flip(&bytes, seed, 10_000);
        files += 1;
    }
    assert!(files > 5, "{files}");
}

#[test]
fn flips_in_documents_are_survived() {
    for case in small(&["session_weather_v2", "session_fill_nan_v2"]) {
        let original = case.bytes();
        let json = case.expected["footer"]["payload_end"].as_u64().unwrap() as usize;
        let mut random = Random(77);
        for _ in 0..1000 {
            let mut bytes = original.clone();
            let at = json + random.next() as usize % (bytes.len() - json);
            bytes[at] ^= 1 << (random.next() % 8);
            exercise(&bytes, &driver());
        }
    }
}
