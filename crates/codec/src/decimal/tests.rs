use proptest::prelude::*;

use super::*;
use crate::word::Float;

fn encoded<F: Float>(values: &[F], digits: u32, integers: Integers, overflow: Overflow) -> Vec<u8> {
    let mut dst = Vec::new();
    encode(values, digits, integers, overflow, &mut dst);
    dst
}

#[test]
fn bytes_match_the_documented_layout() {
    let mut runs = vec![2, 0x23, 0x20, 3, 3, 0, 0, 0, 0x7d, 0, 0, 0, 0x7d, 0xff, 0xff, 0xff, 0xce];
    runs.extend([0; 20]);
    assert_eq!(encoded(&[1.25f32, 1.25, -0.5], 2, Integers::Runs, Overflow::Cut), runs);
    let mut runs = vec![3, 0x0e, 0x0b, 3, 1, 0x9a, 0x60];
    runs.extend([0; 9]);
    assert_eq!(encoded(&[1.2345f64], 3, Integers::Runs, Overflow::Cut), runs);
    assert_eq!(
        encoded(&[1.5f32, 2.25], 2, Integers::Deltas, Overflow::Cut),
        [2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x4b, 0, 0, 0, 0x96]
    );
}

#[test]
fn values_out_of_range_are_cut_or_marked() {
    let values = [1.5f32, 3e9, 2e8, f32::INFINITY, f32::NAN, -0.0];
    let mut out = Vec::<f32>::new();
    let bytes = encoded(&values, 2, Integers::Deltas, Overflow::Mark);
    decode(&bytes, Integers::Deltas, values.len(), &mut out).unwrap();
    assert_eq!(out[..4], values[..4]);
    assert!(out[4].is_nan());
    out.clear();
    let bytes = encoded(&values, 2, Integers::Deltas, Overflow::Cut);
    decode(&bytes, Integers::Deltas, values.len(), &mut out).unwrap();
    assert_eq!(out[0], 1.5);
    assert_ne!(out[1], 3e9);
    assert_eq!(out[4], 0.0);
}

#[test]
fn decimals_are_chosen_if_any_fit() {
    assert_eq!(fitting(&[1.5f64, 2.25], 2), Some(2));
    assert_eq!(fitting(&[0.123_456f64, 0.5], 2), Some(6));
    assert_eq!(fitting(&[3e8f32], 2), Some(0));
    assert_eq!(fitting(&[1.0f64 / 3.0, 1e10], 2), None);
    assert_eq!(fitting(&[-0.0f64], 2), None);
    assert_eq!(fitting(&[f32::NAN], 2), None);
    assert_eq!(inexact_count(&[0.125f64, 0.5], 2), 1);
}

#[test]
fn halves_round_up() {
    let bytes =
        encoded(&[0.5f64, -0.5, 1.5, -1.5, 0.499_999_999_999_999_94], 0, Integers::Deltas, Overflow::Cut);
    let mut out = Vec::<f64>::new();
    decode(&bytes, Integers::Deltas, 5, &mut out).unwrap();
    assert_eq!(out, [1.0, 0.0, 2.0, -1.0, 0.0]);
}

#[test]
fn bitmaps_past_the_end_are_refused() {
    let mut bytes = Vec::new();
    crate::zigzag::varint::write_u64(SOME_RAW as u64, &mut bytes);
    crate::zigzag::varint::write_u64(u32::MAX as u64, &mut bytes);
    assert!(decode::<f32>(&bytes, Integers::Runs, 1, &mut Vec::new()).is_err());
}

proptest! {
    #[test]
    fn decimals_round_trip(ints in prop::collection::vec(-1_000_000i32..1_000_000, 0..300), digits in 0u32..4, runs: bool) {
        let integers = if runs { Integers::Runs } else { Integers::Deltas };
        let values: Vec<f64> = ints.iter().map(|&i| i as f64 / scale(digits)).collect();
        for overflow in [Overflow::Cut, Overflow::Mark] {
            let mut out = Vec::<f64>::new();
            decode(&encoded(&values, digits, integers, overflow), integers, values.len(), &mut out).unwrap();
            prop_assert_eq!(&out, &values);
        }
    }

    #[test]
    fn marked_columns_keep_what_does_not_fit(values: Vec<f64>) {
        let mut out = Vec::<f64>::new();
        let bytes = encoded(&values, 2, Integers::Deltas, Overflow::Mark);
        decode(&bytes, Integers::Deltas, values.len(), &mut out).unwrap();
        for (a, b) in out.iter().zip(&values) {
            prop_assert!(a.to_bits() == b.to_bits() || (a - b).abs() <= 0.51_f64.max(b.abs() * 1e-15) || a == b, "{} {}", a, b);
        }
    }

    #[test]
    fn columns_that_mark_what_is_inexact_keep_every_bit(values: Vec<f64>, singles: Vec<f32>, digits in 0u32..6) {
        let mut out = Vec::<f64>::new();
        let bytes = encoded(&values, digits, Integers::Deltas, Overflow::MarkInexact);
        decode(&bytes, Integers::Deltas, values.len(), &mut out).unwrap();
        prop_assert!(out.iter().zip(&values).all(|(a, b)| a.to_bits() == b.to_bits()));
        let mut out = Vec::<f32>::new();
        let bytes = encoded(&singles, digits, Integers::Deltas, Overflow::MarkInexact);
        decode(&bytes, Integers::Deltas, singles.len(), &mut out).unwrap();
        prop_assert!(out.iter().zip(&singles).all(|(a, b)| a.to_bits() == b.to_bits()));
    }

    #[test]
    fn fitting_decimals_keep_every_bit(ints in prop::collection::vec(-1_000_000i32..1_000_000, 1..50), power in 0u32..9, runs: bool) {
        let integers = if runs { Integers::Runs } else { Integers::Deltas };
        let values: Vec<f64> = ints.iter().map(|&i| i as f64 / scale(power)).collect();
        let digits = fitting(&values, 2).unwrap();
        prop_assert!(digits <= power.max(2));
        prop_assert_eq!(inexact_count(&values, digits), 0);
        let mut out = Vec::<f64>::new();
        decode(&encoded(&values, digits, integers, Overflow::Cut), integers, values.len(), &mut out).unwrap();
        prop_assert!(out.iter().zip(&values).all(|(a, b)| a.to_bits() == b.to_bits()));
    }

    #[test]
    fn hostile_bytes_never_panic(src: Vec<u8>, n in 0usize..200) {
        let _ = decode::<f32>(&src, Integers::Runs, n, &mut Vec::new());
        let _ = decode::<f64>(&src, Integers::Deltas, n, &mut Vec::new());
    }
}
