//! The words and marks of a query, with their positions.

use tesselle_core::{Error, Result};

use super::super::analyzer;
use super::{Pattern, SearchField};

/// Maximum edit distance between a word and its matches.
const MAX_DISTANCE: u32 = 2;

/// One word or mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lexeme<'a> {
    pub(super) kind: Kind<'a>,
    /// The character it starts at, counted from 1.
    pub(super) at: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    Word(Option<SearchField>, &'a str),
    Pattern(Option<SearchField>, Pattern),
    Quoted(Option<SearchField>, &'a str),
    Open,
    Close,
    Plus,
    Minus,
    And,
    Or,
    Not,
}

/// A query that cannot be read, with the place.
pub(super) fn wrong(what: &str, at: usize) -> Error {
    Error::invalid(format!("the query cannot be read at character {at}: {what}"))
        .class("bad_query")
        .hint("quote text to search for it literally")
}

/// Cuts the text; signs count only at the start of a word.
pub(super) fn lex(text: &str) -> Result<Vec<Lexeme<'_>>> {
    let mut lexemes = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let at = text.chars().count() - rest.chars().count() + 1;
        let after = &rest[c.len_utf8()..];
        let (kind, next) = match c {
            '(' => (Some(Kind::Open), after),
            ')' => (Some(Kind::Close), after),
            '"' => {
                let (quoted, next) = quoted(after, at)?;
                (Some(Kind::Quoted(None, quoted)), next)
            }
            '+' | '-' if after.starts_with(|c: char| !c.is_whitespace() && !"+-)".contains(c)) => {
                (Some(if c == '+' { Kind::Plus } else { Kind::Minus }), after)
            }
            c if c.is_whitespace() => (None, after),
            _ => {
                let end = after.find(|c: char| c.is_whitespace() || "()\"".contains(c));
                let len = c.len_utf8() + end.unwrap_or(after.len());
                let (kind, next) = word(&rest[..len], &rest[len..], at)?;
                (Some(kind), next)
            }
        };
        lexemes.extend(kind.map(|kind| Lexeme { kind, at }));
        rest = next;
    }
    Ok(lexemes)
}

fn quoted(after: &str, at: usize) -> Result<(&str, &str)> {
    let (text, next) = after.split_once('"').ok_or_else(|| wrong("this quote is never closed", at))?;
    if next.starts_with(['~', '^', '*']) {
        return Err(wrong("a phrase takes no ~, ^ or *", at));
    }
    Ok((text, next))
}

/// A word with its field and suffix: `word`, `field:word`, `field:"a phrase"`, `word*`, `word~1`.
fn word<'a>(word: &'a str, next: &'a str, at: usize) -> Result<(Kind<'a>, &'a str)> {
    match word {
        "AND" => return Ok((Kind::And, next)),
        "OR" => return Ok((Kind::Or, next)),
        "NOT" => return Ok((Kind::Not, next)),
        _ => {}
    }
    let Some((name, value)) = field_of(word) else { return Ok((plain_or_pattern(None, word, at)?, next)) };
    let Some(field) = SearchField::by_name(name) else {
        if value.is_empty() {
            return Ok((Kind::Word(None, word), next));
        }
        let known: Vec<&str> = SearchField::ALL.into_iter().map(SearchField::name).collect();
        return Err(wrong(&format!("there is no field '{name}'; there are {}", known.join(", ")), at));
    };
    if !value.is_empty() {
        return Ok((plain_or_pattern(Some(field), value, at)?, next));
    }
    match next.strip_prefix('"') {
        Some(after) => {
            let (text, next) = quoted(after, at + name.chars().count() + 1)?;
            Ok((Kind::Quoted(Some(field), text), next))
        }
        None => Err(wrong(&format!("'{name}:' needs a word or a phrase after it"), at)),
    }
}

/// The name before a colon and what follows, where it can be that of a field: not a time, an address or a path.
fn field_of(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once(':')?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_name && !value.starts_with([':', '/', '\\'])).then_some((name, value))
}

/// `word`, `prefix*` or `word~2`.
fn plain_or_pattern(field: Option<SearchField>, word: &str, at: usize) -> Result<Kind<'_>> {
    if let Some((start, digits)) = word.rsplit_once('~')
        && digits.chars().all(|c| c.is_ascii_digit())
        && !start.is_empty()
    {
        let distance = if digits.is_empty() { Some(1) } else { digits.parse().ok() };
        let distance = distance.filter(|distance| *distance <= MAX_DISTANCE);
        let distance = distance.ok_or_else(|| wrong(&format!("~ allows 0 to {MAX_DISTANCE} edits"), at))?;
        let word = one_token(start, '~', at)?;
        return Ok(Kind::Pattern(field, Pattern::Fuzzy { word, distance }));
    }
    if let Some(start) = word.strip_suffix('*') {
        return Ok(Kind::Pattern(field, Pattern::Prefix(one_token(start, '*', at)?)));
    }
    if let Some((start, factor)) = word.rsplit_once('^')
        && !start.is_empty()
        && factor.starts_with(|c: char| c.is_ascii_digit())
    {
        return Err(wrong("words have no weights (^); fields have boosts", at));
    }
    let inner = word.find('*').and_then(|star| word.get(star + 1..));
    if inner.is_some_and(|rest| rest.starts_with(analyzer::is_token_char)) {
        return Err(wrong("* is only allowed at the end of a word", at));
    }
    Ok(Kind::Word(field, word))
}

/// The only token of a word in front of a mark.
fn one_token(word: &str, mark: char, at: usize) -> Result<String> {
    let mut tokens = analyzer::tokens(word.as_bytes());
    match (tokens.pop(), tokens.is_empty()) {
        (Some(token), true) if word.ends_with(analyzer::is_token_char) => Ok(token),
        _ => Err(wrong(&format!("{mark} needs a single word in front of it"), at)),
    }
}
