//! Search segments of the original engine: postings, hits and scores bit for bit.
//!
//! Runs over the fixture set in the directory `TESSELLE_FIXTURES`, or over the cases in `tests/data`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tesselle_core::{Driver, DriverOptions, Location, OpenOptions};
use tesselle_tatami::search::analyzer::tokens;
use tesselle_tatami::search::{
    BigramBuilder, BigramIndex, Hits, Query, Route, RoutingIndex, SearchOptions, Searcher, Segment, Syntax,
    search,
};

fn fixtures() -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tatami-0.3.0");
    std::env::var_os("TESSELLE_FIXTURES").map_or_else(own, |root| Path::new(&root).join("tatami"))
}

/// Every case that has segments, with its expected values.
fn cases() -> Vec<(PathBuf, Value)> {
    let mut cases = Vec::new();
    for entry in fs::read_dir(fixtures()).unwrap() {
        let case = entry.unwrap().path();
        let Ok(text) = fs::read(case.join("expected.json")) else { continue };
        let expected: Value = serde_json::from_slice(&text).unwrap();
        if expected.get("segments").is_some() {
            cases.push((case, expected));
        }
    }
    cases.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(cases.len() >= 5, "{} cases with segments", cases.len());
    cases
}

fn driver() -> Driver {
    Driver::try_new(&DriverOptions::default().with_threads(2)).unwrap()
}

fn open(path: &Path) -> Segment {
    Segment::open(&Location::local(path).unwrap(), &OpenOptions::default()).unwrap()
}

fn segments(case: &Path, expected: &Value) -> Vec<(String, Segment, Value)> {
    let named = expected["segments"].as_object().unwrap().iter();
    named
        .map(|(name, want)| (format!("{}/{name}", case.display()), open(&case.join(name)), want.clone()))
        .collect()
}

