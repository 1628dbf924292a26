//! What people do every day: conditions as in SQL, decimals and dates in every format, folders of tables, manual pages.

use std::fmt::Write as _;

use crate::support;
use crate::support::{fine, path, tess, text};

/// The standard error of a call that must fail with this exit code.
fn fails(args: &[&str], code: i32) -> String {
    let out = tess(args);
    assert_eq!(out.status.code(), Some(code), "tess {args:?}: {}", text(&out.stderr));
    text(&out.stderr)
}

/// A Parquet file of prices with decimals, dates, a time in nanoseconds and names.
fn prices(folder: &std::path::Path) -> String {
    let file = folder.join("prices.parquet");
    let file = path(&file);
    let query = "SELECT value AS id, CAST(value * 1.25 - 3 AS DECIMAL(15,2)) AS price, \
                 CAST('123456789012345678901.5' AS DECIMAL(30,1)) AS total, \
                 DATE '2025-01-30' + value AS day, \
                 arrow_cast(value * 1000000007, 'Timestamp(Nanosecond, None)') AS at, \
                 CASE WHEN value % 3 = 0 THEN NULL ELSE 'Item ' || value END AS name \
                 FROM generate_series(1, 8) ORDER BY id";
    fine(&["sql", &format!("COPY ({query}) TO '{file}'"), "--as", "csv"]);
    file.to_owned()
}

#[test]
fn decimals_dates_and_fine_times_come_back_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let source = prices(folder.path());
    for (name, settings) in [("p.tatami", &[][..]), ("p.tiledb", &["--set", "dims=id"][..])] {
        let target = folder.path().join(name);
        let target = path(&target);
        fine(&[&["convert", &source, target], settings].concat());
        let query = format!(
            "SELECT arrow_typeof(price), arrow_typeof(total), arrow_typeof(day), arrow_typeof(at) FROM '{target}' LIMIT 1"
        );
        let types = fine(&["sql", &query, "--as", "line"]);
        for (name, own) in
            [("price", "Decimal128(15, 2)"), ("total", "Decimal128(30, 1)"), ("day", "Date32"), ("at", "ns")]
        {
            let line = types.lines().find(|line| line.contains(&format!("({name})"))).unwrap_or_default();
            assert!(line.contains(own), "{target}: {types}");
        }
        fine(&["diff", &source, target, "--key", "id"]);
        let some = fine(&[
            "cat",
            target,
            "--where",
            "price > 1.99 AND day < '2025-02-06'",
            "--as",
            "csv",
            "--columns",
            "id,price,day",
        ]);
        assert_eq!(some, "id,price,day\n4,2.00,2025-02-03\n5,3.25,2025-02-04\n6,4.50,2025-02-05\n");
        let sum = fine(&[
            "sql",
            &format!("SELECT sum(price) AS s FROM '{target}' WHERE price BETWEEN 2 AND 2 + 1.25"),
            "--as",
            "csv",
        ]);
        assert_eq!(sum, "s\n5.25\n");
        // What is stored stays visible, and the way back is whole.
        assert!(
            fine(&["cat", target, "--raw", "--limit", "1", "--columns", "price", "--as", "csv"])
                .contains("-175")
        );
        let back = folder.path().join(format!("{name}.parquet"));
        fine(&["convert", target, path(&back)]);
        fine(&["diff", &source, path(&back), "--key", "id"]);
    }
}

#[test]
fn times_of_every_unit_come_back_from_tensors() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("times.arrow");
    let time = |unit: &str, name: &str| format!("arrow_cast(value, 'Timestamp({unit}, None)') AS {name}");
    let times = [("Second", "s"), ("Millisecond", "ms"), ("Microsecond", "us"), ("Nanosecond", "ns")]
        .map(|(unit, name)| time(unit, name))
        .join(", ");
    let query = format!("SELECT {times} FROM generate_series(1, 3) ORDER BY value");
    fine(&["sql", &format!("COPY ({query}) TO '{}'", path(&source))]);
    for name in ["t.tet", "t.zarr"] {
        let target = folder.path().join(name);
        fine(&["convert", path(&source), path(&target)]);
        let rows = |file: &str| fine(&["cat", file, "--columns", "s,ms,us,ns", "--as", "csv"]);
        assert_eq!(rows(path(&target)), rows(path(&source)), "{name}");
        let of = |file: &str| {
            let types = "arrow_typeof(s), arrow_typeof(ms), arrow_typeof(us), arrow_typeof(ns)";
            fine(&["sql", &format!("SELECT {types} FROM '{file}' LIMIT 1"), "--as", "csv"])
        };
        assert_eq!(of(path(&target)), of(path(&source)), "{name}");
        let later = ["--where", "ms > '1970-01-01T00:00:00.001'", "--columns", "s", "--as", "csv"];
        let later = fine(&[&["cat", path(&target)], &later[..]].concat());
        assert_eq!(later, "s\n1970-01-01T00:00:02\n1970-01-01T00:00:03\n", "{name}");
    }
}

#[test]
fn a_note_of_types_that_cannot_be_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (prices(folder.path()), folder.path().join("p.tiledb"));
    fine(&["convert", &source, path(&target), "--set", "dims=id"]);
    fine(&["tiledb", "meta", path(&target), "--put", "tesselle.types=[1, 2"]);
    let error = fails(&["cat", path(&target)], 1);
    assert!(error.contains("tesselle.types"), "{error}");
}

#[test]
fn deletes_of_tiledb_take_sql_and_refuse_what_an_array_cannot_store() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("rows.csv"), folder.path().join("rows.tiledb"));
    std::fs::write(&source, "id,v\n1,10\n2,20\n3,30\n").unwrap();
    fine(&["convert", path(&source), path(&target), "--set", "dims=id", "--set", "kind=sparse"]);
    fine(&["tiledb", "delete", path(&target), "--where", "id BETWEEN 2 AND 2"]);
    assert_eq!(fine(&["cat", path(&target), "--as", "csv"]), "id,v\n1,10\n3,30\n");
    let error = fails(&["tiledb", "delete", path(&target), "--where", "abs(id) > 1"], 2);
    assert!(error.contains("no functions"), "{error}");
    assert_eq!(fine(&["cat", path(&target), "--as", "csv"]), "id,v\n1,10\n3,30\n");
}

