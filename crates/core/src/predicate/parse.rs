//! The parser: the part of SQL's WHERE that applies to one table.

use crate::error::{Error, Result};
use crate::predicate::{Comparison, Predicate};
use crate::scalar::{Scalar, unhex};

/// Maximum nesting of parentheses and NOT.
const MAX_DEPTH: usize = 64;
/// Of parentheses and NOT in a string: a condition of the maximum depth prints with two of them per level.
const MAX_NESTING: usize = 4 * MAX_DEPTH;

impl std::str::FromStr for Predicate {
    type Err = Error;

    /// Parses comparisons, BETWEEN, IN, IS \[NOT\] NULL, AND, OR, NOT over `"name"`s or bare names and literals
    /// `'text'`, `X'00ff'`, numbers, TRUE, FALSE, NULL, `DATE '2025-02-10'`, `TIME '12:30:00'` and
    /// `TIMESTAMP '2025-02-10T12:30:00'`.
    ///
    /// ```
    /// use tesselle_core::Predicate;
    /// let p: Predicate = "\"time\" BETWEEN 10 AND 20 AND name IN ('a', 'b')".parse()?;
    /// assert_eq!(p.columns().into_iter().collect::<Vec<_>>(), ["name", "time"]);
    /// # Ok::<(), tesselle_core::Error>(())
    /// ```
    fn from_str(text: &str) -> Result<Self> {
        let mut parser = Parser { text, tokens: tokenize(text)?, next: 0, depth: 0 };
        let predicate = parser.or()?;
        match parser.peek() {
            Some(_) => Err(parser.expected("AND, OR or the end")),
            None if depth(&predicate) > MAX_DEPTH => Err(too_deep(MAX_DEPTH)),
            None => Ok(predicate),
        }
    }
}

/// The levels of a condition.
fn depth(predicate: &Predicate) -> usize {
    1 + match predicate {
        Predicate::And(parts) | Predicate::Or(parts) => parts.iter().map(depth).max().unwrap_or(0),
        Predicate::Not(inner) => depth(inner),
        _ => 0,
    }
}

fn too_deep(levels: usize) -> Error {
    Error::invalid(format!("condition is nested more than {levels} deep"))
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(String),
    Name(String),
    Literal(Scalar),
    Symbol(&'static str),
}

fn refuse(text: &str, at: usize, message: &str) -> Error {
    let here: String = text.get(at..).unwrap_or_default().chars().take(20).collect();
    let place = if here.is_empty() { "at the end".to_owned() } else { format!("at '{here}'") };
    Error::invalid(format!("condition cannot be parsed {place}: {message}"))
        .hint("write it as SQL, e.g. \"time\" >= 10 AND name IN ('a', 'b')")
}

fn tokenize(text: &str) -> Result<Vec<(usize, Token)>> {
    const SYMBOLS: [&str; 11] = ["<>", "!=", "<=", ">=", "==", "=", "<", ">", "(", ")", ","];
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = text.get(at..).unwrap_or_default();
        if c.is_whitespace() {
            at += c.len_utf8();
        } else if c == '"' || c == '\'' || ((c == 'x' || c == 'X') && rest.get(1..2) == Some("'")) {
            let binary = c != '"' && c != '\'';
            let (body, len) =
                quoted(rest, usize::from(binary)).ok_or_else(|| refuse(text, at, "a quote is not closed"))?;
            let token = if binary {
                let bytes = unhex(body.as_bytes())
                    .ok_or_else(|| refuse(text, at, "X'…' must contain pairs of hexadecimal digits"))?;
                Token::Literal(Scalar::Bytes(bytes))
            } else if c == '"' {
                Token::Name(body)
            } else {
                Token::Literal(Scalar::String(body))
            };
            tokens.push((at, token));
            at += len;
        } else if c.is_ascii_digit() || matches!(c, '-' | '+' | '.') {
            let len = number_len(rest);
            let number = rest.get(..len).unwrap_or_default();
            let value = number
                .parse::<i128>()
                .map(Scalar::Int)
                .or_else(|_| number.parse::<f64>().map(Scalar::Float))
                .map_err(|_| refuse(text, at, "this is not a number"))?;
            tokens.push((at, Token::Literal(value)));
            at += len;
        } else if let Some(symbol) = SYMBOLS.iter().find(|s| rest.starts_with(**s)) {
            tokens.push((at, Token::Symbol(symbol)));
            at += symbol.len();
        } else if c.is_alphabetic() || c == '_' {
            let len =
                rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.'))).unwrap_or(rest.len());
            tokens.push((at, Token::Word(rest.get(..len).unwrap_or_default().to_owned())));
            at += len;
        } else {
            return Err(refuse(text, at, "this character has no meaning here"));
        }
    }
    Ok(tokens)
}

