//! Every operation, type and set of axes against a slow oracle.

use std::sync::OnceLock;

use proptest::prelude::*;

use super::*;
use crate::driver::DriverOptions;
use crate::error::ErrorKind;
use crate::selection::Span;
use crate::testing::{TiledArray, strategies};

fn driver(threads: usize) -> Driver {
    static DRIVERS: [OnceLock<Driver>; 4] = [const { OnceLock::new() }; 4];
    let options = DriverOptions { threads: Some(threads), memory: Some(1 << 16) };
    DRIVERS[threads].get_or_init(|| Driver::try_new(&options).unwrap()).for_run()
}

/// A cell as the oracle sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Number {
    Int(i128),
    Float(f64),
}

impl Number {
    fn float(self) -> f64 {
        match self {
            Self::Int(i) => i as f64,
            Self::Float(f) => f,
        }
    }
}

/// Cells from random bits; floats are often special values.
fn cell(dtype: DType, bits: u64) -> (Vec<u8>, Number) {
    macro_rules! int {
        ($type:ty) => {{
            let value = (bits >> 3) as $type;
            let value = match bits % 8 {
                0 => <$type>::MIN,
                1 => <$type>::MAX,
                2 => 3,
                _ => value,
            };
            (value.to_le_bytes().to_vec(), Number::Int(i128::from(value)))
        }};
    }
    let float = match bits % 64 {
        0..4 => f64::NAN,
        4 => f64::INFINITY,
        5 => f64::NEG_INFINITY,
        6 => -0.0,
        7..20 => 1.0,
        _ => ((bits >> 6) % 20_000) as f64 / 16.0 - 600.0,
    };
    match dtype {
        DType::I8 => int!(i8),
        DType::I16 => int!(i16),
        DType::I32 => int!(i32),
        DType::I64 => int!(i64),
        DType::U8 => int!(u8),
        DType::U16 => int!(u16),
        DType::U32 => int!(u32),
        DType::U64 => int!(u64),
        DType::F16 => {
            let value = half::f16::from_f64(float);
            (value.to_le_bytes().to_vec(), Number::Float(value.to_f64()))
        }
        DType::F32 => {
            let value = float as f32;
            (value.to_le_bytes().to_vec(), Number::Float(f64::from(value)))
        }
        DType::F64 => (float.to_le_bytes().to_vec(), Number::Float(float)),
    }
}

/// A small generator: the same cells for the same seed.
fn cells(dtype: DType, n: u64, seed: u64, plain: bool) -> (Vec<u8>, Vec<Number>) {
    let mut state = seed | 1;
    let mut bytes = Vec::new();
    let numbers = (0..n).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let bits = state >> 7;
        let (raw, number) = cell(dtype, if plain { bits | 32 } else { bits });
        bytes.extend(raw);
        number
    });
    let numbers = numbers.collect();
    (bytes, numbers)
}

/// For each output, the numbers that go into it, in row-major order.
fn grouped(shape: &[u64], region: &Region, reduced: &[bool], numbers: &[Number]) -> Vec<Vec<Number>> {
    let outputs = region.shape().iter().zip(reduced).filter(|(_, r)| !**r).map(|(n, _)| *n).product::<u64>();
    let mut groups = vec![Vec::new(); outputs as usize];
    let mut cells: Vec<(u64, u64)> = vec![(0, 0)];
    for (axis, (extent, span)) in shape.iter().zip(&region.spans).enumerate() {
        let along = |(cell, out): &(u64, u64)| {
            let (cell, out) = (*cell, *out);
            let positions = (span.start..span.stop).step_by(span.step as usize).enumerate();
            let kept = !reduced[axis];
            positions.map(move |(i, position)| {
                (cell * extent + position, if kept { out * span.len() + i as u64 } else { out })
            })
        };
        cells = cells.iter().flat_map(along).collect();
    }
    for (cell, out) in cells {
        groups[out as usize].push(numbers[cell as usize]);
    }
    groups
}

