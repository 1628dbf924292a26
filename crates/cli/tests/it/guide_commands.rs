//! The commands of the guides run verbatim, one after the other, on the samples of the demo.

use std::path::Path;
use std::process::Command;

use crate::support::{fine, path, text};

/// A block of shell commands, and the output that the next block of text shows.
struct Example {
    commands: String,
    output: Option<String>,
}

/// The examples in a file of the documentation.
fn examples(file: &str) -> Vec<Example> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(file);
    let guide = std::fs::read_to_string(file).unwrap();
    let blocks = guide.split("```sh\n").skip(1);
    blocks
        .map(|block| {
            let (commands, rest) = block.split_once("```").unwrap();
            let shown = rest.trim_start().strip_prefix("```text\n");
            let output = shown.and_then(|shown| shown.split_once("```")).map(|(output, _)| output.to_owned());
            Example { commands: commands.to_owned(), output }
        })
        .collect()
}

/// Whether a line is what the guide shows; `…` stands for anything.
fn line_matches(shown: &str, line: &str) -> bool {
    let mut parts = shown.trim_end().split('…');
    let Some(mut rest) = parts.next().and_then(|first| line.trim_end().strip_prefix(first)) else {
        return false;
    };
    let mut open = false;
    for part in parts {
        open = true;
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty() || (open && shown.trim_end().ends_with('…'))
}

/// Whether the output is what the guide shows; a line `…` stands for any lines.
fn output_matches(shown: &[&str], lines: &[&str]) -> bool {
    match (shown.split_first(), lines.split_first()) {
        (None, _) => lines.is_empty(),
        (Some((first, rest)), _) if first.trim() == "…" => {
            (0..=lines.len()).any(|skipped| output_matches(rest, &lines[skipped..]))
        }
        (Some((first, shown)), Some((line, lines))) => {
            line_matches(first, line) && output_matches(shown, lines)
        }
        (Some(_), None) => false,
    }
}

fn run(guide: &str) {
    let folder = tempfile::tempdir().unwrap();
    // Some guides start in the repository, with its target/demo, others next to the folder of the samples.
    for place in ["demo", "target/demo"] {
        let place = folder.path().join(place);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        fine(&["demo", path(&place)]);
    }
    let tess = Path::new(env!("CARGO_BIN_EXE_tess")).parent().unwrap();
    let search = format!("{}:{}", tess.display(), std::env::var("PATH").unwrap());
    let examples = examples(guide);
    assert!(examples.len() > 2, "{} examples in {guide}", examples.len());
    let mut compared = 0;
    for Example { commands, output } in examples {
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", &commands]).current_dir(folder.path()).env("PATH", &search);
        let out = shell.output().unwrap();
        assert!(out.status.success(), "{guide}:\n{commands}\n{}", text(&out.stderr));
        if let Some(shown) = output {
            compared += 1;
            let printed = text(&out.stdout);
            let same =
                output_matches(&shown.lines().collect::<Vec<_>>(), &printed.lines().collect::<Vec<_>>());
            assert!(same, "{guide} shows:\n{shown}\nprinted by:\n{commands}\n{printed}");
        }
    }
    assert!(compared > 0, "no output is shown in {guide}");
}

/// The commands of a block with a prompt, each with its output. A command goes on until its quotes are closed.
#[cfg(feature = "sql")]
fn prompted(block: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut open = false;
    for line in block.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            examples.push(Example { commands: command.to_owned(), output: Some(String::new()) });
        } else if let Some(last) = examples.last_mut() {
            let text = if open { &mut last.commands } else { last.output.as_mut().unwrap() };
            text.push_str(if open { "\n" } else { "" });
            text.push_str(line);
            text.push_str(if open { "" } else { "\n" });
        }
        open = examples.last().is_some_and(|last| last.commands.matches('\'').count() % 2 == 1);
    }
    examples
}

