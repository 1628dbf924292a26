use proptest::prelude::*;

use super::*;

fn encoded<T: Int>(encode: impl Fn(&[T], &mut Vec<u8>), values: &[T]) -> Vec<u8> {
    let mut out = Vec::new();
    encode(values, &mut out);
    out
}

#[test]
fn published_examples_of_the_frame() {
    assert_eq!(encoded(frame::encode, &[1000u64, 1001, 1002, 1000, 1003]), [2, 0xe8, 7, 0x24, 3]);
    let negative = [4, 0xfd, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0x80, 0x23];
    assert_eq!(encoded(frame::encode, &[-3i32, 5, 0, -1]), negative);
    assert_eq!(encoded(frame::encode, &[7u8, 7, 7]), [1, 7, 0]);
    assert_eq!(encoded::<i16>(frame::encode, &[]), [1]);
}

#[test]
fn published_examples_of_the_other_forms() {
    assert_eq!(encoded(delta::encode, &[100i64, 103, 106, 104, 110]), [0x64, 4, 3, 0x33, 0x90]);
    assert_eq!(encoded(delta::encode, &[300u16]), [0xac, 2, 1]);
    let runs: Vec<u8> = [vec![5; 10], vec![1, 2, 3], vec![9; 8]].concat();
    assert_eq!(encoded(rle::encode, &runs), [4, 0x15, 5, 6, 0x21, 3, 0x11, 9]);
    let mut out = Vec::new();
    group::encode(&[1u32, 300, 70000, 4_000_000_000, 5], &mut out).unwrap();
    assert_eq!(out, [0xe4, 1, 0x2c, 1, 0x70, 0x11, 1, 0, 0x28, 0x6b, 0xee, 0, 5]);
    out.clear();
    pfor::encode(&[1u16, 2, 3, 1, 2, 1, 3, 2, 1000, 1], &mut out).unwrap();
    assert_eq!(out, [2, 1, 8, 0xe8, 7, 0x79, 0xb6, 4]);
}

#[test]
fn width_zero_means_all_equal() {
    let mut out: Vec<i32> = Vec::new();
    frame::decode(&[0, 5], 1000, &mut out).unwrap();
    assert_eq!(out, [5; 1000]);
}

#[test]
fn hostile_widths_counts_and_positions_are_refused() {
    let mut out: Vec<u32> = Vec::new();
    assert!(frame::decode(&[65, 0, 0, 0], 3, &mut out).is_err());
    assert!(frame::decode(&[64, 0], usize::MAX, &mut out).is_err());
    assert!(delta::decode(&[1, 64, 0], usize::MAX, &mut out).is_err());
    assert!(group::decode(&[0xff; 8], usize::MAX, &mut out).is_err());
    assert!(pfor::decode(&[2, 1, 9, 1, 0, 0, 0], 3, &mut out).is_err());
    assert!(rle::decode(&[8, 0, 0, 0], 3, &mut out).is_err());
}

fn round_trip<T: Int + std::fmt::Debug>(values: &[T]) {
    let mut forms = vec![
        (
            "frame",
            encoded(frame::encode, values),
            frame::decode::<T> as fn(&[u8], usize, &mut Vec<T>) -> _,
            Some(frame::encoded_len(values)),
        ),
        ("delta", encoded(delta::encode, values), delta::decode::<T>, Some(delta::encoded_len(values))),
        ("rle", encoded(rle::encode, values), rle::decode::<T>, Some(rle::encoded_len(values))),
    ];
    let mut out = Vec::new();
    if group::encode(values, &mut out).is_ok() {
        forms.push(("group", out.clone(), group::decode::<T>, group::encoded_len(values)));
    }
    out.clear();
    if pfor::encode(values, &mut out).is_ok() {
        forms.push(("pfor", out, pfor::decode::<T>, pfor::encoded_len(values)));
    }
    for (name, bytes, decode, len) in forms {
        assert_eq!(Some(bytes.len()), len, "{name}");
        let mut back = vec![T::default()];
        decode(&bytes, values.len(), &mut back).unwrap();
        assert_eq!(&back[1..], values, "{name}");
        for cut in 0..bytes.len() {
            let _ = decode(&bytes[..cut], values.len(), &mut Vec::new());
        }
    }
}

#[test]
fn every_width_round_trips() {
    for width in 1..=64u32 {
        let mask = u64::MAX >> (64 - width);
        for n in [1usize, 7, 63, 64, 65, 200] {
            let values: Vec<u64> =
                (0..n as u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask).collect();
            let mut packed = Vec::new();
            bits::pack(values.iter().copied(), width, &mut packed);
            assert_eq!(Some(packed.len()), bits::packed_len(n, width));
            let mut back: Vec<u64> = Vec::new();
            bits::unpack(&packed, width, 0, n, &mut back).unwrap();
            assert_eq!(back, values, "width {width}, {n} values");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn unsigned_values_round_trip(values in prop::collection::vec(any::<u64>(), 0..300), shift in 0u32..64) {
        let values: Vec<u64> = values.iter().map(|v| v >> shift).collect();
        round_trip(&values);
        round_trip(&values.iter().map(|&v| v as u8).collect::<Vec<_>>());
        round_trip(&values.iter().map(|&v| v as u16).collect::<Vec<_>>());
        round_trip(&values.iter().map(|&v| v as u32).collect::<Vec<_>>());
    }

    #[test]
    fn signed_values_round_trip(values in prop::collection::vec(any::<i64>(), 0..300), shift in 0u32..64) {
        let values: Vec<i64> = values.iter().map(|v| v >> shift).collect();
        round_trip(&values);
        round_trip(&values.iter().map(|&v| v as i8).collect::<Vec<_>>());
        round_trip(&values.iter().map(|&v| v as i16).collect::<Vec<_>>());
        round_trip(&values.iter().map(|&v| v as i32).collect::<Vec<_>>());
    }

    #[test]
    fn runs_round_trip(runs in prop::collection::vec((any::<i16>(), 1usize..30), 0..20)) {
        round_trip(&runs.iter().flat_map(|&(v, n)| std::iter::repeat_n(v, n)).collect::<Vec<_>>());
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..80), n in 0usize..2000) {
        let mut out: Vec<i32> = Vec::new();
        let _ = frame::decode(&bytes, n, &mut out);
        let _ = delta::decode(&bytes, n, &mut out);
        let _ = rle::decode(&bytes, n, &mut out);
        let _ = group::decode(&bytes, n, &mut out);
        let _ = pfor::decode(&bytes, n, &mut out);
    }
}
