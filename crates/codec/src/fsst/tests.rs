use proptest::prelude::*;

use super::*;

fn round_trip(values: &[&[u8]]) {
    let encoder = Encoder::train(values);
    let mut table = Vec::new();
    encoder.write_table(&mut table);
    let (decoder, len) = Decoder::parse(&table).unwrap();
    assert_eq!(len, table.len());
    for value in values {
        let mut back = b"kept".to_vec();
        decoder.decode(&encoder.encode(value), &mut back).unwrap();
        assert_eq!(&back[4..], *value);
    }
    for cut in 0..table.len() {
        assert!(Decoder::parse(&table[..cut]).is_err());
    }
}

#[test]
fn similar_strings_shrink_and_round_trip() {
    let urls: Vec<String> =
        (0..500).map(|i| format!("https://example.org/articles/{i}/index.html")).collect();
    let values: Vec<&[u8]> = urls.iter().map(String::as_bytes).collect();
    round_trip(&values);
    let encoder = Encoder::train(&values);
    let coded: usize = values.iter().map(|v| encoder.encode(v).len()).sum();
    let plain: usize = values.iter().map(|v| v.len()).sum();
    assert!(coded * 2 < plain, "{coded} of {plain}");
}

#[test]
fn no_values_and_empty_values() {
    round_trip(&[]);
    round_trip(&[b"", b""]);
    round_trip(&[b"\xff\xff\x00", b"\x00"]);
}

#[test]
fn unknown_codes_and_bad_tables_are_refused() {
    let (decoder, _) = Decoder::parse(&[1, 2, b'a', b'b']).unwrap();
    let mut out = Vec::new();
    decoder.decode(&[0, 255, b'c'], &mut out).unwrap();
    assert_eq!(out, b"abc");
    assert!(decoder.decode(&[1], &mut out).is_err());
    assert!(decoder.decode(&[255], &mut out).is_err());
    assert!(Decoder::parse(&[1, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0]).is_err());
    assert!(Decoder::parse(&[1, 0]).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_strings_round_trip(values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..60)) {
        round_trip(&values.iter().map(Vec::as_slice).collect::<Vec<_>>());
    }

    #[test]
    fn random_bytes_never_panic(table in prop::collection::vec(any::<u8>(), 0..60), coded in prop::collection::vec(any::<u8>(), 0..60)) {
        if let Ok((decoder, _)) = Decoder::parse(&table) {
            let _ = decoder.decode(&coded, &mut Vec::new());
        }
    }
}
