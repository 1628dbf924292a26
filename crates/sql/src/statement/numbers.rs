//! Numbers as other engines write them. The parser reads `1_000` as `1 AS _000`, and `0x1F` as bytes.

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};
use tesselle::{Error, Result};

use crate::error::ours;

/// The tokens of a statement: a number and what is written together with it are one, or an error.
pub(crate) fn tokens(sql: &str) -> Result<Vec<TokenWithSpan>> {
    let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize_with_location();
    let tokens = tokens.map_err(|error| ours(ParserError::from(error).into()))?;
    let lines: Vec<&str> = sql.split('\n').collect();
    let mut out: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut tokens = tokens.into_iter().peekable();
    while let Some(mut token) = tokens.next() {
        let is_first = match &token.token {
            Token::Number(text, _) => text.starts_with(|c: char| c.is_ascii_digit()),
            // Not X'1F', which is a string of bytes.
            Token::HexStringLiteral(_) => between(&lines, token.span.start, token.span.end).starts_with('0'),
            _ => false,
        };
        let mut end = token.span.end;
        while is_first
            && let Some(next) = tokens.next_if(|next| next.span.start == end && is_part(&next.token))
        {
            end = next.span.end;
        }
        if is_first && (end != token.span.end || matches!(token.token, Token::HexStringLiteral(_))) {
            let text = between(&lines, token.span.start, end);
            let number = number(&text).ok_or_else(|| {
                Error::invalid(format!("'{text}' is not a number")).hint(
                    "separate a number from the word after it by a space; quote a name that begins with a digit",
                )
            })?;
            token.token = Token::Number(number, false);
            token.span.end = end;
        }
        out.push(token);
    }
    Ok(out)
}

/// Whether a token that follows a number without a space would change it.
fn is_part(token: &Token) -> bool {
    match token {
        Token::Word(word) => word.quote_style.is_none(),
        Token::Number(..) | Token::HexStringLiteral(_) => true,
        _ => false,
    }
}

/// The text between two places on one line.
fn between(lines: &[&str], start: Location, end: Location) -> String {
    let index = |number: u64| usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX);
    let line = lines.get(index(start.line)).copied().unwrap_or_default();
    let (first, end) = (index(start.column), index(end.column));
    line.chars().skip(first).take(end.saturating_sub(first)).collect()
}

/// The digits of a number that is written with underscores, or in another base than ten.
fn number(text: &str) -> Option<String> {
    let base = match text.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => 16,
        Some("0o") => 8,
        Some("0b") => 2,
        _ => {
            let (mantissa, exponent) = match text.split_once(['e', 'E']) {
                Some((mantissa, exponent)) => (mantissa, Some(exponent)),
                None => (text, None),
            };
            let (whole, fraction) = match mantissa.split_once('.') {
                Some((whole, fraction)) => (whole, Some(fraction)),
                None => (mantissa, None),
            };
            let mut out = digits(whole, 10)?;
            if let Some(fraction) = fraction {
                out.push('.');
                if !fraction.is_empty() {
                    out.push_str(&digits(fraction, 10)?);
                }
            }
            if let Some(exponent) = exponent {
                let (sign, exponent) = match exponent.strip_prefix('-') {
                    Some(exponent) => ("-", exponent),
                    None => ("", exponent.strip_prefix('+').unwrap_or(exponent)),
                };
                out.push('e');
                out.push_str(sign);
                out.push_str(&digits(exponent, 10)?);
            }
            return Some(out);
        }
    };
    let digits = digits(text.get(2..)?.strip_prefix('_').unwrap_or(text.get(2..)?), base)?;
    u128::from_str_radix(&digits, base).ok().map(|value| value.to_string())
}

/// The digits without the underscores between them.
fn digits(text: &str, base: u32) -> Option<String> {
    let is_group = |group: &str| !group.is_empty() && group.chars().all(|c| c.is_digit(base));
    text.split('_').all(is_group).then(|| text.replace('_', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_other_engines_read_them() {
        for (text, want) in [
            ("1_000", Some("1000")),
            ("1_000.5", Some("1000.5")),
            ("1_0.2_5e1_0", Some("10.25e10")),
            ("1e-1_0", Some("1e-10")),
            ("0x1F", Some("31")),
            ("0X_ff_ff", Some("65535")),
            ("0b101", Some("5")),
            ("0o17", Some("15")),
            ("0xFFFFFFFFFFFFFFFF", Some("18446744073709551615")),
            ("1_", None),
            ("1__0", None),
            ("1abc", None),
            ("0x", None),
            ("0xg", None),
            ("0b2", None),
            ("1.5.6", None),
            ("0x100000000000000000000000000000000", None),
        ] {
            assert_eq!(number(text).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn only_what_follows_a_number_without_a_space_belongs_to_it() {
        let strings = |sql: &str| {
            let tokens = tokens(sql).unwrap().into_iter().map(|token| token.token);
            tokens
                .filter(|token| !matches!(token, Token::Whitespace(_)))
                .map(|t| t.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(strings("SELECT 1_000, 1 _a, x1_0"), ["SELECT", "1000", ",", "1", "_a", ",", "x1_0"]);
        assert_eq!(strings("'é 1_0'\n||\n 0x1f"), ["'é 1_0'", "||", "31"]);
        assert_eq!(strings("X'1F', 1e5, 2::int"), ["X'1F'", ",", "1e5", ",", "2", "::", "int"]);
        assert_eq!(strings("\"1_0\" -- 1_0"), ["\"1_0\""]);
        assert!(tokens("SELECT 1abc").is_err());
    }
}