/// The string between quotes (a doubled quote is one quote) and the consumed bytes, from a quote at `skip`.
fn quoted(rest: &str, skip: usize) -> Option<(String, usize)> {
    let mut chars = rest.char_indices().skip(skip);
    let (_, quote) = chars.next()?;
    let mut body = String::new();
    let mut chars = chars.peekable();
    while let Some((at, c)) = chars.next() {
        if c != quote {
            body.push(c);
        } else if chars.next_if(|(_, next)| *next == quote).is_some() {
            body.push(quote);
        } else {
            return Some((body, at + quote.len_utf8()));
        }
    }
    None
}

/// The bytes of `rest` that form a number: digits, one point, an exponent with its sign.
fn number_len(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut len = 0;
    while let Some(byte) = bytes.get(len) {
        let after_exponent = len > 0 && matches!(bytes.get(len - 1), Some(b'e' | b'E'));
        let part = match byte {
            b'0'..=b'9' | b'.' | b'e' | b'E' => true,
            b'+' | b'-' => len == 0 || after_exponent,
            _ => false,
        };
        if !part {
            break;
        }
        len += 1;
    }
    len.max(1)
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(usize, Token)>,
    next: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next).map(|(_, token)| token)
    }

    fn advance(&mut self) -> Option<Token> {
        let token = self.peek().cloned();
        self.next += 1;
        token
    }

    fn expected(&self, what: &str) -> Error {
        let at = self.tokens.get(self.next).map_or(self.text.len(), |(at, _)| *at);
        refuse(self.text, at, &format!("expected {what}"))
    }

    fn keyword(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(w)) if w.eq_ignore_ascii_case(word));
        self.next += usize::from(found);
        found
    }

    fn symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Symbol(s)) if *s == symbol);
        self.next += usize::from(found);
        found
    }

    fn require_symbol(&mut self, symbol: &'static str) -> Result<()> {
        if self.symbol(symbol) { Ok(()) } else { Err(self.expected(symbol)) }
    }

    fn or(&mut self) -> Result<Predicate> {
        let mut parts = vec![self.and()?];
        while self.keyword("OR") {
            parts.push(self.and()?);
        }
        Ok(if parts.len() == 1 { parts.swap_remove(0) } else { Predicate::Or(parts) })
    }

    fn and(&mut self) -> Result<Predicate> {
        let mut parts = vec![self.unary()?];
        while self.keyword("AND") {
            parts.push(self.unary()?);
        }
        Ok(if parts.len() == 1 { parts.swap_remove(0) } else { Predicate::And(parts) })
    }

    fn unary(&mut self) -> Result<Predicate> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(too_deep(MAX_NESTING));
        }
        let predicate = if self.keyword("NOT") {
            Predicate::Not(Box::new(self.unary()?))
        } else if self.symbol("(") {
            let inner = self.or()?;
            self.require_symbol(")")?;
            inner
        } else {
            self.condition()?
        };
        self.depth -= 1;
        Ok(predicate)
    }

    fn condition(&mut self) -> Result<Predicate> {
        match self.operand()? {
            Operand::Literal(Scalar::Bool(value))
                if !matches!(
                    self.peek(),
                    Some(Token::Symbol("=" | "==" | "<>" | "!=" | "<" | "<=" | ">" | ">="))
                ) =>
            {
                Ok(Predicate::Always(value))
            }
            Operand::Literal(value) => {
                let op = self.comparison().ok_or_else(|| self.expected("a comparison"))?;
                match self.operand()? {
                    Operand::Column(column) => Ok(Predicate::Compare { column, op: op.flipped(), value }),
                    Operand::Literal(_) => Err(self.expected("a column name on one side of the comparison")),
                }
            }
            Operand::Column(column) => self.on_column(column),
        }
    }

    fn on_column(&mut self, column: String) -> Result<Predicate> {
        if self.keyword("IS") {
            let negated = self.keyword("NOT");
            if !self.keyword("NULL") {
                return Err(self.expected("NULL"));
            }
            return Ok(negate_if(negated, Predicate::IsNull { column }));
        }
        let negated = self.keyword("NOT");
        if self.keyword("BETWEEN") {
            let low = self.literal()?;
            if !self.keyword("AND") {
                return Err(self.expected("AND"));
            }
            let high = self.literal()?;
            return Ok(negate_if(negated, Predicate::between(column, low, high)));
        }
        if self.keyword("IN") {
            self.require_symbol("(")?;
            let mut values = vec![self.literal()?];
            while self.symbol(",") {
                values.push(self.literal()?);
            }
            self.require_symbol(")")?;
            return Ok(negate_if(negated, Predicate::In { column, values }));
        }
        if negated {
            return Err(self.expected("BETWEEN or IN"));
        }
        match self.comparison() {
            Some(op) => Ok(Predicate::Compare { column, op, value: self.literal()? }),
            // A bare column is a Boolean condition.
            None => Ok(Predicate::Compare { column, op: Comparison::Eq, value: Scalar::Bool(true) }),
        }
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let op = match self.peek()? {
            Token::Symbol("=" | "==") => Comparison::Eq,
            Token::Symbol("<>" | "!=") => Comparison::Ne,
            Token::Symbol("<") => Comparison::Lt,
            Token::Symbol("<=") => Comparison::Le,
            Token::Symbol(">") => Comparison::Gt,
            Token::Symbol(">=") => Comparison::Ge,
            _ => return None,
        };
        self.next += 1;
        Some(op)
    }

    fn operand(&mut self) -> Result<Operand> {
        match self.peek() {
            Some(Token::Name(_)) => {}
            Some(Token::Word(word)) if !is_literal_word(word) && !self.is_time() => {}
            _ => return self.literal().map(Operand::Literal),
        }
        match self.advance() {
            Some(Token::Name(name) | Token::Word(name)) => Ok(Operand::Column(name)),
            _ => Err(self.expected("a column name")),
        }
    }

    /// Whether a date or time literal follows: a keyword and a string.
    fn is_time(&self) -> bool {
        let is_word = |word: &str| ["DATE", "TIME", "TIMESTAMP"].iter().any(|w| word.eq_ignore_ascii_case(w));
        matches!(self.peek(), Some(Token::Word(word)) if is_word(word))
            && matches!(self.tokens.get(self.next + 1), Some((_, Token::Literal(Scalar::String(_)))))
    }

    fn literal(&mut self) -> Result<Scalar> {
        if self.is_time() {
            self.next += 1;
        }
        let value = match self.peek() {
            Some(Token::Literal(value)) => value.clone(),
            Some(Token::Word(word)) if word.eq_ignore_ascii_case("TRUE") => Scalar::Bool(true),
            Some(Token::Word(word)) if word.eq_ignore_ascii_case("FALSE") => Scalar::Bool(false),
            Some(Token::Word(word)) if word.eq_ignore_ascii_case("NULL") => Scalar::Null,
            _ => return Err(self.expected("a value: a number, 'string', X'00ff', TRUE, FALSE or NULL")),
        };
        self.next += 1;
        Ok(value)
    }
}