#[test]
fn columns_that_do_not_fit_are_listed_at_once_and_cast_on_demand() {
    let folder = tempfile::tempdir().unwrap();
    let source = prices(folder.path());
    let target = folder.path().join("p.tsfile");
    let call = ["convert", &source, path(&target), "--set", "time=at"];
    let error = fails(&call, 2);
    assert!(error.contains("--cast price=") && error.contains("--cast total="), "{error}");
    fine(&[&call[..], &["--auto-cast"]].concat());
    // Columns that are kept with a note need no cast, and flags can be pasted into a shell.
    let mixed = folder.path().join("mixed.parquet");
    let query = format!(
        "COPY (SELECT CAST(2.5 AS DECIMAL(15,2)) AS price, true AS \"in stock\") TO '{}'",
        mixed.display()
    );
    fine(&["sql", &query]);
    let target = folder.path().join("mixed.tet");
    let error = fails(&["convert", path(&mixed), path(&target)], 2);
    assert!(error.contains("--cast 'in stock=uint8'") && !error.contains("price"), "{error}");
    fine(&["convert", path(&mixed), path(&target), "--cast", "in stock=uint8"]);
    assert_eq!(
        fine(&["cat", path(&target), "--columns", "price,in stock", "--as", "csv"]),
        "price,in stock\n2.50,1\n"
    );
    // A column that cannot be stored at all does not make others lose their types, nor does one that needs a cast.
    let parts = folder.path().join("parts.parquet");
    let query = format!(
        "COPY (SELECT CAST(2.5 AS DECIMAL(12,2)) AS quantity, 'x' AS comment, \
         CAST(7.5 AS DECIMAL(30,1)) AS big, arrow_cast(5, 'Timestamp(Nanosecond, None)') AS at) TO '{}'",
        parts.display()
    );
    fine(&["sql", &query]);
    let target = folder.path().join("parts.tet");
    let error = fails(&["convert", path(&parts), path(&target), "--columns", "quantity,comment"], 2);
    assert!(error.contains("'comment' of type utf8"), "{error}");
    assert!(error.ends_with("exclude it with --columns quantity\n"), "{error}");
    let error = fails(&["convert", path(&parts), path(&target)], 2);
    assert!(error.contains("--cast big=float64") && error.contains("exclude comment"), "{error}");
    assert!(!error.contains("'quantity'") && !error.contains("'at'"), "{error}");
    assert!(error.ends_with("with --columns quantity,big,at\n"), "{error}");
    fine(&["convert", path(&parts), path(&target), "--columns", "quantity,big,at", "--auto-cast"]);
    let types = format!(
        "SELECT arrow_typeof(quantity) AS q, arrow_typeof(big) AS b, arrow_typeof(at) AS t FROM '{}'",
        target.display()
    );
    assert_eq!(
        fine(&["sql", &types, "--as", "line"])
            .lines()
            .map(|line| line.split_once(" = ").map_or(line, |(_, value)| value).trim())
            .collect::<Vec<_>>(),
        ["Decimal128(12, 2)", "Float64", "Timestamp(ns)"]
    );
    // A column without any value has no type.
    let empty = folder.path().join("empty.csv");
    std::fs::write(&empty, "id,note\n1,\n2,\n").unwrap();
    for name in ["e.tatami", "e.tiledb"] {
        let target = folder.path().join(name);
        assert!(fails(&["convert", path(&empty), path(&target)], 2).contains("--cast note=utf8"));
        fine(&["convert", path(&empty), path(&target), "--auto-cast"]);
        assert_eq!(fine(&["cat", path(&target), "--columns", "id,note", "--as", "csv"]), "id,note\n1,\n2,\n");
    }
    let series = folder.path().join("p.tsfile");
    assert_eq!(
        fine(&["sql", &format!("SELECT count(*) AS n FROM '{}'", series.display()), "--as", "csv"]),
        "n\n8\n"
    );
}

#[test]
fn conditions_are_those_of_sql() {
    let folder = tempfile::tempdir().unwrap();
    let source = prices(folder.path());
    for (condition, ids) in [
        ("name LIKE 'Item %' AND id < 4", "1 2"),
        ("name ILIKE '%ITEM 8'", "8"),
        ("upper(name) = 'ITEM 5' OR id = 6", "5 6"),
        ("day >= DATE '2025-02-06'", "7 8"),
        ("day BETWEEN '2025-01-31' AND '2025-02-01'", "1 2"),
        ("date_part('month', day) = 1", "1"),
        ("price IN (0.75, 2) OR name IS NULL AND id > 3", "3 4 6"),
        ("at < '1970-01-01T00:00:02.5'", "1 2"),
        ("id < '3' OR price = '4.50'", "1 2 6"),
        ("-id < -7", "8"),
        ("id <> 4 AND 8 / (id - 4) > 1", "5 6 7 8"),
        ("8 / (id - 4) > 1 AND id <> 4", "5 6 7 8"),
        ("coalesce(name, 'none') = 'none'", "3 6"),
    ] {
        let rows = fine(&["cat", &source, "--where", condition, "--columns", "id", "--as", "csv"]);
        let found: Vec<&str> = rows.lines().skip(1).collect();
        assert_eq!(found.join(" "), ids, "{condition}");
    }
    for (condition, what) in [
        ("name LIKE", "cannot be read"),
        ("day > 'soon'", "not a time"),
        ("nothing(id)", "nothing"),
        ("upper(name)", "neither true nor false"),
        ("id", "neither true nor false"),
        ("count(*) > 1", "about one row"),
        ("price > 'dear'", "not a number"),
    ] {
        let error = fails(&["cat", &source, "--where", condition], 2);
        assert!(error.contains(what) && error.trim().lines().count() == 1, "{condition}: {error}");
    }
    let target = folder.path().join("some.csv");
    fine(&["convert", &source, path(&target), "--where", "name LIKE '%8'", "--columns", "id,name"]);
    assert_eq!(std::fs::read_to_string(target).unwrap(), "id,name\n8,Item 8\n");
}

#[test]
fn decimals_of_text_are_exact_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (csv, json, out) = (at("p.csv"), at("p.jsonl"), at("out.csv"));
    std::fs::write(&csv, "name,p\nx,3.75\n\"\",-0.500\nz,\nu,\"1e1\"\n").unwrap();
    let rows = [
        r#"{"name": "x", "p": 3.75}"#,
        r#"{"name": "", "p": "-0.500"}"#,
        r#"{"name": "z"}"#,
        r#"{"p": 1e1, "name": "u"}"#,
    ];
    std::fs::write(&json, rows.join("\n")).unwrap();
    for file in [&csv, &json] {
        let read = ["convert", path(file), path(&out), "--force", "--columns", "p,name", "--schema"];
        fine(&[&read[..], &["p=decimal(9,2)"]].concat());
        let found = std::fs::read_to_string(&out).unwrap();
        assert_eq!(found, "p,name\n3.75,x\n-0.50,\"\"\n,z\n10.00,u\n", "{file:?}");
        let error = fails(&[&read[..], &["p=decimal(9,1)"]].concat(), 1);
        assert!(
            error.contains("'3.75' in column 'p' has more digits after the point than decimal(9,1)"),
            "{error}"
        );
        assert!(fails(&[&read[..], &["p=decimal(2,2)"]].concat(), 1).contains("3.75"));
    }
}

