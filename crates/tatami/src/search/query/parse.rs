//! The boolean syntax.
//!
//! ```text
//! list   := chain { [OR] chain }                 any of them; + and - apply to the whole list
//! chain  := unary { AND unary }                  all of them
//! unary  := [ + | - | NOT ] ( word | prefix* | word~1 | "phrase" | field:word | field:"phrase" | ( list ) )
//! ```
//!
//! A quote or parenthesis that has no partner, and an operator without something to work on, are errors with their
//! position.

use tesselle_core::{Error, Result};

use super::super::analyzer;
use super::lex::{Kind, Lexeme, lex, wrong};
use super::{Group, Node, Phrase};

/// Maximum nesting of parentheses.
const MAX_DEPTH: usize = 50;

pub(super) fn parse(text: &str) -> Result<Group> {
    let lexemes = lex(text)?;
    let mut parser = Parser { lexemes: &lexemes, at: 0 };
    let root = parser.list(0)?;
    match parser.peek() {
        Some(lexeme) => Err(wrong("this parenthesis was never opened", lexeme.at)),
        None => Ok(root),
    }
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

    fn kind(&self) -> Option<&Kind<'a>> {
        self.peek().map(|lexeme| &lexeme.kind)
    }

    /// Whether something that can be looked for begins here.
    fn is_operand(&self) -> bool {
        !matches!(self.kind(), None | Some(Kind::Close | Kind::And | Kind::Or))
    }

    /// Skips an operator, which needs an operand after it.
    fn operator(&mut self, name: &str) -> Result<()> {
        let at = self.peek().map_or(0, |lexeme| lexeme.at);
        self.at += 1;
        if self.is_operand() { Ok(()) } else { Err(wrong(&format!("{name} has nothing on its right"), at)) }
    }

    fn list(&mut self, depth: usize) -> Result<Group> {
        if depth > MAX_DEPTH {
            return Err(Error::invalid(format!("the query nests more than {MAX_DEPTH} parentheses")));
        }
        let mut group = Group::default();
        let mut first = true;
        while let Some(lexeme) = self.peek() {
            match lexeme.kind {
                Kind::Close => break,
                Kind::Or if first => return Err(wrong("OR has nothing on its left", lexeme.at)),
                Kind::And if first => return Err(wrong("AND has nothing on its left", lexeme.at)),
                Kind::Or => self.operator("OR")?,
                _ => {}
            }
            first = false;
            self.chain(&mut group, depth)?;
        }
        Ok(group)
    }

    /// One chain; a chain of one is added to the list directly, with its sign.
    fn chain(&mut self, list: &mut Group, depth: usize) -> Result<()> {
        let (sign, nodes) = self.unary(depth)?;
        if self.kind() != Some(&Kind::And) {
            put(list, sign, nodes);
            return Ok(());
        }
        let mut all = Group::default();
        put_all(&mut all, sign, nodes);
        while self.kind() == Some(&Kind::And) {
            self.operator("AND")?;
            let (sign, nodes) = self.unary(depth)?;
            put_all(&mut all, sign, nodes);
        }
        put(list, Sign::Optional, vec![Node::Group(all)]);
        Ok(())
    }

    /// The sign and its operand: several nodes if a word has several tokens.
    fn unary(&mut self, depth: usize) -> Result<(Sign, Vec<Node>)> {
        let sign = match self.kind() {
            Some(Kind::Plus) => Sign::Required,
            Some(Kind::Minus | Kind::Not) => Sign::Excluded,
            _ => Sign::Optional,
        };
        if self.kind() == Some(&Kind::Not) {
            self.operator("NOT")?;
        } else if sign != Sign::Optional {
            self.at += 1;
        }
        let Some(lexeme) = self.peek().cloned() else { return Ok((sign, Vec::new())) };
        self.at += 1;
        let nodes = match lexeme.kind {
            Kind::Word(field, word) => {
                let tokens = analyzer::tokens(word.as_bytes());
                match field {
                    None => tokens.into_iter().map(Node::Term).collect(),
                    // The tokens of one word stand next to each other.
                    Some(_) => Phrase::node(field, tokens).into_iter().collect(),
                }
            }
            Kind::Pattern(field, pattern) => vec![Node::Pattern(field, pattern)],
            Kind::Quoted(field, text) => {
                Phrase::node(field, analyzer::tokens(text.as_bytes())).into_iter().collect()
            }
            Kind::Open if self.kind() == Some(&Kind::Close) => {
                return Err(wrong("these parentheses are empty", lexeme.at));
            }
            Kind::Open => {
                let group = self.list(depth + 1)?;
                if self.kind() != Some(&Kind::Close) {
                    return Err(wrong("this parenthesis is never closed", lexeme.at));
                }
                self.at += 1;
                if group == Group::default() { Vec::new() } else { vec![Node::Group(group)] }
            }
            // A sign before a sign: take the inner one.
            Kind::Plus | Kind::Minus | Kind::Not => {
                self.at -= 1;
                if depth >= MAX_DEPTH {
                    return Err(Error::invalid("the query has too many consecutive signs"));
                }
                return self.unary(depth + 1);
            }
            Kind::And | Kind::Or | Kind::Close => {
                return Err(wrong("something to look for is missing here", lexeme.at));
            }
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
