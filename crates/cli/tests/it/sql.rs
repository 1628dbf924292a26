//! `tess sql` as a script sees it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn tess(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tess"));
    command.arg("sql").args(args).stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A tet file of 3 x 4 cells.
fn sample(folder: &Path) -> PathBuf {
    let path = folder.join("a.tet");
    let sql = format!(
        "COPY (SELECT y.value AS y, x.value AS x, y.value + x.value / 8.0 AS value
               FROM generate_series(0, 2) y, generate_series(0, 3) x ORDER BY 1, 2) TO '{}'",
        path.display()
    );
    let out = tess(&[&sql, "--as", "csv"]);
    assert_eq!(text(&out.stdout), "count\n12\n", "{}", text(&out.stderr));
    path
}

#[test]
fn answers_come_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let file = sample(folder.path());
    let sql = format!(
        "SELECT x, sum(value) AS s, NULL AS n FROM '{}' GROUP BY x ORDER BY x LIMIT 2",
        file.display()
    );
    let form = |form: &[&str]| text(&tess(&[&[sql.as_str()], form].concat()).stdout);
    assert_eq!(form(&["--as", "csv"]), "x,s,n\n0,3.0,\n1,3.375,\n");
    assert_eq!(
        form(&["--as", "jsonl"]),
        "{\"x\": 0, \"s\": 3.0, \"n\": null}\n{\"x\": 1, \"s\": 3.375, \"n\": null}\n"
    );
    for flags in [&["--as", "json"][..], &["--json"]] {
        let rows: serde_json::Value = serde_json::from_str(&form(flags)).unwrap();
        assert_eq!(rows, serde_json::json!([{"x": 0, "s": 3.0, "n": null}, {"x": 1, "s": 3.375, "n": null}]));
    }
    let table = form(&[]);
    assert!(table.contains("│ Int64 │ Float64 │"), "{table}");
    let empty = format!("SELECT x FROM '{}' WHERE x > 99", file.display());
    assert_eq!(text(&tess(&[&empty, "--json"]).stdout), "[]\n");
    for name in ["out.parquet", "out.arrow", "out.csv", "out.jsonl"] {
        let out = folder.path().join(name);
        let written = tess(&[&sql, "-o", out.to_str().unwrap()]);
        assert!(written.status.success(), "{}", text(&written.stderr));
        let again = tess(&[&sql, "-o", out.to_str().unwrap()]);
        assert_eq!(again.status.code(), Some(2), "{name} is not replaced without --force");
        let back = tess(&[&format!("SELECT sum(s) AS s FROM '{}'", out.display()), "--as", "csv"]);
        assert_eq!(text(&back.stdout), "s\n6.375\n", "{name}: {}", text(&back.stderr));
    }
}

