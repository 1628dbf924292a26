//! Matches documents against a query with required, excluded or grouped parts.
//!
//! Document sets are sorted lists. Required parts are intersected starting with the rarest, by seeking in the
//! others, so the cost depends on the rarest part. A phrase is the intersection of its words here; only the
//! stored text shows whether they are adjacent.

use tesselle_core::{Error, Result};

use super::cursor::{END, PostingCursor};
use super::inverted::InvertedIndex;
use super::query::{Group, Node, Phrase};

/// All documents that can match `group`, ascending: exactly the matching ones if the group has no phrase.
pub(crate) fn candidates(index: &InvertedIndex, group: &Group) -> Result<Vec<u32>> {
    let mut docs = if group.must.is_empty() {
        union(index, &group.should)?
    } else {
        let mut parts: Vec<(u64, &Node)> = Vec::with_capacity(group.must.len());
        for node in &group.must {
            parts.push((estimate(index, node)?, node));
        }
        parts.sort_by_key(|(size, _)| *size);
        let mut parts = parts.into_iter();
        let mut docs = match parts.next() {
            Some((_, node)) => node_docs(index, node)?,
            None => Vec::new(),
        };
        for (_, node) in parts {
            if docs.is_empty() {
                break;
            }
            intersect(index, &mut docs, node)?;
        }
        docs
    };
    for node in &group.must_not {
        subtract(index, &mut docs, node)?;
    }
    Ok(docs)
}

/// Whether `doc` matches `group`; `phrase` answers for phrases.
pub(crate) fn accepts(
    index: &InvertedIndex,
    group: &Group,
    doc: u32,
    phrase: &mut impl FnMut(&Phrase) -> Result<bool>,
) -> Result<bool> {
    for node in &group.must {
        if !node_accepts(index, node, doc, phrase)? {
            return Ok(false);
        }
    }
    for node in &group.must_not {
        if node_accepts(index, node, doc, phrase)? {
            return Ok(false);
        }
    }
    if !group.must.is_empty() {
        return Ok(true);
    }
    for node in &group.should {
        if node_accepts(index, node, doc, phrase)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn node_accepts(
    index: &InvertedIndex,
    node: &Node,
    doc: u32,
    phrase: &mut impl FnMut(&Phrase) -> Result<bool>,
) -> Result<bool> {
    match node {
        Node::Term(term) => Ok(match postings(index, term)? {
            Some(mut cursor) => {
                cursor.seek(doc)?;
                cursor.doc() == doc
            }
            None => false,
        }),
        Node::Phrase(wanted) => phrase(wanted),
        Node::Pattern(..) => Err(unexpanded()),
        Node::Group(group) => accepts(index, group, doc, phrase),
    }
}

/// The postings of a term, standing on the first document.
fn postings(index: &InvertedIndex, term: &str) -> Result<Option<PostingCursor>> {
    let Some(entry) = index.lookup(term.as_bytes())? else { return Ok(None) };
    let mut cursor = index.cursor(entry)?;
    cursor.start();
    Ok(Some(cursor))
}

fn node_docs(index: &InvertedIndex, node: &Node) -> Result<Vec<u32>> {
    match node {
        Node::Term(term) => {
            let mut docs = Vec::new();
            if let Some(mut cursor) = postings(index, term)? {
                while cursor.doc() != END {
                    docs.push(cursor.doc());
                    cursor.next()?;
                }
            }
            Ok(docs)
        }
        Node::Phrase(phrase) => candidates(index, &all_words(phrase)),
        Node::Pattern(..) => Err(unexpanded()),
        Node::Group(group) => candidates(index, group),
    }
}

fn all_words(phrase: &Phrase) -> Group {
    Group { must: phrase.words.iter().cloned().map(Node::Term).collect(), ..Group::default() }
}

/// Patterns are replaced by the words of the index before a query runs.
fn unexpanded() -> Error {
    Error::internal("a pattern was not replaced by words")
}

/// An upper bound of how many documents match.
fn estimate(index: &InvertedIndex, node: &Node) -> Result<u64> {
    match node {
        Node::Term(term) => Ok(index.lookup(term.as_bytes())?.map_or(0, |entry| entry.df().into())),
        Node::Phrase(phrase) => estimate_group(index, &all_words(phrase)),
        Node::Pattern(..) => Err(unexpanded()),
        Node::Group(group) => estimate_group(index, group),
    }
}

fn estimate_group(index: &InvertedIndex, group: &Group) -> Result<u64> {
    let nodes = if group.must.is_empty() { &group.should } else { &group.must };
    let sizes = nodes.iter().map(|node| estimate(index, node)).collect::<Result<Vec<_>>>()?;
    Ok(if group.must.is_empty() { sizes.iter().sum() } else { sizes.into_iter().min().unwrap_or(0) })
}

fn union(index: &InvertedIndex, nodes: &[Node]) -> Result<Vec<u32>> {
    let mut docs = Vec::new();
    for node in nodes {
        docs.append(&mut node_docs(index, node)?);
    }
    if nodes.len() > 1 {
        docs.sort_unstable();
        docs.dedup();
    }
    Ok(docs)
}

fn intersect(index: &InvertedIndex, docs: &mut Vec<u32>, node: &Node) -> Result<()> {
    if let Node::Term(term) = node {
        let Some(cursor) = postings(index, term)? else {
            docs.clear();
            return Ok(());
        };
        return retain(docs, cursor, true);
    }
    let other = node_docs(index, node)?;
    docs.retain(|doc| other.binary_search(doc).is_ok());
    Ok(())
}

/// Removes the documents that `node` matches; a part with phrases, which only the text can decide, removes
/// nothing yet.
fn subtract(index: &InvertedIndex, docs: &mut Vec<u32>, node: &Node) -> Result<()> {
    match node {
        Node::Term(term) => match postings(index, term)? {
            Some(cursor) => retain(docs, cursor, false),
            None => Ok(()),
        },
        Node::Phrase(_) => Ok(()),
        Node::Pattern(..) => Err(unexpanded()),
        Node::Group(group) if group.has_phrase() => Ok(()),
        Node::Group(group) => {
            let other = candidates(index, group)?;
            docs.retain(|doc| other.binary_search(doc).is_err());
            Ok(())
        }
    }
}

/// Keeps the documents that the walk does (or does not) visit.
fn retain(docs: &mut Vec<u32>, mut cursor: PostingCursor, visited: bool) -> Result<()> {
    let mut result = Ok(());
    docs.retain(|&doc| {
        if result.is_ok() {
            result = cursor.seek(doc);
        }
        (cursor.doc() == doc) == visited
    });
    Ok(result?)
}
