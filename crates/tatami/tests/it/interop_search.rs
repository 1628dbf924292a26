//! Live round trips with the original engine; `interop/tatami/search/README.md` lists the requirements.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use serde_json::json;
use tesselle_tatami::search::{Deletion, DictionaryKind, IndexOptions, SearchOptions, delete};

use crate::documents::{Place, driver};

const QUERIES: [&str; 9] = [
    "w1",
    "w2 w3 w5",
    "w1 w1 w40",
    "w7 w11 w13 w17 w19",
    "solo400",
    "https example p 77",
    "ÉTÉ 日本",
    "absent",
    "",
];
const K: usize = 12;

/// Documents with frequent, rare and single words, several posting blocks long.
fn rows() -> RecordBatch {
    let docs = 0..1500usize;
    let text = |make: &dyn Fn(usize) -> String| -> ArrayRef {
        Arc::new(StringArray::from(docs.clone().map(make).collect::<Vec<_>>()))
    };
    let body = |doc: usize| {
        let mut words: Vec<String> =
            (1..60).filter(|w| (doc * 31 + w * w) % w < 2).map(|w| format!("w{w}")).collect();
        words.extend((0..doc % 5).map(|_| "w3".to_owned()));
        words.push(format!("solo{doc}"));
        if doc % 100 == 9 {
            words.push("été 日本, L'ÉTÉ".to_owned());
        }
        words.join(" ")
    };
    RecordBatch::try_from_iter([
        ("doc_id", text(&|doc| format!("{:016x}", (doc as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)))),
        ("url", text(&|doc| format!("https://example.org/p/{doc}"))),
        ("title", text(&|doc| format!("Title w{}", doc % 41))),
        ("body", text(&body)),
        ("anchor", text(&|doc| if doc % 7 == 0 { "w5 anchor".to_owned() } else { String::new() })),
        ("rank", Arc::new(Int64Array::from_iter_values(docs.map(|doc| doc as i64))) as ArrayRef),
    ])
    .unwrap()
}

fn json_lines(rows: &RecordBatch) -> String {
    let text = |column: usize, row: usize| {
        rows.column(column).as_any().downcast_ref::<StringArray>().unwrap().value(row).to_owned()
    };
    let mut lines = String::new();
    for row in 0..rows.num_rows() {
        let [id, url, title, body, anchor] = [0, 1, 2, 3, 4].map(|column| text(column, row));
        let line = json!({ "DocID": id, "URL": url, "Title": title, "Body": body, "Anchor": anchor });
        writeln!(lines, "{line}").unwrap();
    }
    lines
}

