//! The interactive shell.

use std::time::Instant;

use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{Config, Editor};
use tesselle::{Error, Result};
use tesselle_sql::Session;

use super::commands::{self, Next};
use super::editor::Assistant;
use super::output::Output;
use super::script;
use crate::out;
use crate::words::word_in_sql;

/// Statements that are remembered.
const HISTORY: usize = 2000;

/// Reads statements and dot commands until the user quits.
pub(super) fn run(session: &Session, output: &mut Output) -> Result<()> {
    let config = Config::builder()
        .max_history_size(HISTORY)
        .map_err(failed)?
        .history_ignore_space(true)
        .auto_add_history(true)
        .build();
    let mut editor: Editor<Assistant, DefaultHistory> = Editor::with_config(config).map_err(failed)?;
    editor.set_helper(Some(Assistant::new(session)));
    let history = history_file();
    if let Some(path) = &history {
        // The file does not exist the first time.
        let _ = editor.load_history(path);
    }
    out::note(&format!(
        "tess {}: statements end with ';', .help lists commands, .quit quits",
        env!("CARGO_PKG_VERSION")
    ));
    loop {
        match editor.readline("tess> ") {
            Ok(line) => match step(session, output, &line) {
                Ok(Next::Go) => {}
                Ok(Next::Quit) => break,
                Err(error) if out::is_broken_pipe(&error) => break,
                Err(error) => out::note(&format!("error: {}", error.worded(word_in_sql))),
            },
            // Ctrl-C drops the line, Ctrl-D leaves.
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(failed(error)),
        }
    }
    if let Some(path) = &history {
        // Failing to save the history is not an error.
        let _ = std::fs::create_dir_all(path.parent().unwrap_or(path));
        let _ = editor.save_history(path);
    }
    Ok(())
}

fn step(session: &Session, output: &mut Output, line: &str) -> Result<Next> {
    let line = line.trim();
    if line.is_empty() {
        return Ok(Next::Go);
    }
    if has_more_lines_and_commands(line) {
        return script::run(session, line, output);
    }
    if line.starts_with('.') {
        return commands::run(session, output, line);
    }
    for statement in session.parse(line)? {
        let started = Instant::now();
        output.bar.restart();
        output.write(session.run(statement)?, started)?;
    }
    Ok(Next::Go)
}

/// Whether several lines were pasted, and one of them is a command.
fn has_more_lines_and_commands(text: &str) -> bool {
    text.contains('\n') && text.lines().any(|line| line.trim_start().starts_with('.'))
}

/// `$XDG_STATE_HOME/tess/sql_history`, or the same below the home folder.
fn history_file() -> Option<std::path::PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(std::path::PathBuf::from);
    let home = || std::env::home_dir().map(|home| home.join(".local").join("state"));
    state.filter(|path| path.is_absolute()).or_else(home).map(|path| path.join("tess").join("sql_history"))
}

fn failed(error: ReadlineError) -> Error {
    Error::new(tesselle::ErrorKind::Io, "the shell cannot read from the terminal").source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pasted_commands_and_statements_are_a_script() {
        for (text, want) in [
            (".mode line", false),
            (".mode line\nSELECT 1;", true),
            ("SELECT 1;\n .mode csv", true),
            ("SELECT 1,\n2;", false),
        ] {
            assert_eq!(has_more_lines_and_commands(text), want, "{text}");
        }
    }
}
