use proptest::prelude::*;

use super::*;
use crate::word::Int;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|d| u8::from_str_radix(std::str::from_utf8(d).unwrap(), 16).unwrap()).collect()
}

fn encoded<T: Int>(values: &[T]) -> Vec<u8> {
    let mut dst = Vec::new();
    encode(values, &mut dst);
    dst
}

#[test]
fn bytes_match_the_documented_layout() {
    assert_eq!(encoded(&[10, 12, 13, 20]), hex("00000003 00000003 00000001 0000000a 23 00"));
    assert_eq!(encoded(&[7]), hex("00000000 00000000 7fffffff 00000007"));
    assert_eq!(encoded(&[1000i64, 2000, 3000]), hex("00000002 00000000 00000000000003e8 00000000000003e8"));
    assert_eq!(encoded(&[5i64, 3, 10]), hex("00000002 00000004 fffffffffffffffe 0000000000000005 09"));
}

#[test]
fn blocks_hold_129_values() {
    for n in [0usize, 1, 2, 128, 129, 130, 258, 259] {
        let values: Vec<i64> = (0..n as i64).map(|i| i * i).collect();
        let bytes = encoded(&values);
        let mut out = Vec::new();
        decode(&bytes, n, &mut out).unwrap();
        assert_eq!(out, values);
        assert_eq!(count::<i64>(&bytes, 1000), Ok(n));
        assert_eq!(count::<i64>(&bytes, 100), Ok(n.min(100)));
        assert!(decode::<i64>(&bytes, n + 1, &mut out).is_err());
    }
}

#[test]
fn a_run_of_equal_differences_is_bounded_by_the_count_asked_for() {
    let bytes = hex("7fffffff 00000000 00000001 00000000");
    let mut out = Vec::<i32>::new();
    decode(&bytes, 5, &mut out).unwrap();
    assert_eq!(out, [0, 1, 2, 3, 4]);
    assert_eq!(count::<i32>(&bytes, 10), Ok(10));
}

#[test]
fn headers_that_contradict_the_type_are_damage() {
    let mut out = Vec::<i32>::new();
    assert!(decode(&hex("ffffffff 00000000 00000001 00000000"), 1, &mut out).is_err());
    assert!(decode(&hex("00000001 00000021 00000001 00000000 00000000 00"), 2, &mut out).is_err());
    assert!(decode(&hex("7fffffff 00000020 00000001 00000000 00000000"), 2, &mut out).is_err());
}

#[test]
fn blocks_longer_than_usual_decode() {
    // 200 differences of 9 bits: more than one block of our own encoder.
    let mut bytes = hex("000000c8 00000009 00000000 00000000");
    crate::bitstream::pack(&(0..200u64).collect::<Vec<_>>(), 9, &mut bytes);
    let mut out = Vec::<i32>::new();
    decode(&bytes, 201, &mut out).unwrap();
    assert_eq!(out[200], (0..200).sum::<i32>());
    let mut wide = hex("000000c8 00000040 0000000000000000 0000000000000000");
    crate::bitstream::pack(&[u64::MAX; 200], 64, &mut wide);
    let mut out = Vec::<i64>::new();
    decode(&wide, 201, &mut out).unwrap();
    assert_eq!(out[200], -200);
}

/// Values with differences of at most `width` bits.
fn narrow(width: u32) -> impl Strategy<Value = Vec<i64>> {
    prop::collection::vec(any::<u64>(), 0..400).prop_map(move |steps| {
        let mut at = 0i64;
        steps
            .iter()
            .map(|s| {
                at = at.wrapping_add((s & crate::word::low_mask(width)) as i64);
                at
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn round_trip_64(values in (0u32..=64).prop_flat_map(narrow)) {
        let mut out = Vec::<i64>::new();
        decode(&encoded(&values), values.len(), &mut out).unwrap();
        prop_assert_eq!(out, values);
    }

    #[test]
    fn round_trip_32(values in (0u32..=32).prop_flat_map(narrow)) {
        let values: Vec<i32> = values.iter().map(|&v| v as i32).collect();
        let mut out = Vec::<i32>::new();
        decode(&encoded(&values), values.len(), &mut out).unwrap();
        prop_assert_eq!(out, values);
    }

    #[test]
    fn min_and_max_values_round_trip(values: Vec<i32>, wide: Vec<i64>) {
        let mut out = Vec::<i32>::new();
        decode(&encoded(&values), values.len(), &mut out).unwrap();
        prop_assert_eq!(out, values);
        let mut out = Vec::<i64>::new();
        decode(&encoded(&wide), wide.len(), &mut out).unwrap();
        prop_assert_eq!(out, wide);
    }

    #[test]
    fn hostile_bytes_never_panic(mut src: Vec<u8>, small: bool, n in 0usize..600) {
        if small {
            // Small counts and widths get past the header checks.
            for at in [0, 1, 2, 4, 5, 6] {
                if let Some(byte) = src.get_mut(at) { *byte = 0; }
            }
        }
        let _ = decode::<i32>(&src, n, &mut Vec::new());
        let _ = decode::<i64>(&src, n, &mut Vec::new());
        let _ = count::<i64>(&src, n);
    }
}
