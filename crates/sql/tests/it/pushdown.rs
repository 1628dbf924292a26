//! Every filter, in every format, returns the same rows whether the table or DataFusion applies it.

use proptest::prelude::*;
use tesselle_sql::Session;

use crate::support;

/// A table and its columns by kind.
struct Subject {
    from: &'static str,
    integers: &'static [&'static str],
    floats: &'static [&'static str],
    strings: &'static [&'static str],
    truths: &'static [&'static str],
    times: &'static [&'static str],
}

const SUBJECTS: [Subject; 7] = [
    Subject {
        from: "grid.tet",
        integers: &["y", "x"],
        floats: &["value"],
        strings: &[],
        truths: &[],
        times: &[],
    },
    Subject {
        from: "raster.tiledb",
        integers: &["y", "x", "rain"],
        floats: &["heat"],
        strings: &["kind"],
        truths: &[],
        times: &[],
    },
    Subject { from: "points.tiledb", ..ROWS },
    CODED,
    Subject { from: "mixed.tatami", ..ROWS },
    Subject { from: "plant.tsfile", ..SERIES },
    Subject { from: "aligned.tsfile", ..SERIES },
];

const ROWS: Subject = Subject {
    from: "",
    integers: &["id", "small"],
    floats: &["ratio", "exact", "single"],
    strings: &["word"],
    truths: &["flag"],
    times: &["at"],
};

/// Its strings are stored as a dictionary.
const CODED: Subject = Subject { from: "coded.tiledb", ..ROWS };

const SERIES: Subject = Subject { integers: &["small"], times: &["time"], ..ROWS };

fn pick(names: &'static [&'static str]) -> Option<BoxedStrategy<String>> {
    (!names.is_empty()).then(|| prop::sample::select(names).prop_map(|name| format!("\"{name}\"")).boxed())
}

fn operator() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["=", "<>", "<", "<=", ">", ">="][..])
}

fn integer() -> impl Strategy<Value = String> {
    prop_oneof![(-40_i64..60).prop_map(|v| v.to_string()), (0_i64..1900).prop_map(|v| v.to_string())]
}

fn float() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (-200_i32..900).prop_map(|v| format!("{:?}", f64::from(v) / 8.0)),
        1 => prop::sample::select(
            &["0.0", "-0.0", "'NaN'::double", "'Infinity'::double", "'-Infinity'::double", "1e300"][..]
        )
        .prop_map(str::to_owned),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::sample::select(&["'alder'", "'birch'", "''", "'cedar'", "'élan'", "'zzz'", "'b'"][..])
        .prop_map(str::to_owned)
}

fn time() -> impl Strategy<Value = String> {
    (-5_i64..700, prop::sample::select(&["", ".5", ".000001"][..])).prop_map(|(second, fraction)| {
        let at = 1_700_000_000 + second;
        let (minutes, seconds) = (at / 60 % 60, at % 60);
        let (day, hours) = (14 + (at - 1_699_920_000) / 86_400, at / 3600 % 24);
        format!("TIMESTAMP '2023-11-{day:02}T{hours:02}:{minutes:02}:{seconds:02}{fraction}'")
    })
}

/// `column op value`, BETWEEN, IN and IS NULL over columns of one kind.
fn comparisons(column: BoxedStrategy<String>, value: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let not = || prop::sample::select(&["", "NOT "][..]);
    let list = prop::collection::vec(prop_oneof![9 => value.clone(), 1 => Just("NULL".to_owned())], 1..5);
    prop_oneof![
        4 => (column.clone(), operator(), value.clone()).prop_map(|(c, op, v)| format!("{c} {op} {v}")),
        1 => (column.clone(), operator(), value.clone()).prop_map(|(c, op, v)| format!("{v} {op} {c}")),
        1 => (column.clone(), not(), value.clone(), value).prop_map(|(c, n, a, b)| format!("{c} {n}BETWEEN {a} AND {b}")),
        1 => (column.clone(), not(), list).prop_map(|(c, n, list)| format!("{c} {n}IN ({})", list.join(", "))),
        1 => (column, not()).prop_map(|(c, n)| format!("{c} IS {n}NULL")),
    ]
    .boxed()
}

fn condition(subject: &Subject) -> BoxedStrategy<String> {
    let mut leaves = Vec::new();
    if let Some(column) = pick(subject.integers) {
        leaves.push(comparisons(column.clone(), integer().boxed()));
        leaves.push(comparisons(column.clone(), float().boxed()));
        leaves.push((column, 0_i64..5).prop_map(|(c, v)| format!("{c} % 5 = {v}")).boxed());
    }
    if let Some(column) = pick(subject.floats) {
        leaves.push(comparisons(column, float().boxed()));
    }
    if let Some(column) = pick(subject.strings) {
        leaves.push(comparisons(column.clone(), text().boxed()));
        let patterns = prop::sample::select(&["'b%'", "'%r'", "'ce_ar'", "'é%'", "'z%'", "''"][..]);
        leaves.push((column, patterns).prop_map(|(c, p)| format!("{c} LIKE {p}")).boxed());
    }
    if let Some(column) = pick(subject.truths) {
        leaves.push(column.clone());
        leaves.push(column.prop_map(|c| format!("{c} IS NOT TRUE")).boxed());
    }
    if let Some(column) = pick(subject.times) {
        leaves.push(comparisons(column, time().boxed()));
    }
    prop::strategy::Union::new(leaves)
        .prop_recursive(3, 8, 3, |inner| {
            prop_oneof![
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) AND ({b})")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) OR ({b})")),
                inner.prop_map(|a| format!("NOT ({a})")),
            ]
        })
        .boxed()
}

