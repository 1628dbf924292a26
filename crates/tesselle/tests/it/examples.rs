//! The examples run on real files.

use std::path::Path;
use std::process::Command;

/// The output of an example. Its binary is next to this test's folder, built by the same `cargo test`.
fn run(name: &str, args: &[&Path]) -> String {
    let mut folder = std::env::current_exe().unwrap();
    folder.pop();
    if folder.ends_with("deps") {
        folder.pop();
    }
    let out = Command::new(folder.join("examples").join(name)).args(args).output().unwrap();
    assert!(out.status.success(), "{name}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn rows_are_written_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plant.tsfile");
    let out = run("write_rows", &[&file]);
    assert!(out.contains("wrote 1440 rows as tsfile") && out.contains("205 of them are fast"), "{out}");
    let out = run("read", &[&file, Path::new("speed > 85")]);
    assert!(out.starts_with("10 rows of 2 columns"), "{out}");
}

#[test]
fn an_array_is_written_and_reduced() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["field.tet", "field.zarr", "field.npy", "field.tiledb"] {
        let out = run("write_array", &[&folder.path().join(name)]);
        assert!(out.contains("wrote 120000 cells") && out.contains("mean of 400 rows"), "{name}: {out}");
    }
}

#[test]
fn a_file_is_converted_compared_and_verified() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("rows.csv");
    std::fs::write(&source, "time,speed\n1,80.5\n2,81\n3,79\n").unwrap();
    for target in ["rows.parquet", "rows.tatami", "rows.arrow"] {
        let out = run("convert", &[&source, &folder.path().join(target)]);
        assert!(
            out.contains("3 rows") && out.contains("equal: true") && out.contains("intact: true"),
            "{out}"
        );
    }
}

#[test]
fn documents_are_indexed_and_found() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("notes.csv");
    std::fs::write(&source, "doc_id,body\na,a stone bridge\nb,the river\nc,a bridge over the river\n")
        .unwrap();
    let segment = folder.path().join("notes.tatami");
    let out = run("search", &[&source, &segment, Path::new("body"), Path::new("+river bridge")]);
    let ids: Vec<&str> = out.lines().filter_map(|line| line.rsplit_once(' ')).map(|(_, id)| id).collect();
    assert_eq!(ids, ["documents", "c", "b"], "{out}");
}

#[test]
fn the_sql_example_of_the_front_page_is_the_one_that_the_sql_crate_runs() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = |name: &str| std::fs::read_to_string(crates.join(name).join("src/lib.rs")).unwrap();
    let own = page("tesselle");
    let example = own.split("```ignore\n").nth(1).unwrap().split("//! ```").next().unwrap();
    assert!(example.contains("Session::try_new") && page("sql").contains(example), "{example}");
}
