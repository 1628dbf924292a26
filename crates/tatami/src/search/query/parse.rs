//! The boolean syntax.
//!
//! ```text
//! list   := chain { [OR] chain }                 any of them; + and - apply to the whole list
//! chain  := unary { AND unary }                  all of them
//! unary  := [ + | - | NOT ] ( word | "phrase" | ( list ) )
//! ```
//!
//! Incomplete queries are accepted: an unclosed quote or parenthesis ends with the text, and an operator
//! without an operand is an ordinary word.

use tesselle_core::{Error, Result};

use super::super::analyzer;
use super::{Group, Node};

/// Maximum nesting of parentheses.
const MAX_DEPTH: usize = 50;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Lexeme<'a> {
    Word(&'a str),
    Quoted(&'a str),
    Open,
    Close,
    Plus,
    Minus,
}

pub(super) fn parse(text: &str) -> Result<Group> {
    let lexemes = lex(text);
    let mut parser = Parser { lexemes: &lexemes, at: 0 };
    let mut root = parser.list(0)?;
    // An unmatched closing parenthesis separates words.
    while parser.at < lexemes.len() {
        parser.at += 1;
        let rest = parser.list(0)?;
        absorb(&mut root, rest);
    }
    Ok(root)
}

/// Splits the text into lexemes; signs count only at the start of a word.
fn lex(text: &str) -> Vec<Lexeme<'_>> {
    let mut lexemes = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let (lexeme, next) = match c {
            '(' => (Some(Lexeme::Open), after),
            ')' => (Some(Lexeme::Close), after),
            '"' => {
                let end = after.find('"').unwrap_or(after.len());
                (Some(Lexeme::Quoted(&after[..end])), after.get(end + 1..).unwrap_or(""))
            }
            '+' | '-' if after.starts_with(|c: char| !c.is_whitespace() && !"+-)".contains(c)) => {
                (Some(if c == '+' { Lexeme::Plus } else { Lexeme::Minus }), after)
            }
            c if c.is_whitespace() => (None, after),
            _ => {
                let end = after.find(|c: char| c.is_whitespace() || "()\"".contains(c));
                let len = c.len_utf8() + end.unwrap_or(after.len());
                (Some(Lexeme::Word(&rest[..len])), &rest[len..])
            }
        };
        lexemes.extend(lexeme);
        rest = next;
    }
    lexemes
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Required,
    Excluded,
    Optional,
}