/// A literal has the precision of the column that it is compared with, in conditions and in SQL.
#[test]
fn conditions_on_floats_of_single_precision_are_those_of_sql() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let source = at("g.parquet");
    let rows = "SELECT value AS id, arrow_cast(value * 0.1, 'Float32') AS g FROM generate_series(1, 8)";
    fine(&["sql", &format!("COPY ({rows}) TO '{}'", path(&source))]);
    let others = [at("g.tatami"), at("g.tiledb"), at("g.arrow")];
    fine(&["convert", path(&source), path(&others[0])]);
    fine(&["convert", path(&source), path(&others[1]), "--set", "dims=id"]);
    fine(&["convert", path(&source), path(&others[2])]);
    for (condition, ids) in [
        ("g = 0.1", "1"),
        ("0.3 = g OR g = '0.7'", "3 7"),
        ("g <= 0.3", "1 2 3"),
        ("g > 0.6", "7 8"),
        ("g <> 0.3 AND g < 0.5", "1 2 4"),
        ("g IN (0.1, 0.6)", "1 6"),
        ("g NOT IN (0.1, 0.2, 0.3, 0.4)", "5 6 7 8"),
        ("g BETWEEN 0.6 AND 0.7", "6 7"),
    ] {
        for file in [&source].into_iter().chain(&others) {
            let found = fine(&["cat", path(file), "--where", condition, "--columns", "id", "--as", "csv"]);
            assert_eq!(found.lines().skip(1).collect::<Vec<_>>().join(" "), ids, "{condition} in {file:?}");
            let query = format!("SELECT id FROM '{}' WHERE {condition} ORDER BY id", path(file));
            assert_eq!(fine(&["sql", &query, "--as", "csv"]), found, "{query}");
        }
    }
}

/// A condition that names no column is as true for every row as it is in SQL.
#[test]
fn conditions_without_a_column_hold_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let source = prices(folder.path());
    let at = |name: &str| folder.path().join(name);
    let (file, array, rows) = (at("p.tatami"), at("p.tiledb"), at("p.csv"));
    fine(&["convert", &source, path(&file)]);
    fine(&["convert", &source, path(&array), "--set", "dims=id"]);
    fine(&["convert", &source, path(&rows)]);
    for input in [&source, path(&file), path(&array), path(&rows)] {
        for (condition, count) in [
            ("1 = 2", 0),
            ("NULL", 0),
            ("NOT NULL", 0),
            ("now() < '2000-01-01'", 0),
            ("random() > 2", 0),
            ("1 = 2 OR id = 3", 1),
            ("random() > 2 AND id > 3", 0),
            ("1 < 2", 8),
        ] {
            let found = fine(&["cat", input, "--where", condition, "--columns", "id", "--as", "csv"]);
            assert_eq!(found.lines().count(), count + 1, "{input}: {condition}");
        }
    }
    fine(&["append", path(&file), path(&file), "--where", "1 = 2"]);
    let found = fine(&["cat", path(&file), "--columns", "id", "--as", "csv"]);
    assert_eq!(found.lines().count(), 9);
}

