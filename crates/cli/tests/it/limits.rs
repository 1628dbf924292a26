//! `--memory-limit` holds for every verb: each works on far more data than it may take memory.
#![cfg(target_os = "linux")]

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::{fine, path, text, zeros};

/// What a process may allocate, in KiB: the limit of the verbs, and what threads and the program itself take. The stacks of
/// threads count as a whole.
const ALLOWED: u64 = 96 << 10;

/// Runs `tess` in a folder with limits that the system enforces, as the shell sets them.
fn under(limits: &str, folder: &Path, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Output {
    Command::new("/bin/sh")
        .args(["-c", &format!("{limits}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_tess")])
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap()
}

/// Runs `tess` in a folder with a limit on its memory: an allocation above it ends the process.
fn run(folder: &Path, limit: &str, call: &str) {
    // Words of one argument are joined by bars.
    let args = call.split(' ').map(|word| word.replace('|', " "));
    let limits = ["--threads", "2", "--memory-limit", limit].map(str::to_owned);
    let out = under(&format!("ulimit -d {ALLOWED}"), folder, args.chain(limits));
    assert!(out.status.success(), "tess {call}: {:?}: {}", out.status, text(&out.stderr));
}

#[test]
fn memory_that_the_system_refuses_is_no_fault_of_the_data() {
    let folder = tempfile::tempdir().unwrap();
    zeros(&folder.path().join("a.npy"), [2048, 1024]);
    // The strongest compression of 16 MiB takes more than is allowed.
    let args = ["convert", "a.npy", "a.tet", "--threads", "1", "--json"];
    let settings = ["--set", "codec=zstd", "--set", "level=22", "--set", "chunk=2048,1024"];
    let out = under(&format!("ulimit -d {ALLOWED}"), folder.path(), [&args[..], &settings].concat());
    assert_eq!(out.status.code(), Some(3), "{}", text(&out.stderr));
    let report: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(report["error"]["kind"], "out_of_memory", "{report}");
    let message = report["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("not enough memory for zstd data"), "{message}");
    assert!(report["error"]["hint"].as_str().unwrap().contains("--memory-limit"), "{report}");
    assert!(!folder.path().join("a.tet").exists());
}

/// Each run of the sort is a file, and there are more of them than descriptors.
#[test]
#[cfg(feature = "sql")]
fn a_sort_of_many_runs_takes_few_descriptors_and_threads() {
    let folder = tempfile::tempdir().unwrap();
    let sort = "COPY (SELECT value * 7919 % 400009 AS v, 'text of row ' || value AS t \
                FROM generate_series(1, 400000) ORDER BY v, t) TO 'sorted.parquet'";
    let args = ["sql", sort, "--threads", "2", "--memory-limit", "2MiB"];
    let out = under(&format!("ulimit -n 40; ulimit -d {ALLOWED}"), folder.path(), args);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let check = "SELECT count(*), count(*) FILTER (WHERE v >= before) FROM \
                 (SELECT v, lag(v, 1, 0) OVER () AS before FROM 'sorted.parquet')";
    let out = under("true", folder.path(), ["sql", check, "--threads", "1", "--as", "csv"]);
    assert_eq!(text(&out.stdout).lines().last(), Some("400000,400000"), "{}", text(&out.stderr));
}

#[test]
fn arrays_of_any_size_are_worked_on_within_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    // 128 MiB: more than is allowed.
    zeros(&place.join("a.npy"), [4096, 4096]);
    let grid = path(&place.join("grid")).to_owned();
    let dims = ["--dim", "y:INT64:0:8191:256", "--dim", "x:INT64:0:4095:256", "--attr", "value:FLOAT64"];
    fine(&[&["tiledb", "create", &grid], &dims[..]].concat());
    for call in [
        "convert a.npy a.tiledb",
        "convert a.npy a.tet",
        "convert a.npy a.zarr",
        "convert a.tet b.npy",
        "tiledb write grid a.npy --region 0:4096,0:4096",
        "tiledb write grid a.npy --region 2048:6144,0:4096",
        "tiledb consolidate grid",
        "append a.npy a.tet",
        "tet append a.tet a.npy",
        "tet add a.tet a.npy --name more",
        "reduce a.tiledb --op mean --axis 0",
        "diff a.tiledb a.npy",
        "verify --deep a.tiledb b.npy",
        "cat a.zarr --as npy -o c.npy",
        "cat a.npy --where value>0",
        #[cfg(feature = "sql")]
        "sql SELECT|count(*),sum(value)|FROM|'a.tiledb'|WHERE|i0>5",
    ] {
        run(place, "16MiB", call);
    }
}

#[test]
#[ignore = "slow without optimization; run by make limits"]
fn rows_of_any_number_are_worked_on_within_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let mut rows = String::from("x,y,value,word\n");
    for i in 0..4_000_000_u64 {
        let at = i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
        writeln!(rows, "{},{},{}.25,w{}", at % 100_000, at / 100_000 % 100_000, i % 1000, i % 5003).unwrap();
    }
    fs::write(place.join("rows.csv"), rows).unwrap();
    for call in [
        "info rows.csv",
        "convert rows.csv rows.parquet",
        "convert rows.csv rows.tatami",
        "convert rows.parquet sparse --to tiledb --set dims=x,y --set dups=true --columns x,y,value",
        "tiledb write sparse rows.parquet",
        "tiledb consolidate sparse",
        "verify --deep sparse rows.tatami",
        "diff rows.parquet rows.tatami",
        "index rows.parquet pages.tatami --text word",
        #[cfg(feature = "sql")]
        "sql COPY|(SELECT|*|FROM|'rows.parquet'|ORDER|BY|word,x,y)|TO|'sorted.tatami'",
    ] {
        run(place, "8MiB", call);
    }
}
