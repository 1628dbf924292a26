//! `tess tatami`, `tess index` and `tess search` as a script sees them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{fine, json_of, path, tess};

/// The kind of error and the exit code of a call that must fail.
fn refused(args: &[&str]) -> (i32, String) {
    let out = tess(&[args, &["--json"]].concat());
    let object: Value = serde_json::from_slice(&out.stdout).unwrap_or(Value::Null);
    (out.status.code().unwrap(), object["error"]["kind"].as_str().unwrap_or_default().to_owned())
}

const WORDS: [&str; 5] = ["river", "stone", "bridge", "paper", "light"];

/// A sorted file of `rows` pages with bodies as blobs, three to a page of the file.
fn pages(folder: &Path, name: &str, rows: std::ops::Range<usize>) -> PathBuf {
    let csv = folder.join(format!("{name}.csv"));
    let line = |row: usize| {
        let (a, b) = (WORDS[row % 5], WORDS[row * 3 % 5]);
        let status = if row.is_multiple_of(4) { 404 } else { 200 };
        format!("https://example.org/{row:03},{a} {row},{status},the {a} and the {b} number {row}\n")
    };
    let lines =
        std::iter::once("url,title,status,body\n".to_owned()).chain(rows.map(line)).collect::<String>();
    std::fs::write(&csv, lines).unwrap();
    let file = folder.join(format!("{name}.tatami"));
    let sets = ["--set", "sort_key=url", "--set", "blob=body", "--set", "page_rows=3"];
    fine(&[&["convert", path(&csv), path(&file)], &sets[..]].concat());
    file
}

#[test]
fn a_key_is_looked_up() {
    let folder = tempfile::tempdir().unwrap();
    let file = pages(folder.path(), "a", 0..20);
    let found =
        json_of(&["tatami", "lookup", path(&file), "https://example.org/007", "--columns", "title,body"]);
    let body = "the bridge and the stone number 7";
    assert_eq!(found, json!({ "row": 7, "values": { "title": "bridge 7", "body": body } }));
    let shown = fine(&["tatami", "lookup", path(&file), "https://example.org/007"]);
    assert!(shown.contains("bridge 7") && shown.contains("status"), "{shown}");
    let absent = ["tatami", "lookup", path(&file), "https://example.org/7"];
    assert_eq!(json_of(&absent), json!({ "row": null }));
    assert_eq!(fine(&absent), "no row has this key\n");
}

#[test]
fn lookups_that_cannot_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = pages(folder.path(), "a", 0..5);
    let unsorted = folder.path().join("unsorted.tatami");
    fine(&["convert", path(&folder.path().join("a.csv")), path(&unsorted)]);
    assert_eq!(refused(&["tatami", "lookup", path(&unsorted), "x"]), (2, "invalid_call".into()));
    let unknown = ["tatami", "lookup", path(&file), "https://example.org/001", "--columns", "titel"];
    assert_eq!(refused(&unknown), (2, "not_found".into()));
    let by_number = folder.path().join("number.tatami");
    let csv = folder.path().join("number.csv");
    std::fs::write(&csv, "n,t\n-5,a\n7,b\n").unwrap();
    fine(&["convert", path(&csv), path(&by_number), "--set", "sort_key=n"]);
    assert_eq!(json_of(&["tatami", "lookup", path(&by_number), "-5"])["row"], 0);
    assert_eq!(refused(&["tatami", "lookup", path(&by_number), "seven"]), (2, "invalid_call".into()));
}