#[test]
fn names_with_commas_and_quotes_are_chosen_as_the_errors_write_them() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (source, target) = (at("odd.csv"), at("odd.tet"));
    std::fs::write(&source, "\"a,b\",\"say \"\"x\"\"\",c,note\n1,2,true,x\n").unwrap();
    let (source, target) = (path(&source), path(&target));
    let error = fails(&["convert", source, target], 2);
    assert!(
        error.contains(r#"--cast c=uint8, and exclude note with --columns '"a,b","say ""x""",c'"#),
        "{error}"
    );
    let columns = r#""a,b","say ""x""",c"#;
    fine(&["convert", source, target, "--columns", columns, "--cast", "c=uint8", "--cast", r#""a,b"=int8"#]);
    let read = ["cat", target, "--columns", r#""a,b",c"#, "--as", "csv"];
    assert_eq!(fine(&read), "\"a,b\",c\n1,1\n");
    assert_eq!(
        fine(&["cat", source, "--where", r#""a,b" = 1"#, "--columns", "c", "--as", "csv"]),
        "c\ntrue\n"
    );
    let other = ["diff", source, target, "--key", r#""a,b""#, "--columns", r#""a,b",c"#];
    assert!(text(&tess(&other).stdout).contains("Boolean on the left"));
}

#[test]
fn an_output_that_exists_is_refused_by_its_own_name() {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("in.csv"), folder.path().join("out.csv"));
    std::fs::write(&source, "a\n1\n").unwrap();
    std::fs::write(&target, "old").unwrap();
    let (source, target) = (path(&source), path(&target));
    let query = format!("SELECT * FROM '{source}'");
    for call in [&["cat", source, "-o", target][..], &["sql", &query, "-o", target]] {
        let error = fails(call, 2);
        assert!(error.contains("add --force") && !error.contains("in.csv"), "{call:?}: {error}");
    }
    assert_eq!(std::fs::read_to_string(target).unwrap(), "old");
    let missing = fails(&["sql", "-f", "nothing.sql"], 3);
    assert_eq!(missing, "tess: cannot read 'nothing.sql': no such file or directory\n");
}

/// Times in quotes are in the zone of their column, and reach as far as the column does.
#[test]
fn times_in_quotes_mean_the_same_in_conditions_and_in_sql() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("t.parquet");
    let rows = "SELECT * FROM (VALUES (1, '1970-01-01T00:00:00'), (2, '9999-12-31T23:59:59'), (3, '0001-01-01T00:00:00')) t(id, s)";
    let columns = "id, arrow_cast(s, 'Timestamp(Millisecond, None)') AS t, arrow_cast(s, 'Date32') AS d, \
                   arrow_cast(arrow_cast(s, 'Timestamp(Second, None)'), 'Timestamp(Second, Some(\"Europe/Berlin\"))') AS z";
    fine(&["sql", &format!("COPY (SELECT {columns} FROM ({rows})) TO '{}'", path(&source))]);
    for (condition, ids) in [
        ("t = '9999-12-31 23:59:59'", "2"),
        ("t > '9000-01-01' OR t < '0002-01-01'", "2 3"),
        ("t BETWEEN '0001-01-01' AND '1970-01-01'", "1 3"),
        ("t IN ('1970-01-01', '9999-12-31T23:59:59Z')", "1 2"),
        ("t >= TIMESTAMP '9999-01-01'", "2"),
        ("d > TIMESTAMP '1970-01-01T12:00:00'", "2"),
        ("d < '1970-01-01T12:00:00'", "1 3"),
        ("d = '9999-12-31'", "2"),
        ("t > d", "2"),
        ("z = '1970-01-01T00:00:00'", "1"),
        ("z = '1969-12-31T23:00:00Z'", "1"),
        ("z < '1970-01-01T00:00:01' AND upper('x') = 'X'", "1 3"),
    ] {
        let found = fine(&["cat", path(&source), "--where", condition, "--columns", "id", "--as", "csv"]);
        assert_eq!(found.lines().skip(1).collect::<Vec<_>>().join(" "), ids, "{condition}");
        let query = format!("SELECT id FROM '{}' WHERE {condition} ORDER BY id", path(&source));
        assert_eq!(fine(&["sql", &query, "--as", "csv"]), found, "{query}");
    }
}

#[test]
fn a_folder_of_files_is_a_set_of_tables() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("Orders.csv"), "id,item\n1,7\n").unwrap();
    std::fs::write(folder.path().join("items.jsonl"), "{\"item\": 7, \"name\": \"pen\"}\n").unwrap();
    std::fs::write(folder.path().join("README.md"), "no table").unwrap();
    let root = path(folder.path());
    let query = "SELECT id, name FROM orders JOIN items USING (item)";
    assert_eq!(fine(&["sql", "-d", root, query, "--as", "csv"]), "id,name\n1,pen\n");
    assert_eq!(fine(&["sql", "-d", root, "SHOW TABLES", "--as", "csv"]), "table_name\nitems\norders\n");
    // A list of tables opens none of them.
    std::fs::write(folder.path().join("broken.parquet"), "no Parquet").unwrap();
    assert_eq!(
        fine(&["sql", "-d", root, "SHOW TABLES", "--as", "csv"]),
        "table_name\nbroken\nitems\norders\n"
    );
    // Files that differ only in their extensions keep them.
    std::fs::write(folder.path().join("items.csv"), "item\n7\n").unwrap();
    assert_eq!(
        fine(&["sql", "-d", root, "SHOW TABLES", "--as", "csv"]),
        "table_name\nbroken\nitems.csv\nitems.jsonl\norders\n"
    );
    let query = "SELECT id, name FROM orders JOIN \"items.jsonl\" USING (item)";
    assert_eq!(fine(&["sql", "-d", root, query, "--as", "csv"]), "id,name\n1,pen\n");
    assert!(fails(&["sql", "-d", root, "SELECT * FROM items"], 2).contains("items.csv"));
    std::fs::write(folder.path().join("ITEMS.csv"), "item\n7\n").unwrap();
    assert!(fails(&["sql", "-d", root, query], 2).contains("would both be the table 'items.csv'"));
}

#[test]
fn answers_have_the_form_that_was_asked_for() {
    let query = "SELECT 1 AS a, 'x|y' AS name UNION ALL SELECT 2, NULL ORDER BY a";
    assert_eq!(fine(&["sql", query, "--as", "line"]), "   a = 1\nname = x|y\n\n   a = 2\nname = ∅\n");
    assert_eq!(
        fine(&["sql", query, "--as", "markdown"]),
        "| a | name |\n| ---: | --- |\n| 1 | x\\|y |\n| 2 | ∅ |\n"
    );
    assert!(fine(&["sql", &format!(".mode box\n{query}")]).starts_with('┌'));
}

#[test]
fn rows_look_the_same_in_every_verb() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("n.csv");
    std::fs::write(&file, "n,name\n1,a|b\n22,\n").unwrap();
    let file = path(&file);
    let query = format!("SELECT * FROM '{file}'");
    for form in ["table", "line", "markdown", "json", "jsonl", "csv"] {
        let rows = fine(&["cat", file, "--as", form]);
        assert_eq!(rows, fine(&["sql", &query, "--as", form]), "{form}");
    }
    let table = "\
┌───────┬──────┐
│     n │ name │
│ Int64 │ Utf8 │
├───────┼──────┤
│     1 │ a|b  │
│    22 │ ∅    │
└───────┴──────┘
";
    assert_eq!(fine(&["cat", file]), table);
    assert_eq!(
        fine(&["cat", file, "--json"]),
        "[\n{\"n\": 1, \"name\": \"a|b\"},\n{\"n\": 22, \"name\": null}\n]\n"
    );
    assert_eq!(fine(&["cat", file, "--where", "n > 99", "--json"]), "[]\n");
}

#[test]
fn patterns_and_folders_are_tables_in_every_verb() {
    let folder = tempfile::tempdir().unwrap();
    let months = folder.path().join("months");
    std::fs::create_dir(&months).unwrap();
    for (name, row) in [("jan", "1,river"), ("feb", "2,stone")] {
        std::fs::write(months.join(format!("{name}.csv")), format!("id,body\n{row}\n")).unwrap();
    }
    let pattern = format!("{}/*.csv", path(&months));
    for uri in [path(&months), &pattern] {
        assert_eq!(fine(&["cat", uri, "--as", "csv"]), "id,body\n2,stone\n1,river\n", "{uri}");
        assert_eq!(
            fine(&["cat", uri, "--where", "id = 1", "--columns", "body", "--as", "csv"]),
            "body\nriver\n"
        );
    }
    let segment = folder.path().join("s.tatami");
    fine(&["index", &pattern, path(&segment), "--text", "body"]);
    assert!(fine(&["search", path(&segment), "stone", "-k", "0"]).contains("1 document matches"));
    let none = format!("{}/*.jsonl", path(&months));
    for call in [&["cat", &none][..], &["sql", &format!("SELECT * FROM '{none}'")]] {
        let error = fails(call, 3);
        assert!(error.contains("*.jsonl"), "{error}");
    }
}

#[test]
fn a_script_is_read_inside_another() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("more.sql");
    std::fs::write(&script, "CREATE TABLE t AS SELECT 5 AS five;\n").unwrap();
    let text = format!(".read {}\nSELECT five FROM t", path(&script));
    assert_eq!(fine(&["sql", &text, "--as", "csv"]), "five\n5\n");
}

#[test]
fn joins_under_a_memory_limit_spill() {
    let query = "SELECT count(*) AS n FROM generate_series(1, 300000) a(x) JOIN generate_series(1, 300000) b(y) ON a.x = b.y";
    assert_eq!(fine(&["sql", query, "--as", "csv", "--memory-limit", "16MiB"]), "n\n300000\n");
}

#[test]
fn every_verb_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    fine(&["man", path(folder.path())]);
    for (page, what) in [
        ("tess.1", "tess\\-convert"),
        ("tess-convert.1", "auto\\-cast"),
        ("tess-tiledb-fragments.1", "fragments"),
    ] {
        let text = std::fs::read_to_string(folder.path().join(page)).unwrap();
        assert!(text.contains(".TH") && text.contains(what), "{page}");
    }
}