fn text(value: &Value) -> Vec<u8> {
    match value {
        Value::String(text) => text.clone().into_bytes(),
        other => {
            let digits = other["hex"].as_str().unwrap();
            (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect()
        }
    }
}

fn query_text(value: &Value) -> String {
    String::from_utf8_lossy(&text(value)).into_owned()
}

fn bits(value: &Value) -> u32 {
    u32::from_str_radix(value["score"]["bits"].as_str().unwrap(), 16).unwrap()
}

#[test]
fn every_posting_is_read() {
    for (case, expected) in cases() {
        for (name, segment, want) in segments(&case, &expected) {
            assert_eq!(u64::from(segment.docs()), want["num_docs"], "{name}");
            assert_eq!(u64::from(segment.live_docs()), want["live_docs"], "{name}");
            assert_eq!(segment.terms(), want["num_terms"], "{name}");
            let Some(terms) = want.get("terms") else { continue };
            let mut listed = Vec::new();
            segment.for_each_term(|term, df| listed.push((term.to_owned(), df))).unwrap();
            let wanted: Vec<(String, u32)> = terms
                .as_array()
                .unwrap()
                .iter()
                .map(|t| {
                    (t["term"].as_str().unwrap().to_owned(), t["postings"].as_array().unwrap().len() as u32)
                })
                .collect();
            assert_eq!(listed, wanted, "{name}");
            for term in terms.as_array().unwrap() {
                let list = term["postings"].as_array().unwrap();
                let want: Vec<(u32, u32)> = list
                    .iter()
                    .map(|p| (p[0].as_u64().unwrap() as u32, p[1].as_u64().unwrap() as u32))
                    .collect();
                let term = term["term"].as_str().unwrap();
                assert_eq!(segment.postings(term).unwrap(), want, "{name}: {term}");
            }
        }
    }
}

fn assert_hits(what: &str, got: &Hits, want: &Value) {
    let want = want.as_array().unwrap();
    assert_eq!(got.hits.len(), want.len(), "{what}");
    for (i, (got, want)) in got.hits.iter().zip(want).enumerate() {
        assert_eq!(got.score.to_bits(), bits(want), "{what}: score of hit {i}");
        if let Some(doc) = want.get("doc") {
            assert_eq!(u64::from(got.doc), doc.as_u64().unwrap(), "{what}: hit {i}");
        }
        for (name, value) in [
            ("doc_id", &got.fields.doc_id),
            ("url", &got.fields.url),
            ("title", &got.fields.title),
            ("snippet", &got.fields.snippet),
        ] {
            if let Some(want) = want.get(name) {
                assert_eq!(*value, text(want), "{what}: {name} of hit {i}");
            }
        }
    }
}

#[test]
fn hits_and_scores_of_single_segments() {
    let driver = driver();
    let mut queries = 0;
    for (case, expected) in cases() {
        for (name, segment, want) in segments(&case, &expected) {
            drop(segment);
            let location = Location::local(&name).unwrap();
            for query in want["queries"].as_array().unwrap() {
                let words = query_text(&query["query"]);
                for syntax in [Syntax::Plain, Syntax::Boolean] {
                    let k = query["k"].as_u64().unwrap() as usize;
                    let options = SearchOptions::default().with_k(k).with_syntax(syntax);
                    let hits = search(&location, &words, &options, &OpenOptions::default(), &driver).unwrap();
                    let what = format!("{name}: {words:?}");
                    assert_hits(&what, &hits, &query["hits"]);
                    if let Some(results) = query.get("results") {
                        assert_hits(&what, &hits, results);
                    }
                }
                queries += 1;
            }
        }
    }
    assert!(queries >= 10, "{queries} queries");
}

#[test]
fn a_folder_is_searched_as_one() {
    let driver = driver();
    for (case, expected) in cases() {
        let Some(broker) = expected.get("broker") else { continue };
        let order = expected["segment_order"].as_array().unwrap();
        let segments = order.iter().map(|name| open(&case.join(name.as_str().unwrap()))).collect();
        let searcher = Searcher::of(segments);
        for query in broker.as_array().unwrap() {
            let words = query_text(&query["query"]);
            let k = query["k"].as_u64().unwrap() as usize;
            let parsed = Query::parse(&words, Syntax::Boolean).unwrap();
            let hits = searcher.search(&parsed, &SearchOptions::default().with_k(k), &driver).unwrap();
            assert_hits(&format!("{}: {words:?}", case.display()), &hits, &query["results"]);
            assert_eq!(hits.segments.candidates as u64, query["candidates"].as_u64().unwrap(), "{words:?}");
        }
    }
}

#[test]
fn damaged_segments_are_refused_with_their_class() {
    let case = fixtures().join("corrupt");
    let expected: Value = serde_json::from_slice(&fs::read(case.join("expected.json")).unwrap()).unwrap();
    let driver = driver();
    for (name, spec) in expected["files"].as_object().unwrap() {
        if spec["stage"] != "search" {
            continue;
        }
        let location = Location::local(case.join(name)).unwrap();
        let words = "river stone paper light garden bridge window engine";
        let error = search(&location, words, &SearchOptions::default(), &OpenOptions::default(), &driver)
            .unwrap_err();
        assert_eq!(error.class_name(), spec["class"], "{name}: {error}");
        assert_eq!(error.kind().exit_code(), 1, "{name}");
    }
}

#[test]
fn routing_files_are_read_and_written_byte_for_byte() {
    for (case, expected) in cases() {
        let Some(order) = expected.get("segment_order") else { continue };
        let order: Vec<&str> = order.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        let segments: Vec<Segment> = order.iter().map(|name| open(&case.join(name))).collect();
        let routing = RoutingIndex::of(&segments).unwrap();
        let (file, portable) =
            (fs::read(case.join("routing.bin")).unwrap(), fs::read(case.join("routing.uv")).unwrap());
        assert_eq!(routing.to_file().unwrap(), file);
        assert_eq!(routing.to_portable(), portable);
        assert_eq!(RoutingIndex::parse_file(&file).unwrap(), routing);
        assert_eq!(RoutingIndex::parse_portable(&portable).unwrap(), routing);
        for route in expected["routes"].as_array().unwrap() {
            let terms: Vec<&str> =
                route["terms"].as_array().unwrap().iter().map(|t| t.as_str().unwrap()).collect();
            assert_routes(&routing.route(&terms), &route["shards"]);
        }
        let sidecar = fs::read(case.join("bigram.uv")).unwrap();
        let mut pairs = BigramBuilder::default();
        let mut documents = expected["documents"].as_array().unwrap().iter();
        for segment in &segments {
            for document in documents.by_ref().take(segment.docs() as usize) {
                let fields = ["body", "title", "anchor", "url"].map(|name| text(&document[name]));
                pairs.add(fields.iter().map(Vec::as_slice));
            }
            pairs.end_shard();
        }
        let pairs = pairs.finish();
        assert_eq!(BigramIndex::parse(&sidecar).unwrap().to_bytes(), sidecar);
        assert_eq!(pairs.pairs() as u64, expected["routing_stats"]["num_pairs"]);
        assert_eq!(pairs.to_bytes(), sidecar);
        for phrase in expected["phrase"].as_array().unwrap() {
            let words = query_text(&phrase["query"]);
            let tokens = tokens(words.as_bytes());
            let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
            let route = pairs.route(routing.docs(), &tokens);
            assert_eq!(route.is_some(), phrase["covered"].as_bool().unwrap(), "{words:?}");
        }
    }
}

fn assert_routes(got: &[Route], want: &Value) {
    let want = want.as_array().unwrap();
    assert_eq!(got.len(), want.len());
    for (got, want) in got.iter().zip(want) {
        assert_eq!(u64::from(got.shard), want["shard"].as_u64().unwrap());
        assert_eq!(format!("{:08x}", got.bound.to_bits()), want["bound"]["bits"].as_str().unwrap());
    }
}