struct Parser<'a> {
    lexemes: &'a [Lexeme<'a>],
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&Lexeme<'a>> {
        self.lexemes.get(self.at)
    }

    /// Whether the lexeme at `at` starts an operand.
    fn is_operand(&self, at: usize) -> bool {
        match self.lexemes.get(at) {
            Some(Lexeme::Word(word)) => *word != "AND" && *word != "OR",
            Some(Lexeme::Close) | None => false,
            Some(_) => true,
        }
    }

    /// Whether the operator `word` is here, followed by an operand.
    fn operator(&self, word: &str) -> bool {
        self.peek() == Some(&Lexeme::Word(word)) && self.is_operand(self.at + 1)
    }

    fn list(&mut self, depth: usize) -> Result<Group> {
        if depth > MAX_DEPTH {
            return Err(Error::invalid(format!("the query nests more than {MAX_DEPTH} parentheses")));
        }
        let mut group = Group::default();
        let mut first = true;
        while let Some(lexeme) = self.peek() {
            if *lexeme == Lexeme::Close {
                break;
            }
            if !first && self.operator("OR") {
                self.at += 1;
            }
            first = false;
            self.chain(&mut group, depth)?;
        }
        Ok(group)
    }

    /// One chain; a chain of one is added to the list directly, with its sign.
    fn chain(&mut self, list: &mut Group, depth: usize) -> Result<()> {
        let (sign, nodes) = self.unary(depth)?;
        if !self.operator("AND") {
            put(list, sign, nodes);
            return Ok(());
        }
        let mut all = Group::default();
        put_all(&mut all, sign, nodes);
        while self.operator("AND") {
            self.at += 1;
            let (sign, nodes) = self.unary(depth)?;
            put_all(&mut all, sign, nodes);
        }
        put(list, Sign::Optional, vec![Node::Group(all)]);
        Ok(())
    }

    /// The sign and its operand: several nodes if a word has several tokens.
    fn unary(&mut self, depth: usize) -> Result<(Sign, Vec<Node>)> {
        let sign = match self.peek() {
            Some(Lexeme::Plus) => Sign::Required,
            Some(Lexeme::Minus) => Sign::Excluded,
            Some(Lexeme::Word("NOT")) if self.is_operand(self.at + 1) => Sign::Excluded,
            _ => Sign::Optional,
        };
        if sign != Sign::Optional {
            self.at += 1;
        }
        let lexeme = self.peek().cloned();
        self.at += 1;
        let nodes = match lexeme {
            Some(Lexeme::Word(word)) => {
                analyzer::tokens(word.as_bytes()).into_iter().map(Node::Term).collect()
            }
            Some(Lexeme::Quoted(text)) => {
                let mut words = analyzer::tokens(text.as_bytes());
                match (words.len(), words.pop()) {
                    (0, _) | (_, None) => Vec::new(),
                    (1, Some(word)) => vec![Node::Term(word)],
                    (_, Some(last)) => {
                        words.push(last);
                        vec![Node::Phrase(words)]
                    }
                }
            }
            Some(Lexeme::Open) => {
                let group = self.list(depth + 1)?;
                self.at += usize::from(self.peek() == Some(&Lexeme::Close));
                if group == Group::default() { Vec::new() } else { vec![Node::Group(group)] }
            }
            // A sign before a sign: use the inner one.
            Some(Lexeme::Plus | Lexeme::Minus) => {
                self.at -= 1;
                if depth >= MAX_DEPTH {
                    return Err(Error::invalid("the query has too many consecutive signs"));
                }
                return self.unary(depth + 1);
            }
            Some(Lexeme::Close) | None => Vec::new(),
        };
        Ok((sign, nodes))
    }
}

/// Several tokens of one word belong together: all are required, or excluded only if all occur.
fn put(list: &mut Group, sign: Sign, mut nodes: Vec<Node>) {
    // A group of only exclusions matches nothing itself: it restricts the enclosing list.
    if let [Node::Group(group)] = nodes.as_mut_slice()
        && group.order.is_empty()
    {
        if sign != Sign::Excluded {
            list.must_not.append(&mut group.must_not);
        }
        return;
    }
    match sign {
        Sign::Optional => nodes.into_iter().for_each(|node| list.push_should(node)),
        Sign::Required => nodes.into_iter().for_each(|node| list.push_must(node)),
        Sign::Excluded => match nodes.len() {
            0 => {}
            1 => list.must_not.append(&mut nodes),
            _ => {
                let mut all = Group::default();
                for node in nodes {
                    all.push_must(node);
                }
                list.must_not.push(Node::Group(all));
            }
        },
    }
}

/// In a chain of AND everything without a sign is required.
fn put_all(chain: &mut Group, sign: Sign, nodes: Vec<Node>) {
    let sign = if sign == Sign::Optional { Sign::Required } else { sign };
    put(chain, sign, nodes);
}

fn absorb(root: &mut Group, rest: Group) {
    let Group { must, should, must_not, order } = rest;
    let (musts, shoulds) = (root.must.len(), root.should.len());
    root.must.extend(must);
    root.should.extend(should);
    root.must_not.extend(must_not);
    root.order.extend(order.into_iter().map(|part| match part {
        super::Part::Must(i) => super::Part::Must(i + musts),
        super::Part::Should(i) => super::Part::Should(i + shoulds),
    }));
}
