//! Messages of the library fit every front end: no flags and no verbs of the command line.

use std::path::{Path, PathBuf};

fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() && name != "testing" && name != "tests" {
            sources(&path, out);
        } else if path.extension().is_some_and(|end| end == "rs")
            && !name.ends_with("tests.rs")
            && name != "golden.rs"
        {
            out.push(path);
        }
    }
}

/// Whether a line of code contains a flag or a verb of the command line in a string.
fn speaks_flags(line: &str) -> bool {
    let strings = line.split('"').skip(1).step_by(2);
    let flag = |text: &str| {
        text.match_indices("--").any(|(at, _)| text[at + 2..].starts_with(|c: char| c.is_ascii_lowercase()))
    };
    let verb = |text: &str| text.contains("'tess ") || text.starts_with("tess ");
    strings.into_iter().any(|text| flag(text) || verb(text))
}

#[test]
fn messages_and_hints_of_the_library_name_no_flags_and_no_verbs() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for name in ["core", "codec", "tet", "tiledb", "tsfile", "tatami", "tesselle"] {
        sources(&crates.join(name).join("src"), &mut files);
    }
    let mut found = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let lines = code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
        let spoken = lines.filter(|(_, line)| speaks_flags(line));
        found.extend(spoken.map(|(at, line)| format!("{}:{}: {}", file.display(), at + 1, line.trim())));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
