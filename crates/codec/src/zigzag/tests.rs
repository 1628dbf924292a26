use proptest::prelude::*;

use super::*;

#[test]
fn bytes_match_the_documented_layout() {
    let mut dst = Vec::new();
    encode(&[1i32, -1, 300], &mut dst).unwrap();
    assert_eq!(dst, [4, 3, 2, 1, 0xd8, 4]);
}

#[test]
fn a_count_larger_than_the_body_is_refused_before_reading() {
    let mut out = Vec::<i32>::new();
    assert!(decode(&[4, 3, 2, 1, 0xd8, 4], 4, &mut out).is_err());
    assert!(decode(&[200, 3, 2, 1], 3, &mut out).is_err());
    assert!(decode(&[1, 0xff, 0xff, 0xff, 0xff, 0x0f, 2], usize::MAX, &mut out).is_err());
    assert!(out.is_empty());
}

#[test]
fn varints_wider_than_their_type_are_damage() {
    let eleven = [0xff; 11];
    assert!(varint::read_u64(&mut &eleven[..], "varint").is_err());
    assert!(varint::read_u64(&mut &eleven[..4], "varint").is_err());
    assert!(varint::read_u32(&mut &[0xff, 0xff, 0xff, 0xff, 0x1f][..], "varint").is_err());
    assert_eq!(varint::read_u32(&mut &[0xff, 0xff, 0xff, 0xff, 0x0f][..], "varint"), Ok(u32::MAX));
}

proptest! {
    #[test]
    fn round_trip_32(values: Vec<i32>) {
        let (mut dst, mut out) = (Vec::new(), Vec::<i32>::new());
        encode(&values, &mut dst).unwrap();
        decode(&dst, values.len(), &mut out).unwrap();
        prop_assert_eq!(out, values);
    }

    #[test]
    fn round_trip_64(values: Vec<i64>) {
        let (mut dst, mut out) = (Vec::new(), Vec::<i64>::new());
        encode(&values, &mut dst).unwrap();
        decode(&dst, values.len(), &mut out).unwrap();
        prop_assert_eq!(out, values);
    }

    #[test]
    fn hostile_bytes_never_panic(src: Vec<u8>, count in 0usize..300) {
        let _ = decode::<i32>(&src, count, &mut Vec::new());
        let _ = decode::<i64>(&src, count, &mut Vec::new());
    }
}