#[test]
fn statements_come_from_files_and_pipes() {
    let folder = tempfile::tempdir().unwrap();
    let file = sample(folder.path());
    let script = folder.path().join("script.sql");
    let statements = format!(
        "CREATE EXTERNAL TABLE t STORED AS TET LOCATION '{}'; -- a remark\nSELECT max(x) AS m FROM t;\n",
        file.display()
    );
    std::fs::write(&script, &statements).unwrap();
    let out = tess(&["-f", script.to_str().unwrap(), "--as", "csv"]);
    assert_eq!(text(&out.stdout), "m\n3\n", "{}", text(&out.stderr));

    let mut piped = Command::new(env!("CARGO_BIN_EXE_tess"))
        .args(["sql", "--as", "csv"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    piped.stdin.take().unwrap().write_all(statements.as_bytes()).unwrap();
    assert_eq!(text(&piped.wait_with_output().unwrap().stdout), "m\n3\n");

    // Every result is printed if the form allows it; commands come between statements.
    let both = format!(
        ".mode csv\nCOPY (SELECT 1) TO '{}/one.csv';\nSELECT 1 AS a; SELECT 2 AS b -- .mode\n;\n\
         .mode jsonl\nSELECT '\n.quit' AS c;\n.quit\nSELECT 4 AS d;",
        folder.path().display()
    );
    let out = tess(&[&both]);
    assert_eq!(text(&out.stdout), "a\n1\nb\n2\n{\"c\": \"\\n.quit\"}\n", "{}", text(&out.stderr));
    let out = tess(&["SELECT 1 AS a; SELECT 2 AS b", "--json"]);
    assert_eq!(text(&out.stdout).replace('\n', ""), "[{\"b\": 2}]", "{}", text(&out.stderr));
    let out = tess(&["SELECT a.x, b.x FROM (SELECT 1 x) a, (SELECT 2 x) b", "--as", "jsonl"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("two columns have the name 'x'"), "{}", text(&out.stderr));
    let out = tess(&["SELECT 1", "-o", "one.tatami"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("COPY (SELECT …) TO 'one.tatami'"), "{}", text(&out.stderr));
    let out = tess(&["SELECT 1;\n.mod csv"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("did you mean '.mode'?"), "{}", text(&out.stderr));

    let registered = format!("T={}", file.display());
    let out = tess(&["-t", &registered, "SELECT count(*) AS n FROM T", "--as", "csv"]);
    assert_eq!(text(&out.stdout), "n\n12\n", "{}", text(&out.stderr));
}

#[test]
fn exit_codes_and_error_objects_are_those_of_all_verbs() {
    let folder = tempfile::tempdir().unwrap();
    let file = sample(folder.path());
    let cut = folder.path().join("cut.tet");
    std::fs::write(&cut, &std::fs::read(&file).unwrap()[..100]).unwrap();
    let of = |path: &Path, column: &str| format!("SELECT {column} FROM '{}'", path.display());
    for (sql, code, kind) in [
        (of(&file, "valu"), 2, "not_found"),
        (of(&folder.path().join("missing.tet"), "*"), 3, "io"),
        (of(&cut, "*"), 1, "index_out_of_bounds"),
        ("SELEC 1".to_owned(), 2, "invalid_call"),
        ("SELECT * FROM nowhere".to_owned(), 2, "not_found"),
        (String::new(), 2, "invalid_call"),
    ] {
        let out = tess(&[&sql, "--json"]);
        assert_eq!(out.status.code(), Some(code), "{sql}: {}", text(&out.stderr));
        let object: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        assert_eq!(object["error"]["kind"], kind, "{sql}: {object}");
        assert_eq!(text(&out.stderr).lines().count(), 1, "{sql}: {}", text(&out.stderr));
    }
    let memory = "SET datafusion.optimizer.prefer_hash_join = true; \
         SELECT a.value FROM generate_series(1, 3000000) a JOIN generate_series(1, 3000000) b USING (value)";
    let out = tess(&[memory, "--memory-limit", "8MiB", "--json"]);
    assert_eq!(out.status.code(), Some(1), "{}", text(&out.stderr));
    assert!(text(&out.stderr).contains("--memory-limit"), "{}", text(&out.stderr));
}

#[test]
fn a_screen_shows_the_first_rows_and_a_note() {
    let out = tess(&["SELECT value FROM generate_series(1, 100)", "--rows", "5"]);
    assert_eq!(text(&out.stdout).lines().count(), 10);
    assert!(text(&out.stderr).starts_with("first 5 rows in "), "{}", text(&out.stderr));
    let out = tess(&["SELECT 1 AS one"]);
    assert!(text(&out.stderr).starts_with("1 row in "), "{}", text(&out.stderr));
}

#[cfg(unix)]
#[test]
fn ten_thousand_files_are_queried_with_few_descriptors() {
    const FILES: usize = 10_000;
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("0.csv");
    std::fs::write(&first, "a,b\n1,2\n3,4\n").unwrap();
    for number in 1..FILES {
        std::fs::hard_link(&first, folder.path().join(format!("{number}.csv"))).unwrap();
    }
    let sql = format!("SELECT count(*), sum(a) FROM '{}'", folder.path().display());
    let out = Command::new("/bin/sh")
        .args(["-c", "ulimit -n 256; exec \"$0\" sql \"$1\" --as csv", env!("CARGO_BIN_EXE_tess"), &sql])
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{error}");
    let rows = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(rows.ends_with(&format!("{},{}\n", 2 * FILES, 4 * FILES)), "{rows}");
}
