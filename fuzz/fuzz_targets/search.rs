//! Any string, taken for a query of both syntaxes over a small index.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tesselle::tatami::search::{Query, SearchOptions, Searcher, Syntax, search};
use tesselle_core::{ErrorKind, Location};
use tesselle_fuzz::{DRIVER, file, options};

static SEGMENT: LazyLock<Location> =
    LazyLock::new(|| file(&tesselle::tatami::Tatami, include_bytes!("../seeds/segment.tatami")));
static SEARCHER: LazyLock<Searcher> =
    LazyLock::new(|| Searcher::open(&SEGMENT, &options()).expect("the seed is a segment"));

fuzz_target!(|text: &str| {
    DRIVER.install(|| ask(text));
});

fn ask(text: &str) {
    for syntax in [Syntax::Plain, Syntax::Boolean] {
        let request = SearchOptions::default().with_syntax(syntax).with_highlight(20);
        match Query::parse(text, syntax) {
            Ok(query) => {
                let hits = SEARCHER.search(&query, &request, &DRIVER).expect("the segment is whole");
                assert!(hits.hits.len() <= request.k);
            }
            Err(error) => {
                assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
                assert!(search(&SEGMENT, text, &request, &options(), &DRIVER).is_err());
            }
        }
    }
}
