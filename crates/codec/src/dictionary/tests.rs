use proptest::prelude::*;

use super::*;

#[test]
fn bytes_match_the_documented_layout() {
    let mut dst = Vec::new();
    encode([&b"a"[..], b"b", b"a"], &mut dst).unwrap();
    assert_eq!(dst, [4, 2, b'a', 2, b'b', 4, 1, 3, 3, 0x40]);
}

#[test]
fn an_index_out_of_range_is_damage() {
    let (mut offsets, mut data) = (vec![0], Vec::new());
    let bytes = [2, 2, b'a', 4, 1, 3, 3, 0x40];
    assert!(matches!(decode(&bytes, 3, 100, &mut offsets, &mut data), Err(Error::Corrupt { .. })));
    assert!(decode(&[0xff, 0xff, 3], 1, 100, &mut offsets, &mut data).is_err());
}

#[test]
fn expansion_is_bounded() {
    let mut dst = Vec::new();
    let long = [b'x'; 1000];
    encode(std::iter::repeat_n(&long[..], 10_000), &mut dst).unwrap();
    assert!(dst.len() < 1100);
    let (mut offsets, mut data) = (vec![0], Vec::new());
    assert!(matches!(decode(&dst, 10_000, 1 << 20, &mut offsets, &mut data), Err(Error::Length { .. })));
    assert!(data.is_empty());
}

proptest! {
    #[test]
    fn round_trip(values in prop::collection::vec("[a-c]{0,2}", 0..300)) {
        let mut dst = Vec::new();
        encode(values.iter().map(String::as_bytes), &mut dst).unwrap();
        let (mut offsets, mut data) = (vec![0], Vec::new());
        decode(&dst, values.len(), 10_000, &mut offsets, &mut data).unwrap();
        let back: Vec<&[u8]> = offsets.windows(2).map(|w| &data[w[0] as usize..w[1] as usize]).collect();
        prop_assert_eq!(back, values.iter().map(String::as_bytes).collect::<Vec<_>>());
    }

    #[test]
    fn hostile_bytes_never_panic(src: Vec<u8>, n in 0usize..400) {
        let _ = decode(&src, n, 1 << 16, &mut vec![0], &mut Vec::new());
    }
}
