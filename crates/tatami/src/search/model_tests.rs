//! Retrieval against a naive model: every document scored, everything sorted.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use tesselle_codec::varint;

use super::adjacent::Adjacent;
use super::bm25::{contribution, idf};
use super::inverted::{InvertedIndex, Runs};
use super::meta::{
    BlockTreeWriter, DictionaryKind, LiveDocs, PositionsWriter, ReadRange, RunSource, TermEntry, encode_list,
};
use super::query::{Group, Node, Pattern, Phrase, Query, Syntax};
use super::retrieve::{Phrases, Retrieval};
use super::statistics::Statistics;
use super::top::{Collector, Floor, TopDocs, TopScores};

type Document = Vec<&'static str>;

const WORDS: [&str; 8] = ["all", "half", "some", "few", "rare", "twin", "pair", "solo"];

struct NoPhrases;

impl Phrases for NoPhrases {
    fn contains(&mut self, _doc: u32, _phrase: &Phrase) -> tesselle_core::Result<bool> {
        Ok(true)
    }
}

fn holds(words: &[&str], phrase: &Phrase) -> bool {
    words.windows(phrase.words.len()).any(|window| window.iter().eq(phrase.words.iter()))
}

/// The numbers of the positions of a word.
fn positions(documents: &[Document], word: &str) -> Vec<u32> {
    let mut numbers = Vec::new();
    for words in documents {
        let mut last = 0;
        for (at, _) in (0..).zip(words).filter(|(_, other)| **other == word) {
            numbers.push(at - last);
            last = at;
        }
    }
    numbers
}

fn counts(documents: &[Document]) -> BTreeMap<&'static str, Vec<(u32, u32)>> {
    let mut terms: BTreeMap<&str, Vec<(u32, u32)>> = BTreeMap::new();
    for (doc, words) in documents.iter().enumerate() {
        let mut freqs: BTreeMap<&str, u32> = BTreeMap::new();
        for word in words {
            *freqs.entry(word).or_default() += 1;
        }
        for (word, freq) in freqs {
            terms.entry(word).or_default().push((doc as u32, freq));
        }
    }
    terms
}

fn build(documents: &[Document], live: Option<&LiveDocs>) -> InvertedIndex {
    InvertedIndex::parse(encode(documents, live), documents.len() as u32).unwrap()
}

/// A run that is read by ranges.
#[derive(Debug)]
struct Ranges(Bytes);

impl ReadRange for Ranges {
    fn read(&self, range: Range<usize>) -> tesselle_core::Result<Bytes> {
        Ok(self.0.slice(range))
    }
}

/// The same runs, each read by ranges.
fn ranged(runs: Runs) -> Runs {
    let by_ranges = |run: RunSource| match run {
        RunSource::Held(bytes) => RunSource::Ranged { len: bytes.len(), source: Arc::new(Ranges(bytes)) },
        ranged @ RunSource::Ranged { .. } => ranged,
    };
    let Runs { kind, terms, postings, skips, positions, live } = runs;
    let (terms, postings, skips) = (by_ranges(terms), by_ranges(postings), by_ranges(skips));
    Runs { kind, terms, postings, skips, positions: positions.map(by_ranges), live }
}

fn encode(documents: &[Document], live: Option<&LiveDocs>) -> Runs {
    let mut tree = BlockTreeWriter::new();
    let (mut postings, mut skips, mut lists) = (Vec::new(), Vec::new(), 0);
    let mut places = PositionsWriter::default();
    for (term, list) in counts(documents) {
        let freqs: Vec<u32> = list.iter().map(|(_, freq)| *freq).collect();
        places.push(&freqs, &positions(documents, term)).unwrap();
        if let [(doc, freq)] = list[..] {
            tree.push(term.as_bytes(), TermEntry::Singleton { df: 1, doc, freq }).unwrap();
            continue;
        }
        tree.push(term.as_bytes(), TermEntry::List { df: list.len() as u32, list: lists }).unwrap();
        lists += 1;
        let docs: Vec<u32> = list.into_iter().map(|(doc, _)| doc).collect();
        let mut payload = Vec::new();
        encode_list(&docs, &freqs, &mut payload).unwrap().write(&mut skips);
        varint::write(payload.len() as u64, &mut postings);
        postings.extend(payload);
    }
    let (mut places, area) = places.finish().unwrap();
    places.extend(area);
    let counted = |body: Vec<u8>| {
        let mut run = Vec::new();
        varint::write(u64::from(lists), &mut run);
        run.extend(body);
        run.into()
    };
    Runs {
        kind: DictionaryKind::BlockTree,
        terms: tree.finish().unwrap().into(),
        postings: counted(postings),
        skips: counted(skips),
        positions: Some(places.into()),
        live: live.map(|live| live.write().into()),
    }
}