#[test]
fn searches_have_fields_pages_totals_and_snippets() {
    let folder = tempfile::tempdir().unwrap();
    let docs = folder.path().join("docs.jsonl");
    let lines = [
        r#"{"id": "a", "title": "River stones", "body": "The bridge over a river"}"#,
        r#"{"id": "b", "title": "Old bridge", "body": "no river but rivers"}"#,
        r#"{"id": "c", "title": "Garden", "body": "roses"}"#,
    ];
    std::fs::write(&docs, lines.join("\n")).unwrap();
    let segment = folder.path().join("docs.tatami");
    fine(&[
        "index",
        path(&docs),
        path(&segment),
        "--text",
        "title,body",
        "--stored",
        "title,body",
        "--id",
        "id",
    ]);
    let found = |query: &str| -> (Vec<String>, serde_json::Value) {
        let answer = fine(&["search", path(&segment), query, "--json", "--total"]);
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        let ids = answer["hits"].as_array().unwrap().iter();
        let mut ids: Vec<String> =
            ids.map(|hit| hit["fields"]["doc_id"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        (ids, answer)
    };
    assert_eq!(found("title:bridge").0, ["b"]);
    assert_eq!(found("riv*").0, ["a", "b"]);
    assert_eq!(found("rosse~2").0, ["c"]);
    let (_, answer) = found("bridge");
    assert_eq!(answer["total"], 2);
    let text = answer["hits"][0]["highlight"]["text"].as_str().unwrap();
    assert!(text.to_lowercase().contains("bridge"), "{answer}");
    let page = fine(&["search", path(&segment), "bridge", "-k", "1", "--offset", "1"]);
    assert!(page.trim_start().starts_with("2."), "{page}");
    for query in ["\"open", "(a OR", "head:river"] {
        let error = fails(&["search", path(&segment), query], 2);
        assert!(error.contains("at character"), "{error}");
    }
    assert!(fails(&["search", path(&docs), "river"], 2).contains("is JSON Lines, not tatami"));
}

#[test]
fn tables_and_devices_of_a_folder_of_tsfiles_stay_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("rows.csv");
    std::fs::write(&csv, "time,site,speed\n2025-01-01T00:00:00,a,1.5\n2025-01-01T00:01:00,b,2.5\n").unwrap();
    let months = folder.path().join("months");
    std::fs::create_dir(&months).unwrap();
    let (table, tree) = (months.join("table.tsfile"), months.join("tree.tsfile"));
    fine(&[
        "convert",
        path(&csv),
        path(&table),
        "--set",
        "model=table",
        "--set",
        "tags=site",
        "--into",
        "fleet",
    ]);
    fine(&["convert", path(&csv), path(&tree), "--set", "device=root.sg.d1"]);
    let all = folder.path().join("all.tsfile");
    fine(&["convert", path(&months), path(&all)]);
    let info = support::json_of(&["info", path(&all)]);
    let roles: Vec<String> = info["tables"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|table| {
            let name = table["name"].as_str().unwrap().to_owned();
            let columns = table["columns"].as_array().unwrap().iter();
            columns.map(move |column| {
                format!("{name}.{}:{}", column["name"].as_str().unwrap(), column["role"].as_str().unwrap())
            })
        })
        .collect();
    assert!(roles.contains(&"fleet.site:tag".to_owned()), "{roles:?}");
    assert!(roles.contains(&"root.sg.d1.speed:measurement".to_owned()), "{roles:?}");
}

#[test]
fn delimited_text_is_read_and_written_in_every_dialect() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let want = "{\"a\": 1, \"b\": \"x;y\"}\n{\"a\": null, \"b\": \"z\"}\n";
    std::fs::write(at("semicolon.csv"), "a;b\n1;\"x;y\"\n;z\n").unwrap();
    std::fs::write(at("null.csv"), "a|b\n1|x;y\nNA|z\n").unwrap();
    std::fs::write(at("tab.tsv"), "a\tb\n1\tx;y\n\tz\n").unwrap();
    std::fs::write(at("none.csv"), "1;\"x;y\"\n;z\n").unwrap();
    assert_eq!(fine(&["cat", &at("semicolon.csv"), "--as", "jsonl"]), want);
    assert_eq!(fine(&["cat", &at("null.csv"), "--null", "NA", "--as", "jsonl"]), want);
    assert_eq!(fine(&["cat", &at("tab.tsv"), "--as", "jsonl"]), want);
    let named = want.replace("\"a\"", "\"column_1\"").replace("\"b\"", "\"column_2\"");
    let flags = ["--no-header", "--delimiter", "semicolon", "--as", "jsonl"];
    assert_eq!(fine(&[&["cat", &at("none.csv")], &flags[..]].concat()), named);
    // Out again, and back.
    for (name, settings, read) in [
        ("a.tsv", &[][..], &[][..]),
        ("b.csv", &["--set", "delimiter=|", "--set", "null=-"][..], &["--null", "-"][..]),
        ("c.csv.gz", &[][..], &[][..]),
        ("d.tsv.zst", &[][..], &[][..]),
        ("e.jsonl.gz", &[][..], &[][..]),
    ] {
        let report = fine(&[&["convert", &at("semicolon.csv"), &at(name), "--json"], settings].concat());
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["bytes"], std::fs::metadata(at(name)).unwrap().len(), "{name}");
        assert_eq!(fine(&[&["cat", &at(name), "--as", "jsonl"], read].concat()), want, "{name}");
    }
    assert_eq!(std::fs::read_to_string(at("b.csv")).unwrap(), "a|b\n1|x;y\n-|z\n");
    // A value that reads as null is refused.
    let call = ["convert", &at("semicolon.csv"), &at("lost.csv"), "--set", "null=z"];
    assert!(fails(&call, 2).contains("column 'b' has the value 'z', which stands for null"));
    assert!(!folder.path().join("lost.csv").exists());
    fine(&["convert", &at("semicolon.csv"), &at("f.csv"), "--set", "header=false"]);
    assert_eq!(std::fs::read_to_string(at("f.csv")).unwrap(), "1,x;y\n,z\n");
    // Several compressed files are one table, and answers are compressed by the name of the file.
    fine(&["convert", &at("semicolon.csv"), &at("g.csv.gz")]);
    let count = format!("SELECT count(*) AS n FROM '{}'", at("*.csv.gz"));
    assert_eq!(fine(&["sql", &count, "--as", "csv"]), "n\n4\n");
    fine(&["sql", &count, "-o", &at("n.csv.zst")]);
    assert_eq!(fine(&["cat", &at("n.csv.zst"), "--as", "csv"]), "n\n4\n");
    std::fs::write(at("bad.csv.gz"), "not gzip").unwrap();
    assert!(fails(&["cat", &at("bad.csv.gz")], 1).contains("cannot be decompressed"));
}

#[test]
fn several_files_are_merged_into_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for month in ["1", "2", "3"] {
        std::fs::write(
            at(&format!("m{month}.csv")),
            format!("time,site,speed\n2025-0{month}-01T00:00:00,a,{month}.5\n"),
        )
        .unwrap();
        let settings = ["--set", "model=table", "--set", "tags=site", "--into", "fleet"];
        fine(
            &[&["convert", &at(&format!("m{month}.csv")), &at(&format!("m{month}.tsfile"))], &settings[..]]
                .concat(),
        );
    }
    fine(&["convert", &at("m*.tsfile"), &at("all.tsfile")]);
    let query = format!("SELECT site, sum(speed) AS s FROM '{}' GROUP BY site", at("all.tsfile"));
    assert_eq!(fine(&["sql", &query, "--as", "csv"]), "site,s\na,7.5\n");
    let roles = support::json_of(&["info", &at("all.tsfile")])["tables"][0]["columns"].to_string();
    assert!(roles.contains("\"tag\""), "{roles}");
    fine(&["convert", &at("m1.csv"), &at("m3.csv"), &at("some.parquet"), "--limit", "2"]);
    assert_eq!(
        fine(&["sql", &format!("SELECT count(*) AS n FROM '{}'", at("some.parquet")), "--as", "csv"]),
        "n\n2\n"
    );
    // A folder of files is read as one table, as in every verb.
    std::fs::create_dir(at("months")).unwrap();
    for month in ["m1.csv", "m2.csv"] {
        std::fs::copy(at(month), at(&format!("months/{month}"))).unwrap();
    }
    fine(&["convert", &at("months"), &at("folder.parquet")]);
    let rows = fine(&["cat", &at("folder.parquet"), "--columns", "speed", "--as", "csv"]);
    assert_eq!(rows, "speed\n1.5\n2.5\n");
    std::fs::write(at("other.csv"), "time,speed\n2025-04-01,1\n").unwrap();
    let error = fails(&["convert", &at("m1.csv"), &at("other.csv"), &at("no.parquet")], 2);
    assert!(error.contains("different columns") && !folder.path().join("no.parquet").exists(), "{error}");
    assert!(fails(&["convert", &at("m1.csv"), &at("m2.csv"), &at("folder")], 2).contains("--to"));
}

