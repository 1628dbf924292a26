use proptest::prelude::*;

use super::*;
use crate::word::{Float, Word};

#[test]
fn the_later_form_matches_its_documented_layout() {
    let mut dst = Vec::new();
    encode(&[5i32, 5, 7, 6], &mut dst);
    assert_eq!(dst, [0, 0, 0, 5, 0x7e, 7, 0xf8, 0x38, 0x3d, 0, 0, 0, 0x0c]);
    dst.clear();
    encode(&[1.0f64, 1.0, 1.5], &mut dst);
    assert_eq!(dst, [0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0x66, 1, 0xc1, 2]);
}

#[test]
fn the_first_form_matches_its_documented_layout() {
    let mut dst = Vec::new();
    legacy::encode(&[1.5f32, 1.5, 2.5], &mut dst);
    assert_eq!(dst, [0, 0, 0xc0, 0x3f, 0x61, 0x2b, 0xff, 0x9f, 0xf0]);
    dst.clear();
    legacy::encode(&[1.0f64, 1.0, 1.5], &mut dst);
    assert_eq!(dst, [0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0x66, 1, 0xe0, 0x81, 0x80]);
}

#[test]
fn a_genuine_terminator_is_a_value_like_any_other() {
    let values = [1.0f32, f32::NAN, 2.0, f32::NAN, f32::NAN];
    let (mut dst, mut out) = (Vec::new(), Vec::<f32>::new());
    legacy::encode(&values, &mut dst);
    legacy::decode(&dst, 5, &mut out).unwrap();
    assert_eq!(out[2], 2.0);
    assert!(out[1].is_nan() && out[3].is_nan() && out[4].is_nan());
    let (mut dst, mut out) = (Vec::new(), Vec::<i64>::new());
    encode(&[i64::MIN, 1, i64::MIN], &mut dst);
    decode(&dst, 3, &mut out).unwrap();
    assert_eq!(out, [i64::MIN, 1, i64::MIN]);
}

#[test]
fn a_window_that_was_never_set_is_damage() {
    let mut out = Vec::<i32>::new();
    assert!(decode(&[0, 0, 0, 5, 0x80, 0, 0, 0], 2, &mut out).is_err());
    let mut out = Vec::<f32>::new();
    assert!(legacy::decode(&[0, 0, 0, 0, 0x80, 0, 0, 0], 2, &mut out).is_err());
    // 31 leading zeros and 32 bits.
    assert!(decode::<i32>(&[0, 0, 0, 5, 0xff, 0xff, 0, 0, 0, 0], 2, &mut Vec::new()).is_err());
}

fn round_trip<T: Word>(values: &[T]) {
    let (mut dst, mut out) = (Vec::new(), Vec::<T>::new());
    encode(values, &mut dst);
    decode(&dst, values.len(), &mut out).unwrap();
    let bits = |v: &[T]| v.iter().map(|x| x.to_word()).collect::<Vec<_>>();
    assert_eq!(bits(&out), bits(values));
    if !values.is_empty() {
        assert!(decode(&dst[..dst.len() / 2], values.len() * 2 + 40, &mut out).is_err());
    }
}

fn legacy_round_trip<T: Float>(values: &[T]) {
    let (mut dst, mut out) = (Vec::new(), Vec::<T>::new());
    legacy::encode(values, &mut dst);
    legacy::decode(&dst, values.len(), &mut out).unwrap();
    let bits = |v: &[T]| v.iter().map(|x| x.to_canonical_word()).collect::<Vec<_>>();
    assert_eq!(bits(&out), bits(values));
}

proptest! {
    #[test]
    fn every_type_round_trips(a: Vec<i32>, b: Vec<i64>, c: Vec<f32>, d: Vec<f64>) {
        round_trip(&a);
        round_trip(&b);
        round_trip(&c);
        round_trip(&d);
        legacy_round_trip(&c);
        legacy_round_trip(&d);
    }

    #[test]
    fn smooth_data_round_trips(steps in prop::collection::vec(-3i32..4, 0..300)) {
        let values: Vec<f64> = steps.iter().scan(20.0, |at, &s| { *at += s as f64 / 8.0; Some(*at) }).collect();
        round_trip(&values);
        legacy_round_trip(&values);
        let values: Vec<f32> = values.iter().map(|&v| v as f32).collect();
        round_trip(&values);
        legacy_round_trip(&values);
        let values: Vec<i32> = steps.iter().map(|&v| 1000 + v).collect();
        round_trip(&values);
    }

    #[test]
    fn hostile_bytes_never_panic(src: Vec<u8>, n in 0usize..400) {
        let _ = decode::<i32>(&src, n, &mut Vec::new());
        let _ = decode::<f64>(&src, n, &mut Vec::new());
        let _ = legacy::decode::<f32>(&src, n, &mut Vec::new());
        let _ = legacy::decode::<f64>(&src, n, &mut Vec::new());
    }
}
