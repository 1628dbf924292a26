//! Reading regions of a 4096 x 4096 array of singles in raw tiles of 512 x 512.

#![expect(clippy::expect_used, reason = "a bench may panic if its input cannot be set up")]

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use tesselle_core::array::read_region;
use tesselle_core::testing::TiledArray;
use tesselle_core::{DType, Driver, DriverOptions, Region, Span};

fn main() {
    divan::main();
}

const SIDE: u64 = 4096;

fn read(bencher: Bencher, tile: [u64; 2], region: &Region, threads: usize) {
    let cells: Vec<u8> = (0..SIDE * SIDE * 4).map(|i| i as u8).collect();
    let array = TiledArray::try_new(DType::F32, &[SIDE, SIDE], &tile, &cells).expect("shape");
    let driver = Driver::try_new(&DriverOptions::default().with_threads(threads)).expect("threads");
    let mut dst = vec![0; region.cells().expect("cells") as usize * 4];
    bencher
        .counter(BytesCount::new(dst.len()))
        .bench_local(|| read_region(black_box(&array), region, &mut dst, &driver));
}

fn spans(start: u64, stop: u64, step: u64) -> Region {
    Region { spans: vec![Span { start, stop, step }; 2] }
}

/// The memory bandwidth.
#[divan::bench(sample_count = 20)]
fn memcpy_one_thread(bencher: Bencher) {
    let src = vec![1_u8; (SIDE * SIDE * 4) as usize];
    let mut dst = vec![0_u8; src.len()];
    bencher.counter(BytesCount::new(src.len())).bench_local(|| dst.copy_from_slice(black_box(&src)));
}

#[divan::bench(args = [1, 2], sample_count = 20)]
fn whole(bencher: Bencher, threads: usize) {
    read(bencher, [512, 512], &Region::whole(&[SIDE, SIDE]), threads);
}

#[divan::bench(args = [1, 2], sample_count = 20)]
fn whole_from_tall_tiles(bencher: Bencher, threads: usize) {
    read(bencher, [4096, 512], &Region::whole(&[SIDE, SIDE]), threads);
}

#[divan::bench(args = [1, 2], sample_count = 20)]
fn window_of_1000(bencher: Bencher, threads: usize) {
    read(bencher, [512, 512], &spans(700, 1700, 1), threads);
}

#[divan::bench(args = [1, 2])]
fn window_of_16(bencher: Bencher, threads: usize) {
    read(bencher, [512, 512], &spans(700, 716, 1), threads);
}

#[divan::bench(args = [1, 2], sample_count = 20)]
fn every_second_cell(bencher: Bencher, threads: usize) {
    read(bencher, [512, 512], &spans(0, SIDE, 2), threads);
}
