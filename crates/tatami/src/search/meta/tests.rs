use bytes::Bytes;
use proptest::prelude::*;
use tesselle_codec::varint;

use super::*;

/// The 700-document segment of the specification's worked example: `even`, `rare`, `solo`.
fn worked_lists() -> [(Vec<u32>, Vec<u32>); 2] {
    let even: Vec<u32> = (0..700).step_by(2).collect();
    let even_freqs = even.iter().map(|d| d % 3 + 1).collect();
    [(even, even_freqs), (vec![5, 305, 605], vec![1, 2, 3])]
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

#[test]
fn skip_tables_and_payload_of_the_worked_example() {
    let mut run = Vec::new();
    varint::write(2, &mut run);
    let mut payloads = Vec::new();
    for (docs, freqs) in worked_lists() {
        let mut payload = Vec::new();
        encode_list(&docs, &freqs, &mut payload).unwrap().write(&mut run);
        payloads.push(payload);
    }
    assert_eq!(run, hex("02 DE0203 00FE0103008001 8002FE0303438001 8004BA050386015E 03010 5DD04030003"));
    assert_eq!(payloads[1], hex("05 2C01 2C01 02 00 39"));
    let skips = Skips::parse(run.into()).unwrap();
    assert_eq!(skips.len(), 2);
    assert_eq!(skips.table(0).unwrap().unwrap().last, [254, 510, 698]);
    assert_eq!(skips.table(1).unwrap().unwrap().list_max(), 3);
    assert!(skips.table(2).unwrap().is_none());
}

#[test]
fn dictionary_of_the_worked_example() {
    let mut tree = BlockTreeWriter::new();
    tree.push(b"even", TermEntry::List { df: 350, list: 0 }).unwrap();
    tree.push(b"rare", TermEntry::List { df: 3, list: 1 }).unwrap();
    tree.push(b"solo", TermEntry::Singleton { df: 1, doc: 42, freq: 7 }).unwrap();
    let run = tree.finish().unwrap();
    assert_eq!(&run[..5], hex("02 40 03 01 08"));
    assert_eq!(run[5..11], hex("04 65 76 65 6E 00"));
    assert_eq!(run[12], 0x1d);
    let dictionary = Dictionary::parse(DictionaryKind::BlockTree, run.into()).unwrap();
    assert_eq!(dictionary.lookup(b"rare").unwrap(), Some((1, TermEntry::List { df: 3, list: 1 })));
    assert_eq!(
        dictionary.lookup(b"solo").unwrap(),
        Some((2, TermEntry::Singleton { df: 1, doc: 42, freq: 7 }))
    );
    for absent in [&b"a"[..], b"rar", b"rares", b"zebra", b""] {
        assert_eq!(dictionary.lookup(absent).unwrap(), None);
    }
}

#[test]
fn empty_dictionaries() {
    let run = BlockTreeWriter::new().finish().unwrap();
    assert_eq!(run, hex("02 40 00 00 00"));
    assert_eq!(Dictionary::parse(DictionaryKind::BlockTree, run.into()).unwrap().lookup(b"a").unwrap(), None);
    let run = FlatWriter::default().finish();
    assert_eq!(run, [0]);
    assert_eq!(Dictionary::parse(DictionaryKind::Flat, run.into()).unwrap().lookup(b"a").unwrap(), None);
}

#[test]
fn live_docs_of_the_specification() {
    let set = LiveDocs::all(70);
    assert_eq!(set.write(), hex("46 FFFFFFFFFFFFFFFF 3F00000000000000"));
    assert_eq!(LiveDocs::parse(&set.write(), 70).unwrap(), set);
    assert_eq!((set.count(), set.docs()), (70, 70));
    // Documents of missing words are deleted.
    let cut = LiveDocs::parse(&set.write()[..9], 70).unwrap();
    assert_eq!(cut.count(), 64);
    assert!(!cut.contains(64) && cut.contains(63));
    assert!(LiveDocs::parse(&set.write(), 71).is_err());
}

#[test]
fn a_deletion_is_reported_once() {
    let mut set = LiveDocs::all(130);
    assert!(set.delete(129));
    assert!(!set.delete(129));
    assert!(!set.delete(130));
    assert_eq!(set.iter().collect::<Vec<_>>(), (0..129).collect::<Vec<_>>());
}

fn postings() -> impl Strategy<Value = (Vec<u32>, Vec<u32>)> {
    let gap = prop_oneof![8 => 1u32..4, 2 => 1u32..5000, 1 => 1u32..2_000_000];
    let freq = prop_oneof![9 => 1u32..6, 1 => 1u32..100_000];
    prop::collection::vec((gap, freq), 1..700).prop_map(|pairs| {
        let mut doc = 0u32;
        let docs = pairs.iter().map(|(gap, _)| {
            doc += gap;
            doc - 1
        });
        (docs.collect(), pairs.iter().map(|(_, freq)| *freq).collect())
    })
}

fn decode(table: &SkipTable, payload: &[u8]) -> tesselle_codec::Result<(Vec<u32>, Vec<u32>)> {
    let (mut docs, mut freqs) = (Vec::new(), Vec::new());
    for i in 0..table.len() {
        let mut block = vec![0; usize::from(table.count[i])];
        let src = payload.get(table.offset[i] as usize..).unwrap_or_default();
        let len = decode_docs(src, table.first[i], table.last[i], &mut block)?;
        docs.extend_from_slice(&block);
        decode_freqs(&src[len..], &mut block)?;
        freqs.extend_from_slice(&block);
    }
    Ok((docs, freqs))
}

proptest! {
    #[test]
    fn lists_round_trip((docs, freqs) in postings()) {
        let mut payload = Vec::new();
        let table = encode_list(&docs, &freqs, &mut payload).unwrap();
        prop_assert_eq!(table.list_max(), *freqs.iter().max().unwrap());
        prop_assert_eq!(decode(&table, &payload).unwrap(), (docs, freqs));
    }

    #[test]
    fn damaged_payloads_keep_ids_ascending((docs, freqs) in postings(), at in any::<prop::sample::Index>(), bit in 0u32..8) {
        let mut payload = Vec::new();
        let table = encode_list(&docs, &freqs, &mut payload).unwrap();
        let at = at.index(payload.len());
        payload[at] ^= 1u8 << bit;
        if let Ok((docs, _)) = decode(&table, &payload) {
            prop_assert!(docs.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }

    #[test]
    fn both_dictionaries_find_every_term(terms in prop::collection::btree_set("[a-cé日]{1,6}", 0..300)) {
        let mut flat = FlatWriter::default();
        let mut tree = BlockTreeWriter::new();
        for (i, term) in terms.iter().enumerate() {
            let entry = if i % 2 == 0 {
                TermEntry::List { df: 2 + i as u32, list: i as u32 / 2 }
            } else {
                TermEntry::Singleton { df: 1, doc: i as u32 * 7, freq: 3 }
            };
            flat.push(term.as_bytes(), entry);
            tree.push(term.as_bytes(), entry).unwrap();
        }
        let flat = Dictionary::parse(DictionaryKind::Flat, flat.finish().into()).unwrap();
        let tree = Dictionary::parse(DictionaryKind::BlockTree, tree.finish().unwrap().into()).unwrap();
        prop_assert_eq!((flat.len(), tree.len()), (terms.len() as u64, terms.len() as u64));
        for term in &terms {
            let found = flat.lookup(term.as_bytes()).unwrap();
            prop_assert!(found.is_some());
            prop_assert_eq!(found, tree.lookup(term.as_bytes()).unwrap());
        }
        for dictionary in [&flat, &tree] {
            let mut seen = Vec::new();
            dictionary.for_each(|term, _| seen.push(String::from_utf8(term.to_vec()).unwrap())).unwrap();
            prop_assert!(seen.iter().eq(terms.iter()));
        }
    }

    #[test]
    fn random_runs_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let run = Bytes::from(bytes);
        let _ = Postings::parse(run.clone().into());
        if let Ok(skips) = Skips::parse(run.clone().into()) {
            for i in 0..skips.len() {
                let _ = skips.table(i as u32);
            }
        }
        let _ = LiveDocs::parse(&run, 90);
        for kind in [DictionaryKind::Flat, DictionaryKind::BlockTree] {
            if let Ok(dictionary) = Dictionary::parse(kind, run.clone().into()) {
                let _ = dictionary.lookup(b"x");
                let _ = dictionary.for_each(|_, _| ());
            }
        }
    }
}
