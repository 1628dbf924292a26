//! Segments built from the documents of the fixtures equal those of the original engine, run by run.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use serde_json::Value;
use tesselle_core::{Depth, Driver, DriverOptions, Location, OpenOptions, Report};

use super::{IndexOptions, index, merge_segments};
use crate::open::File;
use crate::search::delete::{Deletion, delete};
use crate::search::meta::{Dictionary, DictionaryKind};
use crate::search::segment::{Segment, Shape, descriptor};

const FIELDS: [&str; 5] = ["doc_id", "url", "title", "body", "anchor"];

fn bytes(value: &Value) -> Vec<u8> {
    match value {
        Value::String(text) => text.clone().into_bytes(),
        other => {
            let digits = other["hex"].as_str().unwrap();
            (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect()
        }
    }
}

fn schema() -> SchemaRef {
    Arc::new(Schema::new(FIELDS.map(|name| Field::new(name, DataType::Binary, false)).to_vec()))
}

fn batch(documents: &[Value]) -> RecordBatch {
    let column = |name: &str| -> ArrayRef {
        Arc::new(BinaryArray::from_iter_values(documents.iter().map(|document| bytes(&document[name]))))
    };
    RecordBatch::try_new(schema(), FIELDS.map(column).to_vec()).unwrap()
}

/// The directory of all fixtures if it is set, otherwise the cases next to the tests.
fn fixtures() -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tatami-0.3.0");
    std::env::var_os("TESSELLE_FIXTURES").map_or_else(own, |root| Path::new(&root).join("tatami"))
}

/// The original's segments built from listed documents: file, documents, snippet length.
fn originals() -> Vec<(PathBuf, Vec<Value>, usize)> {
    let root = fixtures();
    let mut originals = Vec::new();
    let cases = [("search-basic", 200), ("search-unicode", 12), ("search-snippet", 40), ("search-multi", 60)];
    for (case, snippet_chars) in cases {
        let Ok(text) = fs::read(root.join(case).join("expected.json")) else { continue };
        let expected: Value = serde_json::from_slice(&text).unwrap();
        let documents = expected["documents"].as_array().unwrap().clone();
        match expected["segment_order"].as_array() {
            None => {
                // The same documents with stored bodies, if the case has that.
                let names = ["seg.tatami", "full.tatami"].map(|name| root.join(case).join(name));
                let there = names.into_iter().filter(|path| path.exists());
                originals.extend(there.map(|path| (path, documents.clone(), snippet_chars)));
            }
            Some(order) => {
                let each = documents.len() / order.len();
                for (name, part) in order.iter().zip(documents.chunks(each)) {
                    originals.push((
                        root.join(case).join(name.as_str().unwrap()),
                        part.to_vec(),
                        snippet_chars,
                    ));
                }
            }
        }
    }
    assert!(originals.len() >= 5, "{} segments", originals.len());
    originals
}

fn segment(path: &Path) -> Segment {
    Segment::open(&Location::local(path).unwrap(), &OpenOptions::default()).unwrap()
}

fn run(file: &File, pick: impl Fn(&crate::meta::inverted::Inverted) -> crate::meta::inverted::Run) -> Bytes {
    let run = pick(&descriptor(file).unwrap());
    file.index_record(run.offset, run.len).unwrap()
}

fn dictionary(segment: &Segment) -> Vec<(Vec<u8>, crate::search::meta::TermEntry)> {
    let mut terms = Vec::new();
    segment.index().dictionary().for_each(|term, entry| terms.push((term.to_vec(), entry))).unwrap();
    terms
}

