//! Decimals, dates and times in formats without such types: containers that hold them grow, merge and answer with the
//! values that were written.

use crate::support::{fine, path, tess, text};

/// A Parquet file of rows with a decimal, a date and a time of day.
fn rows(file: &std::path::Path, range: &str) -> String {
    let query = format!(
        "SELECT value AS id, CAST(value AS DECIMAL(9,2)) AS price, DATE '2025-01-01' + value AS day, \
         CASE WHEN value > 0 THEN arrow_cast(arrow_cast(value * 1000, 'Int32'), 'Time32(Millisecond)') END AS clock \
         FROM generate_series({range})"
    );
    fine(&["sql", &format!("COPY ({query}) TO '{}'", path(file)), "--as", "csv"]);
    path(file).to_owned()
}

fn csv(uri: &str) -> String {
    fine(&["cat", uri, "--columns", "id,price,day,clock", "--as", "csv"])
}

fn refused(args: &[&str]) -> String {
    let out = tess(args);
    assert_eq!(out.status.code(), Some(2), "tess {args:?}: {}", text(&out.stderr));
    text(&out.stderr)
}

#[test]
fn rows_that_are_added_are_stored_like_those_that_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (first, second) = (rows(&at("a.parquet"), "1, 3"), rows(&at("b.parquet"), "4, 6"));
    let all = csv(&rows(&at("all.parquet"), "1, 6"));
    let (file, array) = (at("p.tatami"), at("p.tiledb"));
    let (file, array) = (path(&file), path(&array));
    fine(&["convert", &first, file]);
    fine(&["append", &second, file]);
    assert_eq!(csv(file), all);
    fine(&["convert", &first, array, "--set", "kind=sparse", "--set", "dims=id", "--set", "domain.id=0:99"]);
    fine(&["append", &second, array]);
    assert_eq!(csv(array), all);
    // Numbers that another format has are decimals here.
    let more = at("more.csv");
    std::fs::write(&more, "id,price,day\n7,7.5,2025-02-01\n8,8,2025-02-02\n").unwrap();
    fine(&["append", path(&more), file]);
    fine(&["tiledb", "write", array, &rows(&at("c.parquet"), "7, 8")]);
    let last = |uri| fine(&["cat", uri, "--columns", "price,day", "--where", "id > 6", "--as", "csv"]);
    assert_eq!(last(file), "price,day\n7.50,2025-02-01\n8.00,2025-02-02\n");
    assert_eq!(last(array), "price,day\n7.00,2025-01-08\n8.00,2025-01-09\n");
    std::fs::write(&more, "id,price,day\n9,9.125,2025-02-01\n").unwrap();
    let error = refused(&["append", path(&more), file]);
    assert!(error.contains("column 'price' has a value that does not fit"), "{error}");
    // A condition that is stored would compare the digits.
    let error = refused(&["tiledb", "delete", array, "--where", "price > 2"]);
    assert!(error.contains("column 'price' is decimal128(9,2)"), "{error}");
    fine(&["verify", "--deep", file, array]);
}

#[test]
fn single_rows_and_collections_have_the_types_of_their_columns() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (first, second) = (rows(&at("a.parquet"), "1, 3"), rows(&at("b.parquet"), "4, 6"));
    let all = csv(&rows(&at("all.parquet"), "1, 6"));
    let shelf = at("shelf");
    std::fs::create_dir(&shelf).unwrap();
    let (a, b) = (shelf.join("a.tatami"), shelf.join("b.tatami"));
    fine(&["convert", &first, path(&a), "--set", "sort_key=day"]);
    fine(&["convert", &second, path(&b), "--set", "sort_key=day"]);
    for found in [
        fine(&["tatami", "lookup", path(&a), "2025-01-03"]),
        fine(&["tatami", "take", path(&a), "1"]),
        fine(&["tatami", "take", path(&a), "1", "--json"]),
    ] {
        assert!(found.contains(" 2.0") && !found.contains("00:00:00 "), "{found}");
    }
    fine(&["tatami", "collection", "add", path(&shelf), "a.tatami", "b.tatami"]);
    assert_eq!(csv(path(&shelf)), all);
    let sum = format!("SELECT sum(price) AS sum FROM '{}'", path(&shelf));
    assert_eq!(fine(&["sql", &sum, "--as", "csv"]), "sum\n21.00\n");
    let found = fine(&["tatami", "lookup", path(&shelf), "2025-01-06"]);
    assert!(found.contains("5.00"), "{found}");
    fine(&["tatami", "collection", "merge", path(&shelf), "all.tatami"]);
    assert_eq!(csv(path(&shelf)), all);
    // A key is written as its column shows it.
    let priced = at("priced.tatami");
    fine(&["convert", &first, path(&priced), "--set", "sort_key=price"]);
    assert!(fine(&["tatami", "lookup", path(&priced), "2"]).contains("2.00"));
    assert_eq!(fine(&["tatami", "lookup", path(&priced), "2.5"]), "no row has this key\n");
    let error = refused(&["tatami", "lookup", path(&priced), "two"]);
    assert!(error.contains("'two' is not a value of column 'price', which is decimal128(9,2)"), "{error}");
}

#[test]
fn members_of_a_collection_that_store_other_types_alike_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let write = |name: &str, scale: u8| {
        let query = format!("SELECT CAST(1 AS DECIMAL(9,{scale})) AS price");
        let source = at(&format!("{scale}-{name}.parquet"));
        fine(&["sql", &format!("COPY ({query}) TO '{}'", path(&source)), "--as", "csv"]);
        fine(&["convert", path(&source), path(&at(name)), "--force"]);
    };
    write("a.tatami", 2);
    write("b.tatami", 2);
    let shelf = path(folder.path());
    fine(&["tatami", "collection", "add", shelf, "a.tatami", "b.tatami"]);
    write("b.tatami", 4);
    let error = refused(&["tatami", "collection", "add", shelf, "b.tatami"]);
    assert!(error.contains("recorded to have other types"), "{error}");
    let out = tess(&["cat", shelf]);
    assert_eq!(out.status.code(), Some(1), "{}", text(&out.stdout));
    assert!(text(&out.stderr).contains("member 'b.tatami' differ"), "{}", text(&out.stderr));
}

#[test]
fn an_array_of_decimals_without_a_name_is_one_of_decimals() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("p.parquet");
    let query = "SELECT CAST(value AS DECIMAL(9,2)) / 4 AS price FROM generate_series(1, 3)";
    fine(&["sql", &format!("COPY ({query}) TO '{}'", path(&source)), "--as", "csv"]);
    for name in ["p.zarr", "p.tet"] {
        let target = folder.path().join(name);
        fine(&["convert", path(&source), path(&target)]);
        let values = fine(&["cat", path(&target), "--columns", "value", "--as", "csv"]);
        assert_eq!(values, "value\n0.250000\n0.500000\n0.750000\n", "{name}");
    }
}

#[test]
fn a_column_may_be_called_like_the_axis_of_rows() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("p.csv");
    std::fs::write(&source, "row,row_,x\n7,1,2\n8,3,4\n").unwrap();
    let target = folder.path().join("p.zarr");
    fine(&["convert", path(&source), path(&target)]);
    let values = fine(&["cat", path(&target), "--columns", "row,row_,x", "--as", "csv"]);
    assert_eq!(values, "row,row_,x\n7,1,2\n8,3,4\n");
}
