//! Small corpora and a folder to index them in.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use tesselle_core::{Depth, Driver, DriverOptions, Format, Location, OpenOptions, Report, Result};
use tesselle_tatami::Tatami;
use tesselle_tatami::search::{Hits, IndexOptions, SearchOptions, Segment, index, search};

pub(crate) fn driver() -> Driver {
    Driver::try_new(&DriverOptions::default().with_threads(2)).unwrap()
}

/// Six documents with url, title, body and a number.
pub(crate) fn corpus() -> RecordBatch {
    let text = |values: [&str; 6]| -> ArrayRef { Arc::new(StringArray::from(values.to_vec())) };
    RecordBatch::try_from_iter([
        (
            "url",
            text(
                ["a", "b", "c", "d", "e", "f"]
                    .map(|p| ["https://example.com/", p].concat())
                    .each_ref()
                    .map(String::as_str),
            ),
        ),
        ("title", text(["River stones", "Stone bridge", "", "Bridge", "Paper", "Garden"])),
        (
            "body",
            text([
                "The river carries stones. The river is long.",
                "A stone bridge over the river",
                "the the the",
                "bridge stone river",
                "rock paper scissors",
                "a river in the garden",
            ]),
        ),
        ("stars", Arc::new(Int64Array::from(vec![5, 1, 4, 3, 2, 0])) as ArrayRef),
        ("norm_url", Arc::new(Int64Array::from(vec![0; 6])) as ArrayRef),
    ])
    .unwrap()
}

/// Documents of one column.
pub(crate) fn bodies_of(bodies: &[Option<String>]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable([(
        "body",
        Arc::new(StringArray::from(bodies.to_vec())) as ArrayRef,
        true,
    )])
    .unwrap()
}

/// Documents of made-up words, some frequent, some not.
pub(crate) fn many(docs: usize) -> RecordBatch {
    let word = |doc: usize, i: usize| format!("w{}", (doc * 7 + i * i) % (3 + doc % 40));
    let body = |doc: usize| (0..doc % 23).map(|i| word(doc, i)).collect::<Vec<_>>().join(" ");
    bodies_of(&(0..docs).map(|doc| Some(body(doc))).collect::<Vec<_>>())
}

/// A folder that is removed with the test.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn location(&self, name: &str) -> Location {
        Location::local(self.0.path().join(name)).unwrap()
    }

    pub(crate) fn index(&self, name: &str, rows: &RecordBatch, options: &IndexOptions) {
        self.index_in_batches(name, rows, options, rows.num_rows().max(1));
    }

    pub(crate) fn index_in_batches(
        &self,
        name: &str,
        rows: &RecordBatch,
        options: &IndexOptions,
        batch_rows: usize,
    ) {
        let starts = (0..rows.num_rows()).step_by(batch_rows);
        let batches = starts.map(|start| Ok(rows.slice(start, batch_rows.min(rows.num_rows() - start))));
        let summary = index(batches, &rows.schema(), &self.location(name), options, &driver()).unwrap();
        assert_eq!(summary.rows, rows.num_rows() as u64);
    }

    pub(crate) fn segment(&self, name: &str) -> Segment {
        Segment::open(&self.location(name), &OpenOptions::default()).unwrap()
    }

    pub(crate) fn try_search(&self, name: &str, query: &str, options: &SearchOptions) -> Result<Hits> {
        search(&self.location(name), query, options, &OpenOptions::default(), &driver())
    }

    pub(crate) fn search(&self, name: &str, query: &str, options: &SearchOptions) -> Hits {
        self.try_search(name, query, options).unwrap()
    }

    /// Asserts that a deep verification has no findings.
    pub(crate) fn verify(&self, name: &str) {
        let container = Tatami.open(&self.location(name), &OpenOptions::default()).unwrap();
        let mut report = Report::new(Depth::Deep);
        container.verify(Depth::Deep, &driver(), &mut report).unwrap();
        assert!(report.findings().is_empty(), "{:?}", report.findings());
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.path().join(name)).unwrap()
    }

    pub(crate) fn make_folder(&self, name: &str) {
        std::fs::create_dir(self.0.path().join(name)).unwrap();
    }

    pub(crate) fn put(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.0.path().join(name), bytes).unwrap();
    }
}
