//! Signals: every verb ends with the exit code of the signal, the old target in place and nothing left behind.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{fine, path, zeros};

/// Every verb ends within two seconds of a signal; a busy machine may take as long again.
const LIMIT: Duration = Duration::from_secs(4);

/// A process that is to be interrupted.
struct Run {
    child: Child,
    what: String,
}

impl Run {
    fn start(args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tess"));
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self { child: command.spawn().unwrap(), what: args.join(" ") }
    }

    /// Waits until `ready`; a run that ends before means that the work is too small for the test.
    fn wait_for(&mut self, ready: impl Fn(u32) -> bool) {
        while !ready(self.child.id()) {
            let over = self.child.try_wait().unwrap();
            assert!(over.is_none(), "tess {} ended before the signal: {over:?}", self.what);
            std::thread::yield_now();
        }
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status();
        assert!(status.unwrap().success());
    }

    /// Ends the run by a signal; it must end as interrupted.
    fn end_by(mut self, name: &str) {
        let started = Instant::now();
        self.signal(name);
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(started.elapsed() < LIMIT, "tess {} goes on after SIG{name}", self.what);
            std::thread::sleep(Duration::from_millis(2));
        };
        let code = if name == "INT" { 130 } else { 143 };
        assert_eq!((status.code(), status.signal()), (Some(code), None), "tess {}", self.what);
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // Still alive only if a check has failed.
        let _ = self.child.kill();
    }
}

/// Whether the process has started the threads of its driver.
fn decodes(process: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let mut names = threads.filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok());
    names.any(|name| name.starts_with("tesselle-"))
}

/// Opens a pipe for writing once a process reads from it.
fn writer(pipe: &Path) -> Option<fs::File> {
    const NONBLOCK: i32 = if cfg!(target_os = "linux") { 0o4000 } else { 4 };
    fs::OpenOptions::new().write(true).custom_flags(NONBLOCK).open(pipe).ok()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

/// Rows whose conversion takes far longer than its interruption.
fn rows(folder: &Path) -> PathBuf {
    let file = folder.join("rows.csv");
    let mut text = String::from("time,a,b,c\n");
    for i in 0..300_000 {
        writeln!(text, "{i},{},{}.5,w{}", i * 7 % 1000, i % 777, i % 91).unwrap();
    }
    fs::write(&file, text).unwrap();
    file
}

/// A large array of zeros.
fn array(folder: &Path) -> PathBuf {
    array_of(folder, "array.npy", [1 << 14, 1 << 15])
}

fn array_of(folder: &Path, name: &str, shape: [u64; 2]) -> PathBuf {
    let file = folder.join(name);
    zeros(&file, shape);
    file
}

/// Every file below a folder with its contents.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in entries(folder) {
        if entry.is_dir() {
            all.extend(contents(&entry));
            all.insert(entry, Vec::new());
        } else {
            let bytes = fs::read(&entry).unwrap();
            all.insert(entry, bytes);
        }
    }
    all
}

/// The same without the content of inputs that are too large to compare.
fn small_contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in entries(folder) {
        let large = entry.extension().is_some_and(|end| end == "npy");
        match (large, entry.is_dir()) {
            (true, _) => drop(all.insert(entry, Vec::new())),
            (_, true) => all.extend(contents(&entry)),
            _ => drop(all.insert(entry.clone(), fs::read(&entry).unwrap())),
        }
    }
    all
}

/// Ends a run that replaces an old container while it writes the new one: the old one stays, and nothing else is there.
fn end_while_writing(name: &str, signal: &str, call: impl FnOnce(&str) -> Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let few = folder.path().join("few.csv");
    fs::write(&few, "time,a,b\n1,2,3.5\n2,3,4.5\n").unwrap();
    let target = folder.path().join(name);
    let columns = if name.ends_with("file") { "time,b" } else { "b" };
    fine(&["convert", path(&few), path(&target), "--columns", columns]);
    let old = contents(folder.path());
    let args = call(path(&target));
    let args: Vec<&str> = args.iter().map(String::as_str).chain(["--threads", "2"]).collect();
    let mut run = Run::start(&args);
    run.wait_for(|_| entries(folder.path()).len() > 2);
    run.end_by(signal);
    assert!(contents(folder.path()) == old, "{name}: {:?}", entries(folder.path()));
}

