//! Names that are files, and names that are not.

use std::sync::Arc;

use arrow_array::Float64Array;
use tesselle::ErrorKind;
use tesselle_sql::SessionOptions;

use crate::support::{self, rows};

#[test]
fn errors_suggest_similar_names() {
    let folder = tempfile::tempdir().unwrap();
    support::make_files(folder.path());
    let root = folder.path().to_str().unwrap();
    let session = support::session(true);
    session.register("plant", &format!("{root}/plant.tsfile")).unwrap();
    for (sql, kind, hint) in [
        (format!("SELECT valu FROM '{root}/grid.tet'"), ErrorKind::NotFound, "did you mean 'value'?"),
        (format!("SELECT * FROM '{root}/gird.tet'"), ErrorKind::Io, "did you mean 'grid.tet'?"),
        (format!("SELECT * FROM '{root}/grid.tet#heet'"), ErrorKind::NotFound, "did you mean 'heat'?"),
        ("SELECT * FROM plan".to_owned(), ErrorKind::NotFound, "did you mean 'plant'?"),
        (format!("COPY (SELECT 1) TO '{root}/grid.tet'"), ErrorKind::Invalid, "overwrite"),
        (format!("COPY (SELECT 1) TO '{root}/x.unknown'"), ErrorKind::Invalid, "STORED AS"),
        ("SELEC 1".to_owned(), ErrorKind::Invalid, ""),
        (format!("SELECT * FROM '{root}/days/*.tat'"), ErrorKind::Io, ""),
        (format!("SELECT * FROM '{root}/mixed.*'"), ErrorKind::Invalid, "narrow"),
        (format!("SELECT * FROM '{root}/*.tsfile' UNION SELECT * FROM '{root}/nothing'"), ErrorKind::Io, ""),
        (
            format!("SELECT * FROM tess_tables('{root}/grid.tet', 1)"),
            ErrorKind::Invalid,
            "tess_tables('FILE')",
        ),
        (
            format!("CREATE EXTERNAL TABLE t STORED AS TET LOCATION '{root}/grid.tet' OPTIONS ('tabel' 'x')"),
            ErrorKind::NotFound,
            "did you mean 'table'?",
        ),
        (
            format!("CREATE EXTERNAL TABLE t STORED AS TET LOCATION '{root}/grid.tet' OPTIONS ('at' '5')"),
            ErrorKind::Invalid,
            "",
        ),
    ] {
        let error = match session.query(&sql).and_then(tesselle_sql::Answer::finish) {
            Ok(()) => panic!("{sql} succeeded"),
            Err(error) => error,
        };
        assert_eq!(error.kind(), kind, "{sql}: {error}");
        assert!(tesselle_sql::explain(&error).contains(hint), "{sql}: {error}");
        assert_eq!(error.to_string().lines().count(), 1, "{error}");
    }
}

/// The error is about what is wrong, not about a table that the statement creates.
#[test]
fn errors_of_statements_that_create_tables_name_the_cause() {
    let session = support::session(true);
    for (sql, cause) in [
        ("CREATE TABLE x AS SELECT averag(1)", "function 'averag' does not exist"),
        ("CREATE TABLE x AS SELECT 1 AS a, 2 AS a", "two columns of the result have the same name"),
        ("CREATE TABLE x AS SELECT nosuch FROM generate_series(1, 2)", "column 'nosuch' does not exist"),
        ("CREATE VIEW x AS SELECT * FROM nosuch", "table 'nosuch' does not exist"),
        (
            "SET datafusion.execution.batch_size = abc",
            "'abc' is no value of the setting 'datafusion.execution.batch_size'",
        ),
        ("SET batch_size = 1", "setting 'batch_size' does not exist"),
        ("SELECT exists(SELECT 1)", "a subquery at this place"),
    ] {
        let error = match session.query(sql).and_then(tesselle_sql::Answer::finish) {
            Ok(()) => panic!("{sql} succeeded"),
            Err(error) => error.to_string(),
        };
        assert!(error.contains(cause) && !error.contains("'x'"), "{sql}: {error}");
        assert!(!error.contains(['{', '\n']), "{sql}: {error}");
    }
    session.query("CREATE TABLE x AS SELECT 1 AS a").unwrap().finish().unwrap();
    let twice = session.query("CREATE TABLE x AS SELECT 2 AS a").and_then(tesselle_sql::Answer::finish);
    assert!(twice.unwrap_err().to_string().contains("already exists"));
}

#[test]
fn damage_is_reported_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    support::make_files(folder.path());
    let path = folder.path().join("mixed.tatami");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[200] ^= 0xff;
    std::fs::write(&path, bytes).unwrap();
    let session = support::session(true);
    let error = rows(&session, &format!("SELECT * FROM '{}'", path.display())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.file_name().is_some_and(|file| file.ends_with("mixed.tatami")), "{error}");
    assert!(error.byte_offset().is_some(), "{error}");
}

