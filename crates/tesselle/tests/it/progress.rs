//! Work reports how far it is: what is expected is done at the end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tesselle::array::MemoryArray;
use tesselle::core::driver::Progress;
use tesselle::tatami::{Collection, WriterOptions};
use tesselle::{
    ArrayView, Depth, Driver, DriverOptions, Location, OpenOptions, convert, create_array, index, open,
    verify,
};

#[derive(Default)]
struct Counter {
    expected: AtomicU64,
    done: AtomicU64,
    /// How often something was done.
    moves: AtomicU64,
    /// Whether more was done than expected, at any time.
    exceeded: AtomicBool,
}

impl Counter {
    /// What was expected and what is done.
    fn both(&self) -> (u64, u64) {
        (self.expected.load(Ordering::Relaxed), self.done.load(Ordering::Relaxed))
    }
}

impl Progress for Counter {
    fn expect(&self, total: u64) {
        self.expected.fetch_add(total, Ordering::Relaxed);
    }

    fn advance(&self, amount: u64) {
        let done = self.done.fetch_add(amount, Ordering::Relaxed) + amount;
        self.moves.fetch_add(u64::from(amount > 0), Ordering::Relaxed);
        self.exceeded.fetch_or(done > self.expected.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A container of every format with the same rows.
fn containers(folder: &Path, driver: &Driver) -> Vec<PathBuf> {
    let rows: Vec<String> = (0..5_000).map(|i| format!("{i},{},{}.5", i * 3, i % 17)).collect();
    let source = folder.join("rows.csv");
    let mut all = Vec::new();
    std::fs::write(&source, format!("time,n,x\n{}\n", rows.join("\n"))).unwrap();
    let sparse = ["dims", "time"];
    for (name, settings) in [
        ("a.tsfile", &[["time", "time"], ["page_points", "100"]][..]),
        ("a.tet", &[["chunk", "300"]]),
        ("a.tatami", &[["row_group_rows", "700"]]),
        ("dense.tiledb", &[]),
        ("sparse.tiledb", &[sparse]),
        ("a.parquet", &[]),
        ("a.zarr", &[["chunk", "300"]]),
    ] {
        let target = folder.join(name);
        let conversion =
            settings.iter().fold(convert(text(&source), text(&target)), |conversion, [name, value]| {
                conversion.set(*name, *value)
            });
        conversion.on(driver).run().unwrap_or_else(|error| panic!("{name}: {error}"));
        all.push(target);
    }
    all
}

/// What is expected and done by some work.
fn counted(driver: &Driver, work: impl FnOnce(&Driver)) -> (u64, u64) {
    let counter = Arc::new(Counter::default());
    work(&driver.with_progress(Arc::clone(&counter) as Arc<dyn Progress>));
    counter.both()
}

#[test]
fn a_verification_of_every_format_moves_and_finishes() {
    let folder = tempfile::tempdir().unwrap();
    let driver = Driver::try_new(&DriverOptions::default().with_threads(2)).unwrap();
    for target in containers(folder.path(), &driver) {
        if target.ends_with("a.zarr") {
            continue;
        }
        for depth in [Depth::Pieces, Depth::Deep] {
            let (expected, done) = counted(&driver, |run| {
                assert!(verify(text(&target)).depth(depth).on(run).run().unwrap().ok(), "{target:?}");
            });
            assert!(expected > 0 && expected == done, "{target:?} {depth:?}: {done} of {expected}");
        }
    }
}

#[test]
fn a_copy_of_every_format_reports_its_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let driver = Driver::try_new(&DriverOptions::default().with_threads(2)).unwrap();
    for source in containers(folder.path(), &driver) {
        let name = source.file_name().unwrap().to_str().unwrap();
        let target = folder.path().join(format!("copy.{name}"));
        let mut bytes = 0;
        let (expected, done) = counted(&driver, |run| {
            let copied = convert(text(&source), text(&target)).on(run).run();
            bytes = copied.unwrap_or_else(|error| panic!("{name}: {error}")).summary.bytes;
        });
        assert!(expected > 0 && expected == done, "{name}: {done} of {expected}");
        // Directories and indexes of a file are small; all else is copied.
        let is_copy = !name.ends_with(".parquet");
        assert!(!is_copy || done * 2 > bytes, "{name}: {done} for {bytes} bytes");
    }
}

#[test]
fn a_write_of_an_array_moves_and_finishes() {
    let folder = tempfile::tempdir().unwrap();
    let driver = Driver::try_new(&DriverOptions::default().with_threads(2)).unwrap();
    let cells: Vec<f32> = (0..200 * 30).map(|n| n as f32).collect();
    let memory: Arc<dyn ArrayView> = MemoryArray::from_slice(&cells, [200, 30]).unwrap().into();
    let mut sources = vec![("memory", memory.clone())];
    let formats = || tesselle::formats().iter().filter(|format| format.capabilities().arrays_in);
    for format in formats() {
        let uri = folder.path().join(format.name());
        create_array(text(&uri), memory.clone()).format(format.name()).write().unwrap();
        sources.push((format.name(), open(text(&uri)).unwrap().default_table().unwrap().array().unwrap()));
    }
    for ((source, array), format) in sources.iter().flat_map(|s| formats().map(move |format| (s, format))) {
        let counter = Arc::new(Counter::default());
        let run = driver.with_progress(Arc::clone(&counter) as Arc<dyn Progress>);
        let uri = folder.path().join(format!("{source}.{}", format.name()));
        create_array(text(&uri), array.clone()).format(format.name()).on(&run).write().unwrap();
        let (expected, done) = counter.both();
        assert_eq!((expected, done), (24_000, 24_000), "{source} to {}", format.name());
    }
}

/// Work that moves several times, up to exactly what was expected and never above it.
fn moves(name: &str, driver: &Driver, work: impl FnOnce(&Driver)) {
    let counter = Arc::new(Counter::default());
    work(&driver.with_progress(Arc::clone(&counter) as Arc<dyn Progress>));
    let (expected, done) = counter.both();
    assert!(expected > 0 && expected == done, "{name}: {done} of {expected}");
    assert!(!counter.exceeded.load(Ordering::Relaxed), "{name}: more was done than expected");
    let moves = counter.moves.load(Ordering::Relaxed);
    assert!(moves > 3, "{name}: moved {moves} times");
}

/// Documents as a Parquet file with one row group.
fn documents(folder: &Path, driver: &Driver) -> PathBuf {
    let rows: Vec<String> =
        (0..60_000).map(|i| format!("d{i},word{} word{} stone,{i}", i % 991, i % 13)).collect();
    let (source, target) = (folder.join("documents.csv"), folder.join("documents.parquet"));
    std::fs::write(&source, format!("doc_id,body,n\n{}\n", rows.join("\n"))).unwrap();
    convert(text(&source), text(&target)).on(driver).run().unwrap();
    target
}

#[test]
fn work_on_one_row_group_moves_before_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let driver = Driver::try_new(&DriverOptions::default().with_threads(2)).unwrap();
    let source = documents(folder.path(), &driver);
    let plain = path("a.tatami");
    moves("Parquet to tatami", &driver, |run| {
        convert(text(&source), text(&plain)).set("row_group_rows", "10000").on(run).run().unwrap();
    });
    moves("tatami with settings", &driver, |run| {
        convert(text(&plain), text(&path("b.tatami"))).set("codec", "zstd").on(run).run().unwrap();
    });
    moves("an index", &driver, |run| {
        index(text(&source), text(&path("s.tatami"))).text(["body"]).on(run).run().unwrap();
    });
}

#[test]
fn a_merge_of_files_and_of_segments_moves_and_finishes() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let driver = Driver::try_new(&DriverOptions::default().with_threads(2)).unwrap();
    let source = documents(folder.path(), &driver);
    for kind in ["files", "segments"] {
        let place = path(kind);
        std::fs::create_dir(&place).unwrap();
        for name in ["a.tatami", "b.tatami"] {
            let member = place.join(name);
            if kind == "files" {
                convert(text(&source), text(&member))
                    .set("row_group_rows", "10000")
                    .on(&driver)
                    .run()
                    .unwrap();
            } else {
                index(text(&source), text(&member)).text(["body"]).on(&driver).run().unwrap();
            }
        }
        let mut collection =
            Collection::open(&Location::local(&place).unwrap(), &OpenOptions::default()).unwrap();
        collection.add(&["a.tatami", "b.tatami"]).unwrap();
        moves(kind, &driver, |run| {
            collection.merge(&[], "all.tatami", WriterOptions::default(), false, run).unwrap();
        });
    }
}