fn naive(op: ReduceOp, float: bool, group: &[Number]) -> Number {
    let n = group.len() as f64;
    let floats = || group.iter().map(|x| x.float());
    let best = |max: bool| {
        let mut best: Option<(usize, Number)> = None;
        for (i, x) in group.iter().enumerate() {
            let wins = match (best, *x) {
                (_, Number::Float(x)) if x.is_nan() => false,
                (None, _) => true,
                (Some((_, Number::Int(b))), Number::Int(x)) => {
                    if max {
                        x > b
                    } else {
                        x < b
                    }
                }
                (Some((_, b)), x) => {
                    if max {
                        x.float() > b.float()
                    } else {
                        x.float() < b.float()
                    }
                }
            };
            if wins {
                best = Some((i, *x));
            }
        }
        best
    };
    let variance = || {
        let mean = floats().sum::<f64>() / n;
        floats().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n
    };
    if group.is_empty() {
        return if float { Number::Float(0.0) } else { Number::Int(0) };
    }
    match op {
        ReduceOp::Count => Number::Int(group.len() as i128),
        ReduceOp::Sum if float => Number::Float(floats().sum()),
        ReduceOp::Sum => Number::Int(group.iter().map(|x| if let Number::Int(i) = x { *i } else { 0 }).sum()),
        ReduceOp::Mean => Number::Float(floats().sum::<f64>() / n),
        ReduceOp::Min | ReduceOp::Max => {
            best(op == ReduceOp::Max).map_or(Number::Float(f64::NAN), |(_, value)| value)
        }
        ReduceOp::ArgMin | ReduceOp::ArgMax => {
            Number::Int(best(op == ReduceOp::ArgMax).map_or(0, |(i, _)| i as i128))
        }
        ReduceOp::Var => Number::Float(variance()),
        ReduceOp::Std => Number::Float(variance().sqrt()),
        ReduceOp::NanCount => Number::Int(floats().filter(|x| x.is_nan()).count() as i128),
    }
}

fn near(got: f64, want: f64, scale: f64) -> bool {
    got == want || (got.is_nan() && want.is_nan()) || (got - want).abs() <= 1e-12 * scale.max(want.abs())
}

fn check(
    dtype: DType,
    shape: &[u64],
    tile: &[u64],
    region: &Region,
    axes: &[usize],
    seed: u64,
    plain: bool,
) -> std::result::Result<(), TestCaseError> {
    let (bytes, numbers) = cells(dtype, shape.iter().product(), seed, plain);
    let array = TiledArray::try_new(dtype, shape, tile, &bytes).unwrap();
    let arrays = [array.clone(), array.clone().decoded(), array.contiguous_in(bytes)];
    let reduced: Vec<bool> = (0..shape.len()).map(|a| axes.is_empty() || axes.contains(&a)).collect();
    let groups = grouped(shape, region, &reduced, &numbers);
    for op in ReduceOp::ALL {
        if !op.has_value_of_nothing() && groups.iter().any(Vec::is_empty) {
            prop_assert!(reduce(&arrays[0], region, op, axes, &driver(1)).is_err());
            continue;
        }
        for array in &arrays {
            let one = reduce(array, region, op, axes, &driver(1)).unwrap();
            for threads in 2..4 {
                let more = reduce(array, region, op, axes, &driver(threads)).unwrap();
                // By their bits: NaN is not equal to itself.
                prop_assert_eq!(format!("{one:?}"), format!("{more:?}"));
            }
            prop_assert_eq!(one.values.len(), groups.len());
            for (i, group) in groups.iter().enumerate() {
                let want = naive(op, op.is_float(dtype), group);
                let got = match &one.values {
                    Values::Int(list) => Number::Int(list[i]),
                    Values::Float(list) => Number::Float(list[i]),
                };
                match (got, want) {
                    (Number::Float(got), Number::Float(want)) => {
                        let largest = group
                            .iter()
                            .map(|x| x.float().abs())
                            .filter(|x| x.is_finite())
                            .fold(0.0, f64::max);
                        let scale = match op {
                            ReduceOp::Sum => largest * group.len() as f64,
                            // The square root of the error of the variance.
                            ReduceOp::Std => largest * 1e4,
                            ReduceOp::Var => largest * largest,
                            _ => largest,
                        };
                        prop_assert!(near(got, want, scale), "{dtype:?} {op}: {got} {want}");
                    }
                    (got, want) => prop_assert_eq!(got, want, "{:?} {}", dtype, op),
                }
            }
        }
    }
    Ok(())
}

