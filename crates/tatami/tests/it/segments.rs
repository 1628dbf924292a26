//! Segments built here: searched, filtered, highlighted, deleted from.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use tesselle_core::testing::CountingStorage;
use tesselle_core::{
    Comparison, Depth, Driver, DriverOptions, Format, Location, OpenOptions, Predicate, Report,
};
use tesselle_tatami::search::{
    Deletion, DictionaryKind, IndexOptions, Query, Ranked, SearchOptions, Searcher, Segment, Shape, Syntax,
    analyzer, delete, index, merge_segments, search,
};
use tesselle_tatami::{Collection, Tatami};

use crate::documents::*;

#[test]
fn hits_include_stored_columns() {
    let place = Place::new();
    let options = IndexOptions::text(["title", "body"]).stored(["url", "title", "stars"]);
    place.index("a.tatami", &corpus(), &options);
    let hits = place.search("a.tatami", "river", &SearchOptions::default());
    assert_eq!(hits.to_json()["hits"][0]["fields"]["stars"], 5);
    assert_eq!(hits.hits[0].fields.title, b"River stones");
    assert_eq!(hits.hits[0].fields.url, b"https://example.com/a");
    assert_eq!(hits.hits[0].fields.snippet, b"The river carries stones. The river is long.");
    // Ids are the SHA-256 of the URL if none are given.
    assert_eq!(hits.hits[0].fields.doc_id.len(), 64);
    assert_eq!(place.segment("a.tatami").shape(), Shape::Snippet);
}

#[test]
fn filters_narrow_the_hits_without_changing_scores() {
    let place = Place::new();
    place.index(
        "a.tatami",
        &corpus(),
        &IndexOptions::text(["title", "body"]).stored(["url", "title", "body", "stars"]),
    );
    let all = place.search("a.tatami", "river stone", &SearchOptions::default());
    let filter = Some(Predicate::compare("stars", Comparison::Ge, 3i64));
    let some = place.search("a.tatami", "river stone", &SearchOptions::default().with_filter(filter));
    let wanted: Vec<_> =
        all.hits.into_iter().filter(|hit| hit.fields.extra[0].1.as_i64() >= Some(3)).collect();
    assert!(!wanted.is_empty() && wanted.len() < 4);
    assert_eq!(some.hits, wanted);
    let unknown = Some(Predicate::compare("stras", Comparison::Ge, 3i64));
    let error =
        place.try_search("a.tatami", "river", &SearchOptions::default().with_filter(unknown)).unwrap_err();
    assert!(error.to_string().contains("did you mean 'stars'"), "{error}");
}

#[test]
fn phrases_are_checked_in_the_stored_text() {
    let place = Place::new();
    place.index(
        "body.tatami",
        &corpus(),
        &IndexOptions::text(["title", "body"]).stored(["url", "title", "body"]),
    );
    let docs = |query: &str| -> Vec<u32> {
        place.search("body.tatami", query, &SearchOptions::default()).hits.iter().map(|hit| hit.doc).collect()
    };
    assert_eq!(docs("\"stone bridge\""), [1]);
    assert_eq!(docs("bridge -\"stone bridge\""), [3]);
    assert_eq!(docs("\"bridge stone\""), [3]);
    assert!(docs("\"stones river\"").is_empty(), "a phrase does not reach from one field into the next");
    // A snippet of two words omits the rest of the text.
    let options = IndexOptions::text(["body"]).stored(["url"]).with_snippet_chars(12);
    place.index("lead.tatami", &corpus(), &options);
    let hits = place.search("lead.tatami", "\"bridge over\"", &SearchOptions::default());
    assert_eq!((hits.hits.len(), hits.unverified), (0, 1));
    let hits = place.search("lead.tatami", "\"a stone\"", &SearchOptions::default());
    assert_eq!((hits.hits.len(), hits.unverified), (1, 0));
}

#[test]
fn highlights_show_the_matched_words() {
    let place = Place::new();
    place.index("a.tatami", &corpus(), &IndexOptions::text(["title", "body"]));
    let options = SearchOptions::default().with_highlight(80);
    let hits = place.search("a.tatami", "river long", &options);
    let shown = hits.hits[0].highlight.as_ref().unwrap().marked("<b>", "</b>");
    assert_eq!(shown, "The <b>river</b> carries stones. The <b>river</b> is <b>long</b>.");
    assert_eq!(hits.to_json()["hits"][0]["highlight"]["marks"][0], json!([4, 9]));
}