enum Operand {
    Column(String),
    Literal(Scalar),
}

fn is_literal_word(word: &str) -> bool {
    ["TRUE", "FALSE", "NULL"].iter().any(|w| word.eq_ignore_ascii_case(w))
}

fn negate_if(negated: bool, predicate: Predicate) -> Predicate {
    if negated { Predicate::Not(Box::new(predicate)) } else { predicate }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Predicate {
        text.parse().unwrap()
    }

    #[test]
    fn precedence_is_that_of_sql() {
        let p = parse("a = 1 OR b = 2 AND NOT c = 3");
        assert_eq!(p.to_string(), "(\"a\" = 1) OR ((\"b\" = 2) AND (NOT (\"c\" = 3)))");
    }

    #[test]
    fn every_literal_is_read() {
        let p = parse(r#""a ""b""" IN (1, -2.5, 'it''s', X'00ff', TRUE, 1e3)"#);
        assert_eq!(p.to_string(), r#""a ""b""" IN (1, -2.5, 'it''s', X'00ff', TRUE, 1000.0)"#);
        assert_eq!(parse("18446744073709551615 >= u").to_string(), "\"u\" <= 18446744073709551615");
        assert_eq!(parse("x NOT BETWEEN 1 AND 2").to_string(), "NOT ((\"x\" >= 1) AND (\"x\" <= 2))");
        assert_eq!(parse("x < 1e1110 AND x > -1e400").to_string(), "(\"x\" < 1e999) AND (\"x\" > -1e999)");
        assert_eq!(parse("x IS NOT NULL").to_string(), "NOT (\"x\" IS NULL)");
        assert_eq!(parse("flag AND TRUE").to_string(), "(\"flag\" = TRUE) AND (TRUE)");
    }

    #[test]
    fn the_deepest_condition_prints_as_one_that_parses() {
        let deepest = "NOT ".repeat(MAX_DEPTH - 1) + "a";
        let predicate: Predicate = deepest.parse().unwrap();
        assert_eq!(predicate.to_string().parse::<Predicate>().unwrap(), predicate);
    }

    #[test]
    fn an_invalid_condition_is_refused_with_its_position() {
        for bad in [
            "",
            "a =",
            "a = 1 b",
            "a IN ()",
            "a BETWEEN 1",
            "'x",
            "1 = 2",
            "a # 1",
            "X'0'",
            "(a = 1",
            "a IS 1",
        ] {
            let error = bad.parse::<Predicate>().unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Invalid, "{bad}");
        }
        let deep = "(".repeat(10_000) + "a";
        assert!(deep.parse::<Predicate>().is_err());
        assert!(("NOT ".repeat(MAX_DEPTH) + "a").parse::<Predicate>().is_err());
    }

    #[test]
    fn printed_conditions_parse_back() {
        let p = parse("(a < 1.5 OR NOT b IN ('x')) AND c IS NULL");
        assert_eq!(parse(&p.to_string()), p);
    }
}
