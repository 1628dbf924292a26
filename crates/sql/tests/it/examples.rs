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
