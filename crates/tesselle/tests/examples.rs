//! The examples run.
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::process::Command;

/// An example's binary is next to this test's folder, built by the same `cargo test`.
fn example(name: &str) -> Command {
    let mut folder = std::env::current_exe().unwrap();
    folder.pop();
    if folder.ends_with("deps") {
        folder.pop();
    }
    Command::new(folder.join("examples").join(name))
}

#[test]
fn the_tensor_example_agrees_with_itself() {
    let out = example("tensor").output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(String::from_utf8_lossy(&out.stdout).contains("wrote 120000 cells"));
}

#[test]
fn the_rows_example_prints_its_usage() {
    let out = example("rows").output().unwrap();
    assert!(String::from_utf8_lossy(&out.stderr).contains("usage"));
}
