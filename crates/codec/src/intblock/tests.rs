use super::*;
use proptest::prelude::*;

#[test]
fn examples_of_the_layouts() {
    let mut out = Vec::new();
    encode_groups(&[1, 300, 70_000, 4_000_000_000, 5], &mut out);
    assert_eq!(out, [0xe4, 1, 0x2c, 1, 0x70, 0x11, 1, 0, 0x28, 0x6b, 0xee, 0, 5]);
    out.clear();
    encode_patched(&[1, 2, 3, 1, 2, 1, 3, 2, 1000, 1], &mut out);
    assert_eq!(out, [2, 1, 8, 0xe8, 7, 0x79, 0xb6, 4]);
    out.clear();
    encode_patched(&[1, 2, 3], &mut out);
    assert_eq!(out, [2, 0, 0x39]);
}

#[test]
fn short_input_is_refused_at_every_length() {
    let values: Vec<u32> = (0..128).map(|i| if i % 50 == 7 { 70_000 } else { i % 5 }).collect();
    let mut out = vec![0; 128];
    let (mut groups, mut patched) = (Vec::new(), Vec::new());
    encode_groups(&values, &mut groups);
    encode_patched(&values, &mut patched);
    for len in 0..groups.len() {
        assert!(decode_groups(&groups[..len], &mut out).is_err());
    }
    for len in 0..patched.len() {
        assert!(decode_patched(&patched[..len], &mut out).is_err());
    }
}

#[test]
fn impossible_widths_and_positions_are_refused() {
    let mut out = [0; 3];
    assert!(unpack(&[0; 600], 33, &mut out).is_err());
    assert!(decode_patched(&[0, 0, 0, 0], &mut out).is_err());
    assert!(decode_patched(&[33, 0, 0, 0], &mut out).is_err());
    assert!(decode_patched(&[1, 1, 3, 9, 0], &mut out).is_err());
    assert!(decode_patched(&[1, 1, 0, 0xff, 0xff, 0xff, 0xff, 0x1f, 0], &mut out).is_err());
    assert!(unpack(&[0; 600], 1, &mut [0; 129]).is_err());
}

/// The smallest stream over all widths, tried one by one.
fn naive_patched_len(values: &[u32]) -> (usize, u32) {
    (1..=32)
        .map(|width| {
            let exceptions = values.iter().filter(|&&v| bits(v) > width);
            let extra: usize = exceptions.map(|&v| 1 + bits(v).div_ceil(7) as usize).sum();
            (packed_len(values.len(), width) + extra, width)
        })
        .min()
        .unwrap()
}

fn blocks() -> impl Strategy<Value = Vec<u32>> {
    (1u32..=32).prop_flat_map(|width| {
        let top = if width == 32 { u32::MAX } else { (1 << width) - 1 };
        prop::collection::vec(prop_oneof![9 => 0..=top, 1 => any::<u32>()], 0..=128)
    })
}

proptest! {
    #[test]
    fn packing_round_trips_at_every_width(values in blocks(), width in 1u32..=32) {
        let low: Vec<u32> = values.iter().map(|v| (u64::from(*v) & ((1 << width) - 1)) as u32).collect();
        let mut bytes = Vec::new();
        pack(&values, width, &mut bytes);
        prop_assert_eq!(bytes.len(), packed_len(values.len(), width));
        // A bit at a time, as the layout is defined.
        for (i, v) in low.iter().enumerate() {
            let naive = (0..width as usize).fold(0u64, |sum, b| {
                let bit = i * width as usize + b;
                sum | u64::from(bytes[bit / 8] >> (bit % 8) & 1) << b
            });
            prop_assert_eq!(naive, u64::from(*v));
        }
        let mut out = vec![0; values.len()];
        prop_assert_eq!(unpack(&bytes, width, &mut out).unwrap(), bytes.len());
        prop_assert_eq!(out, low);
    }

    #[test]
    fn groups_round_trip(values in blocks()) {
        let mut bytes = Vec::new();
        encode_groups(&values, &mut bytes);
        let mut out = vec![0; values.len()];
        prop_assert_eq!(decode_groups(&bytes, &mut out).unwrap(), bytes.len());
        prop_assert_eq!(out, values);
    }

    #[test]
    fn patched_blocks_round_trip_and_are_smallest(values in blocks()) {
        let mut bytes = Vec::new();
        encode_patched(&values, &mut bytes);
        let (len, width) = naive_patched_len(&values);
        prop_assert_eq!((bytes.len(), u32::from(bytes[0])), (len + 2, width));
        let mut out = vec![0; values.len()];
        prop_assert_eq!(decode_patched(&bytes, &mut out).unwrap(), bytes.len());
        prop_assert_eq!(out, values);
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), n in 0usize..=128) {
        let mut out = vec![0; n];
        let _ = decode_patched(&bytes, &mut out);
        let _ = decode_groups(&bytes, &mut out);
    }
}
