//! Statements and dot commands one after the other, from the command line, a file or a pipe.

use std::time::Instant;

use tesselle::{Error, Result};
use tesselle_sql::{Session, Statement};

use super::commands::{self, Next};
use super::output::Output;
use crate::out;

/// A part of a script.
enum Part {
    Statement(Statement),
    /// A line that begins with a dot.
    Command(String),
}

/// Runs a script. All of it is parsed before the first statement runs.
pub(super) fn run(session: &Session, text: &str, output: &mut Output) -> Result<Next> {
    let parts = parse(session, text)?;
    if parts.is_empty() {
        return Err(Error::invalid("the input has no statement").hint("try SELECT * FROM 'run.tet' LIMIT 5"));
    }
    let last = parts.iter().rposition(|part| matches!(part, Part::Statement(_)));
    for (i, part) in parts.into_iter().enumerate() {
        match part {
            Part::Command(line) => {
                if commands::run(session, output, &line)? == Next::Quit {
                    return Ok(Next::Quit);
                }
            }
            Part::Statement(statement) => {
                let started = Instant::now();
                // The number of copied rows is shown to people only.
                let is_news = matches!(statement, Statement::CopyTo(_)) && !output.is_table();
                let shown = Some(i) == last || output.holds_many() && !is_news;
                out::again_if_changed(|| {
                    output.bar.restart();
                    let answer = session.run(statement.clone())?;
                    if shown { output.write(answer, started) } else { answer.finish() }
                })?;
            }
        }
    }
    Ok(Next::Go)
}

fn parse(session: &Session, text: &str) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    let mut pending = String::new();
    let flush = |pending: &mut String, parts: &mut Vec<Part>| -> Result<()> {
        parts.extend(session.parse(&std::mem::take(pending))?.into_iter().map(Part::Statement));
        Ok(())
    };
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with('.') && is_complete(&pending) {
            flush(&mut pending, &mut parts)?;
            parts.push(Part::Command(line.trim().to_owned()));
        } else {
            pending.push_str(line);
        }
    }
    flush(&mut pending, &mut parts)?;
    Ok(parts)
}

/// Whether no statement is incomplete: there is none, or the last one ends with a semicolon outside quotes and
/// comments.
pub(super) fn is_complete(text: &str) -> bool {
    let mut chars = text.chars().peekable();
    let mut ended = true;
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                if !chars.by_ref().any(|next| next == c) {
                    return false;
                }
                ended = false;
            }
            '-' if chars.peek() == Some(&'-') => {
                chars.by_ref().find(|next| *next == '\n');
            }
            '/' if chars.peek() == Some(&'*') => {
                chars.next();
                let mut before = ' ';
                if !chars.by_ref().any(|next| std::mem::replace(&mut before, next) == '*' && next == '/') {
                    return false;
                }
            }
            ';' => ended = true,
            c if c.is_whitespace() => {}
            _ => ended = false,
        }
    }
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_ends_at_its_semicolon() {
        for (input, want) in [
            ("", true),
            ("-- only a remark", true),
            ("SELECT 1", false),
            ("SELECT 1;", true),
            ("SELECT ';'", false),
            ("SELECT 'a\nb';", true),
            ("SELECT 'open;", false),
            ("SELECT 1; SELECT", false),
            ("SELECT 1; -- and a remark", true),
            ("SELECT 1 -- not yet;", false),
            ("SELECT 1 /* not; */", false),
            ("SELECT 1; /* a * ; remark **/", true),
            ("SELECT 1; /* open ;", false),
            ("SELECT \"a;b\" FROM t;", true),
        ] {
            assert_eq!(is_complete(input), want, "{input}");
        }
    }
}
