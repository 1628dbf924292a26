//! Editing support: a statement continues until its semicolon, and Tab completes.

use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper, Result};
use tesselle_sql::Session;

use super::commands::COMMANDS;
use super::script::is_complete;

const KEYWORDS: [&str; 44] = [
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP BY",
    "ORDER BY",
    "HAVING",
    "LIMIT",
    "OFFSET",
    "JOIN",
    "LEFT JOIN",
    "ON",
    "USING",
    "AS",
    "AND",
    "OR",
    "NOT",
    "IN",
    "BETWEEN",
    "LIKE",
    "IS NULL",
    "IS NOT NULL",
    "DISTINCT",
    "UNION ALL",
    "WITH",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "CAST",
    "COUNT(*)",
    "SUM(",
    "AVG(",
    "MIN(",
    "MAX(",
    "COPY",
    "TO",
    "EXPLAIN",
    "EXPLAIN ANALYZE",
    "CREATE EXTERNAL TABLE",
    "STORED AS",
    "LOCATION",
    "OPTIONS",
    "DESCRIBE",
];

/// Completes keywords, tables, functions and file names.
pub(super) struct Assistant {
    words: Vec<String>,
    files: FilenameCompleter,
}

impl Assistant {
    pub(super) fn new(session: &Session) -> Self {
        let mut words: Vec<String> = KEYWORDS.iter().map(|word| (*word).to_owned()).collect();
        words.extend(["tess_tables('", "tess_chunks('", "tess_layout('", "search('"].map(str::to_owned));
        words.extend(session.table_names());
        Self { words, files: FilenameCompleter::new() }
    }
}

impl Helper for Assistant {}
impl Highlighter for Assistant {}

impl Hinter for Assistant {
    type Hint = String;
}

impl Validator for Assistant {
    fn validate(&self, context: &mut ValidationContext<'_>) -> Result<ValidationResult> {
        let done = context.input().trim_start().starts_with('.') || is_complete(context.input());
        Ok(if done { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(&self, line: &str, position: usize, context: &Context<'_>) -> Result<(usize, Vec<Pair>)> {
        let before = line.get(..position).unwrap_or(line);
        // Inside quotes, files are completed.
        if let Some(start) = open_quote(before) {
            let (at, pairs) =
                self.files.complete(before.get(start..).unwrap_or(""), position - start, context)?;
            return Ok((start + at, pairs));
        }
        let start =
            before.rfind(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).map_or(0, |i| i + 1);
        let word = before.get(start..).unwrap_or("").to_lowercase();
        if word.is_empty() {
            return Ok((position, Vec::new()));
        }
        let commands = COMMANDS.iter().map(|(name, ..)| *name).filter(|_| start == 0);
        let known = self.words.iter().map(String::as_str).chain(commands);
        let fitting = known.filter(|known| known.to_lowercase().starts_with(&word));
        Ok((start, fitting.map(|w| Pair { display: w.to_owned(), replacement: w.to_owned() }).collect()))
    }
}

/// The position of the last unclosed quote.
fn open_quote(text: &str) -> Option<usize> {
    let mut open = None;
    for (i, c) in text.char_indices() {
        if c == '\'' {
            open = if open.is_some() { None } else { Some(i + 1) };
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_is_completed_only_inside_quotes() {
        assert_eq!(open_quote("SELECT * FROM 'ru"), Some(15));
        assert_eq!(open_quote("SELECT * FROM 'a' WHERE x"), None);
    }
}