#[test]
fn rows_are_taken_by_number() {
    let folder = tempfile::tempdir().unwrap();
    let file = pages(folder.path(), "a", 0..20);
    let taken = json_of(&["tatami", "take", path(&file), "17,4,0:2", "--columns", "status,title"]);
    let rows: Vec<(i64, &str)> = taken["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| (r["row"].as_i64().unwrap(), r["values"]["title"].as_str().unwrap()))
        .collect();
    assert_eq!(rows, [(17, "bridge 17"), (4, "light 4"), (0, "river 0"), (1, "stone 1")]);
    assert!(fine(&["tatami", "take", path(&file), "3"]).contains("paper 3"));
    let csv = folder.path().join("rows.csv");
    fine(&["tatami", "take", path(&file), "1,0", "--columns", "title", "-o", path(&csv)]);
    assert_eq!(std::fs::read_to_string(&csv).unwrap(), "title\nstone 1\nriver 0\n");
    assert_eq!(refused(&["tatami", "take", path(&file), "20"]), (2, "invalid_call".into()));
    assert_eq!(refused(&["tatami", "take", path(&file), "first"]), (2, "invalid_call".into()));
}

#[test]
fn a_single_blob_comes_out_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = pages(folder.path(), "a", 0..20);
    let out = folder.path().join("body.txt");
    let call = ["tatami", "take", path(&file), "11", "--blob", "body", "--out", path(&out)];
    assert_eq!(json_of(&call), json!({ "row": 11, "column": "body", "bytes": 33 }));
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "the stone and the paper number 11");
    assert_eq!(refused(&call), (2, "invalid_call".into()), "an existing file is kept");
    assert_eq!(
        fine(&["tatami", "take", path(&file), "2", "--blob", "body"]),
        "the bridge and the stone number 2"
    );
    assert_eq!(refused(&["tatami", "take", path(&file), "1,2", "--blob", "body"]).0, 2);
    assert_eq!(refused(&["tatami", "take", path(&file), "1", "--blob", "status"]).0, 2);
}

#[test]
fn a_collection_is_kept_searched_and_merged() {
    let folder = tempfile::tempdir().unwrap();
    let crawl = folder.path().join("crawl");
    std::fs::create_dir(&crawl).unwrap();
    for (name, rows) in [("a", 0..10), ("b", 10..20), ("c", 20..25)] {
        pages(&crawl, name, rows);
    }
    let at = path(&crawl);
    fine(&["tatami", "collection", "add", at, "a.tatami", "b.tatami", "c.tatami"]);
    let members = |json: Value| -> Vec<String> {
        json["members"].as_array().unwrap().iter().map(|m| m["path"].as_str().unwrap().to_owned()).collect()
    };
    let list = ["tatami", "collection", "list", at];
    assert_eq!(members(json_of(&list)), ["a.tatami", "b.tatami", "c.tatami"]);
    let shown = fine(&list);
    assert!(
        shown.contains("https://example.org/010") && shown.contains("https://example.org/019"),
        "{shown}"
    );
    let chunks = fine(&["info", at, "--chunks", "-n", "4"]);
    assert!(chunks.contains("chunks: 4 of 12"), "{chunks}");
    let info = json_of(&["info", path(&crawl.join("a.tatami")), "--chunks", "-n", "0"]);
    assert_eq!((&info["flags"][0], &info["flags"][1]), (&json!("sorted"), &json!("blobs")));
    assert_eq!((&info["creator_id"], &info["page_size_hint"]), (&json!(0), &json!(0)));
    assert_eq!(info["chunks"][0]["min"], "https://example.org/000");
    // What is not recorded is not shown to people.
    assert_eq!(info["created_ms"], 0);
    let shown = fine(&["info", path(&crawl.join("a.tatami"))]);
    assert!(!shown.contains("created_ms") && !shown.contains("page_size_hint"), "{shown}");
    assert!(fine(&list).contains("b.tatami"));

    let found = json_of(&["tatami", "lookup", at, "https://example.org/012", "--columns", "title"]);
    assert_eq!(found, json!({ "row": 2, "values": { "title": "bridge 12" }, "member": "b.tatami" }));
    assert_eq!(json_of(&["tatami", "lookup", at, "https://example.org/999"]), json!({ "row": null }));

    fine(&["tatami", "collection", "remove", at, "c.tatami"]);
    assert_eq!(json_of(&["tatami", "collection", "compact", at]), json!({ "members": 2 }));
    let merged = json_of(&["tatami", "collection", "merge", at, "all.tatami"]);
    assert_eq!((&merged["output"], &merged["rows"]), (&json!("all.tatami"), &json!(20)));
    assert_eq!(members(json_of(&list)), ["all.tatami"]);
    assert_eq!(json_of(&["tatami", "lookup", at, "https://example.org/012"])["row"], 12);
    assert_eq!(refused(&["tatami", "collection", "add", at, "missing.tatami"]).0, 3);
}

