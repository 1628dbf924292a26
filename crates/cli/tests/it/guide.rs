//! The commands of the SQL guide run verbatim, and print the shown output.

use std::path::Path;
use std::process::Command;

/// Runs a shell command in `folder`, with `tess` on its path.
fn run(folder: &Path, command: &str) -> String {
    let tess = Path::new(env!("CARGO_BIN_EXE_tess"));
    let path = std::env::var("PATH").unwrap();
    let out = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", tess.parent().unwrap().display()))
        .output()
        .unwrap();
    let (text, errors) = (String::from_utf8(out.stdout).unwrap(), String::from_utf8(out.stderr).unwrap());
    assert!(out.status.success(), "{command}\n{errors}");
    text
}

/// The block with its commands, and their current output.
fn executed(folder: &Path, block: &str) -> String {
    let mut text = String::new();
    let mut lines = block.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(first) = line.strip_prefix("$ ") else { continue };
        let mut command = first.to_owned();
        text.extend([line, "\n"]);
        while let Some(more) = lines.next_if(|line| line.starts_with('>')) {
            command.push('\n');
            command.push_str(&more[1..]);
            text.extend([more, "\n"]);
        }
        text.push_str(&run(folder, &command));
    }
    text
}

#[test]
fn the_guide_shows_what_really_happens() {
    const OPEN: &str = "```console\n";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/sql.md");
    let kept = std::fs::read_to_string(&file).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut now = String::new();
    let mut rest = kept.as_str();
    while let Some(start) = rest.find(OPEN) {
        let (before, block) = rest.split_at(start + OPEN.len());
        let end = block.find("```").unwrap();
        now.push_str(before);
        now.push_str(&executed(folder.path(), &block[..end]));
        rest = &block[end..];
    }
    now.push_str(rest);
    if std::env::var_os("TESS_BLESS").is_some() {
        std::fs::write(&file, &now).unwrap();
        return;
    }
    for (kept, now) in kept.lines().zip(now.lines()) {
        assert_eq!(
            kept, now,
            "docs/guides/sql.md is stale; run TESS_BLESS=1 cargo test -p tess --test it guide::"
        );
    }
    assert_eq!(kept.len(), now.len());
}