#[test]
fn a_conversion_into_any_target_leaves_the_old_one_and_nothing_else() {
    let data = tempfile::tempdir().unwrap();
    let (rows, array) = (rows(data.path()), array(data.path()));
    for (number, (name, source, settings)) in [
        ("x.parquet", &rows, &[][..]),
        ("x.arrow", &rows, &[]),
        ("x.csv", &rows, &[]),
        ("x.jsonl", &rows, &[]),
        ("x.tsfile", &rows, &["--columns", "time,a,b"]),
        ("x.tatami", &rows, &[]),
        ("sparse.tiledb", &rows, &["--set", "dims=time,a"]),
        ("x.tet", &array, &[]),
        ("x.npy", &array, &["--columns", "value"]),
        ("dense.tiledb", &array, &[]),
        ("x.zarr", &array, &[]),
    ]
    .into_iter()
    .enumerate()
    {
        end_while_writing(name, if number % 2 == 0 { "INT" } else { "TERM" }, |target| {
            let args = ["convert", path(source), target, "--force"];
            args.iter().chain(settings).map(|word| (*word).to_owned()).collect()
        });
    }
}

#[cfg(feature = "sql")]
#[test]
fn a_copy_into_any_target_leaves_the_old_one_and_nothing_else() {
    let data = tempfile::tempdir().unwrap();
    let (rows, array) = (rows(data.path()), array(data.path()));
    // An expression makes it a query, whose rows are those of no file.
    let query = format!("SELECT time + 0 AS time, a, b FROM '{}'", path(&rows));
    let cells = format!("SELECT * FROM '{}'", path(&array));
    let values = format!("SELECT value FROM '{}'", path(&array));
    for (number, (name, select, options)) in [
        ("x.parquet", &query, ""),
        ("x.arrow", &query, ""),
        ("x.csv", &query, ""),
        ("x.jsonl", &query, ""),
        ("x.tsfile", &query, ""),
        ("x.tatami", &query, ""),
        ("sparse.tiledb", &query, ", 'dims' 'time,a'"),
        ("x.tet", &cells, ""),
        ("x.npy", &values, ""),
        ("dense.tiledb", &cells, ""),
        ("x.zarr", &cells, ""),
    ]
    .into_iter()
    .enumerate()
    {
        end_while_writing(name, if number % 2 == 0 { "TERM" } else { "INT" }, |target| {
            let sql = format!("COPY ({select}) TO '{target}' OPTIONS ('overwrite' 'true'{options})");
            vec!["sql".to_owned(), sql]
        });
    }
}

