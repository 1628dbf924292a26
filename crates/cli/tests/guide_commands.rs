//! The commands of the guides run verbatim, one after the other, on the samples of the demo.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod support;

use std::path::Path;
use std::process::Command;

use support::{fine, path, text};

/// The blocks of shell commands in a file of the documentation.
fn blocks(file: &str) -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(file);
    let guide = std::fs::read_to_string(file).unwrap();
    let blocks = guide.split("```sh\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap().to_owned()).collect()
}

fn run(guide: &str) {
    let folder = tempfile::tempdir().unwrap();
    // Some guides start in the repository, with its target/demo, others next to the folder of the samples.
    for place in ["demo", "target/demo"] {
        let place = folder.path().join(place);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        fine(&["demo", path(&place)]);
    }
    let tess = Path::new(env!("CARGO_BIN_EXE_tess")).parent().unwrap();
    let search = format!("{}:{}", tess.display(), std::env::var("PATH").unwrap());
    let blocks = blocks(guide);
    assert!(blocks.len() > 2, "{} blocks in {guide}", blocks.len());
    for block in blocks {
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", &block]).current_dir(folder.path()).env("PATH", &search);
        let out = shell.output().unwrap();
        assert!(out.status.success(), "{guide}:\n{block}\n{}", text(&out.stderr));
    }
}

#[test]
fn getting_started() {
    run("getting-started.md");
}

#[cfg(feature = "sql")]
#[test]
fn convert() {
    run("guides/convert.md");
}

#[test]
fn tet() {
    run("guides/tet.md");
}

#[test]
fn tiledb() {
    run("guides/tiledb.md");
}

#[test]
fn tsfile() {
    run("guides/tsfile.md");
}

#[cfg(feature = "sql")]
#[test]
fn tutorial_of_analytics() {
    run("tutorials/analytics.md");
}

#[cfg(feature = "sql")]
#[test]
fn tutorial_of_time_series() {
    run("tutorials/time-series.md");
}

#[cfg(feature = "sql")]
#[test]
fn tutorial_of_arrays() {
    run("tutorials/arrays.md");
}

#[cfg(feature = "sql")]
#[test]
fn tutorial_of_search() {
    run("tutorials/search.md");
}

#[cfg(feature = "sql")]
#[test]
fn tutorial_of_the_prompt() {
    run("tutorials/prompt.md");
}
