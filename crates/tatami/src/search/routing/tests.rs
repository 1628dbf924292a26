use proptest::prelude::*;

use super::*;

fn sample() -> RoutingIndex {
    let mut index = RoutingIndex { docs: 12, shard_docs: vec![5, 7], ..RoutingIndex::default() };
    for (i, term) in ["a", "bridge", "river", "日本"].iter().enumerate() {
        let routes = index.terms.entry(term.as_bytes().to_vec()).or_default();
        (0..=(i as u32 % 2)).for_each(|shard| routes.push(shard, 2 + i as u64, 1 + shard * 3));
    }
    index
}

#[test]
fn both_forms_round_trip() {
    for index in [sample(), RoutingIndex::default()] {
        assert_eq!(RoutingIndex::parse_portable(&index.to_portable()).unwrap(), index);
        assert_eq!(RoutingIndex::parse_file(&index.to_file().unwrap()).unwrap(), index);
    }
}

#[test]
fn a_cut_file_is_refused_at_every_length() {
    let (file, portable) = (sample().to_file().unwrap(), sample().to_portable());
    for len in 0..file.len() {
        assert!(RoutingIndex::parse_file(&file[..len]).is_err());
    }
    for len in 0..portable.len() {
        assert!(RoutingIndex::parse_portable(&portable[..len]).is_err());
    }
}

#[test]
fn the_most_promising_shard_comes_first() {
    let routes = sample().route(&["bridge", "absent"]);
    assert_eq!(routes.iter().map(|r| r.shard).collect::<Vec<_>>(), [1, 0]);
    assert!(sample().route(&["absent"]).is_empty());
}

#[test]
fn pairs_stay_inside_their_field() {
    let mut builder = BigramBuilder::default();
    builder.add([&b"river stone river stone"[..], b"bridge"]);
    builder.end_shard();
    builder.add([&b"river stone"[..]]);
    builder.end_shard();
    let index = builder.finish();
    assert_eq!(index.pairs(), 2);
    assert_eq!(BigramIndex::parse(&index.to_bytes()).unwrap(), index);
    assert_eq!(index.route(2, &["river", "stone"]).unwrap().len(), 2);
    assert_eq!(index.route(2, &["stone", "bridge"]), None);
    assert_eq!(index.route(2, &["river"]), None);
}

proptest! {
    #[test]
    fn damage_never_panics(at in any::<prop::sample::Index>(), value in any::<u8>()) {
        let mut file = sample().to_file().unwrap();
        let at_file = at.index(file.len());
        file[at_file] = value;
        let _ = RoutingIndex::parse_file(&file);
        let mut portable = sample().to_portable();
        let at_portable = at.index(portable.len());
        portable[at_portable] = value;
        let _ = RoutingIndex::parse_portable(&portable);
        let _ = BigramIndex::parse(&portable);
    }
}