/// The quantile of cells by sorting them.
fn naive_quantile(level: f64, group: &[Number]) -> f64 {
    let mut cells: Vec<f64> = group.iter().map(|cell| cell.float()).collect();
    if cells.iter().any(|cell| cell.is_nan()) {
        return f64::NAN;
    }
    cells.sort_by(f64::total_cmp);
    let place = level * (cells.len() - 1) as f64;
    let (low, high) = (cells[place.floor() as usize], cells[place.ceil() as usize]);
    if low == high { low } else { low + (high - low) * place.fract() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn quantiles_agree_with_the_oracle(
        (shape, tile, region) in strategies::geometry(4, 8),
        dtype in strategies::dtype(),
        chosen in prop::collection::vec(any::<bool>(), 4),
        seed in any::<u64>(),
        level in prop::sample::select(vec![0.0, 0.1, 0.25, 0.5, 0.9, 1.0]),
    ) {
        let axes: Vec<usize> = (0..shape.len()).filter(|axis| chosen[*axis]).collect();
        let (bytes, numbers) = cells(dtype, shape.iter().product(), seed, seed % 3 > 0);
        let array = TiledArray::try_new(dtype, &shape, &tile, &bytes).unwrap();
        let reduced: Vec<bool> = (0..shape.len()).map(|a| axes.is_empty() || axes.contains(&a)).collect();
        let groups = grouped(&shape, &region, &reduced, &numbers);
        let found = quantile(&array, &region, level, &axes, &driver(2));
        if groups.iter().any(Vec::is_empty) {
            prop_assert!(found.is_err());
            return Ok(());
        }
        let small = groups.iter().map(Vec::len).sum::<usize>() * 24 <= 1 << 16;
        prop_assert!(found.is_ok() || !small);
        let Ok(found) = found else { return Ok(()) };
        let want: Vec<f64> = groups.iter().map(|group| naive_quantile(level, group)).collect();
        prop_assert_eq!(found.values.len(), want.len());
        for ((got, want), group) in found.values.iter().zip(want).zip(&groups) {
            let largest = group.iter().map(|x| x.float().abs()).filter(|x| x.is_finite()).fold(0.0, f64::max);
            let same = near(*got, want, largest) || (!got.is_finite() && !want.is_finite());
            prop_assert!(same, "{dtype:?} {level}: {got} {want}");
        }
        prop_assert!(quantile(&array, &region, 1.5, &axes, &driver(1)).is_err());
    }

    #[test]
    fn reductions_agree_with_the_oracle(
        (shape, tile, region) in strategies::geometry(4, 8),
        dtype in strategies::dtype(),
        chosen in prop::collection::vec(any::<bool>(), 4),
        seed in any::<u64>(),
        plain in any::<bool>(),
    ) {
        let axes: Vec<usize> = (0..shape.len()).filter(|axis| chosen[*axis]).collect();
        check(dtype, &shape, &tile, &region, &axes, seed, plain)?;
    }
}

#[test]
fn long_runs_wide_rows_and_narrow_rows_agree_with_the_oracle() {
    for dtype in DType::ALL {
        for (shape, tile, axes) in [
            (vec![9000], vec![4000], vec![]),
            (vec![3, 2500], vec![2, 1300], vec![0]),
            (vec![3, 2500], vec![2, 1300], vec![1]),
            (vec![1500, 4], vec![1200, 1], vec![]),
            (vec![2000, 3], vec![900, 3], vec![0]),
            (vec![2000, 3], vec![900, 3], vec![1]),
            (vec![600, 2, 5], vec![250, 2, 5], vec![0, 1]),
            (vec![40, 30, 5], vec![15, 30, 5], vec![0, 2]),
        ] {
            for plain in [false, true] {
                check(dtype, &shape, &tile, &Region::whole(&shape), &axes, 77, plain).unwrap();
            }
        }
    }
}

fn floats(values: &[f32], tile: u64) -> TiledArray {
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    TiledArray::try_new(DType::F32, &[values.len() as u64], &[tile], &bytes).unwrap()
}

fn scalar(array: &TiledArray, op: ReduceOp) -> f64 {
    match reduce(array, &Region::whole(array.shape()), op, &[], &driver(2)).unwrap().values {
        Values::Float(list) => list[0],
        Values::Int(list) => list[0] as f64,
    }
}

#[test]
fn sums_are_more_precise_than_plain_addition() {
    // A large value in one tile, its opposite in another, and small ones between.
    let mut doubles = vec![0.5_f64; 3000];
    (doubles[0], doubles[2999]) = (1e18, -1e18);
    let bytes: Vec<u8> = doubles.iter().flat_map(|x| x.to_le_bytes()).collect();
    let array = TiledArray::try_new(DType::F64, &[3000], &[1], &bytes).unwrap();
    assert_eq!(scalar(&array, ReduceOp::Sum), 1499.0);
    let tenths = floats(&vec![0.1; 1_000_000], 4096);
    assert!((scalar(&tenths, ReduceOp::Sum) - f64::from(0.1_f32) * 1e6).abs() < 1e-9);
    // A large offset must not cancel the variance.
    let shifted: Vec<f64> = (0..50_000).map(|i| 1e9 + f64::from(i % 2)).collect();
    let bytes: Vec<u8> = shifted.iter().flat_map(|x| x.to_le_bytes()).collect();
    let array = TiledArray::try_new(DType::F64, &[50_000], &[700], &bytes).unwrap();
    assert!((scalar(&array, ReduceOp::Var) - 0.25).abs() < 1e-9);
}

#[test]
fn nan_and_infinity_go_where_they_must() {
    let array = floats(&[f32::NAN, 2.0, f32::INFINITY, -1.0], 3);
    assert!(scalar(&array, ReduceOp::Sum).is_nan());
    assert_eq!(scalar(&array, ReduceOp::Min), -1.0);
    assert_eq!(scalar(&array, ReduceOp::Max), f64::INFINITY);
    assert_eq!(scalar(&array, ReduceOp::ArgMax), 2.0);
    assert_eq!(scalar(&array, ReduceOp::NanCount), 1.0);
    let array = floats(&[f32::NAN; 40], 7);
    assert!(scalar(&array, ReduceOp::Min).is_nan());
    assert_eq!(scalar(&array, ReduceOp::ArgMin), 0.0);
    assert_eq!(scalar(&floats(&[f32::INFINITY, 1.0], 1), ReduceOp::Sum), f64::INFINITY);
    assert_eq!(scalar(&floats(&[f32::NAN, f32::INFINITY], 1), ReduceOp::Min), f64::INFINITY);
}

#[test]
fn sums_of_wide_integers_are_exact() {
    let bytes: Vec<u8> = [u64::MAX; 3].iter().flat_map(|x| x.to_le_bytes()).collect();
    let array = TiledArray::try_new(DType::U64, &[3], &[2], &bytes).unwrap();
    let sum = reduce(&array, &Region::whole(&[3]), ReduceOp::Sum, &[], &driver(1)).unwrap();
    assert_eq!(sum.values, Values::Int(vec![3 * i128::from(u64::MAX)]));
    assert_eq!(sum.to_json()["values"], (3 * i128::from(u64::MAX)).to_string());
}

#[test]
fn nothing_has_a_sum_and_a_count_only() {
    let array = floats(&[1.0], 1);
    let region = Region { spans: vec![Span { start: 1, stop: 1, step: 1 }] };
    for op in ReduceOp::ALL {
        let none = reduce(&array, &region, op, &[], &driver(1));
        match none {
            Ok(none) => assert_eq!(none.to_json()["values"].as_f64(), Some(0.0), "{op}"),
            Err(error) => assert!(!op.has_value_of_nothing(), "{op}: {error}"),
        }
    }
}

#[test]
fn json_nests_the_kept_axes() {
    let bytes: Vec<u8> = (0..12).collect();
    let array = TiledArray::try_new(DType::U8, &[2, 3, 2], &[1, 2, 2], &bytes).unwrap();
    let sums = reduce(&array, &Region::whole(&[2, 3, 2]), ReduceOp::Sum, &[2], &driver(2)).unwrap();
    let want = serde_json::json!({
        "operation": "sum", "shape": [2, 3], "values": [[1, 5, 9], [13, 17, 21]],
    });
    assert_eq!(sums.to_json(), want);
    assert_eq!(sums.scalar(), None);
}

#[test]
fn wrong_calls_are_refused() {
    let array = floats(&[1.0, 2.0], 1);
    let whole = Region::whole(&[2]);
    let kind = |axes: &[usize], region: &Region| {
        reduce(&array, region, ReduceOp::Sum, axes, &driver(1)).unwrap_err().kind()
    };
    assert_eq!(kind(&[1], &whole), ErrorKind::NotFound);
    assert_eq!(kind(&[0, 0], &whole), ErrorKind::Invalid);
    let outside = Region { spans: vec![Span { start: 0, stop: 3, step: 1 }] };
    assert_eq!(kind(&[], &outside), ErrorKind::Invalid);
    assert_eq!("median".parse::<ReduceOp>().unwrap_err().kind(), ErrorKind::NotFound);
    for op in ReduceOp::ALL {
        assert_eq!(op.name().parse::<ReduceOp>().unwrap(), op);
    }
    assert_eq!("arg_min".parse::<ReduceOp>().unwrap(), ReduceOp::ArgMin);
    assert_eq!(resolve_axes(&array, &["axis_0"]).unwrap(), [0]);
    assert_eq!(resolve_axes(&array, &["0"]).unwrap(), [0]);
    assert!(resolve_axes(&array, &["1"]).is_err());
    assert!(resolve_axes(&array, &["axis_1"]).unwrap_err().hint_text().is_some());
}

#[test]
fn a_reduction_can_be_canceled_and_returns_its_memory() {
    let array = floats(&[1.0; 100], 3);
    // A separate budget: the other tests share theirs.
    let driver = Driver::try_new(&DriverOptions { threads: Some(2), memory: Some(1 << 16) }).unwrap();
    reduce(&array, &Region::whole(&[100]), ReduceOp::Mean, &[], &driver).unwrap();
    assert_eq!(driver.budget().used(), 0);
    driver.cancel();
    let error = reduce(&array, &Region::whole(&[100]), ReduceOp::Mean, &[], &driver).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Canceled);
    assert_eq!(driver.budget().used(), 0);
}
