//! Code, messages and pages use the common terms; the words below have one each.

use std::path::{Path, PathBuf};

/// Words that are not used, and what is used instead.
const WORDS: [(&str, &str); 25] = [
    ("texts", "strings"),
    ("told", "reported"),
    ("tells", "reports"),
    ("anew", "again: rebuilt, rewritten"),
    ("mend", "repair"),
    ("mends", "repairs"),
    ("mended", "repaired"),
    ("mending", "repairing"),
    ("stretch of time", "time range"),
    ("stretches", "ranges"),
    ("least and greatest", "min and max"),
    ("rectangle", "MBR"),
    ("rectangles", "MBRs"),
    ("lends", "zero-copy, borrowed"),
    ("lent", "borrowed"),
    ("in the making", "staged, in progress"),
    ("leave out", "prune, skip"),
    ("leaves out", "prunes, skips"),
    ("left out", "pruned, skipped"),
    ("beside", "next to"),
    ("beyond", "outside, above"),
    ("whatever", "regardless of, any"),
    ("what it holds", "contents, values"),
    ("what they hold", "contents, values"),
    ("holds what", "contains"),
];

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let skipped =
            ["target", "data", "seeds", "results", "corpus", "node_modules"].contains(&name.as_str());
        if path.is_dir() {
            if !skipped && !name.starts_with('.') {
                files(&path, out);
            }
        } else if name != "words.rs"
            && ["rs", "md", "py", "pyi", "toml", "sh"].iter().any(|end| name.ends_with(&format!(".{end}")))
        {
            out.push(path);
        }
    }
}

/// Whether `line`, in lower case, has `words` as whole words.
fn has(line: &str, words: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(words)
        .any(|(at, _)| !line[..at].ends_with(is_letter) && !line[at + words.len()..].starts_with(is_letter))
}

#[test]
fn the_words_of_the_list_are_not_used() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().parent().unwrap();
    let mut all = Vec::new();
    files(root, &mut all);
    assert!(all.len() > 500, "{} files", all.len());
    let mut found = Vec::new();
    for file in all {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        for (at, line) in text.lines().enumerate() {
            let line = line.to_lowercase();
            for (words, instead) in WORDS.iter().filter(|(words, _)| has(&line, words)) {
                found.push(format!("{}:{}: '{words}': {instead}", file.display(), at + 1));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn only_whole_words_are_found() {
    assert!(has("it is left out.", "left out") && has("told", "told"));
    assert!(!has("an equivalent value", "lent") && !has("contexts", "texts"));
}
