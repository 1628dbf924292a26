//! Every thread that decodes or encodes belongs to a driver: no verb ever starts another pool, and none has more threads
//! than it was given.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long threads may take to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// The threads of this process: their numbers and names.
fn threads() -> BTreeMap<String, String> {
    let named = |thread: fs::DirEntry| {
        // A thread of a dropped driver may be gone by now.
        let name = fs::read_to_string(thread.path().join("comm")).ok()?;
        Some((thread.file_name().into_string().unwrap(), name.trim().to_owned()))
    };
    fs::read_dir("/proc/self/task").unwrap().flatten().filter_map(named).collect()
}

/// Drivers number their threads. Those of a SQL session only wait and plan.
fn is_owned(name: &str) -> bool {
    name.strip_prefix("tesselle-").is_some_and(|end| end.parse::<u32>().is_ok())
}

/// How many threads no driver owns, by name.
fn others() -> BTreeMap<String, usize> {
    let mut names = BTreeMap::new();
    for name in threads().into_values().filter(|name| !name.starts_with("tess")) {
        *names.entry(name).or_default() += 1;
    }
    names
}

/// How many threads drivers own.
fn owned() -> usize {
    threads().into_values().filter(|name| is_owned(name)).count()
}

/// What was seen of the threads of drivers during a run.
#[derive(Default)]
struct Seen {
    /// Those that existed at the same time.
    together: BTreeSet<BTreeSet<String>>,
    /// Those that only had the name of the thread that started them: a new thread has it until it sets its own.
    renamed: BTreeSet<String>,
}

impl Seen {
    fn look(&mut self) {
        let (owned, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
            threads().into_iter().partition(|(_, name)| is_owned(name));
        let known = |thread: &String| self.together.iter().any(|set| set.contains(thread));
        self.renamed.extend(others.into_keys().filter(known));
        self.together.insert(owned.into_keys().collect());
    }

    /// The most that existed at the same time.
    fn most(&self) -> usize {
        self.together.iter().map(|set| set.difference(&self.renamed).count()).max().unwrap_or(0)
    }
}

/// Runs a verb with one thread; the most threads that drivers owned meanwhile.
fn run(folder: &Path, args: &str) -> usize {
    // Words of one argument are joined by bars.
    let place = |word: &str| word.replace('|', " ").replace('@', &format!("{}/", folder.display()));
    let args = ["tess"].into_iter().chain(args.split(' ')).chain(["--threads", "1"]);
    let args: Vec<_> = args.map(|word| place(word).into()).collect();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = || {
            let mut seen = Seen::default();
            while !ended.load(Ordering::Relaxed) {
                seen.look();
            }
            let since = Instant::now();
            while owned() > 0 && since.elapsed() < PATIENCE {
                seen.look();
            }
            // A thread that was started last has its own name by now.
            seen.look();
            seen.most()
        };
        let watching =
            std::thread::Builder::new().name("tess-watch".to_owned()).spawn_scoped(scope, watch).unwrap();
        let code = tess::run(args);
        ended.store(true, Ordering::Relaxed);
        assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::SUCCESS));
        watching.join().unwrap()
    })
}

/// The verbs print to the standard output of their process, which the test harness does not capture: they run in a
/// process of their own, whose output is shown if it fails.
#[test]
fn no_verb_starts_a_pool_besides_its_driver() {
    let mut inside = Command::new(std::env::current_exe().unwrap());
    let done = inside.args(["--ignored", "--exact", "--nocapture", "every_verb"]).output().unwrap();
    let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(done.status.success(), "{}\n{}", shown(&done.stdout), shown(&done.stderr));
    assert!(shown(&done.stdout).contains("1 passed"), "{}", shown(&done.stdout));
}