#[test]
fn several_inputs_end_together() {
    let data = tempfile::tempdir().unwrap();
    let first = rows(data.path());
    for copy in 0..3 {
        fs::hard_link(&first, data.path().join(format!("rows{copy}.csv"))).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let mut run = Run::start(&["convert", path(data.path()), path(folder.path()), "--to", "arrow"]);
    run.wait_for(|_| !entries(folder.path()).is_empty());
    run.end_by("INT");
    let names: Vec<String> = entries(folder.path()).iter().map(|file| file.display().to_string()).collect();
    assert!(
        names.len() < 4
            && names.iter().all(|name| Path::new(name).extension().is_some_and(|end| end == "arrow")),
        "{names:?}"
    );
}

#[test]
fn every_other_verb_ends_too() {
    let data = tempfile::tempdir().unwrap();
    let at = |name: &str| data.path().join(name).to_str().unwrap().to_owned();
    rows(data.path());
    fine(&["convert", &at("rows.csv"), &at("rows.tatami")]);
    fine(&["convert", &at("rows.csv"), &at("rows.tsfile"), "--columns", "time,a,b"]);
    fine(&["convert", &at("rows.csv"), &at("rows.tiledb"), "--set", "dims=time"]);
    fine(&["tiledb", "write", &at("rows.tiledb"), &at("rows.csv")]);
    fs::create_dir(at("files")).unwrap();
    for copy in ["files/one.tatami", "files/two.tatami"] {
        fs::hard_link(at("rows.tatami"), at(copy)).unwrap();
    }
    fine(&["tatami", "collection", "add", &at("files"), "one.tatami", "two.tatami"]);
    let row = array_of(data.path(), "row.npy", [1, 1 << 15]);
    fine(&["convert", path(&row), &at("grid.tet")]);
    let tiles = array_of(data.path(), "tiles.npy", [512, 1 << 15]);
    fine(&["convert", path(&tiles), &at("tiles.tet"), "--set", "chunk=64,1024", "--set", "codec=zstd"]);
    fine(&["convert", path(&tiles), &at("tiles.zarr"), "--set", "chunk=64,1024"]);
    fine(&["convert", path(&tiles), &at("tiles.tiledb")]);
    array(data.path());
    let before = small_contents(data.path());
    for (number, call) in [
        "diff @rows.csv @rows.csv",
        "info @rows.csv --threads 2",
        "sketch @rows.csv --threads 2",
        "repair @rows.tatami @out.tatami",
        "repair @rows.tiledb @out.tiledb",
        "repair --in-place @rows.tiledb",
        "append @rows.csv @rows.tsfile",
        "index @rows.csv @segment.tatami --text c",
        "cat @rows.tatami --as jsonl -o @out.jsonl",
        "cat @rows.tatami --as parquet",
        "verify --deep @rows.tiledb @rows.tatami @rows.tsfile",
        "repair @rows.tsfile @out.tsfile",
        "tiledb --threads 2 write @rows.tiledb @rows.csv",
        "tiledb --threads 2 consolidate @rows.tiledb",
        "reduce @array.npy --op mean",
        "tet append @grid.tet @array.npy",
        "tet add @grid.tet @array.npy --name more",
        "tatami collection merge @files merged.tatami",
        "tsfile compact @rows.tsfile @out.tsfile",
        "append @rows.csv @rows.tatami",
        "append @rows.csv @rows.tiledb",
        "convert @rows.tiledb @out.tiledb",
        "repair @tiles.tet @out.tet",
        "convert @tiles.tet @out.tet --set chunk=32,32",
        "convert @tiles.zarr @out.zarr --set chunk=32,32",
        "convert @tiles.tiledb @out.npy --columns value",
        "convert @rows.tsfile @out.tsfile --set compression=ZSTD",
        "convert @rows.csv @rows.tatami @out.parquet",
        "cat @rows.csv -o @out.arrow",
        "diff @tiles.tet @tiles.zarr",
        "reduce @array.npy --op mean --axis 0 -o @out.npy",
        "append @array.npy @tiles.tet",
        "tiledb create @out.tiledb --like @rows.csv --set dims=time",
        #[cfg(feature = "sql")]
        "sql SELECT|sum(a.time*b.a)|FROM|'@rows.tatami'|a,'@rows.tatami'|b",
        #[cfg(feature = "sql")]
        "sql COPY|(SELECT|*|FROM|'@rows.tatami')|TO|'@out.parquet'",
        #[cfg(feature = "sql")]
        "sql COPY|(SELECT|*|FROM|'@rows.tatami'|ORDER|BY|b,c,a)|TO|'@out.tsfile'|OPTIONS|('time'|'time')",
    ]
    .into_iter()
    .enumerate()
    {
        // Words of one argument are joined by bars.
        let word = |word: &str| word.replace('|', " ").replace('@', &at(""));
        let args: Vec<String> = call.split(' ').map(word).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut run = Run::start(&args);
        run.wait_for(decodes);
        run.end_by(if number % 2 == 0 { "TERM" } else { "INT" });
        assert!(small_contents(data.path()) == before, "tess {call}: {:?}", entries(data.path()));
    }
}

/// Verbs that take so little time that a signal often comes too late: one of many comes in time.
#[test]
fn a_verb_that_is_nearly_done_ends_too() {
    let data = tempfile::tempdir().unwrap();
    let at = |name: &str| data.path().join(name).to_str().unwrap().to_owned();
    rows(data.path());
    fine(&["index", &at("rows.csv"), &at("pages.tatami"), "--text", "c", "--stored", "c"]);
    fine(&["convert", &at("rows.csv"), &at("rows.tsfile"), "--columns", "time,a,b"]);
    let before = contents(data.path());
    for call in ["search @pages.tatami w1|OR|w2|OR|w3", "tsfile stats @rows.tsfile"] {
        let word = |word: &str| word.replace('|', " ").replace('@', &at(""));
        let args: Vec<String> = call.split(' ').map(word).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let stopped = (0..200).any(|_| {
            let mut run = Run::start(&args);
            while !decodes(run.child.id()) {
                if run.child.try_wait().unwrap().is_some() {
                    return false;
                }
                std::thread::yield_now();
            }
            run.signal("INT");
            run.child.wait().unwrap().code() == Some(130)
        });
        assert!(stopped, "tess {call} was never stopped");
        assert!(contents(data.path()) == before, "tess {call}");
    }
}

/// A verb that waits until somebody reads what it writes.
#[test]
fn a_write_that_waits_for_a_reader_ends() {
    let data = tempfile::tempdir().unwrap();
    let source = rows(data.path());
    let before = entries(data.path());
    let mut calls =
        vec![vec!["cat", path(&source), "--as", "csv"], vec!["cat", path(&source), "--as", "arrow"]];
    let query = format!("SELECT * FROM '{}'", path(&source));
    if cfg!(feature = "sql") {
        calls.push(vec!["sql", &query, "--as", "csv"]);
    }
    for (number, args) in calls.iter().enumerate() {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tess"));
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        // Nobody reads from the pipe: the process waits once it is full.
        let mut run = Run { child: command.spawn().unwrap(), what: args.join(" ") };
        run.wait_for(|process| decodes(process) && waits_to_write(process));
        run.end_by(if number % 2 == 0 { "TERM" } else { "INT" });
        assert_eq!(entries(data.path()), before);
    }
    // The same with a pipe that has a name.
    let pipe = data.path().join("out.csv");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut run = Run::start(&["convert", path(&source), path(&pipe)]);
    run.wait_for(decodes);
    run.end_by("TERM");
    assert_eq!(entries(data.path()).len(), before.len() + 1);
}

/// Whether a thread of the process waits in a write to standard output.
fn waits_to_write(process: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    threads.into_iter().any(|thread| {
        let shows = |name: &str, text: &str| {
            fs::read_to_string(thread.path().join(name)).is_ok_and(|shown| shown.contains(text))
        };
        // The name of the kernel's function, where it is shown.
        shows("wchan", "pipe_write") || shows("syscall", "1 0x1 ")
    })
}

#[test]
fn a_read_that_waits_for_a_pipe_ends() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("rows.csv");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let target = folder.path().join("out.parquet");
    let (pipe_name, out) = (path(&pipe), path(&target));
    let query = format!("SELECT count(*) FROM '{pipe_name}'");
    let mut calls = vec![
        vec!["convert", pipe_name, out],
        vec!["diff", pipe_name, pipe_name],
        vec!["cat", pipe_name],
        vec!["info", pipe_name],
        vec!["verify", pipe_name],
        vec!["repair", pipe_name, out],
        vec!["reduce", pipe_name, "--op", "mean"],
        vec!["index", pipe_name, out, "--text", "c"],
        vec!["search", pipe_name, "word"],
    ];
    if cfg!(feature = "sql") {
        calls.push(vec!["sql", &query]);
    }
    for (number, args) in calls.iter().enumerate() {
        let mut run = Run::start(args);
        let held = RefCell::new(None);
        run.wait_for(|_| {
            *held.borrow_mut() = writer(&pipe);
            held.borrow().is_some()
        });
        run.end_by(if number % 2 == 0 { "INT" } else { "TERM" });
        assert_eq!(entries(folder.path()), std::slice::from_ref(&pipe));
    }
}

