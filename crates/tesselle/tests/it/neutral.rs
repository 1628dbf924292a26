//! Rules of the code that no lint knows: messages of the library fit every front end and have no flags and no verbs of the
//! command line, only the registry names formats, and constructors that can fail are called `try_new`.

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

/// The lines of constructors called `new` that return a `Result`.
fn fallible_news(text: &str) -> Vec<usize> {
    let starts = text.match_indices("fn new(").chain(text.match_indices("fn new<"));
    let signature = |at: usize| text[at..].split(['{', ';']).next().unwrap().rsplit_once("->");
    let fallible =
        starts.filter(|(at, _)| signature(*at).is_some_and(|(_, result)| result.contains("Result")));
    fallible.map(|(at, _)| text[..at].lines().count() + 1).collect()
}

#[test]
fn constructors_that_can_fail_are_called_try_new() {
    assert_eq!(fallible_news("fn new(n: u8) -> Self {}\nfn new<T>(t: T) -> Result<Self> {}"), [2]);
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for entry in std::fs::read_dir(crates).unwrap() {
        sources(&entry.unwrap().path().join("src"), &mut files);
    }
    let mut found = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        found.extend(fallible_news(&text).into_iter().map(|line| format!("{}:{line}", file.display())));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Whether a file may name formats: the formats themselves, the registry, the tools of one format, and the samples.
fn may_name_formats(path: &str) -> bool {
    let own = ["tesselle/src/foreign/", "tesselle/src/registry.rs", "cli/src/verbs/demo/"];
    let tools =
        tesselle::formats().iter().any(|format| path.contains(&format!("cli/src/verbs/{}", format.name())));
    tools || own.iter().any(|part| path.contains(part))
}

#[test]
fn only_the_registry_and_the_formats_name_a_format() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let names: Vec<String> =
        tesselle::formats().iter().map(|format| format!("\"{}\"", format.name())).collect();
    assert!(names.len() >= 10, "{names:?}");
    let mut files = Vec::new();
    for name in ["core", "tesselle", "sql", "cli", "python"] {
        sources(&crates.join(name).join("src"), &mut files);
    }
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !may_name_formats(file.to_str().unwrap())) {
        let text = std::fs::read_to_string(file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for (at, line) in code.lines().enumerate() {
            let line = line.trim_start();
            let is_code = !line.starts_with("//") && !line.starts_with("#[");
            if is_code && names.iter().any(|name| line.contains(name)) {
                found.push(format!("{}:{}: {line}", file.display(), at + 1));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
