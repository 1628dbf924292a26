use proptest::prelude::*;

use super::*;

const LEARNED: Prediction = Prediction::Learned(Product::Wrapping);

#[test]
fn bytes_match_the_documented_layout() {
    let mut dst = Vec::new();
    assert!(encode(&[1, 2, 3, 4, 5, 6, 7, 8, 9], LEARNED, &mut dst));
    assert_eq!(dst, [1, 1, 0xff]);
    dst.clear();
    assert!(encode(&[1, 2], LEARNED, &mut dst));
    assert_eq!(dst, [0x82, 5, 2, 3, 2, 0x60, 0]);
}

#[test]
fn the_trailing_values_cannot_exceed_their_stated_number() {
    assert!(decode::<i32>(&[0x82, 5, 2, 3, 2, 0x60, 0], LEARNED, 3, &mut Vec::new()).is_err());
    assert!(decode::<i32>(&[33, 1], LEARNED, 1, &mut Vec::new()).is_err());
}

#[test]
fn a_lossy_column_is_reported() {
    let mut dst = Vec::new();
    let mut values = [0i64; 9];
    values[1] = i64::MAX;
    assert!(!encode(&values, LEARNED, &mut dst));
}

/// A column reported as lossless round-trips, whichever way the reader multiplies.
fn round_trip<T: Column>(values: &[T]) -> bool {
    let mut all = true;
    for prediction in [LEARNED, Prediction::Learned(Product::Wide), Prediction::Previous] {
        let (mut dst, mut out) = (Vec::new(), Vec::<T>::new());
        if !encode(values, prediction, &mut dst) {
            all = false;
            continue;
        }
        decode(&dst, prediction, values.len(), &mut out).unwrap();
        let bits = |v: &[T]| v.iter().map(|x| x.to_canonical_word()).collect::<Vec<_>>();
        assert_eq!(bits(&out), bits(values));
        if matches!(prediction, Prediction::Learned(_)) {
            out.clear();
            decode(&dst, Prediction::Learned(Product::Wide), values.len(), &mut out).unwrap();
            assert_eq!(bits(&out), bits(values));
        }
    }
    all
}

proptest! {
    #[test]
    fn moderate_integers_round_trip(steps in prop::collection::vec(-10_000i32..10_000, 0..200)) {
        prop_assert!(round_trip(&steps));
        let values: Vec<i64> = steps.iter().map(|&s| s as i64 * 10_007).collect();
        prop_assert!(round_trip(&values));
    }

    #[test]
    fn columns_reported_as_lossless_round_trip(a: Vec<i32>, b: Vec<i64>, c: Vec<f32>, d: Vec<f64>) {
        round_trip(&a);
        round_trip(&b);
        round_trip(&c);
        round_trip(&d);
    }

    #[test]
    fn floats_close_together_are_lossless(steps in prop::collection::vec(0i32..1000, 0..200)) {
        let values: Vec<f64> = steps.iter().map(|&s| 1000.0 + s as f64 / 7e9).collect();
        prop_assert!(round_trip(&values));
    }

    #[test]
    fn hostile_bytes_never_panic(mut src: Vec<u8>, n in 0usize..200) {
        if let Some(first) = src.first_mut() { *first %= 65; }
        let _ = decode::<i32>(&src, LEARNED, n, &mut Vec::new());
        let _ = decode::<i64>(&src, Prediction::Learned(Product::Wide), n, &mut Vec::new());
        let _ = decode::<f64>(&src, LEARNED, n, &mut Vec::new());
    }
}
