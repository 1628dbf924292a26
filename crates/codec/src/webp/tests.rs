use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn pixels_round_trip(kind in 0usize..4, width in 1usize..9, height in 1usize..9, seed in any::<u32>()) {
        let pixels = [Pixels::Rgb, Pixels::Bgr, Pixels::Rgba, Pixels::Bgra][kind];
        let layout = Layout { pixels, height, stride: width * pixels.width() };
        let data: Vec<u8> = (0..layout.stride * height).map(|i| (seed.wrapping_mul(i as u32 | 1) >> 24) as u8).collect();
        let mut packed = Vec::new();
        encode(layout, &data, &mut packed).unwrap();
        let mut back = vec![0; data.len()];
        decode(layout, &packed, &mut back).unwrap();
        prop_assert_eq!(&back, &data);
        let wrong = Layout { height: height + 1, ..layout };
        prop_assert!(decode(wrong, &packed, &mut vec![0; wrong.stride * wrong.height]).is_err());
    }

    #[test]
    fn damaged_images_never_panic(at in 0usize..80, bit in 0u8..8, cut in 0usize..80) {
        let layout = Layout { pixels: Pixels::Rgb, height: 4, stride: 12 };
        let mut packed = Vec::new();
        encode(layout, &(0..48).collect::<Vec<u8>>(), &mut packed).unwrap();
        if let Some(byte) = packed.get_mut(at) {
            *byte ^= 1 << bit;
        }
        packed.truncate(packed.len() - cut.min(packed.len()));
        let _ = decode(layout, &packed, &mut [0; 48]);
    }
}

#[test]
fn an_image_must_fit_its_layout() {
    let layout = Layout { pixels: Pixels::Rgb, height: 2, stride: 6 };
    assert!(encode(layout, &[0; 11], &mut Vec::new()).is_err());
    assert!(encode(Layout { height: 0, ..layout }, &[], &mut Vec::new()).is_err());
    assert!(decode(layout, b"RIFF", &mut [0; 12]).is_err());
}