#[test]
fn deleted_documents_stay_deleted() {
    let place = Place::new();
    place.index("a.tatami", &corpus(), &IndexOptions::text(["title", "body"]));
    let location = place.location("a.tatami");
    let before = place.search("a.tatami", "river", &SearchOptions::default());
    let first = &before.hits[0];
    let by_id = Deletion::Ids(vec![first.fields.doc_id.clone(), b"unknown".to_vec()]);
    let deleted = delete(&location, &location, &by_id, false, &driver()).unwrap();
    assert_eq!((deleted.deleted, deleted.live), (1, 5));
    let after = place.search("a.tatami", "river", &SearchOptions::default());
    assert_eq!(after.hits, before.hits[1..], "statistics count deleted documents");
    // A second deletion replaces the run of the first one.
    let size = location.size().unwrap();
    let by_number = Deletion::Docs(vec![first.doc, after.hits[0].doc]);
    let deleted = delete(&location, &location, &by_number, false, &driver()).unwrap();
    assert_eq!((deleted.deleted, deleted.live), (1, 4));
    assert_eq!(location.size().unwrap(), size);
    assert!(delete(&location, &location, &Deletion::Docs(vec![6]), false, &driver()).is_err());
    let target = place.location("b.tatami");
    let condition = Deletion::Where(Predicate::compare("title", Comparison::Eq, "Bridge"));
    let deleted = delete(&location, &target, &condition, false, &driver()).unwrap();
    assert_eq!((deleted.deleted, deleted.live), (1, 3));
    assert!(
        delete(&location, &target, &condition, false, &driver()).is_err(),
        "an existing file is not replaced"
    );
    assert_eq!(place.segment("b.tatami").live_docs(), 3);
    place.verify("b.tatami");
}

#[test]
fn several_segments_show_a_document_once() {
    let place = Place::new();
    let folder = place.location("");
    for (i, part) in [0..3, 2..6, 0..6].into_iter().enumerate() {
        let rows = corpus().slice(part.start, part.len());
        place.index(&format!("{i}.tatami"), &rows, &IndexOptions::text(["title", "body"]));
    }
    let options = SearchOptions::default().with_k(3);
    let hits = search(&folder, "river bridge the", &options, &OpenOptions::default(), &driver()).unwrap();
    let mut ids: Vec<&[u8]> = hits.hits.iter().map(|hit| hit.fields.doc_id.as_slice()).collect();
    assert_eq!(ids.len(), 3);
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 3);
    assert_eq!(hits.segments.total, 3);
}

#[test]
fn the_number_of_threads_changes_no_hit() {
    let place = Place::new();
    let rows = many(3000);
    for (i, start) in (0..3000).step_by(250).enumerate() {
        place.index(&format!("{i:02}.tatami"), &rows.slice(start, 250), &IndexOptions::text(["body"]));
    }
    let searcher = Searcher::open(&place.location(""), &OpenOptions::default()).unwrap();
    for query in ["w1", "w2 w30", "w1 w2 w3 w17", "+w5 -w6", "w38 absent"] {
        let query = Query::parse(query, Syntax::default()).unwrap();
        for k in [1, 10, 400] {
            let ranked = searcher.rank(&query, k).unwrap();
            for threads in [1, 3, 8] {
                let driver = Driver::try_new(&DriverOptions::default().with_threads(threads)).unwrap();
                let options = SearchOptions::default().with_k(k);
                let found = searcher.search(&query, &options, &driver).unwrap();
                let name = |hit: &Ranked| searcher.segments()[hit.segment].name().to_owned();
                let wanted: Vec<_> = ranked.iter().map(|hit| (name(hit), hit.doc, hit.score)).collect();
                let hits: Vec<_> =
                    found.hits.iter().map(|hit| (hit.segment.clone(), hit.doc, hit.score)).collect();
                assert_eq!(hits, wanted, "{query:?}, {k} hits on {threads} threads");
            }
        }
    }
}

