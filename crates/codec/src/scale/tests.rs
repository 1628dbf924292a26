use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn scaled_floats_round_trip_within_half_a_step(values in prop::collection::vec(-100i32..100, 0..50), byte_width in 0usize..4) {
        let scale = Scale { scale: 0.25, offset: 1.5, byte_width: 1 << byte_width };
        let floats: Vec<f64> = values.iter().map(|v| f64::from(*v) * 0.25 + 1.5).collect();
        let data: Vec<u8> = floats.iter().flat_map(|v| v.to_le_bytes()).collect();
        let mut packed = Vec::new();
        encode(8, &scale, &data, &mut packed).unwrap();
        prop_assert_eq!(packed.len(), values.len() << byte_width);
        let mut back = vec![0; data.len()];
        decode(8, &scale, &packed, &mut back).unwrap();
        prop_assert_eq!(back, data);
    }

    #[test]
    fn any_integers_decode(src in prop::collection::vec(any::<u8>(), 0..64), n in 0usize..20, width in 0usize..9, byte_width in 0usize..9) {
        let scale = Scale { scale: 0.1, offset: 0.0, byte_width };
        let _ = decode(width, &scale, &src, &mut vec![0; n * 4]);
    }
}

#[test]
fn values_out_of_range_cannot_be_written() {
    let scale = Scale { scale: 1.0, offset: 0.0, byte_width: 1 };
    for bad in [128f32, -129.0, f32::NAN, f32::INFINITY] {
        assert!(encode(4, &scale, &bad.to_le_bytes(), &mut Vec::new()).is_err(), "{bad}");
    }
    let mut packed = Vec::new();
    encode(4, &scale, &(-128.4f32).to_le_bytes(), &mut packed).unwrap();
    assert_eq!(packed, [0x80]);
}
