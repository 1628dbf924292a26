//! What a progress bar is given: every byte once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{ArrayRef, Float64Array, Int64Array};
use tesselle::driver::Progress;
use tesselle_sql::{Session, SessionOptions};

use crate::support;

#[derive(Default)]
struct Counted {
    expected: AtomicU64,
    done: AtomicU64,
}

impl Progress for Counted {
    fn expect(&self, total: u64) {
        self.expected.fetch_add(total, Ordering::Relaxed);
    }

    fn advance(&self, amount: u64) {
        self.done.fetch_add(amount, Ordering::Relaxed);
    }
}

#[test]
fn a_query_advances_by_what_it_expects() {
    let folder = tempfile::tempdir().unwrap();
    let place: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
    let value: ArrayRef = Arc::new(Float64Array::from_iter_values((0..1000).map(f64::from)));
    let rows = support::batch(vec![("i", place, false), ("value", value, false)]);
    let file = |name: &str| folder.path().join(name);
    support::write(&file("a.tatami"), "tatami", None, &["row_group_rows=100"], &rows);
    support::write(
        &file("a.tiledb"),
        "tiledb",
        None,
        &["kind=dense", "dims=i", "domain.i=0:999", "extent=100"],
        &rows,
    );
    support::write_foreign(&file("a.parquet"), &rows);
    for name in ["a.tatami", "a.tiledb", "a.parquet"] {
        let counted = Arc::new(Counted::default());
        let options = SessionOptions::default().with_progress(Arc::clone(&counted) as Arc<dyn Progress>);
        let session = Session::try_new(&options).unwrap();
        let query = format!("SELECT sum(value * value) FROM '{}'", file(name).display());
        session.query(&query).unwrap().finish().unwrap();
        let (expected, done) =
            (counted.expected.load(Ordering::Relaxed), counted.done.load(Ordering::Relaxed));
        assert!(expected > 0 && done == expected, "{name}: {done} of {expected}");
    }
}
