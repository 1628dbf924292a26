//! Commands that begin with a dot.

use std::fmt::Write as _;
use std::time::Instant;

use tesselle::{Error, Result};
use tesselle_sql::Session;

use super::output::Output;
use super::script;
use crate::forms::Form;
use crate::out;

/// What to do after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Go,
    Quit,
}

/// The commands with their arguments and effects.
pub(super) const COMMANDS: [(&str, &str, &str); 8] = [
    (".tables", "[FILE]", "the registered tables, or those inside a file"),
    (".schema", "TABLE|FILE", "the columns of a table"),
    (".mode", "box|line|markdown|csv|jsonl|json", "the form of answers"),
    (".read", "FILE", "run the statements of a file"),
    (".rows", "N", "how many rows a table shows"),
    (".timer", "on|off", "whether the time is shown"),
    (".help", "", "this list"),
    (".quit", "", "quit, like Ctrl-D"),
];

/// Runs one command.
pub(super) fn run(session: &Session, output: &mut Output, line: &str) -> Result<Next> {
    let line = line.trim_end_matches(';').trim();
    let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    match command {
        ".quit" | ".exit" | ".q" => return Ok(Next::Quit),
        ".help" => out::print(&help())?,
        ".tables" => tables(session, output, rest)?,
        ".schema" => schema(session, output, rest)?,
        ".mode" => output.form = Some(mode(rest)?),
        ".read" => return read(session, output, rest),
        ".rows" => {
            output.rows =
                rest.parse().map_err(|_| Error::invalid(format!("'{rest}' is not a number of rows")))?;
        }
        ".timer" => {
            output.timer = match rest {
                "on" => true,
                "off" => false,
                other => return Err(Error::invalid(format!("'{other}' is neither on nor off"))),
            };
        }
        other => return Err(Error::unknown_name("command", other, COMMANDS.iter().map(|(name, ..)| *name))),
    }
    Ok(Next::Go)
}

fn help() -> String {
    let mut text = String::new();
    for (name, rest, what) in COMMANDS {
        let _ = writeln!(text, "  {:<38} {what}", format!("{name} {rest}"));
    }
    text.push_str(
        "\nStatements end with a semicolon and may span lines. Ctrl-C stops the running statement.\n",
    );
    text
}

fn mode(name: &str) -> Result<Form> {
    // A table of boxes goes by that name too.
    let name = if name.eq_ignore_ascii_case("box") { Form::Table.name() } else { name };
    Form::lines()
        .into_iter()
        .find(|form| form.name().eq_ignore_ascii_case(name))
        .ok_or_else(|| Error::unknown_name("mode", name, Form::lines().into_iter().map(Form::name)))
}

fn read(session: &Session, output: &mut Output, file: &str) -> Result<Next> {
    let file = file.trim_matches('\'');
    script::run(session, &out::read_text(file)?, output)
}

fn tables(session: &Session, output: &Output, file: &str) -> Result<()> {
    if file.is_empty() {
        let names = session.table_names();
        if names.is_empty() {
            out::note("no tables are registered; quote file names: SELECT * FROM 'run.tet'");
        }
        return names.iter().try_for_each(|name| out::print(&format!("{name}\n")));
    }
    let sql = format!(
        "SELECT table_name, max(rows) AS rows, count(*) AS columns FROM tess_tables({}) GROUP BY 1 ORDER BY 1",
        text_literal(file.trim_matches('\''))
    );
    let started = Instant::now();
    output.write(session.query(&sql)?, started)
}

fn schema(session: &Session, output: &Output, name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(
            Error::invalid(".schema needs a table or a file").hint("use .schema TABLE or .schema FILE")
        );
    }
    let quoted = match name {
        name if name.starts_with(['\'', '"']) => name.to_owned(),
        name if session.table_names().iter().any(|known| known == name) => {
            format!("\"{}\"", name.replace('"', "\"\""))
        }
        name => text_literal(name),
    };
    let started = Instant::now();
    output.write(session.query(&format!("DESCRIBE {quoted}"))?, started)
}

fn text_literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_and_unknown_commands_are_distinguished() {
        assert_eq!(mode("CSV").unwrap().name(), "csv");
        assert_eq!(mode("box").unwrap().name(), "table");
        assert_eq!(mode("line").unwrap().name(), "line");
        assert!(mode("parquet").is_err());
        assert!(help().contains(".timer on|off") && help().contains(".mode box|line"));
    }
}