/// The titles of the hits, best first.
fn titles(found: &Value) -> Vec<String> {
    found["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["fields"]["title"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_segment_is_built_searched_and_pruned() {
    let folder = tempfile::tempdir().unwrap();
    let table = pages(folder.path(), "a", 0..20);
    let segment = folder.path().join("segment.tatami");
    let build =
        ["index", path(&table), path(&segment), "--text", "title,body", "--stored", "url,title,status"];
    let built = json_of(&build);
    assert_eq!(built["documents"], 20);
    assert_eq!(refused(&build), (2, "invalid_call".into()), "an existing file is kept");
    fine(&[&build[..], &["--force"]].concat());

    let search = |args: &[&str]| json_of(&[&["search", path(&segment)], args].concat());
    assert_eq!(titles(&search(&["11"])), ["stone 11"]);
    let all = search(&["+river +stone", "-k", "50"]);
    assert!(titles(&all).iter().all(|t| t.starts_with("river") || t.starts_with("stone")), "{all}");
    let filtered = search(&["river", "--where", "status = 404", "-k", "50"]);
    assert!(titles(&filtered).contains(&"river 0".to_owned()), "{filtered}");
    assert!(titles(&filtered).len() < titles(&search(&["river", "-k", "50"])).len(), "{filtered}");
    assert_eq!(titles(&search(&["+river -river"])), Vec::<String>::new());
    assert!(!titles(&search(&["+river -river", "--plain"])).is_empty());
    let shown = fine(&["search", path(&segment), "11"]);
    assert!(shown.contains("stone 11") && shown.contains("https://example.org/011"), "{shown}");
    assert_eq!(fine(&["search", path(&segment), "nowhere"]), "no documents match\n");
    assert_eq!(titles(&search(&["!!!"])), Vec::<String>::new());
    for empty in ["+", "-", "\"\"", "~", "^", ":"] {
        assert_eq!(refused(&["search", path(&segment), empty]), (2, "invalid_call".into()), "{empty}");
    }
    // What the terminal shows of a body is in the report too.
    let report = search(&["11"]);
    assert!(report["hits"][0]["highlight"]["text"].as_str().unwrap().contains("11"), "{report}");

    let deleted = json_of(&["tatami", "delete", path(&segment), "--where", "status = 404"]);
    assert_eq!(deleted, json!({ "deleted": 5, "live": 15 }));
    assert!(titles(&search(&["river", "-k", "50"])).iter().all(|t| t != "river 0"));
    assert_eq!(refused(&["tatami", "delete", path(&segment)]).0, 2);
    assert_eq!(refused(&["search", path(&table), "river"]), (1, "not_search_segment".into()));
}

#[test]
fn a_table_without_rows_becomes_a_segment_without_documents() {
    let folder = tempfile::tempdir().unwrap();
    let (table, segment) = (folder.path().join("none.csv"), folder.path().join("none.tatami"));
    std::fs::write(&table, "id,title,body\n").unwrap();
    let built = json_of(&[
        "index",
        path(&table),
        path(&segment),
        "--text",
        "title,body",
        "--id",
        "id",
        "--stored",
        "title",
    ]);
    assert_eq!(built["documents"], 0);
    assert_eq!(fine(&["search", path(&segment), "river"]), "no documents match\n");
    fine(&["verify", "--deep", path(&segment)]);
}

#[test]
fn a_folder_of_segments_answers_like_one() {
    let folder = tempfile::tempdir().unwrap();
    let segments = folder.path().join("segments");
    std::fs::create_dir(&segments).unwrap();
    for (name, rows) in [("a", 0..30), ("b", 30..60), ("c", 60..100), ("all", 0..100)] {
        let table = pages(folder.path(), name, rows);
        let target =
            if name == "all" { folder.path() } else { &segments }.join(format!("{name}.segment.tatami"));
        fine(&["index", path(&table), path(&target), "--text", "body", "--stored", "url,title"]);
    }
    let one = folder.path().join("all.segment.tatami");
    for query in ["river", "stone light", "bridge number 42", "+paper -light", "the"] {
        for threads in ["1", "2", "4"] {
            let many = json_of(&["search", path(&segments), query, "-k", "7", "--threads", threads]);
            let best = json_of(&["search", path(&one), query, "-k", "100"]);
            // Equal scores are ordered by document id in a folder and by number in one segment: compare the scores.
            let scores = |found: &Value, k: usize| -> Vec<f64> {
                let hits = found["hits"].as_array().unwrap();
                hits.iter().take(k).map(|hit| hit["score"].as_f64().unwrap()).collect()
            };
            assert_eq!(scores(&many, 7), scores(&best, 7), "{query} on {threads} threads");
        }
    }
}

/// Two segments of a collection: documents 1 and 2, and 3.
fn zebras(folder: &Path) -> PathBuf {
    let crawl = folder.join("col");
    std::fs::create_dir(&crawl).unwrap();
    let parts = [
        (
            "a",
            "{\"id\":1,\"title\":\"one zebra\",\"body\":\"alpha\"}\n{\"id\":2,\"title\":\"two zebra\",\"body\":\"beta\"}\n",
        ),
        ("b", "{\"id\":3,\"title\":\"three zebra\",\"body\":\"c\"}\n"),
    ];
    for (name, lines) in parts {
        let input = folder.join(format!("{name}.jsonl"));
        std::fs::write(&input, lines).unwrap();
        let segment = crawl.join(format!("{name}.tatami"));
        let columns = ["--text", "title,body", "--stored", "title,body", "--id", "id"];
        fine(&[&["index", path(&input), path(&segment)], &columns[..]].concat());
    }
    fine(&["tatami", "collection", "add", path(&crawl), "a.tatami", "b.tatami"]);
    crawl
}

fn ids(args: &[&str]) -> Vec<String> {
    let csv = fine(&[args, &["--columns", "doc_id", "--as", "csv"]].concat());
    csv.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn deleted_documents_stay_away_and_a_merge_keeps_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let crawl = zebras(folder.path());
    let (at, a) = (path(&crawl), crawl.join("a.tatami"));
    let a = path(&a);
    fine(&["tatami", "delete", a, "--id", "2"]);
    assert_eq!(ids(&["cat", at]), ["1", "3"]);
    assert_eq!(ids(&["cat", at, "--deleted"]), ["1", "2", "3"]);
    let out = folder.path().join("out.parquet");
    fine(&["convert", a, path(&out)]);
    assert_eq!(json_of(&["convert", a, path(&folder.path().join("out.csv"))])["rows"], 1);
    assert_eq!(refused(&["tatami", "take", a, "1"]), (2, "not_found".into()));
    assert_eq!(json_of(&["tatami", "collection", "merge", at, "all.tatami"])["rows"], 2);
    let hits = json_of(&["search", at, "zebra"]);
    let found: Vec<&str> = hits["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["fields"]["doc_id"].as_str().unwrap())
        .collect();
    assert_eq!(found, ["1", "3"]);
    assert_eq!(ids(&["cat", at, "--deleted"]), ["1", "3"]);
    fine(&["verify", at, "--deep"]);
}

#[test]
fn a_segment_with_other_columns_does_not_become_a_member() {
    let folder = tempfile::tempdir().unwrap();
    let crawl = folder.path().join("crawl");
    std::fs::create_dir(&crawl).unwrap();
    let put = |name: &str, content: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, content).unwrap();
        file
    };
    let old = put("old.csv", "doc_id,title,body\na,One,river\nb,Two,stone\n");
    let new = put("new.csv", "doc_id,title,body,stars\na,One,bridge,5\n");
    let at = |name: &str| crawl.join(name);
    let build = |from: &Path, to: &str, stored: &str| {
        let target = at(to);
        tess(&["index", path(from), path(&target), "--text", "title,body", "--stored", stored, "--update"])
    };
    assert!(build(&old, "old.tatami", "doc_id,title,body").status.success());
    let out = build(&new, "new.tatami", "doc_id,title,body,stars");
    let message = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(2), "{message}");
    assert!(message.contains("column 'stars' is not in the others"), "{message}");
    let add = ["tatami", "collection", "add", path(&crawl), "new.tatami"];
    assert_eq!(refused(&add), (2, "schema_mismatch".into()));
    // Nothing was deleted.
    let count = format!("SELECT count(*) AS n FROM '{}'", path(&crawl));
    assert_eq!(fine(&["sql", &count, "--as", "csv"]), "n\n2\n");
    assert_eq!(titles(&json_of(&["search", path(&crawl), "river"])), ["One"]);
    assert!(build(&new, "new2.tatami", "doc_id,title,body").status.success());
    assert_eq!(fine(&["sql", &count, "--as", "csv"]), "n\n2\n");
    assert_eq!(titles(&json_of(&["search", path(&crawl), "bridge"])), ["One"]);
}

