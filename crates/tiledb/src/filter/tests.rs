use proptest::prelude::*;
use tesselle_codec::cipher::Key;
use tesselle_codec::digest::Digest;
use tesselle_core::Cursor;

use super::*;
use crate::Datatype;

const VERSION: u32 = 22;

/// Filters of integers. The first eleven accept any values at any position.
fn filters() -> Vec<Filter> {
    vec![
        Filter::None,
        Filter::gzip(1),
        Filter::zstd(-1),
        Filter::lz4(),
        Filter::bzip2(1),
        Filter::Bitshuffle,
        Filter::Byteshuffle,
        Filter::Checksum(Digest::Md5),
        Filter::Checksum(Digest::Sha256),
        Filter::gzip(-1),
        Filter::Checksum(Digest::Md5),
        Filter::Xor,
        Filter::BitWidthReduction { max_window: 256 },
        Filter::Delta { level: -1, reinterpret: None },
        Filter::Rle { level: -1 },
        Filter::DoubleDelta { level: -1, reinterpret: None },
        Filter::PositiveDelta { max_window: 1024 },
    ]
}

fn round_trip(codec: &TileCodec, data: &[u8]) {
    let mut body = Vec::new();
    codec.encode(data, None, &mut body).unwrap();
    let mut back = vec![0; data.len()];
    codec.decode(&body, &mut back, None).unwrap();
    assert!(back == data);
}

fn fixed(filters: Vec<Filter>, datatype: Datatype, key: Option<&Key>) -> TileCodec {
    let kind = TileKind::Fixed { cell_size: datatype.size() };
    TileCodec::try_new(&Pipeline::new(filters), datatype, kind, VERSION, key).unwrap()
}

/// The strings of all cells, one after the other.
fn looked_up(entries: &Entries) -> Vec<u8> {
    let starts: Vec<usize> = std::iter::once(0).chain(entries.ends.iter().copied()).collect();
    let strings =
        entries.ids.iter().map(|id| &entries.data[starts[usize::from(*id)]..entries.ends[usize::from(*id)]]);
    strings.flatten().copied().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn tiles_come_back_through_any_chain(
        first in 0usize..14, picks in prop::collection::vec(0usize..11, 0..4),
        values in prop::collection::vec(0u16..1000, 1..400), repeat in 1usize..60, encrypted in any::<bool>(),
    ) {
        let all = filters();
        let chain: Vec<Filter> = [first].into_iter().chain(picks).map(|i| all[i].clone()).collect();
        let key = encrypted.then(|| Key::new([7; 32]));
        for datatype in [Datatype::Int32, Datatype::Uint64, Datatype::Int16, Datatype::Uint8] {
            let data: Vec<u8> = std::iter::repeat_n(&values, repeat).flatten()
                .flat_map(|v| u64::from(*v).to_le_bytes().into_iter().take(datatype.size())).collect();
            round_trip(&fixed(chain.clone(), datatype, key.as_ref()), &data);
        }
    }

    #[test]
    fn bodies_that_lie_are_refused_or_decoded(
        picks in prop::collection::vec(0usize..17, 1..4),
        values in prop::collection::vec(0i32..1000, 1..60), at in 0usize..200, with in any::<u8>(), cut in 0usize..40,
    ) {
        let all = filters();
        let codec = fixed(picks.into_iter().map(|i| all[i].clone()).collect(), Datatype::Int32, None);
        let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let mut body = Vec::new();
        // Some chains cannot encode these values; then the error is the expected result.
        if codec.encode(&data, None, &mut body).is_ok() {
            if let Some(byte) = body.get_mut(at) { *byte = with; }
            body.truncate(body.len() - cut.min(body.len()));
            let _ = codec.decode(&body, &mut vec![0; data.len()], None);
        }
    }

    #[test]
    fn strings_come_back_with_their_offsets(
        strings in prop::collection::vec("[ab]{0,3}", 0..100), dictionary in any::<bool>(), zstd in any::<bool>(),
    ) {
        let mut chain = vec![if dictionary { Filter::Dictionary { level: -1 } } else { Filter::Rle { level: -1 } }];
        chain.extend(zstd.then(|| Filter::zstd(3)));
        let codec = TileCodec::try_new(&Pipeline::new(chain), Datatype::StringUtf8, TileKind::Var, VERSION, None).unwrap();
        prop_assert!(codec.makes_offsets() && codec.offsets_in_data());
        let (mut data, mut offsets) = (Vec::new(), Vec::new());
        for s in &strings {
            offsets.push(data.len() as u64);
            data.extend_from_slice(s.as_bytes());
        }
        let mut body = Vec::new();
        codec.encode(&data, Some(&offsets), &mut body).unwrap();
        let (mut back, mut starts) = (vec![0; data.len()], vec![1; offsets.len()]);
        codec.decode(&body, &mut back, Some(&mut starts)).unwrap();
        prop_assert_eq!((back, starts), (data.clone(), offsets));
        let entries = codec.entries(&body, data.len(), strings.len()).unwrap();
        prop_assert_eq!(entries.is_some(), dictionary && !strings.is_empty());
        if let Some(entries) = entries {
            prop_assert_eq!(looked_up(&entries), data.clone());
        }
        for at in 0..body.len() {
            let mut bad = body.clone();
            bad[at] ^= 0x41;
            let mut seen = vec![0; data.len()];
            let decoded = codec.decode(&bad, &mut seen, Some(&mut vec![0; strings.len()]));
            // What is refused as strings is refused as distinct strings, and the other way around.
            let entries = codec.entries(&bad, data.len(), strings.len());
            if dictionary && !strings.is_empty() {
                prop_assert_eq!(entries.is_ok(), decoded.is_ok());
            }
            if let (Ok(Some(entries)), Ok(())) = (entries, decoded) {
                prop_assert_eq!(looked_up(&entries), seen);
            }
            let _ = codec.decode(&body[..at], &mut vec![0; data.len()], Some(&mut vec![0; strings.len()]));
        }
    }

    #[test]
    fn var_tiles_are_cut_between_cells(sizes in prop::collection::vec(0usize..90_000, 1..12)) {
        let codec = TileCodec::try_new(&Pipeline::default(), Datatype::Char, TileKind::Var, VERSION, None).unwrap();
        let mut offsets = Vec::new();
        let mut len = 0;
        for size in &sizes {
            offsets.push(len as u64);
            len += size;
        }
        let mut body = Vec::new();
        codec.encode(&vec![1; len], Some(&offsets), &mut body).unwrap();
        for chunk in TileCodec::chunks(&body, len).unwrap() {
            prop_assert!(chunk.start == 0 || offsets.contains(&(chunk.start as u64)));
            prop_assert!(chunk.original > 0);
        }
        codec.decode(&body, &mut vec![0; len], None).unwrap();
    }
}

