//! Queries.
//!
//! Plain words mean the same as in the original engine: a document matches if it contains any of them. The
//! boolean syntax is a pure extension: a query without operators is the same either way.

mod expand;
mod lex;
mod parse;
#[cfg(test)]
mod tests;

pub(crate) use expand::Pattern;
use tesselle_core::{Error, Result};

use super::analyzer;

/// The marks that need a word.
const MARKS: [char; 9] = ['+', '-', '"', '(', ')', '~', '*', '^', ':'];

const ADD_A_WORD: &str = "add at least one word to search for";

/// The syntax of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Syntax {
    /// Every word is optional; operators are ordinary characters.
    Plain,
    /// `+required -excluded "a phrase" prefix* fuzzy~1 title:word (groups)`, and the words `AND`, `OR`, `NOT` in capitals.
    #[default]
    Boolean,
}

/// A parsed query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pub(crate) root: Group,
}

/// The conditions on a document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Group {
    pub(crate) must: Vec<Node>,
    /// If nothing is required, one of these is.
    pub(crate) should: Vec<Node>,
    pub(crate) must_not: Vec<Node>,
    /// Position of each positive part in the query: contributions are summed in that order.
    pub(crate) order: Vec<NodeRef>,
}

/// A positive part of a group, in query order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeRef {
    Must(usize),
    Should(usize),
}

/// A part of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    Term(String),
    Phrase(Phrase),
    /// Words that only the index knows, in any field or in one.
    Pattern(Option<SearchField>, Pattern),
    Group(Group),
}

/// Tokens next to each other in one field: at least two, or at least one where the field is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Phrase {
    pub(crate) field: Option<SearchField>,
    pub(crate) words: Vec<String>,
}

impl Phrase {
    /// What looks for these tokens: nothing, a term or a phrase.
    fn node(field: Option<SearchField>, mut words: Vec<String>) -> Option<Node> {
        match (words.len(), field) {
            (0, _) => None,
            (1, None) => words.pop().map(Node::Term),
            _ => Some(Node::Phrase(Self { field, words })),
        }
    }
}

/// A stored field that words can be looked for in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SearchField {
    Title,
    Url,
    Body,
}

impl SearchField {
    pub(crate) const ALL: [Self; 3] = [Self::Title, Self::Url, Self::Body];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Url => "url",
            Self::Body => "body",
        }
    }

    fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name().eq_ignore_ascii_case(name))
    }
}

impl Query {
    /// Parses `text`. Text without any token is a query that matches nothing.
    pub fn parse(text: &str, syntax: Syntax) -> Result<Self> {
        let root = match syntax {
            Syntax::Plain => Group::any(analyzer::tokens(text.as_bytes())),
            Syntax::Boolean => parse::parse(text)?,
        };
        if root.order.is_empty() && !root.must_not.is_empty() {
            return Err(Error::invalid("the query only excludes words").hint(ADD_A_WORD));
        }
        // Text without marks means the same as in the original engine: no word, no hit.
        if root.order.is_empty() && syntax == Syntax::Boolean && text.contains(MARKS) {
            return Err(Error::invalid("the query has no word").hint(ADD_A_WORD));
        }
        Ok(Self { root })
    }

    /// The tokens that add to a score, in query order, repeats kept; words that only the index knows are not among them.
    pub fn tokens(&self) -> Vec<&str> {
        let mut tokens = Vec::new();
        self.root.collect_tokens(&mut tokens);
        tokens
    }

    /// Whether it consists only of optional words.
    pub(crate) fn is_disjunction(&self) -> bool {
        self.root.must.is_empty()
            && self.root.must_not.is_empty()
            && self.root.should.iter().all(|node| matches!(node, Node::Term(_)))
    }

    /// Whether stored text has to be read to decide it.
    pub(crate) fn has_phrase(&self) -> bool {
        self.root.has_phrase()
    }
}

impl Group {
    /// Documents that contain any of `tokens`.
    fn any(tokens: Vec<String>) -> Self {
        let mut group = Self::default();
        for token in tokens {
            group.push_should(Node::Term(token));
        }
        group
    }

    fn push_should(&mut self, node: Node) {
        self.order.push(NodeRef::Should(self.should.len()));
        self.should.push(node);
    }

    fn push_must(&mut self, node: Node) {
        self.order.push(NodeRef::Must(self.must.len()));
        self.must.push(node);
    }

    fn positive(&self) -> impl Iterator<Item = &Node> {
        self.order.iter().filter_map(|part| match *part {
            NodeRef::Must(i) => self.must.get(i),
            NodeRef::Should(i) => self.should.get(i),
        })
    }

    fn collect_tokens<'a>(&'a self, tokens: &mut Vec<&'a str>) {
        for node in self.positive() {
            match node {
                Node::Term(token) => tokens.push(token),
                Node::Phrase(phrase) => tokens.extend(phrase.words.iter().map(String::as_str)),
                Node::Pattern(..) => {}
                Node::Group(group) => group.collect_tokens(tokens),
            }
        }
    }

    pub(crate) fn has_phrase(&self) -> bool {
        self.must.iter().chain(&self.should).chain(&self.must_not).any(|node| match node {
            Node::Term(_) | Node::Pattern(..) => false,
            Node::Phrase(_) => true,
            Node::Group(group) => group.has_phrase(),
        })
    }
}