#[test]
fn a_merge_drops_deleted_documents_for_good() {
    let place = Place::new();
    let text = || IndexOptions::text(["title", "body"]);
    place.index("a.tatami", &corpus().slice(0, 4), &text());
    place.index("b.tatami", &corpus().slice(4, 2), &text().with_dictionary(DictionaryKind::Flat));
    place.index("lead.tatami", &corpus(), &text().stored(["url"]));
    let (a, b, merged) =
        (place.location("a.tatami"), place.location("b.tatami"), place.location("merged.tatami"));
    delete(&a, &a, &Deletion::Docs(vec![1]), false, &driver()).unwrap();
    let summary = merge_segments(&[a.clone(), b], &merged, false, &driver()).unwrap();
    assert_eq!(summary.rows, 5);
    // The same as if the document had never existed.
    let kept = arrow_select::concat::concat_batches(
        &corpus().schema(),
        [&corpus().slice(0, 1), &corpus().slice(2, 4)],
    );
    place.index("wanted.tatami", &kept.unwrap(), &text());
    assert_eq!(place.bytes("merged.tatami"), place.bytes("wanted.tatami"));
    place.verify("merged.tatami");
    let mixed =
        merge_segments(&[a, place.location("lead.tatami")], &place.location("x.tatami"), false, &driver());
    assert!(mixed.unwrap_err().to_string().contains("do not store the same columns"));
    assert!(merge_segments(&[], &place.location("x.tatami"), false, &driver()).is_err());
}

#[test]
fn only_segments_in_the_manifest_are_searched() {
    let place = Place::new();
    let folder = place.location("");
    for name in ["a.tatami", "b.tatami"] {
        place.index(name, &corpus(), &IndexOptions::text(["title", "body"]));
    }
    let mut collection = Collection::open(&folder, &OpenOptions::default()).unwrap();
    collection.add(&["b.tatami"]).unwrap();
    let hits =
        search(&folder, "river", &SearchOptions::default(), &OpenOptions::default(), &driver()).unwrap();
    assert!(hits.hits.iter().all(|hit| hit.segment == "b.tatami"));
    assert_eq!(hits.segments.total, 1);
}

#[test]
fn wrong_calls_are_refused() {
    let place = Place::new();
    let (rows, driver) = (corpus(), driver());
    let refuse = |options: IndexOptions| {
        let result =
            index([Ok(rows.clone())], &rows.schema(), &place.location("x.tatami"), &options, &driver);
        let error = result.unwrap_err();
        assert_eq!(error.kind().exit_code(), 2, "{error}");
        error.to_string()
    };
    assert!(refuse(IndexOptions::default()).contains("the columns to search in"));
    assert!(refuse(IndexOptions::text(["titel"])).contains("did you mean 'title'"));
    assert!(refuse(IndexOptions::text(["stars"])).contains("not a string"));
    assert!(refuse(IndexOptions::text(["title"]).stored(["norm_url"])).contains("norm_url"));
    assert!(!place.location("x.tatami").exists().unwrap());
    let empty = search(&place.location(""), "x", &SearchOptions::default(), &OpenOptions::default(), &driver)
        .unwrap_err();
    assert!(empty.to_string().contains("no search segment"), "{empty}");
}

#[test]
fn an_empty_table_makes_an_empty_segment() {
    let place = Place::new();
    place.index("none.tatami", &corpus().slice(0, 0), &IndexOptions::text(["body"]));
    assert!(place.search("none.tatami", "river", &SearchOptions::default()).hits.is_empty());
    let segment = place.segment("none.tatami");
    assert_eq!((segment.docs(), segment.terms()), (0, 0));
    place.verify("none.tatami");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_token_is_found_in_its_documents(
        bodies in prop::collection::vec(prop::option::of("([a-dé日]{1,4}[ .-]){0,12}"), 0..60),
        flat in any::<bool>(),
        memory in prop::option::of(0usize..2000),
        batch_rows in 1usize..20,
    ) {
        let place = Place::new();
        let rows = bodies_of(&bodies);
        let dictionary = if flat { DictionaryKind::Flat } else { DictionaryKind::BlockTree };
        let options = IndexOptions::text(["body"]).with_dictionary(dictionary).with_memory(memory);
        place.index_in_batches("a.tatami", &rows, &options, batch_rows);
        let segment = place.segment("a.tatami");
        let mut postings = std::collections::BTreeMap::<String, Vec<(u32, u32)>>::new();
        for (doc, body) in bodies.iter().enumerate() {
            let mut counts = std::collections::BTreeMap::<String, u32>::new();
            for token in analyzer::tokens(body.as_deref().unwrap_or("").as_bytes()) {
                *counts.entry(token).or_default() += 1;
            }
            for (token, freq) in counts {
                postings.entry(token).or_default().push((doc as u32, freq));
            }
        }
        prop_assert_eq!(segment.terms(), postings.len() as u64);
        for (token, list) in &postings {
            prop_assert_eq!(&segment.postings(token).unwrap(), list);
        }
        place.verify("a.tatami");
    }
}

