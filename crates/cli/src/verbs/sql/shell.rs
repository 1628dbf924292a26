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

/// `$XDG_STATE_HOME/tess/sql_history`, or the same below the home folder.
fn history_file() -> Option<std::path::PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(std::path::PathBuf::from);
    let home = || std::env::home_dir().map(|home| home.join(".local").join("state"));
    state.filter(|path| path.is_absolute()).or_else(home).map(|path| path.join("tess").join("sql_history"))
}

fn failed(error: ReadlineError) -> Error {
    Error::new(tesselle::ErrorKind::Io, "the shell cannot read from the terminal").source(error)
}
