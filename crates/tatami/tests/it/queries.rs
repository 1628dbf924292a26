//! Fields, prefixes, edits, pages and counts, against documents that are looked at one by one.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use proptest::prelude::*;
use tesselle_core::{Location, OpenOptions};
use tesselle_tatami::Collection;
use tesselle_tatami::search::{Boosts, IndexOptions, SearchOptions, analyzer, index, search, update};

use crate::documents::*;

/// A document: id, title, body.
type Document = (String, String, String);

fn batch(documents: &[Document]) -> RecordBatch {
    let column = |of: fn(&Document) -> &String| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(documents.iter().map(of)))
    };
    RecordBatch::try_from_iter([
        ("doc_id", column(|d| &d.0)),
        ("title", column(|d| &d.1)),
        ("body", column(|d| &d.2)),
    ])
    .unwrap()
}

fn options() -> IndexOptions {
    IndexOptions::text(["title", "body"]).stored(["doc_id", "title", "body"])
}

fn everything() -> SearchOptions {
    SearchOptions::default().with_k(1000).with_total(true)
}

fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            table[i][j] = match (i, j) {
                (0, n) | (n, 0) => n,
                _ => (table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]))
                    .min(table[i - 1][j] + 1)
                    .min(table[i][j - 1] + 1),
            };
        }
    }
    table[a.len()][b.len()]
}

/// Whether one part of a query holds for a document.
fn holds(part: &str, (_, title, body): &Document) -> bool {
    let (fields, part) = match part.split_once(':') {
        Some(("title", part)) => (vec![title], part),
        Some((_, part)) => (vec![body], part),
        None => (vec![title, body], part),
    };
    fields.into_iter().any(|field| {
        let tokens = analyzer::tokens(field.as_bytes());
        if let Some(prefix) = part.strip_suffix('*') {
            return tokens.iter().any(|token| token.starts_with(prefix));
        }
        if let Some((word, distance)) = part.split_once('~') {
            return tokens.iter().any(|token| edits(token, word) <= distance.parse().unwrap());
        }
        let words = analyzer::tokens(part.as_bytes());
        tokens.windows(words.len()).any(|window| window == words)
    })
}

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["river", "rivers", "rover", "stone", "stones", "sand", "old", "bridge"][..])
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(word(), 0..6).prop_map(|words| words.join(" "))
}