/// A line without what differs from run to run: how long it took, and when a file was made.
#[cfg(feature = "sql")]
fn steady(line: &str) -> &str {
    let line = line.split(" created_at ").next().unwrap_or(line);
    let Some(timed) = line.strip_suffix(" ms").or_else(|| line.strip_suffix(" s")) else { return line };
    timed.rsplit_once(' ').map_or(timed, |(before, _)| before)
}

/// The tour of the front page prints what is shown there.
#[cfg(feature = "sql")]
#[test]
fn the_tour_of_the_readme() {
    let readme =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    let (_, block) = readme.split_once("```console\n").unwrap();
    let examples = prompted(block.split_once("```").unwrap().0);
    assert!(examples.len() > 7, "{} commands", examples.len());
    let folder = tempfile::tempdir().unwrap();
    fine(&["demo", path(&folder.path().join("target/demo"))]);
    let tess = Path::new(env!("CARGO_BIN_EXE_tess")).parent().unwrap();
    let search = format!("{}:{}", tess.display(), std::env::var("PATH").unwrap());
    for Example { commands, output } in examples {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{commands} 2>&1")]).current_dir(folder.path()).env("PATH", &search);
        let printed = text(&shell.output().unwrap().stdout);
        let shown = output.unwrap();
        let want: Vec<&str> = shown.trim_end().lines().map(steady).collect();
        let got: Vec<&str> = printed.trim_end().lines().map(steady).collect();
        let same = output_matches(&want, &got);
        assert!(same, "README.md shows:\n{shown}\nprinted by:\n{commands}\n{printed}");
    }
}

#[test]
fn shown_output_may_omit_parts() {
    assert!(output_matches(&["a", "…", "b … d…"], &["a", "x", "y", "b c d e"]));
    assert!(!output_matches(&["a", "b"], &["a", "b", "c"]));
    assert!(!output_matches(&["a … c"], &["a b c d"]));
}

#[test]
fn getting_started() {
    run("getting-started.md");
}

#[cfg(feature = "sql")]
#[test]
fn convert() {
    run("guides/convert.md");
}

#[test]
fn tatami() {
    run("guides/tatami.md");
}

#[test]
fn tet() {
    run("guides/tet.md");
}

#[test]
fn tiledb() {
    run("guides/tiledb.md");
}

#[test]
fn tsfile() {
    run("guides/tsfile.md");
}

#[cfg(feature = "sql")]
#[test]
fn tutorial_of_analytics() {
    run("tutorials/analytics.md");
}

#[cfg(feature = "sql")]
#[test]
fn tutorial_of_time_series() {
    run("tutorials/time-series.md");
}

#[cfg(feature = "sql")]
#[test]
fn tutorial_of_arrays() {
    run("tutorials/arrays.md");
}

#[cfg(feature = "sql")]
#[test]
fn tutorial_of_search() {
    run("tutorials/search.md");
}

#[cfg(feature = "sql")]
#[test]
fn tutorial_of_the_prompt() {
    run("tutorials/prompt.md");
}

#[cfg(feature = "sql")]
#[test]
fn tutorial_of_bytes() {
    run("tutorials/bytes.md");
}

/// Every test that the guide to reliability names exists.
#[test]
fn the_guide_to_reliability_names_tests_that_exist() {
    fn sources(folder: &Path, all: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap().path();
            if entry.is_dir() {
                sources(&entry, all);
            } else if entry.extension().is_some_and(|end| end == "rs") {
                all.push_str(&std::fs::read_to_string(entry).unwrap());
            }
        }
    }
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut code = String::new();
    sources(&project.join("crates"), &mut code);
    let guide = std::fs::read_to_string(project.join("docs/guides/reliability.md")).unwrap();
    let is_test = |name: &&str| {
        name.matches('_').count() > 2 && name.chars().all(|c| c.is_ascii_lowercase() || c == '_')
    };
    let named: Vec<&str> = guide.split('`').skip(1).step_by(2).filter(is_test).collect();
    assert!(named.len() > 20, "{named:?}");
    for name in named {
        assert!(code.contains(&format!("fn {name}(")), "there is no test {name}");
    }
}
