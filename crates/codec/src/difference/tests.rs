use proptest::prelude::*;

use super::*;
use crate::IntKind;

const KINDS: [IntKind; 8] = [
    IntKind::I8,
    IntKind::I16,
    IntKind::I32,
    IntKind::I64,
    IntKind::U8,
    IntKind::U16,
    IntKind::U32,
    IntKind::U64,
];

/// Bytes of small steps in the width of `kind`, to cover all paths.
fn walk(kind: IntKind, steps: &[i64]) -> Vec<u8> {
    let mut x = 0i64;
    steps
        .iter()
        .flat_map(|step| {
            x = x.wrapping_add(*step);
            x.to_le_bytes().into_iter().take(kind.width())
        })
        .collect()
}

proptest! {
    #[test]
    fn deltas_round_trip(steps in prop::collection::vec(any::<i64>(), 0..60)) {
        for kind in KINDS {
            let data = walk(kind, &steps);
            let mut packed = Vec::new();
            delta::encode(kind, &data, &mut packed).unwrap();
            let mut back = vec![1; data.len()];
            delta::decode(kind, &packed, &mut back).unwrap();
            prop_assert_eq!(&back, &data);
            let mut out = vec![0; data.len()];
            xor::encode(kind.width(), &data, &mut out).unwrap();
            xor::decode(kind.width(), &out, &mut back).unwrap();
            prop_assert_eq!(&back, &data);
        }
    }

    #[test]
    fn double_deltas_round_trip(
        steps in prop::collection::vec(any::<i64>(), 1..80),
        shift in 0u32..64,
    ) {
        let steps: Vec<i64> = steps.iter().map(|s| s >> shift).collect();
        for kind in KINDS {
            let data = walk(kind, &steps);
            let mut packed = Vec::new();
            double_delta::encode(kind, &data, &mut packed).unwrap();
            let mut back = vec![1; data.len()];
            double_delta::decode(kind, &packed, &mut back).unwrap();
            prop_assert_eq!(&back, &data);
        }
    }

    #[test]
    fn hostile_streams_are_refused_or_decoded(src in prop::collection::vec(any::<u8>(), 0..100), n in 0usize..40) {
        for kind in KINDS {
            let mut dst = vec![0; n * kind.width()];
            let _ = delta::decode(kind, &src, &mut dst);
            let _ = double_delta::decode(kind, &src, &mut dst);
            let mut named = src.clone();
            named.splice(0..9.min(named.len()), [(src.len() % 70) as u8].into_iter().chain((n as u64).to_le_bytes()));
            let _ = double_delta::decode(kind, &named, &mut dst);
            let _ = xor::decode(kind.width(), &src, &mut dst);
        }
    }
}

#[test]
fn the_first_difference_counts_for_the_width() {
    let data: Vec<u8> = [0i32, 1000, 2000, 3000].iter().flat_map(|v| v.to_le_bytes()).collect();
    let mut packed = Vec::new();
    double_delta::encode(IntKind::I32, &data, &mut packed).unwrap();
    assert_eq!(packed[0], 10);
    assert_eq!(packed.len(), 9 + 8 + 8);
}

#[test]
fn double_deltas_next_to_the_smallest_value_are_stored_raw() {
    let data: Vec<u8> = [7, 8, i64::MIN, 9].into_iter().flat_map(i64::to_le_bytes).collect();
    let mut packed = Vec::new();
    double_delta::encode(IntKind::I64, &data, &mut packed).unwrap();
    assert_eq!((packed[0], &packed[9..]), (64, data.as_slice()));
}
