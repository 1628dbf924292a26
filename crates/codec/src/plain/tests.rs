use proptest::prelude::*;

use super::*;

#[test]
fn bytes_match_the_documented_layouts() {
    let mut dst = Vec::new();
    encode_bool(&[true, false], &mut dst);
    assert_eq!(dst, [1, 0]);
    dst.clear();
    encode_fixed(&[1i32, -2], ByteOrder::Big, &mut dst);
    assert_eq!(dst, [0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe]);
    dst.clear();
    encode_fixed(&[-2.0f64], ByteOrder::Little, &mut dst);
    assert_eq!(dst, [0, 0, 0, 0, 0, 0, 0, 0xc0]);
    dst.clear();
    encode_varint(&[1, -2, 300], &mut dst);
    assert_eq!(dst, [2, 3, 0xd8, 4]);
    dst.clear();
    encode_bytes([&b"ab"[..], b""], LengthPrefix::Big32, &mut dst).unwrap();
    assert_eq!(dst, [0, 0, 0, 2, b'a', b'b', 0, 0, 0, 0]);
    dst.clear();
    encode_bytes([&b"ab"[..], b""], LengthPrefix::Zigzag, &mut dst).unwrap();
    assert_eq!(dst, [4, b'a', b'b', 0]);
}

#[test]
fn a_nan_is_written_in_its_canonical_form() {
    let mut dst = Vec::new();
    encode_fixed(&[f32::from_bits(0xffff_ffff)], ByteOrder::Big, &mut dst);
    assert_eq!(dst, [0x7f, 0xc0, 0, 0]);
}

#[test]
fn negative_and_overlong_lengths_are_damage() {
    let (mut offsets, mut data) = (vec![0], Vec::new());
    let mut run = |src: &[u8], prefix| decode_bytes(src, prefix, 1, &mut offsets, &mut data);
    assert!(matches!(run(&[0xff; 4], LengthPrefix::Big32), Err(Error::Corrupt { .. })));
    assert!(matches!(run(&[1], LengthPrefix::Zigzag), Err(Error::Corrupt { .. })));
    assert!(matches!(run(&[0x7f, 0xff, 0xff, 0xff], LengthPrefix::Big32), Err(Error::Truncated { .. })));
    assert!(matches!(run(&[9, 0, 0, 0, 1], LengthPrefix::Little32), Err(Error::Truncated { .. })));
}

fn prefixes() -> impl Strategy<Value = LengthPrefix> {
    prop_oneof![Just(LengthPrefix::Big32), Just(LengthPrefix::Little32), Just(LengthPrefix::Zigzag)]
}

proptest! {
    #[test]
    fn fixed_width_round_trips(a: Vec<i32>, b: Vec<f64>, big: bool) {
        let order = if big { ByteOrder::Big } else { ByteOrder::Little };
        let (mut dst, mut out) = (Vec::new(), Vec::<i32>::new());
        encode_fixed(&a, order, &mut dst);
        decode_fixed(&dst, order, a.len(), &mut out).unwrap();
        prop_assert_eq!(out, a);
        let (mut dst, mut out) = (Vec::new(), Vec::<f64>::new());
        encode_fixed(&b, order, &mut dst);
        decode_fixed(&dst, order, b.len(), &mut out).unwrap();
        let bits = |v: &[f64]| v.iter().map(|x| x.to_canonical_word()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&out), bits(&b));
        prop_assert!(decode_fixed::<f64>(&dst, order, b.len() + 1, &mut out).is_err());
    }

    #[test]
    fn byte_strings_round_trip(values: Vec<Vec<u8>>, prefix in prefixes()) {
        let mut dst = Vec::new();
        encode_bytes(values.iter().map(Vec::as_slice), prefix, &mut dst).unwrap();
        let (mut offsets, mut data) = (vec![0], Vec::new());
        decode_bytes(&dst, prefix, values.len(), &mut offsets, &mut data).unwrap();
        let back: Vec<Vec<u8>> =
            offsets.windows(2).map(|w| data[w[0] as usize..w[1] as usize].to_vec()).collect();
        prop_assert_eq!(back, values);
    }

    #[test]
    fn hostile_bytes_never_panic(src: Vec<u8>, count in 0usize..200, prefix in prefixes()) {
        let _ = decode_bytes(&src, prefix, count, &mut vec![0], &mut Vec::new());
        let _ = decode_varint(&src, count, &mut Vec::new());
        let _ = decode_bool(&src, count, &mut Vec::new());
    }
}
