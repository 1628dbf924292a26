//! `--memory-limit` holds for every verb: each works on far more data than it may take memory.
#![cfg(target_os = "linux")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{fine, path, zeros};

/// What a process may allocate, in KiB: the limit of the verbs, and what threads and the program itself take.
const ALLOWED: u64 = 96 << 10;
/// The same for a sort: each spilled run is read by a thread of the runtime, whose stack of 2 MiB counts as a whole.
const ALLOWED_TO_SORT: u64 = 256 << 10;

/// Runs `tess` in a folder with a limit on its memory that the system enforces: an allocation above it ends the process.
fn run(folder: &Path, limit: &str, call: &str) {
    // Words of one argument are joined by bars.
    let args = call.split(' ').map(|word| word.replace('|', " "));
    let allowed = if call.contains("ORDER|BY") { ALLOWED_TO_SORT } else { ALLOWED };
    let out = Command::new("/bin/sh")
        .args(["-c", &format!("ulimit -d {allowed}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_tess")])
        .args(args)
        .args(["--threads", "2", "--memory-limit", limit])
        .current_dir(folder)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "tess {call}: {:?}: {error}", out.status);
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
    let mut text = String::from("x,y,value,word\n");
    for i in 0..4_000_000_u64 {
        let at = i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
        writeln!(text, "{},{},{}.25,w{}", at % 100_000, at / 100_000 % 100_000, i % 1000, i % 5003).unwrap();
    }
    fs::write(place.join("rows.csv"), text).unwrap();
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