/// The queries over the passing rows.
fn questions(subject: &Subject) -> Vec<String> {
    let first = subject.integers[0];
    let float = subject.floats[0];
    vec![
        "*".to_owned(),
        "count(*)".to_owned(),
        format!("\"{first}\""),
        format!("count(\"{float}\"), min(\"{first}\"), max(\"{first}\")"),
    ]
}

fn compare(folder: &str, with: &Session, without: &Session, subject: &Subject, condition: &str) {
    for question in questions(subject) {
        let sql = format!("SELECT {question} FROM '{folder}/{}' WHERE {condition}", subject.from);
        let (a, b) = (support::rows(with, &sql), support::rows(without, &sql));
        match (a, b) {
            (Ok(a), Ok(b)) => assert_eq!(a, b, "{sql}"),
            (a, b) => assert_eq!(a.is_err(), b.is_err(), "{sql}: {a:?} {b:?}"),
        }
    }
}

#[test]
fn filters_answer_the_same_with_pushdown_and_without() {
    let folder = tempfile::tempdir().unwrap();
    support::make_files(folder.path());
    let root = folder.path().to_str().unwrap();
    let (with, without) = (support::session(true), support::session(false));
    for subject in &SUBJECTS {
        let cases = if support::is_thorough() { 400 } else { 25 };
        let mut runner =
            proptest::test_runner::TestRunner::new(ProptestConfig { cases, ..ProptestConfig::default() });
        runner
            .run(&condition(subject), |condition| {
                compare(root, &with, &without, subject, &condition);
                Ok(())
            })
            .unwrap();
    }
}

#[test]
fn a_dictionary_of_strings_answers_as_strings_do() {
    let folder = tempfile::tempdir().unwrap();
    support::make_files(folder.path());
    let root = folder.path().to_str().unwrap();
    let with = support::session(true);
    let cases = if cfg!(debug_assertions) { 40 } else { 400 };
    let mut runner =
        proptest::test_runner::TestRunner::new(ProptestConfig { cases, ..ProptestConfig::default() });
    let tested = |condition: String| {
        let sql = |file: &str| format!("SELECT word, id FROM '{root}/{file}' WHERE {condition}");
        let rows = |file: &str| support::rows(&with, &sql(file)).unwrap();
        assert_eq!(rows("coded.tiledb"), rows("words.tiledb"), "{condition}");
        Ok(())
    };
    runner
        .run(
            &condition(&Subject { integers: &["id"], floats: &[], truths: &[], times: &[], ..CODED }),
            tested,
        )
        .unwrap();
}

#[test]
fn counts_and_min_max_are_the_same_from_metadata_and_from_data() {
    let folder = tempfile::tempdir().unwrap();
    support::make_files(folder.path());
    let root = folder.path().to_str().unwrap();
    let (with, without) = (support::session(true), support::session(false));
    for subject in &SUBJECTS {
        let columns =
            [subject.integers, subject.floats, subject.strings, subject.truths, subject.times].concat();
        let mut asked = vec!["count(*)".to_owned()];
        for column in columns {
            asked.push(format!("count(\"{column}\"), min(\"{column}\"), max(\"{column}\")"));
        }
        for asked in asked {
            let sql = format!("SELECT {asked} FROM '{root}/{}'", subject.from);
            assert_eq!(support::rows(&with, &sql).unwrap(), support::rows(&without, &sql).unwrap(), "{sql}");
        }
    }
}

#[test]
fn limits_and_orders_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    support::make_files(folder.path());
    let root = folder.path().to_str().unwrap();
    let (with, without) = (support::session(true), support::session(false));
    for subject in &SUBJECTS {
        let key = subject.times.first().or(subject.integers.first()).unwrap();
        for limit in [0, 1, 7, 100_000] {
            let sql = format!("SELECT count(*) FROM (SELECT * FROM '{root}/{}' LIMIT {limit})", subject.from);
            assert_eq!(support::rows(&with, &sql).unwrap(), support::rows(&without, &sql).unwrap(), "{sql}");
            for direction in ["ASC", "DESC"] {
                let sql = format!(
                    "SELECT \"{key}\" FROM '{root}/{}' ORDER BY 1 {direction} LIMIT {limit}",
                    subject.from
                );
                assert_eq!(
                    support::rows(&with, &sql).unwrap(),
                    support::rows(&without, &sql).unwrap(),
                    "{sql}"
                );
            }
        }
    }
}

#[test]
fn aggregates_over_less_than_the_table_are_not_taken_from_its_metadata() {
    let folder = tempfile::tempdir().unwrap();
    support::make_files(folder.path());
    let root = folder.path().to_str().unwrap();
    let (with, without) = (support::session(true), support::session(false));
    for from in ["plant.tsfile", "points.tiledb", "mixed.tatami", "aligned.tsfile"] {
        for (asked, table) in [
            ("min(small), max(single)", "(SELECT single AS small, small AS single FROM f)"),
            ("count(small), max(small)", "(SELECT small FROM f LIMIT 7)"),
            ("count(small), min(small)", "(SELECT small FROM f WHERE small > 2)"),
            ("count(small), min(small)", "(SELECT small FROM f UNION ALL SELECT 99)"),
            ("count(DISTINCT small), max(small)", "f"),
            ("count(small) FILTER (WHERE small > 2), max(small)", "f"),
            ("min(small), sum(small)", "f"),
            ("min(small + 1), count(small * 2)", "f"),
            ("count(small), small > 0", "f GROUP BY small > 0"),
        ] {
            let sql = format!("SELECT {asked} FROM {table}").replace(" f", &format!(" '{root}/{from}'"));
            assert_eq!(support::rows(&with, &sql).unwrap(), support::rows(&without, &sql).unwrap(), "{sql}");
        }
    }
}
