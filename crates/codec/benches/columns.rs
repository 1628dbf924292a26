//! Decoding speed of the two encodings that dominate time series reads. Throughput counts decoded bytes.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use tesselle_codec::{delta_binary, gorilla};

const ROWS: usize = 65_536;

fn main() {
    divan::main();
}

/// A small deterministic generator, so that every run measures the same bytes.
fn noise() -> impl Iterator<Item = u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    std::iter::from_fn(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        Some(state)
    })
}

/// Timestamps with steps that differ by up to `2^width`.
fn times(width: u32) -> Vec<i64> {
    let steps = noise().map(|n| 1000 + (n & ((1u64 << width) - 1)) as i64);
    steps.scan(1_700_000_000_000, |at, step| Some(std::mem::replace(at, *at + step))).take(ROWS).collect()
}

/// A drifting sensor that repeats its value now and then.
fn readings() -> Vec<f64> {
    let steps = noise().map(|n| if n % 4 == 0 { 0.0 } else { (n % 64) as f64 / 16.0 - 2.0 });
    steps.scan(20.5, |at, step| Some(std::mem::replace(at, *at + step))).take(ROWS).collect()
}

#[divan::bench(args = [0, 1, 5, 12, 30, 60])]
fn delta_binary_i64(bencher: Bencher<'_, '_>, width: u32) {
    let mut bytes = Vec::new();
    delta_binary::encode(&times(width), &mut bytes);
    let mut out = Vec::with_capacity(ROWS);
    bencher.counter(BytesCount::new(ROWS * 8)).bench_local(|| {
        out.clear();
        delta_binary::decode::<i64>(black_box(&bytes), ROWS, &mut out)
    });
}

#[divan::bench(args = [0, 5, 12, 30])]
fn delta_binary_i32(bencher: Bencher<'_, '_>, width: u32) {
    let values: Vec<i32> = times(width).iter().map(|&t| t as i32).collect();
    let mut bytes = Vec::new();
    delta_binary::encode(&values, &mut bytes);
    let mut out = Vec::with_capacity(ROWS);
    bencher.counter(BytesCount::new(ROWS * 4)).bench_local(|| {
        out.clear();
        delta_binary::decode::<i32>(black_box(&bytes), ROWS, &mut out)
    });
}

#[divan::bench]
fn delta_binary_encode_i64(bencher: Bencher<'_, '_>) {
    let values = times(12);
    let mut bytes = Vec::with_capacity(ROWS * 2);
    bencher.counter(BytesCount::new(ROWS * 8)).bench_local(|| {
        bytes.clear();
        delta_binary::encode(black_box(&values), &mut bytes);
    });
}

#[divan::bench]
fn gorilla_encode_f64(bencher: Bencher<'_, '_>) {
    let values = readings();
    let mut bytes = Vec::with_capacity(ROWS * 8);
    bencher.counter(BytesCount::new(ROWS * 8)).bench_local(|| {
        bytes.clear();
        gorilla::encode(black_box(&values), &mut bytes);
    });
}

#[divan::bench]
fn gorilla_f64(bencher: Bencher<'_, '_>) {
    let mut bytes = Vec::new();
    gorilla::encode(&readings(), &mut bytes);
    let mut out = Vec::with_capacity(ROWS);
    bencher.counter(BytesCount::new(ROWS * 8)).bench_local(|| {
        out.clear();
        gorilla::decode::<f64>(black_box(&bytes), ROWS, &mut out)
    });
}

#[divan::bench]
fn gorilla_f32(bencher: Bencher<'_, '_>) {
    let values: Vec<f32> = readings().iter().map(|&v| v as f32).collect();
    let mut bytes = Vec::new();
    gorilla::encode(&values, &mut bytes);
    let mut out = Vec::with_capacity(ROWS);
    bencher.counter(BytesCount::new(ROWS * 4)).bench_local(|| {
        out.clear();
        gorilla::decode::<f32>(black_box(&bytes), ROWS, &mut out)
    });
}

#[divan::bench]
fn gorilla_legacy_f64(bencher: Bencher<'_, '_>) {
    let mut bytes = Vec::new();
    gorilla::legacy::encode(&readings(), &mut bytes);
    let mut out = Vec::with_capacity(ROWS);
    bencher.counter(BytesCount::new(ROWS * 8)).bench_local(|| {
        out.clear();
        gorilla::legacy::decode::<f64>(black_box(&bytes), ROWS, &mut out)
    });
}
