//! Words that only the index knows: those with a prefix, and those a few edits away.

use tesselle_core::{Error, Result};

use super::{Group, Node, NodeRef, Phrase, Query, SearchField};

/// Maximum number of words that one pattern may match.
const MAX_WORDS: usize = 1024;

/// Which words are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// All that begin so.
    Prefix(String),
    /// All that become `word` by at most so many letters inserted, removed or replaced.
    Fuzzy {
        /// The word as it was written.
        word: String,
        /// The number of edits.
        distance: u32,
    },
}

impl Pattern {
    /// Whether `term` is meant.
    pub(crate) fn matches(&self, term: &str) -> bool {
        match self {
            Self::Prefix(prefix) => term.starts_with(prefix.as_str()),
            Self::Fuzzy { word, distance } => within(word, term, *distance as usize),
        }
    }

    /// What every term begins with; the whole dictionary is walked where that is nothing.
    pub(crate) fn start(&self) -> &str {
        match self {
            Self::Prefix(prefix) => prefix,
            Self::Fuzzy { .. } => "",
        }
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Prefix(prefix) => write!(f, "{prefix}*"),
            Self::Fuzzy { word, distance } => write!(f, "{word}~{distance}"),
        }
    }
}

impl Query {
    /// Whether it has patterns, which must be replaced before it is run.
    pub(crate) fn has_pattern(&self) -> bool {
        self.root.has_pattern()
    }

    /// The query with the words that `words` gives for each pattern, ascending, in its place: any of them.
    pub(crate) fn expand(&self, words: &mut impl FnMut(&Pattern) -> Result<Vec<String>>) -> Result<Self> {
        Ok(Self { root: self.root.expand(words)? })
    }
}

impl Group {
    fn has_pattern(&self) -> bool {
        self.must.iter().chain(&self.should).chain(&self.must_not).any(|node| match node {
            Node::Pattern(..) => true,
            Node::Group(group) => group.has_pattern(),
            Node::Term(_) | Node::Phrase(_) => false,
        })
    }

    fn expand(&self, words: &mut impl FnMut(&Pattern) -> Result<Vec<String>>) -> Result<Self> {
        let mut group = Self::default();
        for part in &self.order {
            match *part {
                NodeRef::Must(i) => {
                    if let Some(node) = self.must.get(i) {
                        group.push_must(node.expand(words)?);
                    }
                }
                // Optional words stay words: a list of nothing else is searched faster than groups.
                NodeRef::Should(i) => match self.should.get(i) {
                    Some(Node::Pattern(field, pattern)) => {
                        all(*field, pattern, words)?.into_iter().for_each(|node| group.push_should(node));
                    }
                    Some(node) => group.push_should(node.expand(words)?),
                    None => {}
                },
            }
        }
        for node in &self.must_not {
            group.must_not.push(node.expand(words)?);
        }
        Ok(group)
    }
}

impl Node {
    fn expand(&self, words: &mut impl FnMut(&Pattern) -> Result<Vec<String>>) -> Result<Self> {
        Ok(match self {
            Self::Term(_) | Self::Phrase(_) => self.clone(),
            Self::Group(group) => Self::Group(group.expand(words)?),
            Self::Pattern(field, pattern) => {
                let mut group = Group::default();
                all(*field, pattern, words)?.into_iter().for_each(|node| group.push_should(node));
                Self::Group(group)
            }
        })
    }
}

/// The words of a pattern, each in its field.
fn all(
    field: Option<SearchField>,
    pattern: &Pattern,
    words: &mut impl FnMut(&Pattern) -> Result<Vec<String>>,
) -> Result<Vec<Node>> {
    let words = words(pattern)?;
    if words.len() > MAX_WORDS {
        let what = format!("'{pattern}' matches {} words, more than {MAX_WORDS}", words.len());
        return Err(Error::limit(what).hint("write more letters of it"));
    }
    Ok(words.into_iter().filter_map(|word| Phrase::node(field, vec![word])).collect())
}

/// Whether two words are at most `most` edits apart.
fn within(a: &str, b: &str, most: usize) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > most {
        return false;
    }
    // One row of the table of distances between prefixes.
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut least = left;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (to, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let edited = (diagonal + usize::from(from != to)).min(left + 1).min(*cell + 1);
            diagonal = *cell;
            *cell = edited;
            left = edited;
            least = least.min(edited);
        }
        if least > most {
            return false;
        }
    }
    row.last().is_some_and(|distance| *distance <= most)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The distance by its definition.
    fn naive(a: &[char], b: &[char]) -> usize {
        match (a, b) {
            ([], rest) | (rest, []) => rest.len(),
            ([x, a @ ..], [y, b @ ..]) if x == y => naive(a, b),
            ([_, rest_a @ ..], [_, rest_b @ ..]) => {
                1 + naive(rest_a, b).min(naive(a, rest_b)).min(naive(rest_a, rest_b))
            }
        }
    }

    proptest! {
        #[test]
        fn edits_are_counted_by_letters(a in "[abé]{0,6}", b in "[abé]{0,6}", most in 0usize..3) {
            let (x, y): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
            prop_assert_eq!(within(&a, &b, most), naive(&x, &y) <= most);
        }
    }
}
