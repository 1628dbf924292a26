use proptest::prelude::*;

use super::*;

fn lay_out(strings: &[String]) -> (Vec<u8>, Vec<u64>) {
    let mut data = Vec::new();
    let mut offsets = Vec::new();
    for string in strings {
        offsets.push(data.len() as u64);
        data.extend_from_slice(string.as_bytes());
    }
    (data, offsets)
}

fn check(strings: &[String]) {
    let (data, offsets) = lay_out(strings);
    let (mut back, mut starts) = (vec![0; data.len()], vec![9; offsets.len()]);

    let mut packed = Vec::new();
    let widths = runs::encode(&data, &offsets, &mut packed).unwrap();
    runs::decode(widths, &packed, &mut back, &mut starts).unwrap();
    assert_eq!((&back, &starts), (&data, &offsets));

    back.fill(0);
    starts.fill(9);
    let mut packed = Vec::new();
    let d = dictionary::encode(&data, &offsets, &mut packed).unwrap();
    dictionary::decode(d.id_width, d.length_width, &d.entries, &packed, &mut back, &mut starts).unwrap();
    assert_eq!((&back, &starts), (&data, &offsets));

    let mut ids = vec![7];
    let distinct = dictionary::split(d.id_width, d.length_width, &d.entries, &packed, data.len(), &mut ids);
    let distinct = distinct.unwrap().unwrap();
    let found: Vec<&[u8]> = ids[1..].iter().map(|id| distinct[usize::from(*id)]).collect();
    assert_eq!(found, strings.iter().map(String::as_bytes).collect::<Vec<_>>());
}

proptest! {
    #[test]
    fn strings_round_trip(strings in prop::collection::vec("[ab]{0,2}", 0..80)) {
        check(&strings);
    }

    #[test]
    fn long_and_short_strings_round_trip(strings in prop::collection::vec("a{0,2}|[ab]{28,36}", 0..80)) {
        check(&strings);
    }

    #[test]
    fn hostile_streams_are_refused_or_decoded(
        a in 0u8..9, b in 0u8..9,
        src in prop::collection::vec(0u8..6, 0..60), entries in prop::collection::vec(0u8..6, 0..30),
        bytes in 0usize..50, cells in 0usize..20,
    ) {
        let (mut data, mut offsets) = (vec![0; bytes], vec![0; cells]);
        let _ = runs::decode(runs::Widths { run: a, string: b }, &src, &mut data, &mut offsets);
        let decoded = dictionary::decode(a, b, &entries, &src, &mut data, &mut offsets);
        let mut ids = Vec::new();
        let split = dictionary::split(a, b, &entries, &src, bytes, &mut ids);
        // Both accept and refuse the same, except that the number of cells is not known to one of them.
        prop_assert!(decoded.is_err() || split.is_ok());
        if let Ok(Some(distinct)) = split && ids.len() == cells {
            let strings: Vec<u8> = ids.iter().flat_map(|id| distinct[usize::from(*id)]).copied().collect();
            prop_assert!(decoded.is_ok());
            prop_assert_eq!(strings, data);
        }
    }
}

#[test]
fn a_long_last_string_widens_the_length() {
    let mut strings = vec!["abc".to_owned(); 5];
    strings.push("x".repeat(300));
    check(&strings);
    let (data, offsets) = lay_out(&strings);
    let widths = runs::encode(&data, &offsets, &mut Vec::new()).unwrap();
    assert_eq!(widths, runs::Widths { run: 1, string: 2 });
}

#[test]
fn indexes_are_as_wide_as_the_number_of_strings_needs() {
    let (data, offsets) = lay_out(&vec!["a".to_owned(); 256]);
    let mut packed = Vec::new();
    let d = dictionary::encode(&data, &offsets, &mut packed).unwrap();
    assert_eq!((d.id_width, packed.len()), (2, 512));
    assert_eq!(d.entries, [1, b'a']);
}

#[test]
fn a_dictionary_of_more_strings_than_short_indexes_have_is_not_split() {
    let strings: Vec<String> = (0..=dictionary::MOST_STRINGS).map(|i| i.to_string()).collect();
    let (data, offsets) = lay_out(&strings);
    let mut packed = Vec::new();
    let d = dictionary::encode(&data, &offsets, &mut packed).unwrap();
    let mut ids = Vec::new();
    let split = dictionary::split(d.id_width, d.length_width, &d.entries, &packed, data.len(), &mut ids);
    assert_eq!((split, ids.len()), (Ok(None), 0));
}

#[test]
fn offsets_past_the_data_cannot_be_written() {
    assert!(runs::encode(b"ab", &[0, 3], &mut Vec::new()).is_err());
    assert!(dictionary::encode(b"ab", &[1, 0], &mut Vec::new()).is_err());
}
