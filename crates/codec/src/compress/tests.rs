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
    fn compressed_data_round_trips(data in prop::collection::vec(0u8..8, 0..4000), level in prop::option::of(1i32..7)) {
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
fn a_stream_of_the_wrong_length_is_refused() {
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

#[cfg(feature = "zstd")]
mod dictionaries {
    use proptest::prelude::*;

    use crate::compress::zstd::{self, RawDictionary};

    #[test]
    fn a_named_raw_dictionary_is_used_in_both_directions() {
        for size in [0usize, 5, 300, 70_000, 300_000] {
            let text: Vec<u8> =
                b"the quick brown fox jumps over the lazy dog. ".iter().copied().cycle().take(size).collect();
            for content in
                [text.clone(), [&0xEC30_A437_u32.to_le_bytes()[..], &text].concat(), b"short".to_vec()]
            {
                let dictionary = RawDictionary::new(content);
                let mut packed = b"kept".to_vec();
                dictionary.compress(7, 1, &text, &mut packed).unwrap();
                let frame = &packed[4..];
                assert_eq!(frame[4] & 3, 1);
                let id_at = if frame[4] & 0x20 != 0 { 5 } else { 6 };
                assert_eq!(frame[id_at], 1);
                let mut back = vec![0; size];
                dictionary.decompress_into(frame, &mut back).unwrap();
                assert_eq!(back, text);
                assert!(dictionary.decompress_into(frame, &mut vec![0; size + 1]).is_err());
            }
        }
    }

    #[test]
    fn a_decoded_prefix_matches_the_whole_frame() {
        let data: Vec<u8> = (0..400_000u32).flat_map(|i| (i / 3 % 977).to_le_bytes()).collect();
        let mut packed = Vec::new();
        zstd::compress_with_checksum(3, &data, &mut packed).unwrap();
        let mut front = zstd::Front::try_new(&packed, data.len()).unwrap();
        assert_eq!(front.bytes(), []);
        for step in [1, 7, 65_536, 300_000, usize::MAX] {
            assert!(front.extend(step).unwrap());
            assert_eq!(front.bytes(), &data[..front.bytes().len()]);
        }
        assert_eq!(front.bytes().len(), data.len());
        assert!(!front.extend(10).unwrap());
        // Truncated, damaged, or of another size than stated.
        let mut front = zstd::Front::try_new(&packed[..packed.len() / 2], 1000).unwrap();
        while front.extend(100).unwrap() {}
        assert!(zstd::Front::try_new(&packed, 1 << 40).is_err());
        let mut front = zstd::Front::try_new(&[1, 2, 3, 4, 5, 6, 7, 8], 10).unwrap();
        assert!(front.extend(10).is_err());
        assert!(!zstd::Front::try_new(&[], 10).unwrap().extend(10).unwrap());
    }

    #[test]
    fn an_impossible_size_is_refused_before_allocation() {
        let mut packed = Vec::new();
        zstd::compress_with_checksum(3, &[7; 1000], &mut packed).unwrap();
        assert_eq!(zstd::decompress(&packed, 1000).unwrap(), [7; 1000]);
        assert!(zstd::decompress(&packed, usize::MAX).is_err());
        assert!(zstd::decompress(&[], 1 << 40).is_err());
        assert_eq!(zstd::decompress(&[], 0).unwrap(), []);
    }

    proptest! {
        #[test]
        fn checked_frames_of_any_shape_round_trip(data in prop::collection::vec(0u8..4, 0..200_000), level in 1i32..9) {
            let mut packed = Vec::new();
            zstd::compress_with_checksum(level, &data, &mut packed).unwrap();
            let half = packed.len();
            prop_assert!(zstd::has_checksum(&packed));
            zstd::compress_without_content_size(level, &data, &mut packed).unwrap();
            packed.extend([0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9]);
            let back = zstd::decompress(&packed, 2 * data.len()).unwrap();
            prop_assert!(back.iter().eq(data.iter().chain(&data)));
            prop_assert!(!zstd::has_checksum(&packed[half..]));
            for len in [0, 1, data.len() / 3, data.len(), data.len() * 2] {
                let mut front = vec![9; len.min(back.len())];
                zstd::decompress_front_into(&packed, &mut front).unwrap();
                prop_assert!(back.starts_with(&front));
            }
            prop_assert!(zstd::decompress_front_into(&packed, &mut vec![9; back.len() + 1]).is_err());
            let _ = zstd::check_size(&packed[..half / 2], 1 << 20);
        }

        #[test]
        fn damaged_frames_never_panic(data in prop::collection::vec(any::<u8>(), 0..60)) {
            let dictionary = RawDictionary::new(b"some history".to_vec());
            let framed = [&[0x28, 0xb5, 0x2f, 0xfd][..], &data].concat();
            for bytes in [&data, &framed] {
                let _ = zstd::check_size(bytes, 1 << 20);
                let _ = dictionary.decompress_into(bytes, &mut [0; 40]);
            }

        }
    }
}