#[test]
fn columns_without_a_name_are_called_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("n.csv");
    std::fs::write(&file, "x,g\n1,a\n2,a\n4,b\n").unwrap();
    let file = path(&file);
    for (query, head) in [
        ("SELECT 1, 0.5 + x, 'a' FROM 'F' LIMIT 1", "1,0.5 + x,'a'"),
        (
            "SELECT g, max(x), round(avg(x), 1) FROM 'F' GROUP BY g ORDER BY max(x)",
            "g,max(x),\"round(avg(x), 1)\"",
        ),
        ("SELECT DISTINCT x + 1 FROM 'F' ORDER BY x + 1", "x + 1"),
        ("SELECT count(*) FROM 'F' HAVING count(*) > 2", "count(*)"),
        ("SELECT x * 2 FROM 'F' UNION ALL SELECT x FROM 'F'", "x * 2"),
        ("WITH t AS (SELECT x + 1 AS y FROM 'F') SELECT t.y, -t.y FROM t", "y,-t.y"),
        ("SELECT row_number() OVER (ORDER BY x) FROM 'F'", "row_number() OVER (ORDER BY x)"),
    ] {
        let answer = fine(&["sql", &query.replace("'F'", &format!("'{file}'")), "--as", "csv"]);
        assert_eq!(answer.lines().next(), Some(head), "{query}");
    }
    let positions = fine(&["sql", &format!("SELECT -x AS y, 1 FROM '{file}' ORDER BY 1"), "--as", "csv"]);
    assert_eq!(positions, "y,1\n-4,1\n-2,1\n-1,1\n");
    let copy = folder.path().join("n.parquet");
    fine(&["sql", &format!("COPY (SELECT max(x) FROM '{file}') TO '{}'", path(&copy))]);
    assert_eq!(fine(&["cat", path(&copy), "--as", "csv"]), "max(x)\n4\n");
}

#[test]
fn rows_in_any_order_become_series() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // Three devices, times far out of order, and every hundredth row a second time with another value.
    let mut rows: Vec<(u64, u64, u64)> = (0..30_000).map(|n| ((n * 7919) % 10_007, n % 3, n)).collect();
    let again: Vec<_> =
        rows.iter().step_by(100).map(|(time, device, n)| (*time, *device, n + 100_000)).collect();
    rows.extend(again);
    let mut last = std::collections::BTreeMap::new();
    let mut text = "time,device,n\n".to_owned();
    for (time, device, n) in &rows {
        writeln!(text, "{time},d{device},{n}").unwrap();
        last.insert((*device, *time), *n);
    }
    std::fs::write(at("rows.csv"), text).unwrap();
    let target = at("rows.tsfile");
    let settings = ["model=table", "tags=device", "order=sort", "group_bytes=20000"];
    let mut args = vec!["convert".to_owned(), path(&at("rows.csv")).into(), path(&target).into()];
    args.extend(settings.iter().flat_map(|setting| ["--set".to_owned(), (*setting).to_owned()]));
    args.extend(["--memory-limit".to_owned(), "1MiB".to_owned()]);
    fine(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let query =
        format!("SELECT device, CAST(time AS BIGINT) AS t, n FROM '{}' ORDER BY device, t", path(&target));
    let found = fine(&["sql", &query, "--as", "csv"]);
    let want: Vec<String> =
        last.iter().map(|((device, time), n)| format!("d{device},{time},{n}\n")).collect();
    let want = want.concat();
    assert!(found == format!("device,t,n\n{want}"), "{} lines", found.lines().count());
    fine(&["verify", "--deep", path(&target)]);
}

#[test]
fn copies_of_several_files_keep_the_roles_of_columns() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (month, start) in [("a", 0), ("b", 100)] {
        let rows: String = (start..start + 5)
            .map(|n| format!("{n},north,{n}\n{n},south,{}\n", n * 2))
            .collect::<Vec<_>>()
            .concat();
        std::fs::write(at("m.csv"), format!("time,site,x\n{rows}")).unwrap();
        let target = at(&format!("{month}.tsfile"));
        fine(&["convert", path(&at("m.csv")), path(&target), "--set", "tags=site", "--into", "plant"]);
    }
    let all = at("all.tsfile");
    fine(&["sql", &format!("COPY (SELECT * FROM '{}/?.tsfile') TO '{}'", path(folder.path()), path(&all))]);
    let info = fine(&["info", path(&all)]);
    assert!(info.contains("table plant") && info.contains("tag"), "{info}");
    let count = fine(&["sql", &format!("SELECT count(*) AS n FROM '{}'", path(&all)), "--as", "csv"]);
    assert_eq!(count, "n\n20\n");
}

#[test]
fn formats_of_other_tools_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for (head, name) in [
        (&b"\x89HDF\r\n\x1a\n"[..], "HDF5"),
        (b"CDF\x01\0\0\0\0", "NetCDF 3"),
        (b"II*\0\x08\0\0\0", "TIFF"),
        (b"PK\x03\x04\x2d\0\0\0", ".npz"),
    ] {
        let file = folder.path().join("f.bin");
        std::fs::write(&file, [head, &[0; 200]].concat()).unwrap();
        for verb in [&["info", path(&file)][..], &["cat", path(&file)], &["convert", path(&file), "x.tet"]] {
            let error = fails(verb, 1);
            assert!(error.contains(name) && error.contains("not read here"), "{error}");
        }
    }
}

