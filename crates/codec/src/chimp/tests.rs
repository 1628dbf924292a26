use proptest::prelude::*;

use super::*;
use crate::word::Word;

#[test]
fn bytes_match_the_documented_layout() {
    let mut dst = Vec::new();
    encode(&[5i32, 5, 7], &mut dst);
    assert_eq!(dst, [0, 0, 0, 5, 0, 0xf8, 0x16, 0x20, 0, 0, 1, 0xc0]);
}

fn round_trip<T: Word>(values: &[T]) {
    let (mut dst, mut out) = (Vec::new(), Vec::<T>::new());
    encode(values, &mut dst);
    decode(&dst, values.len(), &mut out).unwrap();
    let bits = |v: &[T]| v.iter().map(|x| x.to_word()).collect::<Vec<_>>();
    assert_eq!(bits(&out), bits(values));
}

proptest! {
    #[test]
    fn every_type_round_trips(a: Vec<i32>, b: Vec<i64>, c: Vec<f32>, d: Vec<f64>) {
        round_trip(&a);
        round_trip(&b);
        round_trip(&c);
        round_trip(&d);
    }

    #[test]
    fn repeated_values_round_trip(picks in prop::collection::vec(0usize..40, 0..500), pool in prop::collection::vec(any::<f32>(), 40)) {
        let values: Vec<f32> = picks.iter().map(|&i| pool[i]).collect();
        round_trip(&values);
        let values: Vec<f64> = values.iter().map(|&v| v as f64 * 1.5).collect();
        round_trip(&values);
        let values: Vec<i64> = picks.iter().map(|&i| (i as i64) << (i + 5)).collect();
        round_trip(&values);
    }

    #[test]
    fn hostile_bytes_never_panic(src: Vec<u8>, n in 0usize..400) {
        let _ = decode::<i32>(&src, n, &mut Vec::new());
        let _ = decode::<f64>(&src, n, &mut Vec::new());
    }
}
