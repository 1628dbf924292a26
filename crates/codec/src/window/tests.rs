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

proptest! {
    #[test]
    fn bit_width_round_trips(values in prop::collection::vec(any::<i64>(), 1..200), shift in 0u32..63, window in 8usize..300, extra in 0usize..3) {
        for kind in KINDS {
            let mut data: Vec<u8> = values.iter().flat_map(|v| (v >> shift).to_le_bytes().into_iter().take(kind.width())).collect();
            data.extend(vec![9; extra]);
            let (mut packed, mut metadata) = (Vec::new(), Vec::new());
            bit_width::encode(kind, window, &data, &mut packed, &mut metadata).unwrap();
            let mut back = vec![0; data.len()];
            let mut rest = metadata.as_slice();
            bit_width::decode(kind, &mut rest, &packed, &mut back).unwrap();
            prop_assert!(rest.is_empty());
            prop_assert_eq!(&back, &data);
        }
    }

    #[test]
    fn positive_delta_round_trips(mut values in prop::collection::vec(0i64..100, 1..200), window in 8usize..300) {
        values.sort_unstable();
        for kind in KINDS {
            let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes().into_iter().take(kind.width())).collect();
            let (mut packed, mut metadata) = (Vec::new(), Vec::new());
            positive_delta::encode(kind, window, &data, &mut packed, &mut metadata).unwrap();
            let mut back = vec![0; data.len()];
            let mut rest = metadata.as_slice();
            positive_delta::decode(kind, &mut rest, &packed, &mut back).unwrap();
            prop_assert!(rest.is_empty());
            prop_assert_eq!(&back, &data);
        }
    }

    #[test]
    fn hostile_windows_are_refused_or_decoded(
        head in prop::collection::vec(0u8..20, 0..60), src in prop::collection::vec(any::<u8>(), 0..60), n in 0usize..80,
    ) {
        for kind in KINDS {
            let mut dst = vec![0; n];
            let _ = bit_width::decode(kind, &mut head.as_slice(), &src, &mut dst);
            let _ = positive_delta::decode(kind, &mut head.as_slice(), &src, &mut dst);
        }
    }
}

#[test]
fn falling_values_are_refused() {
    let out = positive_delta::encode(IntKind::U8, 8, &[3, 2], &mut Vec::new(), &mut Vec::new());
    assert!(out.is_err());
}

#[test]
fn widths_follow_range_plus_one() {
    // A signed byte fits 127 but not 128 = 127 + 1.
    for (high, bits) in [(126i32, 8), (127, 16), (32766, 16), (32767, 32)] {
        let data: Vec<u8> = [0, high].iter().flat_map(|v: &i32| v.to_le_bytes()).collect();
        let mut metadata = Vec::new();
        bit_width::encode(IntKind::I32, 256, &data, &mut Vec::new(), &mut metadata).unwrap();
        assert_eq!(metadata[12], bits, "{high}");
    }
    for (high, bits) in [(254u32, 8), (255, 16), (65534, 16), (65535, 32)] {
        let data: Vec<u8> = [0, high].iter().flat_map(|v: &u32| v.to_le_bytes()).collect();
        let mut metadata = Vec::new();
        bit_width::encode(IntKind::U32, 256, &data, &mut Vec::new(), &mut metadata).unwrap();
        assert_eq!(metadata[12], bits, "{high}");
    }
}