#[test]
fn pipelines_are_stored_and_read_back() {
    let mut all = filters();
    all.extend([
        Filter::Aes256Gcm,
        Filter::Dictionary { level: 4 },
        Filter::Delta { level: 2, reinterpret: Some(Datatype::Int16) },
        Filter::FloatScale { scale: 0.5, offset: 3.0, byte_width: 4 },
        Filter::Webp { quality: 70.0, format: ImageFormat::Bgra, lossless: true, y_extent: 5, x_extent: 8 },
    ]);
    for version in [12, 19, 20, 22] {
        let mut filters = all.clone();
        if version < 19 {
            filters.retain(|f| !matches!(f, Filter::Delta { .. }));
        }
        let pipeline = Pipeline::new(filters);
        let mut bytes = Vec::new();
        pipeline.write(version, &mut bytes);
        let mut cursor = Cursor::new(&bytes, 0, "pipeline");
        assert_eq!(Pipeline::parse(&mut cursor, version).unwrap(), pipeline);
        cursor.expect_end().unwrap();
        for cut in 0..bytes.len() {
            assert!(Pipeline::parse(&mut Cursor::new(&bytes[..cut], 0, "pipeline"), version).is_err());
        }
    }
}

#[test]
fn the_documented_example_has_these_bytes() {
    let mut bytes = Vec::new();
    Pipeline::new([Filter::gzip(1)]).write(VERSION, &mut bytes);
    assert_eq!(bytes, [0, 0, 1, 0, 1, 0, 0, 0, 1, 5, 0, 0, 0, 1, 1, 0, 0, 0]);
}

#[test]
fn the_deprecated_filter_is_refused() {
    let bytes = [17, 0, 0, 0, 0];
    assert!(Filter::parse(&mut Cursor::new(&bytes, 0, "filter"), VERSION).is_err());
}

