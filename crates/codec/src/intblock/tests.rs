use proptest::prelude::*;

use super::*;
use crate::intpack::{bits, group, pfor};

fn groups_of(values: &[u32]) -> Vec<u8> {
    let mut out = Vec::new();
    group::encode(values, &mut out).unwrap();
    out
}

fn patched_of(values: &[u32]) -> Vec<u8> {
    let mut out = Vec::new();
    pfor::encode(values, &mut out).unwrap();
    out
}

#[test]
fn short_input_is_refused_at_every_length() {
    let values: Vec<u32> = (0..128).map(|i| if i % 50 == 7 { 70_000 } else { i % 5 }).collect();
    let mut out = vec![0; 128];
    let (groups, patched) = (groups_of(&values), patched_of(&values));
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

fn blocks() -> impl Strategy<Value = Vec<u32>> {
    (1u32..=32).prop_flat_map(|width| {
        let top = if width == 32 { u32::MAX } else { (1 << width) - 1 };
        prop::collection::vec(prop_oneof![9 => 0..=top, 1 => any::<u32>()], 0..=128)
    })
}

proptest! {
    #[test]
    fn packed_blocks_of_every_width_are_read(values in blocks(), width in 1u32..=32) {
        let low: Vec<u32> = values.iter().map(|v| (u64::from(*v) & ((1 << width) - 1)) as u32).collect();
        let mut bytes = Vec::new();
        bits::pack(values.iter().map(|&v| u64::from(v)), width, &mut bytes);
        let len = bytes.len();
        bytes.extend([0xff; 9]);
        let mut out = vec![0; values.len()];
        prop_assert_eq!(unpack(&bytes, width, &mut out).unwrap(), len);
        prop_assert_eq!(out, low);
    }

    #[test]
    fn groups_are_read_to_their_end(values in blocks()) {
        let mut bytes = groups_of(&values);
        let len = bytes.len();
        bytes.push(0xff);
        let mut out = vec![0; values.len()];
        prop_assert_eq!(decode_groups(&bytes, &mut out).unwrap(), len);
        prop_assert_eq!(out, values);
    }

    #[test]
    fn patched_blocks_are_read_to_their_end(values in blocks()) {
        let mut bytes = patched_of(&values);
        let len = bytes.len();
        bytes.push(0xff);
        let mut out = vec![0; values.len()];
        prop_assert_eq!(decode_patched(&bytes, &mut out).unwrap(), len);
        prop_assert_eq!(out, values);
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), n in 0usize..=128) {
        let mut out = vec![0; n];
        let _ = decode_patched(&bytes, &mut out);
        let _ = decode_groups(&bytes, &mut out);
    }
}