/// Every document scored one by one, in the order of the specification.
fn exhaustive(documents: &[Document], live: Option<&LiveDocs>, query: &Query, k: usize) -> Vec<(u32, u32)> {
    let terms = counts(documents);
    // Any of the words that a pattern stands for, found by looking at all of them.
    let known = |pattern: &Pattern| {
        Ok(terms.keys().filter(|t| pattern.matches(t)).map(|t| (*t).to_owned()).collect())
    };
    let expanded = query.expand(&mut { known }).unwrap();
    let weight: HashMap<&str, f32> =
        terms.iter().map(|(term, list)| (*term, idf(documents.len() as u64, list.len() as u64))).collect();
    let mut hits = Vec::new();
    for (doc, words) in documents.iter().enumerate() {
        if live.is_some_and(|live| !live.contains(doc as u32)) || !matches(words, &query.root) {
            continue;
        }
        let mut sum = 0f32;
        for token in expanded.tokens() {
            let freq = words.iter().filter(|word| **word == token).count() as u32;
            if freq > 0 {
                sum += contribution(weight[token], freq);
            }
        }
        hits.push((doc as u32, sum));
    }
    hits.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    hits.truncate(k);
    hits.into_iter().map(|(doc, score)| (doc, score.to_bits())).collect()
}

fn matches(words: &[&str], group: &Group) -> bool {
    let node = |node: &Node| match node {
        Node::Term(term) => words.contains(&term.as_str()),
        Node::Phrase(phrase) => holds(words, phrase),
        Node::Pattern(_, pattern) => words.iter().any(|word| pattern.matches(word)),
        Node::Group(group) => matches(words, group),
    };
    group.must.iter().all(node)
        && !group.must_not.iter().any(node)
        && (!group.must.is_empty() || group.should.iter().any(node))
}

fn found(index: &InvertedIndex, query: &Query, k: usize, phrases: &mut impl Phrases) -> Vec<(u32, u32)> {
    let query = &query
        .expand(&mut |pattern| {
            let mut words = Vec::new();
            let start = pattern.start().as_bytes();
            let dictionary = index.dictionary();
            dictionary.for_each_from(start, |term| words.push(String::from_utf8(term.to_vec()).unwrap()))?;
            words.retain(|word| pattern.matches(word));
            Ok(words)
        })
        .unwrap();
    let statistics = Statistics::of_segment(index, &query.tokens()).unwrap();
    let retrieval = Retrieval::try_new(index, query, &statistics, index.live()).unwrap();
    let mut top = TopDocs::new(k);
    retrieval.run(&mut top, phrases).unwrap();
    top.into_sorted().into_iter().map(|hit| (hit.doc, hit.score.to_bits())).collect()
}

/// Documents whose words get rarer along [`WORDS`], up to several blocks of 128.
fn documents(max: usize) -> impl Strategy<Value = Vec<Document>> {
    let word = (0usize..8).prop_perturb(|i, mut rng| WORDS[i.min(rng.random_range(0..8))]);
    // Long ranges without relevant documents, as for rare words.
    let some = prop::collection::vec(word, 0..12);
    let run = prop_oneof![3 => (some, Just(1usize)), 1 => (Just(Vec::new()), 1usize..200)];
    prop::collection::vec(run, 0..max).prop_map(move |runs| {
        let documents = runs.into_iter().flat_map(|(words, times)| vec![words; times]);
        documents.take(max * 2).collect()
    })
}

fn plain_query() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&WORDS[..]), 1..5).prop_map(|words| words.join(" "))
}

