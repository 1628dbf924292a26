use proptest::prelude::*;

use super::*;

/// The definition, byte by byte.
fn byteshuffle_plainly(width: usize, src: &[u8]) -> Vec<u8> {
    let n = src.len() / width;
    let mut dst = src.to_vec();
    for i in 0..n {
        for j in 0..width {
            dst[j * n + i] = src[i * width + j];
        }
    }
    dst
}

/// The definition, bit by bit.
fn bitshuffle_plainly(width: usize, src: &[u8]) -> Vec<u8> {
    if !src.len().is_multiple_of(width) || !src.len().is_multiple_of(8) {
        return src.to_vec();
    }
    let mut out = Vec::new();
    for block in src.chunks(BLOCK) {
        let n = block.len() / width;
        let m = n - n % 8;
        for j in 0..width {
            for k in 0..8 {
                for p in 0..m / 8 {
                    let bit = |q: usize| ((block[(8 * p + q) * width + j] >> k) & 1) << q;
                    out.push((0..8).map(bit).sum());
                }
            }
        }
        out.extend_from_slice(&block[m * width..]);
    }
    out
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..700),
        (1usize..3, 0usize..400, any::<u64>()).prop_map(|(blocks, more, seed)| {
            (0..blocks * BLOCK + more).map(|i| (seed.wrapping_mul(i as u64 | 1) >> 32) as u8).collect()
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn byteshuffle_follows_its_definition_and_round_trips(data in bytes(), width in 1usize..18) {
        let mut out = vec![0; data.len()];
        byteshuffle(width, &data, &mut out).unwrap();
        prop_assert_eq!(&out, &byteshuffle_plainly(width, &data));
        let mut back = vec![0; data.len()];
        byteunshuffle(width, &out, &mut back).unwrap();
        prop_assert_eq!(back, data);
    }

    #[test]
    fn bitshuffle_follows_its_definition_and_round_trips(mut data in bytes(), width in 1usize..18, whole in any::<bool>()) {
        if whole {
            data.truncate(data.len() / (8 * width) * 8 * width);
        }
        let mut out = vec![0; data.len()];
        bitshuffle(width, &data, &mut out).unwrap();
        prop_assert_eq!(&out, &bitshuffle_plainly(width, &data));
        let mut back = vec![0; data.len()];
        bitunshuffle(width, &out, &mut back).unwrap();
        prop_assert_eq!(back, data);
    }
}

#[test]
fn slices_of_different_lengths_are_refused() {
    assert!(byteshuffle(4, &[0; 8], &mut [0; 7]).is_err());
    assert!(bitunshuffle(4, &[0; 8], &mut [0; 16]).is_err());
}
