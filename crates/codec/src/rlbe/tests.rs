use proptest::prelude::*;

use super::*;

#[test]
fn bytes_match_the_documented_layout() {
    let mut dst = Vec::new();
    encode(&[1, 2, 3], Difference::Bits, &mut dst);
    assert_eq!(dst, [0, 0, 0, 3, 4, 0xf8]);
    dst.clear();
    encode(&[5, 3], Difference::Bits, &mut dst);
    assert_eq!(dst, [0, 0, 0, 2, 0x0f, 0xb0, 0x6f, 0xff, 0xff, 0xff, 0xc0]);
}

#[test]
fn long_columns_are_cut_into_blocks() {
    let values: Vec<i64> = (0..25_001).map(|i| i * i % 977).collect();
    let (mut dst, mut out) = (Vec::new(), Vec::<i64>::new());
    encode(&values, Difference::Bits, &mut dst);
    decode(&dst, Difference::Bits, values.len(), &mut out).unwrap();
    assert_eq!(out, values);
    assert!(decode(&dst, Difference::Bits, values.len() + 1, &mut out).is_err());
}

#[test]
fn differences_of_values_are_exact_where_floats_are() {
    let values = [1.5f64, 2.25, -3.0, 0.0, 0.0, 1024.5];
    let (mut dst, mut out) = (Vec::new(), Vec::<f64>::new());
    encode(&values, Difference::Value, &mut dst);
    decode(&dst, Difference::Value, values.len(), &mut out).unwrap();
    assert_eq!(out, values);
}

fn round_trip<T: Column>(values: &[T]) {
    let (mut dst, mut out) = (Vec::new(), Vec::<T>::new());
    encode(values, Difference::Bits, &mut dst);
    decode(&dst, Difference::Bits, values.len(), &mut out).unwrap();
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
    fn hostile_bytes_never_panic(mut src: Vec<u8>, n in 0usize..200) {
        for at in [0, 1, 2] {
            if let Some(byte) = src.get_mut(at) { *byte = 0; }
        }
        let _ = decode::<i32>(&src, Difference::Bits, n, &mut Vec::new());
        let _ = decode::<f64>(&src, Difference::Value, n, &mut Vec::new());
    }
}
