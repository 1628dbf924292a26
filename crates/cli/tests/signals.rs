//! Signals: every verb ends with the exit code of the signal, the old target in place and nothing left behind.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

mod support;

use support::{fine, path};

/// What the old target holds.
const OLD: &str = "the old state";

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

    /// Waits until `ready`; a run that is over before shows that the work is too small for the test.
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

    /// Ends the run by a signal; it must end as a run that was interrupted.
    fn end_by(mut self, name: &str) {
        self.signal(name);
        let status = self.child.wait().unwrap();
        let code = if name == "INT" { 130 } else { 143 };
        assert_eq!((status.code(), status.signal()), (Some(code), None), "tess {}", self.what);
    }
}

/// Whether the process has started the threads of its driver.
fn decodes(process: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let mut names = threads.filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok());
    names.any(|name| name.starts_with("tesselle-"))
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

/// Rows that take far longer to convert than it takes to interrupt it.
fn rows(folder: &Path) -> PathBuf {
    let file = folder.join("rows.csv");
    let mut text = String::from("time,a,b,c\n");
    for i in 0..1_500_000 {
        writeln!(text, "{i},{},{}.5,w{}", i * 7 % 1000, i % 777, i % 91).unwrap();
    }
    fs::write(&file, text).unwrap();
    file
}

/// A large array of zeros that takes no room on the disk.
fn array(folder: &Path) -> PathBuf {
    let file = folder.join("array.npy");
    let shape = (1_u64 << 14, 1_u64 << 15);
    let mut header =
        format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({}, {}), }}", shape.0, shape.1);
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.bytes());
    fs::write(&file, &bytes).unwrap();
    let len = bytes.len() as u64 + shape.0 * shape.1 * 8;
    fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(len).unwrap();
    file
}

/// An old target, of the kind that the format has.
fn old_target(folder: &Path, name: &str, is_folder: bool) -> PathBuf {
    let target = folder.join(name);
    if is_folder {
        fs::create_dir(&target).unwrap();
        fs::write(target.join("old"), OLD).unwrap();
    } else {
        fs::write(&target, OLD).unwrap();
    }
    target
}

fn check_old(target: &Path) {
    let file = if target.is_dir() { target.join("old") } else { target.to_owned() };
    assert_eq!(fs::read_to_string(file).unwrap(), OLD, "{}", target.display());
}

#[test]
fn a_conversion_into_any_target_leaves_the_old_one_and_nothing_else() {
    let data = tempfile::tempdir().unwrap();
    let (rows, array) = (rows(data.path()), array(data.path()));
    for (number, (name, source, is_folder, settings)) in [
        ("x.parquet", &rows, false, &[][..]),
        ("x.arrow", &rows, false, &[]),
        ("x.csv", &rows, false, &[]),
        ("x.jsonl", &rows, false, &[]),
        ("x.tsfile", &rows, false, &["--columns", "time,a,b"]),
        ("x.tatami", &rows, false, &[]),
        ("sparse.tiledb", &rows, true, &["--set", "dims=time,a"]),
        ("x.tet", &array, false, &[]),
        ("x.npy", &array, false, &["--columns", "value"]),
        ("dense.tiledb", &array, true, &[]),
        ("x.zarr", &array, true, &[]),
    ]
    .into_iter()
    .enumerate()
    {
        let folder = tempfile::tempdir().unwrap();
        let target = old_target(folder.path(), name, is_folder);
        let mut args = vec!["convert", path(source), path(&target), "--force", "--threads", "2"];
        args.extend(settings);
        let mut run = Run::start(&args);
        run.wait_for(|_| entries(folder.path()).len() > 1);
        run.end_by(if number % 2 == 0 { "INT" } else { "TERM" });
        check_old(&target);
        assert_eq!(entries(folder.path()), [target], "{name}");
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
    assert!(
        entries(folder.path()).iter().all(|file| !file
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with('.'))
    );
    assert!(entries(folder.path()).len() < 4);
}

#[test]
fn verbs_that_read_end_too() {
    let data = tempfile::tempdir().unwrap();
    let (rows, array) = (rows(data.path()), array(data.path()));
    let tet = data.path().join("array.tet");
    let segment = data.path().join("segment.tatami");
    let output = data.path().join("out.csv");
    fine(&[
        "convert",
        path(&rows),
        path(&data.path().join("rows.tatami")),
        "--columns",
        "time,a,b",
        "--limit",
        "1000",
    ]);
    fs::hard_link(&array, &tet).unwrap();
    let before = entries(data.path());
    let calls: [&[&str]; 4] = [
        &["diff", path(&rows), path(&rows), "--threads", "2"],
        &["index", path(&rows), path(&segment), "--text", "c", "--threads", "2"],
        &["reduce", path(&array), "--op", "variance", "--threads", "2"],
        &["convert", path(&array), path(&output), "--threads", "2"],
    ];
    for (number, args) in calls.into_iter().enumerate() {
        let mut run = Run::start(args);
        run.wait_for(decodes);
        run.end_by(if number % 2 == 0 { "TERM" } else { "INT" });
        assert_eq!(entries(data.path()), before, "{args:?}");
    }
}

#[test]
fn a_read_that_waits_for_a_pipe_ends() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("rows.csv");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let target = folder.path().join("out.parquet");
    for (name, args) in
        [("INT", ["convert", path(&pipe), path(&target)]), ("TERM", ["diff", path(&pipe), path(&pipe)])]
    {
        let mut run = Run::start(&args);
        run.wait_for(decodes);
        run.end_by(name);
        assert_eq!(entries(folder.path()), [pipe.clone()]);
    }
}
