//! Several processes that change one tatami container concurrently, and concurrent readers.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::{fine, json_of, path, text};

fn start(args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tess"));
    command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for all and fails if one did.
fn all_fine(children: Vec<Child>) {
    for child in children {
        let out = child.wait_with_output().unwrap();
        assert!(out.status.success(), "{}", text(&out.stderr));
    }
}

fn segment(folder: &Path, name: &str, docs: std::ops::Range<usize>) -> String {
    let csv = folder.join(format!("{name}.csv"));
    let lines = docs.map(|doc| format!("d{doc},river {doc}")).collect::<Vec<_>>().join("\n");
    std::fs::write(&csv, format!("doc_id,body\n{lines}")).unwrap();
    let file = folder.join(format!("{name}.tatami"));
    fine(&["index", path(&csv), path(&file), "--text", "body"]);
    path(&file).to_owned()
}

#[test]
fn forty_adds_at_once_lose_no_member() {
    let folder = tempfile::tempdir().unwrap();
    let first = segment(folder.path(), "first", 0..3);
    let col = folder.path().join("col");
    std::fs::create_dir(&col).unwrap();
    let names: Vec<String> = (0..40).map(|i| format!("f{i:02}.tatami")).collect();
    for name in &names {
        std::fs::copy(&first, col.join(name)).unwrap();
    }
    let col = path(&col);
    all_fine(names.iter().map(|name| start(&["tatami", "collection", "add", col, name])).collect());
    let list = json_of(&["tatami", "collection", "list", col]);
    let members: Vec<&str> =
        list["members"].as_array().unwrap().iter().map(|m| m["path"].as_str().unwrap()).collect();
    assert_eq!(members, names);
    // Compactions, removals and a merge between additions.
    let (gone, kept) = names.split_at(20);
    let mut children: Vec<Child> =
        gone.iter().map(|name| start(&["tatami", "collection", "remove", col, name])).collect();
    children.extend((0..5).map(|_| start(&["tatami", "collection", "compact", col])));
    children.push(start(&["tatami", "collection", "merge", col, "merged.tatami", &kept[0], &kept[1]]));
    all_fine(children);
    let list = json_of(&["tatami", "collection", "list", col]);
    assert_eq!(list["members"].as_array().unwrap().len(), 19);
    let left = std::fs::read_dir(col).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_str().unwrap().starts_with('.')
    });
    assert_eq!(left.count(), 0, "no lock or staged file stays");
}

#[test]
fn forty_deletions_at_once_lose_none_and_readers_see_whole_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = segment(folder.path(), "p", 0..50);
    let mut children = Vec::new();
    let mut readers = Vec::new();
    for doc in 0..40 {
        children.push(start(&["tatami", "delete", &file, "--id", &format!("d{doc}")]));
        if doc % 4 == 0 {
            readers.push(start(&["cat", &file, "--columns", "doc_id", "--as", "csv"]));
            readers.push(start(&["search", &file, "river", "-k", "100", "--json"]));
        }
    }
    all_fine(children);
    all_fine(readers);
    let info = json_of(&["info", &file]);
    assert_eq!((&info["search"]["docs"], &info["search"]["live_docs"]), (&50.into(), &10.into()));
    let left = fine(&["cat", &file, "--columns", "doc_id", "--as", "csv"]);
    let wanted: Vec<String> = (40..50).map(|doc| format!("d{doc}")).collect();
    assert_eq!(left.lines().skip(1).collect::<Vec<_>>(), wanted);
}

#[test]
fn deletions_and_a_merge_of_one_collection_follow_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let col = folder.path().join("col");
    std::fs::create_dir(&col).unwrap();
    for part in 0..4 {
        segment(&col, &format!("s{part}"), part * 10..part * 10 + 10);
    }
    let at = path(&col);
    fine(&["tatami", "collection", "add", at, "s0.tatami", "s1.tatami", "s2.tatami", "s3.tatami"]);
    let mut children: Vec<Child> =
        (0..20).map(|doc| start(&["tatami", "delete", at, "--id", &format!("d{}", doc * 2)])).collect();
    children.push(start(&["tatami", "collection", "merge", at, "all.tatami"]));
    all_fine(children);
    let left = fine(&["cat", at, "--columns", "doc_id", "--as", "csv"]);
    let mut left: Vec<&str> = left.lines().skip(1).collect();
    left.sort_unstable();
    let mut wanted: Vec<String> = (0..20).map(|doc| format!("d{}", doc * 2 + 1)).collect();
    wanted.sort_unstable();
    assert_eq!(left, wanted);
    assert_eq!(json_of(&["search", at, "river", "-k", "100"])["hits"].as_array().unwrap().len(), 20);
    fine(&["verify", at, "--deep"]);
}