#[test]
fn the_bytes_depend_only_on_the_documents() {
    let place = Place::new();
    let rows = many(900);
    for positions in [false, true] {
        let options = |memory| {
            IndexOptions::text(["body"]).with_memory(memory).with_positions(positions).with_overwrite(true)
        };
        place.index_in_batches("a.tatami", &rows, &options(None), 900);
        place.index_in_batches("b.tatami", &rows, &options(Some(3000)), 17);
        assert_eq!(place.bytes("a.tatami"), place.bytes("b.tatami"));
    }
}

#[test]
fn any_single_flip_is_detected_or_harmless() {
    let place = Place::new();
    let options = IndexOptions::text(["body"]).stored(["body"]).with_positions(true);
    place.index("a.tatami", &many(40), &options);
    let sound = place.bytes("a.tatami");
    let driver = driver();
    for at in (0..sound.len()).step_by(3) {
        let mut bytes = sound.clone();
        bytes[at] ^= 1 << (at % 8);
        place.put("flipped.tatami", &bytes);
        let location = place.location("flipped.tatami");
        let _ = search(
            &location,
            "w1 \"w2 w3\" -w9",
            &SearchOptions::default(),
            &OpenOptions::default(),
            &driver,
        );
        if let Ok(container) = Tatami.open(&location, &OpenOptions::default()) {
            container.verify(Depth::Deep, &driver, &mut Report::new(Depth::Deep)).unwrap();
        }
    }
    for len in (0..sound.len()).step_by(5) {
        place.put("cut.tatami", &sound[..len]);
        assert!(Segment::open(&place.location("cut.tatami"), &OpenOptions::default()).is_err());
    }
    assert!(Searcher::open(&place.location("a.tatami"), &OpenOptions::default()).is_ok());
}

/// A large index is read where a query needs it, not when its segment is opened.
#[test]
fn opening_a_segment_reads_a_small_part_of_a_large_index() {
    let place = Place::new();
    let bodies = (0..24_000usize).map(|doc| {
        let words = (1..50).map(|i| format!("w{}", (doc * i + i * i) % 4001));
        Some(words.chain([format!("only{doc}")]).collect::<Vec<_>>().join(" "))
    });
    place.index("large.tatami", &bodies_of(&bodies.collect::<Vec<_>>()), &IndexOptions::text(["body"]));
    let location = place.location("large.tatami");
    let storage = CountingStorage::new(Arc::clone(location.storage()));
    let location = Location::new(Arc::new(storage.clone()), location.path());
    let file = location.size().unwrap();
    let segment = Segment::open(&location, &OpenOptions::default()).unwrap();
    let opened = storage.counts().bytes_read;
    let container = Tatami.open(&location, &OpenOptions::default()).unwrap();
    let info = container.describe().unwrap().to_json();
    let postings = info["search"]["postings_bytes"].as_u64().unwrap();
    assert!(postings > 1 << 20, "{postings}");
    assert!(opened < postings / 2, "{opened} of {file} bytes");
    // What is read in parts answers as what is read as a whole.
    let before = storage.counts().bytes_read;
    for term in ["w0", "w17", "w4000", "only23999", "nothing"] {
        let docs = (0..24_000usize).filter(|doc| {
            term == format!("only{doc}") || (1..50).any(|i| term == format!("w{}", (doc * i + i * i) % 4001))
        });
        let found: Vec<usize> =
            segment.postings(term).unwrap().iter().map(|(doc, _)| *doc as usize).collect();
        assert_eq!(found, docs.collect::<Vec<_>>(), "{term}");
    }
    assert!(storage.counts().bytes_read > before);
    // Damage that opening does not meet is found by verification.
    place.verify("large.tatami");
}
