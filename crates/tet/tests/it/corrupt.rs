//! Damage: for any damaged bytes, a reader returns.

use std::sync::Mutex;

use tesselle_core::testing::{Random, cuts, exercise, flips, is_thorough};
use tesselle_core::{Container, Depth, Report};
use tesselle_tet::Tet;

use crate::golden;
use crate::golden::{Case, driver};

/// Small cases that together have every structure.
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
        for cut in cuts(&bytes, 1) {
            let _ = exercise(&Tet, cut, &driver());
        }
        exercise(&Tet, &bytes, &driver()).unwrap();
    }
}

#[test]
fn truncated_documents_are_survived() {
    for case in small(&["session_weather_v2"]) {
        let bytes = case.bytes();
        for cut in cuts(&bytes, 13) {
            let _ = exercise(&Tet, cut, &driver());
        }
    }
}

#[test]
fn a_payload_in_front_of_the_payloads_is_damage() {
    // In a row of the index.
    const PAYLOAD_OFFSET: usize = 72;
    for case in small(&["dtype_f32_zstd", "rank3_raw"]) {
        let whole = case.bytes();
        let number = |at: usize| u64::from_le_bytes(whole[at..at + 8].try_into().unwrap()) as usize;
        let index = (40 + number(32)).next_multiple_of(8);
        assert_eq!(&whole[index..index + 4], b"TIDX", "{}", case.name);
        for place in [0, index - 8, index + 32] {
            let mut damaged = whole.clone();
            let at = index + 32 + PAYLOAD_OFFSET;
            damaged[at..at + 8].copy_from_slice(&(place as u64).to_le_bytes());
            let file = golden::open_bytes(damaged).unwrap();
            let mut report = Report::new(Depth::Quick);
            file.verify(Depth::Quick, &driver(), &mut report).unwrap();
            let is_found = report.findings().iter().any(|finding| finding.kind == "chunk_payloads");
            assert!(is_found && !report.ok(), "{}: a payload at {place}: {:?}", case.name, report.findings());
        }
    }
}

/// How many damaged copies were refused.
fn refused(bytes: &[u8], seed: u64, copies: usize) -> usize {
    flips(bytes, seed).take(copies).filter(|damaged| exercise(&Tet, damaged, &driver()).is_err()).count()
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
    // `make hostile` tries more.
    let copies = if is_thorough() { 2000 } else { 500 };
    let refused: usize =
        (1..).zip(small(&names)).map(|(seed, case)| refused(&case.bytes(), seed, copies)).sum();
    assert!(refused > copies / 4, "{refused}");
}

/// The whole collection: `make hostile`, in an optimized build. `TESSELLE_FLIPS` asks for fewer flips, and for cuts as
/// much further apart. Each core takes the next file, because the work on one small file is mostly threads waiting for
/// each other.
#[test]
#[ignore = "minutes of work; run by make hostile"]
fn every_small_file_survives_every_cut_and_ten_thousand_flips() {
    const FLIPS: usize = 10_000;
    let asked = std::env::var("TESSELLE_FLIPS").ok();
    let flips = asked.map_or(FLIPS, |asked| asked.parse().expect("TESSELLE_FLIPS is a number of flips"));
    assert!((1..=FLIPS).contains(&flips), "TESSELLE_FLIPS is from 1 to {FLIPS}");
    let fits = |case: &Case| (1..=16 << 10).contains(&case.bytes().len());
    let cases: Vec<Case> = golden::cases().into_iter().filter(fits).collect();
    assert!(cases.len() > 5, "{}", cases.len());
    let queue = Mutex::new((1..).zip(&cases));
    let work = || {
        while let Some((seed, case)) = { queue.lock().unwrap().next() } {
            let bytes = case.bytes();
            for cut in cuts(&bytes, FLIPS / flips) {
                let _ = exercise(&Tet, cut, &driver());
            }
            refused(&bytes, seed, flips);
        }
    };
    let threads = std::thread::available_parallelism().unwrap().get();
    std::thread::scope(|scope| (0..threads * 2).for_each(|_| drop(scope.spawn(work))));
}

#[test]
fn flips_in_documents_are_survived() {
    for case in small(&["session_weather_v2", "session_fill_nan_v2"]) {
        let original = case.bytes();
        let json = case.expected["footer"]["payload_end"].as_u64().unwrap() as usize;
        let mut random = Random::new(77);
        for _ in 0..if is_thorough() { 1000 } else { 250 } {
            let mut bytes = original.clone();
            let at = json + random.place(bytes.len() - json);
            bytes[at] ^= 1 << random.below(8);
            let _ = exercise(&Tet, &bytes, &driver());
        }
    }
}