#[test]
fn a_bad_file_among_others_is_named() {
    let folder = tempfile::tempdir().unwrap();
    support::make_files(folder.path());
    let root = folder.path().join("some");
    std::fs::create_dir(&root).unwrap();
    let session = support::session(true);
    for kind in ["parquet", "tatami"] {
        let bad = root.join(format!("bad.{kind}"));
        std::fs::copy(folder.path().join(format!("mixed.{kind}")), root.join(format!("a.{kind}"))).unwrap();
        std::fs::write(&bad, "").unwrap();
        for from in [root.join(format!("*.{kind}")), root.clone(), bad.clone()] {
            let error = rows(&session, &format!("SELECT count(*) FROM '{}'", from.display())).unwrap_err();
            assert_eq!(error.file_name(), bad.to_str(), "{}: {error}", from.display());
        }
        std::fs::remove_dir_all(&root).unwrap();
        std::fs::create_dir(&root).unwrap();
    }
}

#[test]
fn drop_and_if_exists_work_on_names_that_are_not_files() {
    let session = support::session(true);
    session.query("DROP TABLE IF EXISTS nothing").unwrap().finish().unwrap();
    session.query("CREATE TABLE t AS SELECT 1 AS a").unwrap().finish().unwrap();
    assert_eq!(session.table_names(), ["t"]);
    assert_eq!(rows(&session, "SELECT a FROM t").unwrap(), ["1"]);
    session.query("DROP TABLE t").unwrap().finish().unwrap();
    assert!(session.table_names().is_empty());
}

#[test]
fn a_sort_larger_than_the_memory_spills() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("big.tatami");
    support::write(&path, "tatami", None, &["row_group_rows=20000"], &support::mixed(200_000));
    let options = SessionOptions::default().with_threads(2).with_memory(16 << 20);
    let session = tesselle_sql::Session::try_new(&options).unwrap();
    let sql = format!("EXPLAIN ANALYZE SELECT * FROM '{}' ORDER BY exact, id", path.display());
    let plan = rows(&session, &sql).unwrap().join("\n");
    let spilled = plan.split("spill_count=").nth(1).and_then(|rest| rest.split([',', ']']).next());
    assert!(spilled.is_some_and(|count| count != "0"), "{plan}");
}

#[test]
fn an_interrupted_statement_ends_and_the_next_one_runs() {
    let session = support::session(true);
    let interrupt = session.interrupt();
    let mut answer = session
        .query("SELECT count(*) FROM generate_series(1, 1000000000) a, generate_series(1, 1000) b")
        .unwrap();
    let stopper = std::thread::spawn(move || interrupt.interrupt());
    let error = answer.next().unwrap().unwrap_err();
    stopper.join().unwrap();
    assert_eq!(error.kind(), ErrorKind::Canceled);
    assert!(answer.next().is_none());
    drop(answer);
    assert_eq!(rows(&session, "SELECT 1").unwrap(), ["1"]);
}

#[test]
fn nans_in_parquet_files_are_not_overlooked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    let x = Arc::new(Float64Array::from(vec![1.0, f64::NAN, 1.0]));
    support::write_foreign(&path, &support::batch(vec![("x", x, false)]));
    let session = support::session(true);
    let path = path.to_str().unwrap();
    let table = format!("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{path}'");
    assert!(rows(&session, &table).unwrap().is_empty());
    for from in [format!("'{path}'"), "t".to_owned()] {
        assert_eq!(rows(&session, &format!("SELECT x FROM {from}")).unwrap(), ["1.0", "1.0", "NaN"]);
        assert_eq!(rows(&session, &format!("SELECT max(x), min(x) FROM {from}")).unwrap(), ["NaN|1.0"]);
        assert_eq!(rows(&session, &format!("SELECT x FROM {from} WHERE x > 5")).unwrap(), ["NaN"]);
        assert_eq!(rows(&session, &format!("SELECT x FROM {from} WHERE x <> 1 LIMIT 2")).unwrap(), ["NaN"]);
        assert_eq!(
            rows(&session, &format!("SELECT x FROM {from} WHERE x = 'NaN'::double")).unwrap(),
            ["NaN"]
        );
        let limited = format!("SELECT x FROM {from} WHERE x < 5 LIMIT 2");
        assert_eq!(rows(&session, &limited).unwrap(), ["1.0", "1.0"]);
        let top = format!("SELECT x FROM {from} ORDER BY x DESC LIMIT 1");
        assert_eq!(rows(&session, &top).unwrap(), ["NaN"]);
    }
}