fn boolean_query() -> impl Strategy<Value = String> {
    let word = prop::sample::select(&WORDS[..]).prop_map(str::to_owned);
    let leaf = prop_oneof![
        4 => word.clone(),
        1 => prop::sample::select(&["a*", "s*", "so*", "h*", "t*", "x*", "fer~1", "pait~2", "solo~0"][..]).prop_map(str::to_owned),
        1 => (word.clone(), word).prop_map(|(a, b)| format!("\"{a} {b}\"")),
    ];
    let expression = leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("({})", parts.join(" AND "))),
            prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("({})", parts.join(" OR "))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} -{b})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("(+{a} {b})")),
        ]
    });
    prop::collection::vec(expression, 1..3).prop_map(|parts| parts.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn pruned_hits_equal_exhaustive_ones(
        documents in documents(700),
        text in plain_query(),
        k in prop_oneof![0usize..30, Just(5000)],
        deleted in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        by_ranges: bool,
    ) {
        let mut live = LiveDocs::all(documents.len() as u32);
        if !documents.is_empty() {
            for i in &deleted {
                live.delete(i.index(documents.len()) as u32);
            }
        }
        let query = Query::parse(&text, Syntax::Boolean).unwrap();
        let wanted = exhaustive(&documents, Some(&live), &query, k);
        let runs = encode(&documents, Some(&live));
        let runs = if by_ranges { ranged(runs) } else { runs };
        let index = InvertedIndex::parse(runs, documents.len() as u32).unwrap();
        prop_assert_eq!(found(&index, &query, k, &mut NoPhrases), wanted);
    }

    #[test]
    fn boolean_hits_equal_exhaustive_ones(documents in documents(300), text in boolean_query(), k in 0usize..40) {
        let index = build(&documents, None);
        let Ok(query) = Query::parse(&text, Syntax::Boolean) else { return Ok(()) };
        prop_assert_eq!(
            found(&index, &query, k, &mut Adjacent::new(&index).unwrap()),
            exhaustive(&documents, None, &query, k),
            "{}", text
        );
    }

    /// Damage with valid checksums.
    #[test]
    fn damaged_runs_are_refused_or_answer_something(
        documents in documents(300),
        text in prop_oneof![plain_query(), boolean_query()],
        flips in prop::collection::vec((0usize..5, any::<prop::sample::Index>(), any::<u8>()), 1..4),
        by_ranges: bool,
    ) {
        let docs = documents.len() as u32;
        let mut runs = encode(&documents, Some(&LiveDocs::all(docs)));
        for (run, at, value) in flips {
            let damaged = |bytes: &Bytes| {
                let mut bytes = bytes.to_vec();
                let at = at.index(bytes.len());
                bytes[at] = value;
                Bytes::from(bytes)
            };
            let run = match (run, &mut runs.positions) {
                (0, _) => &mut runs.terms,
                (1, _) => &mut runs.postings,
                (2, _) => &mut runs.skips,
                (3, Some(positions)) => positions,
                _ => {
                    runs.live = runs.live.as_ref().map(damaged);
                    continue;
                }
            };
            if let RunSource::Held(bytes) = run {
                *bytes = damaged(bytes);
            }
        }
        let runs = if by_ranges { ranged(runs) } else { runs };
        let (Ok(index), Ok(query)) = (InvertedIndex::parse(runs, docs), Query::parse(&text, Syntax::Boolean)) else {
            return Ok(());
        };
        let Ok(statistics) = Statistics::of_segment(&index, &query.tokens()) else { return Ok(()) };
        let Ok(retrieval) = Retrieval::try_new(&index, &query, &statistics, index.live()) else { return Ok(()) };
        let mut top = TopDocs::new(10);
        if retrieval.run(&mut top, &mut Adjacent::new(&index).unwrap()).is_ok() {
            prop_assert!(top.into_sorted().iter().all(|hit| hit.doc < docs));
        }
    }

    #[test]
    fn ties_at_the_last_place_are_all_kept(documents in documents(400), text in plain_query(), k in 1usize..20) {
        let index = build(&documents, None);
        let query = Query::parse(&text, Syntax::Plain).unwrap();
        let statistics = Statistics::of_segment(&index, &query.tokens()).unwrap();
        let floor = Floor::default();
        let mut top = TopScores::new(k, &floor);
        Retrieval::try_new(&index, &query, &statistics, None).unwrap().run(&mut top, &mut NoPhrases).unwrap();
        let mut got: Vec<(u32, u32)> = top.into_hits().iter().map(|(_, hit)| (hit.doc, hit.score.to_bits())).collect();
        got.sort_unstable();
        let all = exhaustive(&documents, None, &query, usize::MAX);
        let last = all.get(k - 1).or(all.last()).map_or(0, |hit| hit.1);
        let mut wanted: Vec<(u32, u32)> = all.into_iter().filter(|hit| hit.1 >= last).collect();
        wanted.sort_unstable();
        prop_assert_eq!(got, wanted);
    }
}

#[test]
fn an_empty_collector_admits_nothing() {
    assert!(!TopDocs::new(0).admits(f32::MAX));
    assert!(!TopScores::new(0, &Floor::default()).admits(f32::MAX));
}