#[test]
fn built_segments_equal_those_of_the_original_engine() {
    let folder = tempfile::tempdir().unwrap();
    let driver = Driver::try_new(&DriverOptions::default().with_threads(2)).unwrap();
    for (path, documents, snippet_chars) in originals() {
        let original = segment(&path);
        let stored: &[&str] = match original.shape() {
            Shape::Body => &["doc_id", "url", "title", "body"],
            Shape::Snippet => &["doc_id", "url", "title"],
        };
        for (kind, memory) in [(DictionaryKind::BlockTree, None), (DictionaryKind::Flat, Some(0))] {
            let options = IndexOptions {
                snippet_chars,
                dictionary: kind,
                memory,
                overwrite: true,
                ..IndexOptions::text(["body", "title", "anchor", "url"]).stored(stored.iter().copied())
            };
            let target = folder.path().join("built.tatami");
            let location = Location::local(&target).unwrap();
            let batches: Vec<_> = documents.chunks(7).map(|part| Ok(batch(part))).collect();
            let summary = index(batches, &schema(), &location, &options, &driver).unwrap();
            assert_eq!(summary.rows, documents.len() as u64);
            let built = segment(&target);
            let name = path.display();
            assert_eq!(built.shape(), original.shape(), "{name}");
            assert_eq!(dictionary(&built), dictionary(&original), "{name}");
            assert_eq!(
                matches!(built.index().dictionary(), Dictionary::Flat(_)),
                kind == DictionaryKind::Flat
            );
            assert_eq!(run(built.file(), |i| i.postings), run(original.file(), |i| i.postings), "{name}");
            assert_eq!(run(built.file(), |i| i.skips), run(original.file(), |i| i.skips), "{name}");
            let docs: Vec<u32> = (0..original.docs()).collect();
            let columns: Vec<usize> = (0..8).collect();
            assert_eq!(
                built.take(&docs, &columns).unwrap(),
                original.take(&docs, &columns).unwrap(),
                "{name}"
            );
            assert_eq!(built.file().footer().schema, original.file().footer().schema, "{name}");
            let flags = built.file().header().flags;
            assert_eq!(flags | 32, original.file().header().flags & !4 | flags & 4, "{name}");
            let mut report = Report::new(Depth::Deep);
            crate::search::verify(built.file(), Depth::Deep, &driver, &mut report).unwrap();
            assert!(report.findings().is_empty(), "{name}: {:?}", report.findings());
        }
    }
    // Scratch files are gone.
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name == "built.tatami"), "{left:?}");
}

#[test]
fn merged_segments_equal_those_of_the_original_engine() {
    let case = fixtures().join("search-multi");
    let expected: Value = serde_json::from_slice(&fs::read(case.join("expected.json")).unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let driver = Driver::try_new(&DriverOptions::default().with_threads(2)).unwrap();
    let mut inputs = Vec::new();
    for (number, name) in expected["segment_order"].as_array().unwrap().iter().enumerate() {
        let source = Location::local(case.join(name.as_str().unwrap())).unwrap();
        let target = Location::local(folder.path().join(format!("{number}.tatami"))).unwrap();
        let deletes = expected["merge_deletes"].as_array().unwrap().iter();
        let here = deletes.filter(|d| d["segment"] == number);
        let ids = here.clone().map(|d| d["doc_id"].as_str().unwrap().as_bytes().to_vec()).collect();
        let deleted = delete(&source, &target, &Deletion::Ids(ids), false, &driver).unwrap();
        assert_eq!(deleted.deleted as usize, here.filter(|d| d["deleted"] == true).count());
        inputs.push(target);
    }
    let target = folder.path().join("merged.tatami");
    merge_segments(&inputs, &Location::local(&target).unwrap(), false, &driver).unwrap();
    let (built, original) = (segment(&target), segment(&case.join("merged.tatami")));
    assert_eq!(dictionary(&built), dictionary(&original));
    assert_eq!(run(built.file(), |i| i.postings), run(original.file(), |i| i.postings));
    assert_eq!(run(built.file(), |i| i.skips), run(original.file(), |i| i.skips));
    let docs: Vec<u32> = (0..original.docs()).collect();
    let columns: Vec<usize> = (0..8).collect();
    assert_eq!(built.take(&docs, &columns).unwrap(), original.take(&docs, &columns).unwrap());
    assert_eq!(built.file().footer().schema, original.file().footer().schema);
    let mut report = Report::new(Depth::Deep);
    crate::search::verify(built.file(), Depth::Deep, &driver, &mut report).unwrap();
    assert!(report.findings().is_empty(), "{:?}", report.findings());
}