/// The columns and the first row of a query.
fn types_and_rows(session: &tesselle_sql::Session, sql: &str) -> (Vec<String>, Vec<String>) {
    let answer = session.query(sql).unwrap();
    let types = answer.schema().fields().iter().map(|field| field.data_type().to_string()).collect();
    (types, rows(session, sql).unwrap())
}

#[test]
fn text_files_have_types_inferred_from_all_records() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    let session = support::session(true);
    // The decisive value comes late, and in another file.
    let many: Vec<String> = (0..5000).map(|i| format!("{i},{i}")).collect();
    std::fs::write(folder.path().join("a.csv"), format!("id,size\n{}\n5000,2.5\n", many.join("\n"))).unwrap();
    std::fs::write(folder.path().join("b.csv"), "id,size\n7,\nx8,1\n").unwrap();
    let (types, found) =
        types_and_rows(&session, &format!("SELECT * FROM '{root}/a.csv' WHERE size > 4998.5 OR id = 5000"));
    assert_eq!(types, ["Int64", "Float64"]);
    assert_eq!(found, ["4999|4999.0", "5000|2.5"]);
    let (types, found) =
        types_and_rows(&session, &format!("SELECT * FROM '{root}/*.csv' WHERE id IN ('7', 'x8')"));
    assert_eq!(types, ["Utf8", "Float64"]);
    assert_eq!(found, ["7|7.0", "7|NULL", "x8|1.0"]);
    assert_eq!(rows(&session, &format!("SELECT count(*) FROM '{root}'")).unwrap(), ["5003"]);

    // Lines of JSON need not have the same members.
    std::fs::write(folder.path().join("a.json"), "{\"a\": 1}\n{\"a\": 2, \"b\": true}\n").unwrap();
    std::fs::write(folder.path().join("b.json"), "{\"c\": [1], \"a\": 3.5}\n").unwrap();
    let (types, found) =
        types_and_rows(&session, &format!("SELECT a, b, c[1] AS c FROM '{root}/*.json' ORDER BY a"));
    assert_eq!(types, ["Float64", "Boolean", "Int64"]);
    assert_eq!(found, ["1.0|NULL|NULL", "2.0|true|NULL", "3.5|NULL|1"]);

    std::fs::write(folder.path().join("c.csv"), "id,weight\n1,2\n").unwrap();
    let error = rows(&session, &format!("SELECT * FROM '{root}/*.csv'")).unwrap_err();
    assert!(error.to_string().contains("different columns"), "{error}");
    std::fs::write(folder.path().join("d.csv"), "id\n1\n2,3\n").unwrap();
    let error = rows(&session, &format!("SELECT * FROM '{root}/d.csv'")).unwrap_err();
    assert!(error.to_string().contains("line 3") && error.to_string().contains("d.csv"), "{error}");
}

#[test]
fn a_file_of_a_folder_is_opened_when_a_statement_names_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("good.csv"), "a\n1\n2\n").unwrap();
    std::fs::write(folder.path().join("bad.parquet"), "PAR1 and no more").unwrap();
    let session = support::session(true);
    assert_eq!(session.register_folder(folder.path().to_str().unwrap()).unwrap(), ["bad", "good"]);
    assert_eq!(session.table_names(), ["bad", "good"]);
    // The table is the file as it is now.
    std::fs::write(folder.path().join("good.csv"), "a\n1\n2\n3\n").unwrap();
    for _ in 0..2 {
        assert_eq!(rows(&session, "SELECT sum(l.a) FROM good l JOIN good r USING (a)").unwrap(), ["6"]);
        let error = rows(&session, "SELECT * FROM good, bad").unwrap_err();
        assert!(error.to_string().contains("bad.parquet"), "{error}");
    }
    assert_eq!(session.table_names(), ["bad", "good"]);
    for name in ["good", "bad"] {
        let error = rows(&session, &format!("CREATE TABLE {name} AS SELECT 1")).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
        assert!(session.register(name, folder.path().join("good.csv").to_str().unwrap()).is_err());
    }
    rows(&session, "DROP TABLE good").unwrap();
    assert_eq!(session.table_names(), ["bad"]);
    assert!(rows(&session, "SELECT * FROM good").is_err());
}

/// Names without quotes are read in lower case.
#[test]
fn a_registered_table_is_found_in_any_case() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("one.csv");
    std::fs::write(&file, "x\n1\n").unwrap();
    let session = support::session(true);
    for name in ["Pages", "Two", "tWo"] {
        session.register(name, file.to_str().unwrap()).unwrap();
    }
    for name in ["Pages", "pages", "\"Pages\"", "\"Two\"", "\"tWo\""] {
        assert_eq!(rows(&session, &format!("SELECT x FROM {name}")).unwrap(), ["1"], "{name}");
    }
    let error = session.query("SELECT x FROM Two").err().unwrap();
    assert!(error.to_string().contains("table 'two' does not exist"), "{error}");
}
