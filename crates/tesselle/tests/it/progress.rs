//! Work reports how far it is: what is expected is done at the end.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tesselle::core::driver::Progress;
use tesselle::{Depth, Driver, DriverOptions, convert, verify};

#[derive(Default)]
struct Counter {
    expected: AtomicU64,
    done: AtomicU64,
}

impl Progress for Counter {
    fn expect(&self, total: u64) {
        self.expected.fetch_add(total, Ordering::Relaxed);
    }

    fn advance(&self, amount: u64) {
        self.done.fetch_add(amount, Ordering::Relaxed);
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_verification_of_every_format_moves_and_finishes() {
    let folder = tempfile::tempdir().unwrap();
    let driver = Driver::new(&DriverOptions::default().with_threads(2)).unwrap();
    let rows: Vec<String> = (0..5_000).map(|i| format!("{i},{},{}.5", i * 3, i % 17)).collect();
    let source = folder.path().join("rows.csv");
    std::fs::write(&source, format!("time,n,x\n{}\n", rows.join("\n"))).unwrap();
    let sparse = ["dims", "time"];
    for (name, settings) in [
        ("a.tsfile", &[["time", "time"], ["page_points", "100"]][..]),
        ("a.tet", &[["chunk", "300"]]),
        ("a.tatami", &[["row_group_rows", "700"]]),
        ("dense.tiledb", &[]),
        ("sparse.tiledb", &[sparse]),
        ("a.parquet", &[]),
    ] {
        let target = folder.path().join(name);
        let conversion =
            settings.iter().fold(convert(text(&source), text(&target)), |conversion, [name, value]| {
                conversion.set(*name, *value)
            });
        conversion.on(&driver).run().unwrap_or_else(|error| panic!("{name}: {error}"));
        for depth in [Depth::Pieces, Depth::Deep] {
            let counter = Arc::new(Counter::default());
            let run = driver.with_progress(Arc::clone(&counter) as Arc<dyn Progress>);
            assert!(verify(text(&target)).depth(depth).on(&run).run().unwrap().ok(), "{name}");
            let (expected, done) =
                (counter.expected.load(Ordering::Relaxed), counter.done.load(Ordering::Relaxed));
            assert!(expected > 0 && expected == done, "{name} {depth:?}: {done} of {expected}");
        }
    }
}
