use proptest::prelude::*;

use super::*;

const ALL: [Compressor; 8] = [
    Compressor::None,
    Compressor::Zstd,
    Compressor::Lz4Block,
    Compressor::Snappy,
    Compressor::Gzip,
    Compressor::Zlib,
    Compressor::Bzip2,
    Compressor::Xz,
];

fn built() -> impl Iterator<Item = Compressor> {
    ALL.into_iter()
        .filter(|c| !matches!(compress(*c, None, b"x", &mut Vec::new()), Err(Error::Unsupported { .. })))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_compressed_comes_back(data in prop::collection::vec(0u8..8, 0..4000), level in prop::option::of(1i32..7)) {
        for compressor in built() {
            let mut packed = b"kept".to_vec();
            compress(compressor, level, &data, &mut packed).unwrap();
            let (head, packed) = packed.split_at(4);
            prop_assert_eq!(head, b"kept");
            let mut back = vec![0; data.len()];
            decompress_into(compressor, packed, &mut back).unwrap();
            prop_assert_eq!(&back, &data);
        }
    }

    #[test]
    fn damaged_streams_never_panic(data in prop::collection::vec(any::<u8>(), 0..300), cut in 0usize..300, at in 0usize..300, bit in 0u8..8) {
        for compressor in built() {
            let mut packed = Vec::new();
            compress(compressor, None, &data, &mut packed).unwrap();
            packed.truncate(packed.len() - cut.min(packed.len()));
            if let Some(byte) = packed.get_mut(at) {
                *byte ^= 1 << bit;
            }
            let mut back = vec![0; data.len()];
            let _ = decompress_into(compressor, &packed, &mut back);
            let _ = decompress_into(compressor, &data, &mut back);
        }
    }
}

#[test]
fn a_stream_of_another_length_is_refused() {
    for compressor in built() {
        let mut packed = Vec::new();
        compress(compressor, None, &[7; 100], &mut packed).unwrap();
        for wrong in [0, 99, 101, 5000] {
            assert!(
                decompress_into(compressor, &packed, &mut vec![0; wrong]).is_err(),
                "{compressor:?} {wrong}"
            );
        }
    }
}