#[cfg(feature = "sql")]
mod spilling {
    use super::*;

    const SORT: &str = "SELECT c, b, a, time FROM '@rows.csv' ORDER BY c || b, a DESC";

    /// Starts a sort that spills into `spill`, and waits until it has.
    fn start(data: &Path, spill: &Path) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tess"));
        let sql = SORT.replace('@', &format!("{}/", data.display()));
        command.args(["sql", &sql, "--memory-limit", "4MiB", "--threads", "2", "--as", "csv"]);
        command.env("TMPDIR", spill).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut run = Run { child: command.spawn().unwrap(), what: "a sort that spills".to_owned() };
        run.wait_for(|_| holds_bytes(spill));
        run
    }

    /// Whether some file below a folder holds something; files may go while this looks.
    fn holds_bytes(folder: &Path) -> bool {
        let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.any(|entry| {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder {
                holds_bytes(&entry.path())
            } else {
                entry.metadata().is_ok_and(|file| file.len() > 0)
            }
        })
    }

    #[test]
    fn what_a_query_has_spilled_goes_with_it() {
        let [data, spill] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        rows(data.path());
        // The first signal cancels, the second one ends the process at once.
        let run = start(data.path(), spill.path());
        run.signal("INT");
        run.end_by("INT");
        assert_eq!(entries(spill.path()), Vec::<PathBuf>::new());
        // Nothing can be removed by a process that is killed; the next one does it.
        let mut run = start(data.path(), spill.path());
        run.child.kill().unwrap();
        run.child.wait().unwrap();
        assert_eq!(entries(spill.path()).len(), 1);
        let next = Command::new(env!("CARGO_BIN_EXE_tess"))
            .args(["sql", "SELECT 1"])
            .env("TMPDIR", spill.path())
            .output()
            .unwrap();
        assert!(next.status.success());
        assert_eq!(entries(spill.path()), Vec::<PathBuf>::new());
    }
}