#[test]
fn reductions_go_to_files_and_have_quantiles() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let tensor = at("t.tet");
    let query = "SELECT y.value AS y, x.value AS x, y.value * 10 + x.value AS value \
                 FROM generate_series(0, 3) y, generate_series(0, 4) x ORDER BY 1, 2";
    let options = "OPTIONS ('axes' 'y,x', 'shape' '4,5')";
    fine(&["sql", &format!("COPY ({query}) TO '{}' {options}", path(&tensor))]);
    assert_eq!(fine(&["reduce", path(&tensor), "--op", "median"]), "17.0\n");
    assert_eq!(
        fine(&["reduce", path(&tensor), "--op", "quantile=0.25", "--axis", "x"]),
        "1.0\n11.0\n21.0\n31.0\n"
    );
    let json = fine(&["reduce", path(&tensor), "--op", "median", "--axis", "y", "--json"]);
    assert!(
        json.contains("\"operation\": \"median\"") || json.contains("\"operation\":\"median\""),
        "{json}"
    );
    let means = at("means.npy");
    fine(&["reduce", path(&tensor), "--op", "mean", "--axis", "y", "-o", path(&means)]);
    assert_eq!(
        fine(&["cat", path(&means), "--as", "csv"]),
        "i0,value\n0,15.0\n1,16.0\n2,17.0\n3,18.0\n4,19.0\n"
    );
    let error = fails(&["reduce", path(&tensor), "--op", "mean", "-o", path(&means)], 2);
    assert!(error.contains("--force"), "{error}");
    let maxima = at("max.zarr");
    fine(&["reduce", path(&tensor), "--op", "max", "--axis", "x", "-o", path(&maxima)]);
    assert_eq!(fine(&["cat", path(&maxima), "--as", "csv"]), "y,value\n0,4\n1,14\n2,24\n3,34\n");
    let error = fails(&["reduce", path(&tensor), "--op", "quantile"], 2);
    assert!(error.contains("quantile=0.9"), "{error}");
}

#[test]
fn time_ranges_of_series_are_dates() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let rows: Vec<String> = (1..=5).map(|day| format!("2025-02-0{day}T12:00:00,{day}\n")).collect();
    let rows = rows.concat();
    std::fs::write(at("d.csv"), format!("time,x\n{rows}")).unwrap();
    let file = at("d.tsfile");
    fine(&["convert", path(&at("d.csv")), path(&file), "--set", "device=root.d", "--set", "aligned=false"]);
    let stats = |from: &str, to: &str| {
        let json = fine(&["tsfile", "stats", path(&file), "--from", from, "--to", to, "--json"]);
        serde_json::from_str::<serde_json::Value>(&json).unwrap()["series"][0]["count"].clone()
    };
    assert_eq!(stats("2025-02-02", "2025-02-04"), 3);
    assert_eq!(stats("2025-02-02T12:00:01", "2025-02-04T11:59:59Z"), 1);
    fine(&[
        "tsfile",
        "delete",
        path(&file),
        "--series",
        "root.d.x",
        "--from",
        "2025-02-03",
        "--to",
        "2025-02-04",
    ]);
    assert_eq!(stats("2025-02-01", "2025-02-05"), 3);
}

#[test]
fn a_zarr_store_of_one_array_may_be_a_group() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("v.csv"), "v\n1.5\n2.5\n").unwrap();
    fine(&["convert", path(&at("v.csv")), path(&at("rows.zarr")), "--set", "group=true"]);
    fine(&["convert", path(&at("v.csv")), path(&at("v.npy"))]);
    let array = at("array.zarr");
    fine(&["convert", path(&at("v.npy")), path(&array), "--into", "a/heat", "--set", "group=true"]);
    for (store, name) in [("rows.zarr", "v"), ("array.zarr", "a/heat")] {
        let root = std::fs::read_to_string(at(store).join("zarr.json")).unwrap();
        assert!(root.contains("\"group\""), "{root}");
        assert!(at(store).join(name).join("zarr.json").is_file());
        let uri = format!("{}#{name}", path(&at(store)));
        let values = fine(&["cat", &uri, "--columns", "value", "--as", "csv"]);
        assert_eq!(values, "value\n1.5\n2.5\n", "{store}");
    }
    assert!(array.join("a/zarr.json").is_file());
}

/// Types that a text format cannot state are listed, and equal values are reported as such.
#[test]
fn a_difference_of_types_alone_says_that_the_values_are_equal() {
    let folder = tempfile::tempdir().unwrap();
    let (typed, plain) = (folder.path().join("a.parquet"), folder.path().join("a.csv"));
    fine(&["sql", &format!("COPY (SELECT CAST(2.5 AS DECIMAL(15,2)) AS price) TO '{}'", typed.display())]);
    fine(&["convert", path(&typed), path(&plain)]);
    let out = tess(&["diff", path(&typed), path(&plain)]);
    assert_eq!(out.status.code(), Some(1));
    let shown = text(&out.stdout);
    assert!(shown.contains("'price' is Decimal128(15, 2) on the left"), "{shown}");
    assert!(shown.ends_with("the values of the columns that both have are equal: 1 row\n"), "{shown}");
}

#[test]
fn refusals_name_what_is_wrong_and_what_exists() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("old.zarr")).unwrap();
    std::fs::write(at("old.zarr/.zarray"), "{\"zarr_format\": 2}").unwrap();
    let error = fails(&["convert", path(&at("old.zarr")), path(&at("x.tet"))], 1);
    assert!(error.contains("version 2") && error.contains("zarr_format=3"), "{error}");
    std::fs::write(at("a.csv"), "x\n1\n2\n").unwrap();
    let error = fails(&["tiledb", "write", path(&at("nosuch")), path(&at("a.csv"))], 2);
    assert!(error.contains("nosuch"), "{error}");
    let error = fails(&["convert", path(&at("a.csv")), path(&at("x.tet")), "--cast", "x=integer"], 2);
    assert!(error.contains("'integer' does not exist") && error.contains("int64, uint8"), "{error}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_page_is_not_written_to_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.csv");
    std::fs::write(&file, "x\n1\n").unwrap();
    let call = format!("{} sketch --html {}", env!("CARGO_BIN_EXE_tess"), file.display());
    // A terminal of its own, where the system has the tool for one.
    let out = std::process::Command::new("script").args(["-qec", &call, "/dev/null"]).output();
    let Ok(out) = out else { return };
    let shown = text(&out.stdout);
    assert!(shown.contains("not written to a terminal; write it to a file with -o FILE"), "{shown}");
    assert_eq!(out.status.code(), Some(2));
}

#[test]
fn a_series_that_is_rewritten_has_one_time_and_loses_no_encryption() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("a.csv"), "time,speed\n1,0.5\n2,0.25\n").unwrap();
    let first = support::json_of(&["convert", path(&at("a.csv")), path(&at("a.tsfile"))]);
    assert_eq!(first["changed_types"].as_array().unwrap().len(), 1, "{first}");
    for (to, more) in [
        ("b.tsfile", &["--set", "compression=ZSTD"][..]),
        ("c.tsfile", &["--upgrade"]),
        ("d.tsfile", &["--limit", "1"]),
    ] {
        let (source, target) = (at("a.tsfile"), at(to));
        let report = support::json_of(&[&["convert", path(&source), path(&target)], more].concat());
        assert_eq!(report["changed_types"], serde_json::json!([]), "{to}: {report}");
        assert_eq!(report["metadata"]["lost"], serde_json::json!([]), "{to}: {report}");
    }
}

