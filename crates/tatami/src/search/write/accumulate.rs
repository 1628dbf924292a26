//! Postings in memory, in a compact form: a byte string per term.
//!
//! A list is its first document, then the bytes `freq (delta freq)*` as varints. Lists of consecutive document
//! ranges are joined by writing one delta between them.

use std::collections::HashMap;
use std::hash::BuildHasher;

use rayon::prelude::*;
use tesselle_codec::{Result, varint};

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

    /// Appends documents and frequencies.
    pub(crate) fn unpack(&self, docs: &mut Vec<u32>, freqs: &mut Vec<u32>) -> Result<()> {
        docs.reserve(self.count as usize);
        freqs.reserve(self.count as usize);
        let (mut pos, mut doc) = (0, self.first);
        for i in 0..self.count {
            if i > 0 {
                doc = doc.wrapping_add(varint::take(&self.bytes, &mut pos)? as u32);
            }
            docs.push(doc);
            freqs.push(varint::take(&self.bytes, &mut pos)? as u32);
        }
        Ok(())
    }
}

/// Parts that the terms are divided into by their hashes, each filled by one thread at a time.
const PARTS: usize = 16;

/// A term and its postings.
pub(crate) type Term = (Box<str>, List);

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

    /// Closes the lists and divides them as `split` says, so that parts can be absorbed side by side.
    pub(crate) fn divide(self, split: &Split) -> Vec<Vec<Term>> {
        let mut parts: Vec<Vec<Term>> = (0..PARTS).map(|_| Vec::new()).collect();
        for (term, Open { mut list, doc, freq }) in self.terms {
            list.push(doc, freq);
            if let Some(part) = parts.get_mut(split.part_of(&term)) {
                part.push((term, list));
            }
        }
        parts
    }
}

/// Which part a term belongs to. Its hash has a seed of its own: one that a map shares would send all terms of a part
/// to the same region of that map.
#[derive(Debug, Clone, Default)]
pub(crate) struct Split(TokenHash);

impl Split {
    fn part_of(&self, term: &str) -> usize {
        (self.0.hash_one(term) >> 32) as usize % PARTS
    }
}

/// All terms since the last spill.
#[derive(Debug)]
pub(crate) struct Accumulator {
    parts: Vec<Part>,
    split: Split,
}

/// The terms of one part.
#[derive(Debug, Default)]
struct Part {
    terms: HashMap<Box<str>, List, TokenHash>,
    memory: usize,
}

impl Default for Accumulator {
    fn default() -> Self {
        Self { parts: (0..PARTS).map(|_| Part::default()).collect(), split: Split::default() }
    }
}

impl Accumulator {
    /// How shards are divided before they are absorbed.
    pub(crate) fn split(&self) -> &Split {
        &self.split
    }

    /// Takes the divided shards of the documents that follow all before, in order. Uses all threads of the pool.
    pub(crate) fn absorb(&mut self, shards: Vec<Vec<Vec<Term>>>) {
        let mut by_part: Vec<Vec<Vec<Term>>> = (0..PARTS).map(|_| Vec::with_capacity(shards.len())).collect();
        for shard in shards {
            by_part.iter_mut().zip(shard).for_each(|(part, terms)| part.push(terms));
        }
        self.parts.par_iter_mut().zip(by_part).for_each(|(part, shards)| {
            shards.into_iter().flatten().for_each(|(term, list)| part.take(term, list));
        });
    }

    /// About how many bytes it holds.
    pub(crate) fn memory(&self) -> usize {
        self.parts.iter().map(|part| part.memory).sum()
    }

    /// All terms in ascending order; the accumulator is empty afterwards. Uses all threads of the pool.
    pub(crate) fn take_sorted(&mut self) -> Vec<Term> {
        let parts = self.parts.iter_mut().map(std::mem::take);
        let mut terms: Vec<Term> = parts.flat_map(|part| part.terms).collect();
        terms.par_sort_unstable_by(|a, b| a.0.cmp(&b.0));
        terms
    }
}

impl Part {
    fn take(&mut self, term: Box<str>, list: List) {
        self.memory += list.bytes.len();
        if let Some(known) = self.terms.get_mut(&term) {
            known.append(&list);
        } else {
            self.memory += TERM_COST + term.len();
            self.terms.insert(term, list);
        }
    }
}
