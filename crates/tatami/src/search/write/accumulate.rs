//! Postings in memory, in a compact form: a byte string per term.
//!
//! A list is its first document, then the bytes `freq (delta freq)*` as varints. Lists of consecutive document
//! ranges are joined by writing one delta between them.

use std::collections::HashMap;

use tesselle_codec::varint;

use super::hash::TokenHash;
use crate::search::analyzer;

/// Memory of a term besides its bytes: the slot of the map, the key, the vector.
const TERM_COST: usize = 96;

/// The postings of one term over a range of documents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) count: u32,
    /// `freq (delta freq)*`
    pub(crate) bytes: Vec<u8>,
}

impl List {
    fn push(&mut self, doc: u32, freq: u32) {
        if self.count == 0 {
            self.first = doc;
        } else {
            varint::write((doc - self.last).into(), &mut self.bytes);
        }
        varint::write(freq.into(), &mut self.bytes);
        self.last = doc;
        self.count += 1;
    }

    /// Appends a list whose documents all come later.
    fn append(&mut self, other: &Self) {
        varint::write((other.first - self.last).into(), &mut self.bytes);
        self.bytes.extend_from_slice(&other.bytes);
        self.last = other.last;
        self.count += other.count;
    }
}

/// The terms of some consecutive documents, made by one thread.
#[derive(Debug, Default)]
pub(crate) struct Shard {
    terms: HashMap<Box<str>, Open, TokenHash>,
}

/// A list whose last document may still be counting.
#[derive(Debug, Default)]
struct Open {
    list: List,
    doc: u32,
    freq: u32,
}

impl Shard {
    /// Counts the tokens of one field of `doc`; documents come in ascending order. Gives the number of tokens.
    pub(crate) fn add(&mut self, doc: u32, text: &[u8]) -> usize {
        let mut count = 0;
        analyzer::tokenize(text, |token, _| {
            count += 1;
            if let Some(open) = self.terms.get_mut(token) {
                if open.doc == doc {
                    open.freq = open.freq.saturating_add(1);
                } else {
                    open.list.push(open.doc, open.freq);
                    (open.doc, open.freq) = (doc, 1);
                }
            } else {
                self.terms.insert(token.into(), Open { list: List::default(), doc, freq: 1 });
            }
        });
        count
    }
}

/// All terms since the last spill.
#[derive(Debug, Default)]
pub(crate) struct Accumulator {
    terms: HashMap<Box<str>, List, TokenHash>,
    memory: usize,
}

impl Accumulator {
    /// Takes the terms of the documents that follow all before.
    pub(crate) fn absorb(&mut self, shard: Shard) {
        for (term, open) in shard.terms {
            let Open { mut list, doc, freq } = open;
            list.push(doc, freq);
            self.memory += list.bytes.len();
            if let Some(known) = self.terms.get_mut(&term) {
                known.append(&list);
            } else {
                self.memory += TERM_COST + term.len();
                self.terms.insert(term, list);
            }
        }
    }

    /// About how many bytes it holds.
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }

    /// All terms in ascending order; the accumulator is empty afterwards.
    pub(crate) fn take_sorted(&mut self) -> Vec<(Box<str>, List)> {
        let mut terms: Vec<(Box<str>, List)> = std::mem::take(&mut self.terms).into_iter().collect();
        terms.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        self.memory = 0;
        terms
    }
}
