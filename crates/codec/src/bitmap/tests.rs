use proptest::prelude::*;

use super::*;

#[test]
fn bytes_match_the_documented_layout() {
    let mut dst = Vec::new();
    encode(&[1, 2, 1, 3], &mut dst).unwrap();
    assert_eq!(dst, [6, 4, 1, 0xa0, 2, 0x40, 3, 0x10]);
}

#[test]
fn a_position_without_a_value_is_damage() {
    assert!(decode(&[4, 4, 1, 0xa0, 2, 0x40], 4, &mut Vec::new()).is_err());
}

proptest! {
    #[test]
    fn round_trip(values in prop::collection::vec(-4i32..4, 0..100)) {
        let (mut dst, mut out) = (Vec::new(), Vec::new());
        encode(&values, &mut dst).unwrap();
        decode(&dst, values.len(), &mut out).unwrap();
        prop_assert_eq!(out, values);
    }

    #[test]
    fn hostile_bytes_never_panic(src: Vec<u8>, n in 0usize..200) {
        let _ = decode(&src, n, &mut Vec::new());
    }
}
