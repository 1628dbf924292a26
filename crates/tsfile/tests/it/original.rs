//! The output of IoTDB's tools compared with that of the originals.

use std::collections::BTreeSet;
use std::path::Path;

use tesselle_core::{Limits, Location};
use tesselle_tsfile::original::{Line, Zone, overview, print_resources, sketch};

use crate::golden;

fn lines(tool: impl FnOnce(&mut Line<'_>) -> tesselle_core::Result<()>) -> String {
    let mut text = String::new();
    tool(&mut |line| {
        text.push_str(line);
        text.push('\n');
        Ok(())
    })
    .unwrap();
    text
}

#[test]
fn sketches_match_the_original() {
    for (name, path, expected) in golden::cases("tsfile") {
        let file = path.join("data.tsfile");
        let is_whole = expected.get("complete").is_none_or(|c| c == true);
        if !is_whole || !file.exists() || expected.get("opens").is_some_and(|o| o == false) {
            continue;
        }
        let location = Location::local(&file).unwrap();
        let shown =
            lines(|line| sketch(&location, "data.tsfile", &Limits::default(), &golden::driver(), line));
        let size = std::fs::metadata(&file).unwrap().len();
        assert!(shown.contains(&format!("{size:>20}|\tEND of TsFile\n\n---")), "{name}");
        if let Ok(wanted) = std::fs::read_to_string(path.join("expected-sketch.txt")) {
            assert_eq!(shown, wanted, "{name}");
        }
    }
}

/// The lines of a resource printer, with the devices of a file as a set.
fn blocks(text: &str, root: &Path) -> Vec<(String, BTreeSet<String>)> {
    let mut blocks: Vec<(String, BTreeSet<String>)> = Vec::new();
    for line in text.lines() {
        if line.starts_with("device ") {
            blocks.last_mut().unwrap().1.insert(line.to_owned());
        } else {
            let line = line.replace(&format!("{}/", root.display()), "");
            blocks.push((line, BTreeSet::new()));
        }
    }
    blocks
}

#[test]
fn directory_and_resource_output_matches_the_original() {
    for (name, path, expected) in golden::cases("tsfile") {
        for tool in expected.get("tools").and_then(|tools| tools.as_array()).into_iter().flatten() {
            let zone = Zone::named(tool["zone"].as_str().unwrap());
            let wanted = std::fs::read_to_string(path.join(tool["golden"].as_str().unwrap())).unwrap();
            let shown = tool["path"].as_str().unwrap();
            let root = path.parent().unwrap();
            if tool["tool"] == "print-iotdb-data-dir" {
                let storage = tesselle_core::storage::MemoryStorage::new();
                for part in ["sequence", "unsequence"] {
                    for file in walk(&path.join(part)) {
                        let inside = file.strip_prefix(&path).unwrap().to_str().unwrap();
                        storage.put(format!("{shown}/{inside}"), std::fs::read(&file).unwrap());
                    }
                }
                let location = Location::new(std::sync::Arc::new(storage), shown);
                let text = lines(|line| overview(&[(location, shown.to_owned())], &zone, line));
                assert_eq!(text, wanted, "{name}");
            } else {
                let inner = shown.split_once('/').unwrap().1;
                let folder = path.join(inner);
                let location = Location::local(&folder).unwrap();
                let text = lines(|line| print_resources(&location, folder.to_str().unwrap(), &zone, line));
                let wanted = blocks(&wanted, root);
                assert_eq!(blocks(&text, root), wanted, "{name}");
            }
        }
    }
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(walk(&path));
        } else {
            files.push(path);
        }
    }
    files
}
