//! Reductions of a 4096 x 4096 array: raw tiles of 512 x 512, or one slice in memory. One thread and all of them.

#![expect(clippy::expect_used, reason = "a bench may panic if its input cannot be set up")]

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use tesselle_core::reduce::{ReduceOp, reduce};
use tesselle_core::testing::TiledArray;
use tesselle_core::{ArrayView, DType, Driver, DriverOptions, Region};

fn main() {
    divan::main();
}

const SIDE: u64 = 4096;

fn array(dtype: DType, whole: bool) -> TiledArray {
    let cells: Vec<u8> = (0..SIDE * SIDE)
        .flat_map(|i| {
            let value = (i.wrapping_mul(2_654_435_761) >> 7) & 0x3ff;
            let mut bytes = [0; 8];
            match dtype {
                DType::F16 => bytes[..2].copy_from_slice(&(0x3000 + value as u16).to_le_bytes()),
                DType::F32 => bytes[..4].copy_from_slice(&(value as f32).to_le_bytes()),
                DType::F64 => bytes.copy_from_slice(&(value as f64).to_le_bytes()),
                _ => bytes.copy_from_slice(&value.to_le_bytes()),
            }
            bytes.into_iter().take(dtype.size())
        })
        .collect();
    let shape = [SIDE, SIDE];
    if whole {
        return TiledArray::try_new(dtype, &shape, &shape, &cells).expect("shape").contiguous_in(cells);
    }
    TiledArray::try_new(dtype, &shape, &[512, 512], &cells).expect("shape")
}

fn run(bencher: Bencher, array: &TiledArray, op: ReduceOp, axes: &[usize], threads: Option<usize>) {
    let driver = Driver::try_new(&DriverOptions::default().with_threads(threads)).expect("threads");
    let region = Region::whole(array.shape());
    bencher
        .counter(BytesCount::new(SIDE * SIDE * array.dtype().size() as u64))
        .bench(|| reduce(black_box(array), &region, op, axes, &driver));
}

/// The memory bandwidth: the plain sum of 64-bit words by one thread.
#[divan::bench(sample_count = 10)]
fn words_f32_one_thread(bencher: Bencher) {
    let words: Vec<u64> = (0..SIDE * SIDE / 2).collect();
    bencher
        .counter(BytesCount::new(SIDE * SIDE * 4))
        .bench(|| black_box(&words).iter().fold(0_u64, |sum, word| sum.wrapping_add(*word)));
}

#[divan::bench(args = ["sum", "mean", "min", "var", "argmax", "nan_count"], sample_count = 10)]
fn all_f32_one_thread(bencher: Bencher, op: &str) {
    run(bencher, &array(DType::F32, true), op.parse().expect("op"), &[], Some(1));
}

#[divan::bench(args = ["mean", "min", "var", "argmax"], sample_count = 10)]
fn all_f32_tiles(bencher: Bencher, op: &str) {
    run(bencher, &array(DType::F32, false), op.parse().expect("op"), &[], None);
}

#[divan::bench(args = ["mean", "min", "var", "argmax", "nan_count"], sample_count = 10)]
fn axis_0_f32_one_thread(bencher: Bencher, op: &str) {
    run(bencher, &array(DType::F32, true), op.parse().expect("op"), &[0], Some(1));
}

#[divan::bench(args = ["mean", "min", "var", "argmax"], sample_count = 10)]
fn axis_0_f32_tiles(bencher: Bencher, op: &str) {
    run(bencher, &array(DType::F32, false), op.parse().expect("op"), &[0], None);
}

#[divan::bench(args = ["mean", "min", "var", "argmax"], sample_count = 10)]
fn axis_1_f32_one_thread(bencher: Bencher, op: &str) {
    run(bencher, &array(DType::F32, true), op.parse().expect("op"), &[1], Some(1));
}

#[divan::bench(args = [DType::U8, DType::I16, DType::I32, DType::I64, DType::F16, DType::F64], sample_count = 10)]
fn sum_all_one_thread(bencher: Bencher, dtype: DType) {
    run(bencher, &array(dtype, true), ReduceOp::Sum, &[], Some(1));
}

#[divan::bench(args = [DType::U8, DType::I16, DType::I32, DType::I64, DType::F16, DType::F64], sample_count = 10)]
fn sum_axis_0_one_thread(bencher: Bencher, dtype: DType) {
    run(bencher, &array(dtype, true), ReduceOp::Sum, &[0], Some(1));
}
