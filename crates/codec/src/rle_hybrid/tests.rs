use proptest::prelude::*;

use super::*;
use crate::word::Int;

fn encoded<T: Int>(values: &[T]) -> Vec<u8> {
    let mut dst = Vec::new();
    encode(values, &mut dst);
    dst
}

#[test]
fn bytes_match_the_documented_layout() {
    assert_eq!(encoded(&[1, 2, 3]), [5, 2, 3, 3, 0x6c, 0]);
    assert_eq!(encoded(&[300; 10]), [4, 9, 0x14, 0x2c, 1]);
    assert_eq!(encoded(&[300i64; 8]), [4, 9, 0x10, 1, 0x2c]);
    assert_eq!(encoded(&[5, 5, 5, 5, 5, 5, 5, 5, 5, 1, 2]), [8, 3, 0x12, 5, 3, 2, 0x28, 0, 0]);
    let mut dst = Vec::new();
    encode_bool(&[true, true, false], &mut dst);
    assert_eq!(dst, [4, 1, 3, 3, 0xc0]);
}

#[test]
fn a_repeat_starts_only_on_a_group_boundary() {
    let mut values = vec![1];
    values.extend([2; 8]);
    assert_eq!(encoded(&values), [7, 2, 5, 1, 0x6a, 0xaa, 0x80, 0]);
}

#[test]
fn long_repeats_and_many_groups_are_split() {
    for n in [7usize, 8, 9, 32_766, 32_767, 32_768, 32_769, 65_600] {
        let mut values = vec![9i64; n];
        values.extend((0..1300).map(|i| i % 2));
        let bytes = encoded(&values);
        let mut out = Vec::<i64>::new();
        decode(&bytes, values.len(), &mut out).unwrap();
        assert_eq!(out, values, "{n}");
        assert_eq!(count::<i64>(&bytes, usize::MAX), Ok(values.len()));
        assert!(decode(&bytes, values.len() + 1, &mut out).is_err());
    }
}

#[test]
fn no_values_are_no_bytes() {
    assert!(encoded::<i32>(&[]).is_empty());
    decode::<i32>(&[], 0, &mut Vec::new()).unwrap();
    assert!(decode::<i32>(&[], 1, &mut Vec::new()).is_err());
}

#[test]
fn each_kind_of_damaged_run_is_refused() {
    let mut out = Vec::<i32>::new();
    assert!(decode(&[1, 33], 1, &mut out).is_err(), "wider than the type");
    assert!(decode(&[4, 1, 1, 1, 0], 1, &mut out).is_err(), "no groups");
    assert!(decode(&[4, 1, 3, 9, 0], 1, &mut out).is_err(), "nine values in a group of eight");
    assert!(decode(&[3, 1, 0, 0], 1, &mut out).is_err(), "an empty repeat, and nothing after it");
    assert!(decode(&[0], 1, &mut out).is_err(), "no width");
}

/// Runs of random lengths over few values.
fn runs() -> impl Strategy<Value = Vec<i64>> {
    prop::collection::vec((any::<i64>(), 0u32..64, 1usize..40), 0..60).prop_map(|runs| {
        runs.iter().flat_map(|&(value, shift, n)| std::iter::repeat_n(value >> shift, n)).collect()
    })
}

proptest! {
    #[test]
    fn round_trip(values in runs()) {
        let mut out = Vec::<i64>::new();
        decode(&encoded(&values), values.len(), &mut out).unwrap();
        prop_assert_eq!(&out, &values);
        let narrow: Vec<i32> = values.iter().map(|&v| v as i32).collect();
        let mut out = Vec::<i32>::new();
        decode(&encoded(&narrow), narrow.len(), &mut out).unwrap();
        prop_assert_eq!(out, narrow);
        let flags: Vec<bool> = values.iter().map(|&v| v < 0).collect();
        let (mut dst, mut out) = (Vec::new(), Vec::new());
        encode_bool(&flags, &mut dst);
        decode_bool(&dst, flags.len(), &mut out).unwrap();
        prop_assert_eq!(out, flags);
    }

    #[test]
    fn hostile_bytes_never_panic(mut src: Vec<u8>, n in 0usize..600) {
        if let Some(first) = src.first_mut() { *first &= 0x1f; }
        let _ = decode::<i32>(&src, n, &mut Vec::new());
        let _ = decode::<i64>(&src, n, &mut Vec::new());
        let _ = count::<i32>(&src, n);
    }
}