#[test]
fn typed_filters_come_back() {
    let rising: Vec<u8> = (0..40_000_i64).flat_map(|v| (v * 3).to_le_bytes()).collect();
    let window = |max_window| Filter::BitWidthReduction { max_window };
    let chains = [
        vec![Filter::PositiveDelta { max_window: 1024 }, window(256), Filter::zstd(1)],
        vec![Filter::DoubleDelta { level: -1, reinterpret: None }, Filter::bzip2(2)],
        vec![Filter::Rle { level: -1 }, Filter::zstd(2)],
        vec![
            Filter::Bitshuffle,
            Filter::Byteshuffle,
            window(100),
            Filter::gzip(2),
            Filter::Checksum(Digest::Md5),
        ],
        vec![Filter::Delta { level: -1, reinterpret: Some(Datatype::Uint16) }],
    ];
    for chain in chains {
        for datatype in [Datatype::Int64, Datatype::Uint64, Datatype::DatetimeNs] {
            round_trip(&fixed(chain.clone(), datatype, Some(&Key::new([1; 32]))), &rising);
        }
    }
    let floats: Vec<u8> = (0..20_000).flat_map(|v| (f64::from(v) * 0.5).to_le_bytes()).collect();
    let scale = Filter::FloatScale { scale: 0.5, offset: 0.0, byte_width: 4 };
    round_trip(&fixed(vec![scale, Filter::Bitshuffle, Filter::zstd(1)], Datatype::Float64, None), &floats);
    let image =
        Filter::Webp { quality: 100.0, format: ImageFormat::Rgb, lossless: true, y_extent: 40, x_extent: 60 };
    let pixels: Vec<u8> = (0..2400).map(|i| (i * 7 % 251) as u8).collect();
    round_trip(&fixed(vec![image], Datatype::Uint8, None), &pixels);
}

#[test]
fn a_wrong_key_or_none_is_denied() {
    let codec = |filters, key: Option<u8>| {
        fixed(filters, Datatype::Uint8, key.map(|byte| Key::new([byte; 32])).as_ref())
    };
    let mut body = Vec::new();
    codec(vec![Filter::zstd(1)], Some(1)).encode(&[1; 100], None, &mut body).unwrap();
    let mut back = [0; 100];
    let wrong = codec(vec![Filter::zstd(1)], Some(2)).decode(&body, &mut back, None).unwrap_err();
    assert_eq!(wrong.kind(), tesselle_core::ErrorKind::Denied);
    let none =
        codec(vec![Filter::zstd(1), Filter::Aes256Gcm], None).decode(&body, &mut back, None).unwrap_err();
    assert_eq!(none.kind(), tesselle_core::ErrorKind::Denied);
}

#[test]
fn an_empty_tile_has_no_chunks() {
    let codec = fixed(vec![Filter::BitWidthReduction { max_window: 256 }], Datatype::Int32, None);
    let mut body = Vec::new();
    codec.encode(&[], None, &mut body).unwrap();
    assert_eq!(body, [0; 8]);
    codec.decode(&body, &mut [], None).unwrap();
}

/// The bodies are those of the reference.
#[test]
fn deltas_of_wide_strings_are_between_bytes() {
    let unit = |unit: u16| unit.to_le_bytes();
    let data: Vec<u8> = [0x28, 0x4e, 0x48, 0x4e, 0x34].into_iter().flat_map(unit).collect();
    let head = |filtered: u8| -> Vec<u8> {
        let words = [1, 0, 10, filtered, 16, 0, 1, 10, filtered];
        words.into_iter().flat_map(|word: u8| u32::from(word).to_le_bytes()).collect()
    };
    let count = [10, 0, 0, 0, 0, 0, 0, 0];
    let deltas = [0x28, 0xd8, 0x4e, 0xb2, 0x48, 0xb8, 0x4e, 0xb2, 0x34, 0xcc];
    let cases = [
        (Filter::Delta { level: -1, reinterpret: None }, [head(18).as_slice(), &count, &deltas].concat()),
        (
            Filter::DoubleDelta { level: -1, reinterpret: None },
            [head(19).as_slice(), &[8], &count, &data].concat(),
        ),
    ];
    for datatype in [Datatype::StringUtf16, Datatype::StringUcs2] {
        for (filter, body) in &cases {
            let codec = fixed(vec![filter.clone()], datatype, None);
            let mut written = Vec::new();
            codec.encode(&data, None, &mut written).unwrap();
            assert_eq!(&written, body);
            let mut back = vec![0; data.len()];
            codec.decode(body, &mut back, None).unwrap();
            assert_eq!(back, data);
        }
    }
}