#[test]
#[ignore = "prints much: another test runs it"]
fn every_verb() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut text = String::from("time,a,b,c\n");
    for i in 0..30_000 {
        writeln!(text, "{i},{},{}.5,word{}", i * 7 % 1000, i % 777, i % 91).unwrap();
    }
    fs::write(at.join("rows.csv"), text).unwrap();
    fs::create_dir(at.join("files")).unwrap();
    run(at, "convert @rows.csv @grid.npy --columns b");
    let before = others();
    // The thread of this run may outlive it on a busy machine, and would count in the next one.
    let ended = Instant::now();
    while owned() > 0 && ended.elapsed() < PATIENCE {
        std::thread::yield_now();
    }
    for call in [
        "convert @rows.csv @x.parquet",
        "convert @rows.csv @x.arrow",
        "convert @rows.csv @x.jsonl",
        "convert @x.jsonl @y.csv",
        "convert @rows.csv @x.tsfile --columns time,a,b",
        "convert @rows.csv @x.tatami",
        "convert @rows.csv @sparse.tiledb --set dims=time",
        "convert @grid.npy @x.tet",
        "convert @grid.npy @many.tet --set chunk=1",
        "info @many.tet",
        "sketch @many.tet",
        "sketch --html @many.tet -o @many.html",
        "convert @grid.npy @x.zarr",
        "convert @grid.npy @dense.tiledb",
        "convert @x.tet @z.npy",
        "tiledb write @sparse.tiledb @rows.csv",
        "tiledb consolidate @sparse.tiledb",
        "verify --deep @x.tet @x.tsfile @x.tatami @sparse.tiledb @dense.tiledb",
        "repair @x.tet @r.tet",
        "repair @x.tatami @r.tatami",
        "repair @x.tsfile @r.tsfile",
        "repair @sparse.tiledb @r.tiledb",
        "diff @x.tet @x.tet",
        "diff @rows.csv @x.parquet",
        "reduce @x.tet --op mean",
        "index @rows.csv @segment.tatami --text c",
        "search @segment.tatami word1",
        "cat @x.tatami --as csv -o @cat.csv",
        "cat @dense.tiledb -o @cat.jsonl --as jsonl",
        "cat @x.zarr --where value>700 -o @cat.arrow --as arrow",
        "convert @x.tatami @again.tatami",
        "convert @sparse.tiledb @again.tiledb",
        "tet append @x.tet @grid.npy",
        "tet add @x.tet @grid.npy --name more",
        "tet rename @x.tet more other",
        "tet remove @x.tet other",
        "tsfile compact @x.tsfile @compacted.tsfile",
        "convert @x.tatami @files/one.tatami",
        "convert @x.tatami @files/two.tatami",
        "tatami collection add @files one.tatami two.tatami",
        "tatami collection merge @files merged.tatami",
        "tatami collection compact @files",
        "tiledb write @dense.tiledb @grid.npy",
        "tiledb fragments @dense.tiledb",
        "sketch @x.tsfile",
        #[cfg(feature = "sql")]
        "sql SELECT|c,count(*)|FROM|'@x.parquet'|GROUP|BY|c|ORDER|BY|c",
        #[cfg(feature = "sql")]
        "sql COPY|(SELECT|*|FROM|'@rows.csv')|TO|'@copied.tatami'",
        "info @x.tet",
        "info @rows.csv",
        "sketch @rows.csv",
        "tatami take @x.tatami 0:3",
        "tatami terms @segment.tatami",
        "append @rows.csv @x.tatami",
        "tiledb delete @sparse.tiledb --where time<9",
        "tiledb vacuum @sparse.tiledb",
        "tsfile stats @x.tsfile",
    ] {
        let most = run(at, call);
        // The threads of a driver end after it, and have its name only once they run; those of another pool stay.
        let started = Instant::now();
        while (others() != before || owned() > 0) && started.elapsed() < PATIENCE {
            std::thread::yield_now();
        }
        assert_eq!((others(), owned()), (before.clone(), 0), "tess {call}");
        assert!(most <= 1, "tess {call} had {most} threads, one was allowed");
    }
}