/// Documents without ids get the numbers of their rows, which other documents have too.
#[test]
fn documents_without_ids_replace_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let crawl = folder.path().join("crawl");
    std::fs::create_dir(&crawl).unwrap();
    let (old, new) = (folder.path().join("old.csv"), folder.path().join("new.csv"));
    std::fs::write(&old, "key,title\na,river\nb,stone\n").unwrap();
    std::fs::write(&new, "key,title\nc,bridge\n").unwrap();
    let (first, second) = (crawl.join("first.tatami"), crawl.join("second.tatami"));
    fine(&["index", path(&old), path(&first), "--text", "title"]);
    fine(&["tatami", "collection", "add", path(&crawl), "first.tatami"]);
    let update = ["index", path(&new), path(&second), "--text", "title", "--update"];
    let out = tess(&update);
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8(out.stderr).unwrap().contains("name the column of the ids with --id"));
    assert!(!second.exists());
    fine(&[&update[..], &["--id", "key"]].concat());
    assert_eq!(titles(&json_of(&["search", path(&crawl), "river stone bridge"])).len(), 3);
}

#[test]
fn a_merge_replaces_leftovers_of_a_crash_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let crawl = zebras(folder.path());
    std::fs::write(crawl.join("all.tatami"), b"half").unwrap();
    let merge = ["tatami", "collection", "merge", path(&crawl), "all.tatami"];
    assert_eq!(refused(&merge), (2, "invalid_call".into()));
    fine(&[&merge[..], &["--force"]].concat());
    assert_eq!(ids(&["cat", path(&crawl)]), ["1", "2", "3"]);
}