fn part() -> impl Strategy<Value = String> {
    let field = prop::sample::select(&["", "title:", "body:"][..]);
    let what = prop_oneof![
        word().prop_map(str::to_owned),
        (word(), word()).prop_map(|(a, b)| format!("\"{a} {b}\"")),
        prop::sample::select(&["riv*", "sto*", "s*", "x*", "rivr~1", "stones~2", "old~0"][..])
            .prop_map(str::to_owned),
    ];
    (field, what).prop_map(|(field, what)| format!("{field}{what}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_query_finds_what_looking_at_every_document_finds(
        documents in prop::collection::vec((text(), text()), 1..30),
        parts in prop::collection::vec(part(), 1..4),
        required in any::<bool>(),
        positions in any::<bool>(),
        page in 1usize..5,
    ) {
        let documents: Vec<Document> =
            documents.into_iter().enumerate().map(|(i, (title, body))| (format!("d{i:02}"), title, body)).collect();
        let place = Place::new();
        let rows = batch(&documents);
        place.index("a.tatami", &rows, &options().with_positions(positions));
        let query = parts.join(if required { " AND " } else { " " });
        let test = |document: &&Document| {
            let mut all = parts.iter().map(|part| holds(&part.replace('"', ""), document));
            if required { all.all(|holds| holds) } else { all.any(|holds| holds) }
        };
        let wanted: BTreeSet<String> = documents.iter().filter(test).map(|d| d.0.clone()).collect();
        let found = place.search("a.tatami", &query, &everything());
        let ids: Vec<String> =
            found.hits.iter().map(|hit| String::from_utf8(hit.fields.doc_id.clone()).unwrap()).collect();
        prop_assert_eq!(ids.iter().cloned().collect::<BTreeSet<_>>(), wanted.clone(), "{}", &query);
        prop_assert_eq!(found.total, Some(wanted.len() as u64));
        // Pages in a row are the whole list.
        let mut paged = Vec::new();
        for offset in (0..ids.len() + page).step_by(page) {
            let options = SearchOptions::default().with_k(page).with_offset(offset);
            paged.extend(place.search("a.tatami", &query, &options).hits);
        }
        prop_assert_eq!(paged.len(), found.hits.len());
        for (one, other) in paged.iter().zip(&found.hits) {
            prop_assert_eq!((one.doc, one.score.to_bits()), (other.doc, other.score.to_bits()));
        }
    }
}

#[test]
fn an_update_replaces_documents_by_their_ids() {
    let folder = tempfile::tempdir().unwrap();
    let root = Location::local(folder.path()).unwrap();
    let document = |id: &str, body: &str| (id.to_owned(), "zebra".to_owned(), body.to_owned());
    let write = |name: &str, documents: &[Document]| {
        let rows = batch(documents);
        index([Ok(rows.clone())], &rows.schema(), &root.join(name), &options(), &driver()).unwrap();
    };
    write("a.tatami", &[document("1", "one"), document("2", "two")]);
    write("b.tatami", &[document("3", "three")]);
    Collection::open(&root, &OpenOptions::default()).unwrap().add(&["a.tatami", "b.tatami"]).unwrap();
    write("c.tatami", &[document("2", "new"), document("4", "four")]);
    let done = update(&root, "c.tatami", &driver()).unwrap();
    assert_eq!((done.deleted, done.live), (1, 4));
    let bodies = |query: &str| {
        let hits = search(&root, query, &everything(), &OpenOptions::default(), &driver()).unwrap();
        let mut ids: Vec<String> =
            hits.hits.iter().map(|hit| String::from_utf8(hit.fields.doc_id.clone()).unwrap()).collect();
        ids.sort();
        assert_eq!(hits.total, Some(ids.len() as u64));
        ids
    };
    assert_eq!(bodies("zebra"), ["1", "2", "3", "4"]);
    assert_eq!(bodies("two"), [""; 0]);
    assert_eq!(bodies("new"), ["2"]);
    // Again: nothing is left to do.
    assert_eq!(update(&root, "c.tatami", &driver()).unwrap().deleted, 0);
}

#[test]
fn boosted_hits_are_the_best_of_all_documents() {
    let words = ["river", "stone", "sand", "old", "bridge", "toll"];
    let words = |seed: usize, count: usize| -> String {
        (0..count)
            .map(|i| words[(seed * 31 + i * i * 7 + seed / 5) % words.len()])
            .collect::<Vec<_>>()
            .join(" ")
    };
    let documents: Vec<Document> =
        (0..700).map(|i| (format!("d{i:03}"), words(i, i % 4), words(i * 3 + 1, 1 + i % 60))).collect();
    let place = Place::new();
    place.index("a.tatami", &batch(&documents), &options());
    let all = place.search("a.tatami", "river bridge", &everything()).hits;
    assert!(all.len() > 300, "{}", all.len());
    let boosts = Boosts { title: 4.0, ..Boosts::default() };
    let mut wanted: Vec<(u32, f32)> = all
        .iter()
        .map(|hit| {
            let title = analyzer::tokens(&hit.fields.title);
            let share = ["river", "bridge"].iter().filter(|word| title.iter().any(|t| t == *word)).count();
            (hit.doc, hit.score * (1.0 + 3.0 * (share as f32 / 2.0)))
        })
        .collect();
    wanted.sort_by(|a, b| b.1.total_cmp(&a.1));
    assert_ne!(wanted[0].0, all[0].doc, "the boost changes the order");
    for (k, offset) in [(1, 0), (10, 0), (10, 35), (200, 7), (1000, 0)] {
        let options = SearchOptions::default().with_k(k).with_offset(offset).with_boosts(boosts);
        let found = place.search("a.tatami", "river bridge", &options).hits;
        let found: Vec<(u32, f32)> = found.iter().map(|hit| (hit.doc, hit.score)).collect();
        assert_eq!(found, wanted.iter().copied().skip(offset).take(k).collect::<Vec<_>>(), "{k} {offset}");
    }
    let wrong = SearchOptions::default().with_boosts(Boosts { url: 0.5, title: 1.0 });
    assert!(
        search(&place.location("a.tatami"), "river", &wrong, &OpenOptions::default(), &driver()).is_err()
    );
}
