//! Mutated statements: each is planned or refused, without a panic and without a hang.

use std::sync::mpsc::channel;
use std::time::Duration;

use tesselle_sql::{Session, SessionOptions};

use crate::support::{self, Random};

/// Far longer than any statement takes to plan.
const WATCHDOG: Duration = Duration::from_mins(2);

/// Statements to start from.
const STATEMENTS: [&str; 16] = [
    "SELECT * FROM a WHERE id > 3 AND word LIKE 'b%' ORDER BY ratio DESC NULLS LAST LIMIT 5 OFFSET 2",
    "SELECT small, count(*), sum(exact) FILTER (WHERE flag) FROM a GROUP BY small HAVING count(*) > 1",
    "SELECT a.id, b.value FROM a LEFT JOIN b ON a.id = b.x AND b.y < 3 WHERE b.value IS NOT NULL",
    "WITH t AS (SELECT y, avg(value) AS m FROM b GROUP BY y) SELECT * FROM t JOIN b USING (y)",
    "SELECT word, row_number() OVER (PARTITION BY small ORDER BY at ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM a",
    "SELECT date_trunc('hour', at), CAST(ratio AS INT), CASE WHEN flag THEN 1 ELSE NULL END FROM a",
    "SELECT id FROM a WHERE id IN (SELECT x FROM b WHERE value > 0.5) UNION ALL SELECT 1 EXCEPT SELECT 2",
    "SELECT * FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.x = a.id) AND exact BETWEEN -1e9 AND 0x1F",
    "SELECT [1, 2, 3][1], {'k': 1}, unnest([id]), X'00ff', INTERVAL '1 day', TIMESTAMP '2024-01-01' FROM a",
    "SELECT regexp_replace(word, '(a+)+$', 'x'), substr(word, -1, 99999999999) || U&'\\0041' FROM a",
    "SELECT DISTINCT ON (small) small, id FROM a ORDER BY small, id",
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 3) SELECT * FROM t",
    "SELECT * FROM (VALUES (1, 'a'), (2, NULL)) AS v(i, s) CROSS JOIN LATERAL (SELECT i + 1) w",
    "COPY (SELECT id FROM a) TO 'x.tatami' OPTIONS (overwrite 'true', level '3')",
    "CREATE EXTERNAL TABLE c STORED AS CSV LOCATION 'c.csv' OPTIONS ('format.has_header' 'true')",
    "INSERT INTO a SELECT * FROM a",
];

/// Words that parsers treat in ways of their own.
const WORDS: [&str; 24] = [
    "(",
    ")",
    ",",
    "''",
    "\"",
    "NULL",
    "-",
    "--",
    "/*",
    "*",
    "::INT",
    "9223372036854775808",
    "1e999",
    "NaN",
    "AS",
    "FROM a",
    "SELECT",
    "OVER ()",
    "GROUP BY ALL",
    "'é\u{0}'",
    "$1",
    "?",
    "LIMIT -1",
    "INTERVAL '1' YEAR",
];

/// Changes some words of a statement.
fn mutated(random: &mut Random) -> String {
    let start = STATEMENTS[random.below(STATEMENTS.len() as u64) as usize];
    let mut words: Vec<String> = start.split(' ').map(str::to_owned).collect();
    for _ in 0..=random.below(4) {
        let at = random.below(words.len() as u64) as usize;
        let other = random.below(words.len() as u64) as usize;
        match random.below(7) {
            0 => drop(words.remove(at)),
            1 => words.swap(at, other),
            2 => words.insert(at, WORDS[random.below(WORDS.len() as u64) as usize].to_owned()),
            3 => WORDS[random.below(WORDS.len() as u64) as usize].clone_into(&mut words[at]),
            4 => words.insert(at, words[other].clone()),
            5 => {
                let donor = STATEMENTS[random.below(STATEMENTS.len() as u64) as usize];
                words.splice(at.., donor.split(' ').skip(other).map(str::to_owned));
            }
            _ => {
                let depth = 1 << random.below(9);
                words[at] = format!("{}{}{}", "(".repeat(depth), words[at], ")".repeat(depth));
            }
        }
        if words.is_empty() {
            words.push(String::new());
        }
    }
    words.join(" ")
}

#[test]
fn mutated_statements_are_planned_or_refused() {
    let count = if support::is_thorough() { 100_000 } else { 1_500 };
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    support::write(&place("a.tatami"), "tatami", None, &[], &support::mixed(200));
    support::write(&place("b.tet"), "tet", None, &[], &support::grid(8));
    let session = Session::try_new(&SessionOptions::default().with_threads(1)).unwrap();
    session.register("a", place("a.tatami").to_str().unwrap()).unwrap();
    session.register("b", place("b.tet").to_str().unwrap()).unwrap();
    let (next, statements) = channel::<String>();
    let (planned, done) = channel();
    let work = move || {
        for sql in statements {
            // EXPLAIN plans a statement; with ANALYZE it would run it, and a second statement would be run as well.
            let explained = format!("EXPLAIN {sql}");
            let is_one = session.parse(&explained).is_ok_and(|parsed| parsed.len() == 1);
            let is_planned = is_one
                && session
                    .query(&explained)
                    .is_ok_and(|answer| answer.into_iter().all(|batch| batch.is_ok()));
            let _ = planned.send(is_planned);
        }
    };
    let worker = std::thread::Builder::new().stack_size(8 << 20).spawn(work).unwrap();
    let mut random = Random(11);
    let mut fine = 0;
    for _ in 0..count {
        let sql = mutated(&mut random);
        next.send(sql.clone()).unwrap();
        let planned = done.recv_timeout(WATCHDOG).unwrap_or_else(|error| panic!("{error}: {sql}"));
        fine += usize::from(planned);
    }
    drop(next);
    worker.join().unwrap();
    assert!(fine > count / 50, "only {fine} of {count} statements were planned");
}

#[test]
fn an_answer_that_has_ended_stays_ended() {
    let session = Session::try_new(&SessionOptions::default()).unwrap();
    let mut answer = session.query("SELECT 1 AS a WHERE 1 = 2").unwrap();
    assert_eq!(answer.by_ref().map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 0);
    assert!(answer.next().is_none());
}
