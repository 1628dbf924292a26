use proptest::prelude::*;

use super::*;
use crate::Error;

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| if v.is_nan() { f64::NAN.to_bits() } else { v.to_bits() }).collect()
}

fn round_trip(values: &[f64]) {
    let (mut dst, mut out) = (Vec::new(), Vec::new());
    encode(values, &mut dst).unwrap();
    decode(&dst, values.len(), &mut out).unwrap();
    assert_eq!(bits(&out), bits(values));
}

#[test]
fn small_and_large_values_round_trip() {
    round_trip(&[]);
    round_trip(&[0.0]);
    round_trip(&[
        -2.5,
        1.25,
        -3.75,
        1e-12,
        123_456.789,
        1e20,
        99.9,
        100.1,
        -0.0,
        0.0,
        1e300,
        f64::MIN_POSITIVE,
    ]);
    round_trip(&[1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -1.0, i64::MAX as f64, 0.1 + 0.2]);
}

#[test]
fn a_block_that_is_too_short_is_damage() {
    assert!(matches!(decode(&[0x10, 0], 1, &mut Vec::new()), Err(Error::Corrupt { .. })));
    assert!(matches!(decode(&[0x80, 0x01, 0], 1, &mut Vec::new()), Err(Error::Truncated { .. })));
}

proptest! {
    #[test]
    fn any_doubles_round_trip(values: Vec<f64>) {
        round_trip(&values);
    }

    #[test]
    fn decimals_round_trip(parts in prop::collection::vec((-100_000i64..100_000, 0u32..5), 0..200)) {
        let values: Vec<f64> = parts.iter().map(|&(n, d)| n as f64 / power(d) as f64).collect();
        round_trip(&values);
    }

    #[test]
    fn hostile_bytes_never_panic(mut src: Vec<u8>, n in 0usize..300) {
        if let [a, b, ..] = src.as_mut_slice() {
            (*a, *b) = (0x80 | *a, *b & 0x0f);
        }
        let _ = decode(&src, n, &mut Vec::new());
    }
}
