//! The example runs on a real file.

use std::process::Command;

#[test]
fn a_statement_runs_over_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plant.csv");
    std::fs::write(&file, "time,speed\n1,80.5\n2,81\n3,79\n").unwrap();
    // Its binary is next to this test's folder, built by the same `cargo test`.
    let mut built = std::env::current_exe().unwrap();
    built.pop();
    if built.ends_with("deps") {
        built.pop();
    }
    let statement = format!("SELECT max(speed) AS fastest FROM '{}' WHERE time < 3", file.display());
    let out = Command::new(built.join("examples/sql")).arg(statement).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let out = String::from_utf8(out.stdout).unwrap();
    assert!(out.contains("fastest") && out.contains("81.0"), "{out}");
}

/// The visible lines of the first code block after `heading` in the documentation of a crate.
fn example<'a>(source: &'a str, heading: &str) -> Vec<&'a str> {
    let page = &source[source.find(heading).unwrap()..];
    let lines = page.lines().map(|line| line.trim_start_matches("//!").trim());
    let code = lines.skip_while(|line| !line.starts_with("```")).skip(1).take_while(|line| *line != "```");
    code.filter(|line| !line.starts_with('#')).collect()
}

#[test]
fn the_front_page_of_the_facade_shows_the_tested_example() {
    let (facade, own) = (include_str!("../../../tesselle/src/lib.rs"), include_str!("../../src/lib.rs"));
    let shown = example(facade, "//! # SQL");
    assert_eq!(shown.len(), 4, "{shown:?}");
    assert_eq!(shown, example(own, "//! SQL over"));
}