fn original(arguments: &[&str]) -> String {
    let program = std::env::var_os("TESSELLE_TATAMI_ORIGINAL")
        .expect("TESSELLE_TATAMI_ORIGINAL is the path of a program");
    let output = Command::new(Path::new(&program)).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Our results in the output format of the other program.
fn ours(place: &Place, name: &str) -> String {
    let mut lines = String::new();
    for query in QUERIES {
        let hits = place.search(name, query, &SearchOptions::default().with_k(K));
        for hit in hits.hits {
            let [id, url, title] =
                [hit.fields.doc_id, hit.fields.url, hit.fields.title].map(|f| String::from_utf8(f).unwrap());
            writeln!(lines, "{query}\t{}\t{:08x}\t{}", hit.doc, hit.score.to_bits(), json!([id, url, title]))
                .unwrap();
        }
    }
    lines
}

fn compare(place: &Place, name: &str) {
    let location = place.location(name);
    let k = K.to_string();
    let mut arguments = vec!["query", location.path(), k.as_str()];
    arguments.extend(QUERIES);
    let (theirs, ours) = (original(&arguments), ours(place, name));
    assert!(theirs.lines().count() > 50, "{name}");
    assert_eq!(ours, theirs, "{name}");
}

#[test]
#[ignore = "needs the original engine: interop/tatami/run.sh"]
fn both_engines_find_the_same_in_segments_of_either() {
    let place = Place::new();
    let rows = rows();
    place.put("docs.jsonl", json_lines(&rows).as_bytes());
    let docs = place.location("docs.jsonl");
    let text = || IndexOptions::text(["body", "title", "anchor", "url"]);
    for (shape, stored) in
        [("0", &["doc_id", "url", "title", "body"][..]), ("1", &["doc_id", "url", "title"])]
    {
        let theirs = format!("theirs-{shape}.tatami");
        original(&["build", docs.path(), place.location(&theirs).path(), shape]);
        compare(&place, &theirs);
        for dictionary in [DictionaryKind::BlockTree, DictionaryKind::Flat] {
            let name = format!("ours-{shape}-{dictionary:?}.tatami");
            place.index(&name, &rows, &text().stored(stored.iter().copied()).with_dictionary(dictionary));
            compare(&place, &name);
            let location = place.location(&name);
            let deletion = Deletion::Docs((0..1500).step_by(3).collect());
            delete(&location, &location, &deletion, false, &driver()).unwrap();
            compare(&place, &name);
        }
        let name = format!("extra-{shape}.tatami");
        place.index(&name, &rows, &text().stored(stored.iter().copied().chain(["rank"])));
        compare(&place, &name);
    }
}

/// The original's server over a folder; stopped on drop.
struct Server {
    process: std::process::Child,
    port: u16,
}

impl Server {
    fn start(folder: &str) -> Self {
        let program =
            std::env::var_os("TATAMI_BIN").expect("TATAMI_BIN is the path of the original's command line");
        // A port that was free a moment ago.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = format!("127.0.0.1:{port}");
        let process =
            Command::new(Path::new(&program)).args(["serve", folder, "--addr", &address]).spawn().unwrap();
        let mut server = Self { process, port };
        while server.get("/healthz").is_none() {
            assert!(server.process.try_wait().unwrap().is_none(), "the server ended");
            std::thread::yield_now();
        }
        server
    }

    /// The body of a response; `None` while the server does not listen.
    fn get(&self, target: &str) -> Option<String> {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        write!(stream, "GET {target} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
#[ignore = "needs the original engine: interop/tatami/run.sh"]
fn a_folder_of_our_segments_is_served_by_the_original() {
    let place = Place::new();
    let rows = rows();
    place.make_folder("served");
    for (i, start) in [0, 500, 1000].into_iter().enumerate() {
        let stored: &[&str] = if i == 1 { &["url", "title", "body"] } else { &["url", "title"] };
        let options = IndexOptions::text(["body", "title", "url"]).stored(stored.iter().copied());
        place.index(&format!("served/{i}.tatami"), &rows.slice(start, 500), &options);
    }
    let server = Server::start(place.location("served").path());
    let mut compared = 0;
    for query in ["w1", "w2+w3+w5", "w7+w11+w13+w17+w19", "solo400+w8", "example+77", "absent"] {
        let body = server.get(&format!("/search?q={query}&k=12")).unwrap();
        let answer: serde_json::Value = serde_json::from_str(&body).unwrap();
        let theirs: Vec<(u32, String)> = answer["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| {
                (
                    (hit["score"].as_f64().unwrap() as f32).to_bits(),
                    hit["doc_id"].as_str().unwrap().to_owned(),
                )
            })
            .collect();
        let hits = place.search("served", &query.replace('+', " "), &SearchOptions::default().with_k(12));
        let ours: Vec<(u32, String)> = hits
            .hits
            .into_iter()
            .map(|hit| (hit.score.to_bits(), String::from_utf8(hit.fields.doc_id).unwrap()))
            .collect();
        let scores = |hits: &[(u32, String)]| hits.iter().map(|hit| hit.0).collect::<Vec<_>>();
        assert_eq!(scores(&ours), scores(&theirs), "{query}");
        // Among documents that tie at the end the original may show others: it only checks the first few.
        let last = ours.last().map_or(0, |hit| hit.0);
        let sure =
            |hits: &[(u32, String)]| hits.iter().filter(|hit| hit.0 != last).cloned().collect::<Vec<_>>();
        assert_eq!(sure(&ours), sure(&theirs), "{query}");
        compared += ours.len();
    }
    assert!(compared > 40);
}