#[test]
fn a_file_of_another_format_is_refused_with_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("x.csv");
    std::fs::write(&csv, "a,b\n1,x\n").unwrap();
    let parquet = folder.path().join("docs.parquet");
    fine(&["convert", path(&csv), path(&parquet)]);
    for call in [
        vec!["search", path(&parquet), "word"],
        vec!["tatami", "lookup", path(&parquet), "1"],
        vec!["tatami", "take", path(&parquet), "1"],
        vec!["tatami", "delete", path(&parquet), "--id", "1"],
    ] {
        let out = tess(&call);
        let message = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{call:?}: {message}");
        assert!(message.contains("is Parquet, not tatami") && message.contains("tess index"), "{message}");
    }
}

#[test]
fn a_search_segment_and_a_collection_stay_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let crawl = zebras(folder.path());
    fine(&["tatami", "delete", path(&crawl), "--id", "2"]);
    let hits = |at: &Path| json_of(&["search", path(at), "zebra alpha"])["hits"].clone();
    let copy = folder.path().join("copy");
    fine(&["convert", path(&crawl), path(&copy), "--to", "tatami"]);
    assert_eq!(hits(&copy), hits(&crawl));
    assert_eq!(ids(&["cat", path(&copy)]), ["1", "3"]);
    fine(&["verify", path(&copy), "--deep"]);
    let (segment, same, other) =
        (crawl.join("a.tatami"), folder.path().join("same.tatami"), folder.path().join("other.tatami"));
    fine(&["convert", path(&segment), path(&same)]);
    assert_eq!(std::fs::read(&segment).unwrap(), std::fs::read(&same).unwrap());
    fine(&["convert", path(&segment), path(&other), "--set", "level=19", "--set", "page_rows=1"]);
    let scores = |at: &Path| -> Vec<Value> {
        hits(at)
            .as_array()
            .unwrap()
            .iter()
            .map(|hit| json!([hit["doc"], hit["score"], hit["fields"]]))
            .collect()
    };
    assert_eq!(scores(&other), scores(&segment));
    let roles = ["convert", path(&segment), path(&other), "--force", "--set", "sort_key=title"];
    assert_eq!(refused(&roles), (2, "invalid_call".into()));
}