#[test]
fn floats_are_compared_with_decimal_literals_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("a.csv");
    std::fs::write(&source, "id,f\n1,0.1\n2,0.25\n3,2.5\n").unwrap();
    for (name, settings) in [("a.tatami", &[][..]), ("a.tiledb", &["--set", "dims=id"])] {
        let target = folder.path().join(name);
        let target = path(&target);
        fine(&[&["convert", path(&source), target], settings].concat());
        for (condition, ids) in
            [("f = 0.1", "1\n"), ("f <= 0.1", "1\n"), ("f IN (0.1, 2.5)", "1\n3\n"), ("f > 0.10", "2\n3\n")]
        {
            let want = format!("id\n{ids}");
            let query = format!("SELECT id FROM '{target}' WHERE {condition} ORDER BY id");
            assert_eq!(fine(&["sql", &query, "--as", "csv"]), want, "{name}: {condition}");
            let rows = fine(&["cat", target, "--where", condition, "--columns", "id", "--as", "csv"]);
            assert_eq!(rows, want, "{name}: {condition}");
        }
    }
}

/// A folder of TsFiles is one container; a pattern is many files.
#[test]
fn a_folder_of_series_is_one_input_and_a_pattern_is_many() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("series")).unwrap();
    for (name, rows) in [("a", "1,0.5\n2,0.25\n"), ("b", "3,0.75\n")] {
        let source = at("a.csv");
        std::fs::write(&source, format!("time,speed\n{rows}")).unwrap();
        fine(&["convert", path(&source), path(&at("series").join(format!("{name}.tsfile")))]);
    }
    fine(&["convert", path(&at("series")), path(&at("one")), "--to", "parquet"]);
    let count = format!("SELECT count(*) AS n FROM '{}'", at("one").display());
    assert_eq!(fine(&["sql", &count, "--as", "csv"]), "n\n3\n");
    let pattern = format!("{}/*.tsfile", at("series").display());
    fine(&["convert", &pattern, path(&at("many")), "--to", "parquet"]);
    assert!(at("many/a.parquet").is_file() && at("many/b.parquet").is_file());
}

#[test]
fn sizes_of_settings_have_units() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("a.csv");
    std::fs::write(&source, "time,speed\n1,0.5\n2,0.25\n").unwrap();
    for (name, sizes) in [
        ("a.tsfile", &["group_bytes=4GiB", "page_bytes=64KiB"][..]),
        ("a.tatami", &["row_group_bytes=1MiB", "blob_run_bytes=1.5MB", "blob_buffer_bytes=8 MiB"]),
        ("a.tet", &["budget_bytes=1GB"]),
    ] {
        let target = folder.path().join(name);
        let sets: Vec<&str> = sizes.iter().flat_map(|size| ["--set", size]).collect();
        fine(&[&["convert", path(&source), path(&target)], &sets[..]].concat());
        let wrong = format!("{}=many", sizes[0].split('=').next().unwrap());
        let error = fails(&["convert", path(&source), path(&target), "--force", "--set", &wrong], 2);
        assert!(error.contains("is not a size; a size must be a number with a unit"), "{error}");
    }
}

#[test]
fn rounded_floats_differ_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let (rows, series) = (folder.path().join("a.csv"), folder.path().join("a.tsfile"));
    std::fs::write(&rows, "time,speed\n1,0.1\n2,0.2\n3,0.5\n").unwrap();
    fine(&["convert", path(&rows), path(&series), "--cast", "speed=float32", "--cast", "time=timestamp_ms"]);
    let call = ["diff", path(&rows), path(&series), "--columns", "speed"];
    let out = tess(&call);
    let shown = text(&out.stdout);
    assert!(shown.contains("2 values differ\n") && shown.contains("--tolerance 0.00001%"), "{shown}");
    let out = tess(&[&call[..], &["--tolerance", "0.00001%"]].concat());
    let shown = text(&out.stdout);
    assert!(!shown.contains("differ\n") && !shown.contains("--tolerance"), "{shown}");
    // Other differences are not about rounding.
    let other = folder.path().join("b.csv");
    std::fs::write(&other, "time,speed\n1,0.1\n2,0.3\n3,0.5\n").unwrap();
    let shown = text(&tess(&["diff", path(&rows), path(&other)]).stdout);
    assert!(shown.contains("1 value differs") && !shown.contains("--tolerance"), "{shown}");
}

/// States are named by times before now as well.
#[test]
fn a_state_is_read_as_of_a_time_before_now() {
    let folder = tempfile::tempdir().unwrap();
    let (rows, array) = (folder.path().join("a.csv"), folder.path().join("a.tiledb"));
    std::fs::write(&rows, "x,v\n1,2\n").unwrap();
    fine(&["convert", path(&rows), path(&array), "--set", "dims=x", "--set", "kind=sparse"]);
    assert_eq!(fine(&["cat", path(&array), "--at", "now", "--as", "csv"]), "x,v\n1,2\n");
    assert_eq!(fine(&["cat", path(&array), "--at", "1 hour ago", "--as", "csv"]), "x,v\n");
    let error = fails(&["cat", path(&array), "--at", "soon"], 2);
    assert!(error.contains("5 minutes ago"), "{error}");
}

/// The tiles of an array may have another extent along each axis.
#[test]
fn extents_are_one_number_or_one_for_each_dimension() {
    let folder = tempfile::tempdir().unwrap();
    let (field, rows) = (folder.path().join("field.tet"), folder.path().join("rows.csv"));
    let query = format!(
        "COPY (SELECT y.value AS y, x.value AS x, x.value * 1.5e0 AS value FROM generate_series(0, 3) y, \
         generate_series(0, 7) x ORDER BY 1, 2) TO '{}' OPTIONS ('axes' 'y,x')",
        field.display()
    );
    fine(&["sql", &query]);
    fine(&["convert", path(&field), path(&rows)]);
    let extents = |array: &std::path::Path| -> Vec<serde_json::Value> {
        let info = support::json_of(&["info", path(array)]);
        let columns = info["tables"][0]["columns"].as_array().unwrap().clone();
        columns.iter().take(2).map(|column| column["extent"].clone()).collect()
    };
    let of_rows =
        ["--set", "kind=dense", "--set", "dims=y,x", "--set", "domain.y=0:3", "--set", "domain.x=0:7"];
    let none: [&str; 0] = [];
    for (source, settings) in [(&field, &none[..]), (&rows, &of_rows[..])] {
        for (given, want) in [("2", [2, 2]), ("2,4", [2, 4])] {
            let target = folder.path().join("a.tiledb");
            let given = format!("extent={given}");
            let call = ["convert", path(source), path(&target), "--force", "--set", &given];
            fine(&[&call[..], settings].concat());
            assert_eq!(extents(&target), want, "{source:?} {given}");
        }
        for wrong in ["extent=2,4,8", "extent=0", "extent=2,x"] {
            let target = folder.path().join("b.tiledb");
            let call = ["convert", path(source), path(&target), "--set", wrong];
            let error = fails(&[&call[..], settings].concat(), 2);
            assert!(error.contains("extent"), "{error}");
        }
    }
}