#[test]
fn segments_are_routed_and_files_have_tiers() {
    let folder = tempfile::tempdir().unwrap();
    let segments = folder.path().join("segments");
    std::fs::create_dir(&segments).unwrap();
    for (name, rows) in
        [("a", "1,river stone\n2,river\n"), ("b", "3,river river river\n"), ("c", "4,paper\n")]
    {
        let csv = folder.path().join(format!("{name}.csv"));
        std::fs::write(&csv, format!("id,body\n{rows}")).unwrap();
        let segment = segments.join(format!("{name}.tatami"));
        fine(&["index", path(&csv), path(&segment), "--text", "body", "--id", "id"]);
    }
    let (segments, index) = (path(&segments), folder.path().join("routing.bin"));
    let built = json_of(&["tatami", "routing", segments, "-o", path(&index)]);
    assert_eq!((&built["docs"], &built["terms"]), (&json!(4), &json!(3)));
    let routed = |uri: &str, query: &str| -> Vec<Value> {
        let routes = json_of(&["tatami", "routing", uri, "--query", query])["routes"].clone();
        routes.as_array().unwrap().iter().map(|route| route["segment"].clone()).collect()
    };
    assert_eq!(routed(segments, "River"), ["b.tatami", "a.tatami"]);
    assert_eq!(routed(path(&index), "river"), ["1", "0"]);
    assert_eq!(routed(segments, "paper"), ["c.tatami"]);
    assert_eq!(fine(&["tatami", "routing", segments, "--query", "violin"]), "no segment contains a word\n");
    assert_eq!(refused(&["tatami", "routing", segments, "-o", path(&index)]).0, 2);

    fine(&["tatami", "collection", "add", segments, "a.tatami", "b.tatami"]);
    fine(&["tatami", "collection", "tier", segments, "3", "b.tatami"]);
    let members = json_of(&["tatami", "collection", "list", segments])["members"].clone();
    assert_eq!((&members[0]["tier"], &members[1]["tier"]), (&json!(0), &json!(3)));
    assert_eq!(refused(&["tatami", "collection", "tier", segments, "3", "c.tatami"]).0, 2);
    assert_eq!(refused(&["tatami", "collection", "tier", segments, "256", "a.tatami"]).0, 2);
}
