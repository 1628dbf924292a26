//! Postings in memory, in a compact form: one byte string per term.
//!
//! A list is its first document, then the bytes `freq (delta freq)*` as varints.

use std::collections::HashMap;

use tesselle_codec::{Result, varint};
use tesselle_core::driver::parallel;

use super::hash::TokenHash;
use super::shard::{Gathered, Shard};

/// Memory of a term in addition to its bytes: the slot of the map, the key, the vector.
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

/// Parts into which the terms are divided by hash, each filled by one thread at a time.
pub(crate) const PARTS: usize = 16;

/// A term and its postings.
pub(crate) type Term = (Box<str>, List);

/// All terms since the last spill.
#[derive(Debug)]
pub(crate) struct Accumulator {
    parts: Vec<Part>,
    hash: TokenHash,
}

/// The terms of one part.
#[derive(Debug, Default)]
struct Part {
    terms: HashMap<Box<str>, List, TokenHash>,
    memory: usize,
}

impl Default for Accumulator {
    fn default() -> Self {
        Self { parts: (0..PARTS).map(|_| Part::default()).collect(), hash: TokenHash::default() }
    }
}

impl Accumulator {
    /// A shard to be absorbed once it is finished.
    pub(crate) fn shard(&self) -> Shard {
        Shard::new(self.hash.clone())
    }

    /// Absorbs the shards of the documents that follow all earlier ones, in order. Uses all threads of the
    /// pool.
    pub(crate) fn absorb(&mut self, shards: &[Gathered]) {
        parallel::for_each(self.parts.iter_mut().enumerate(), |(number, part)| {
            for shard in shards {
                shard.part(number).for_each(|(term, postings)| part.take(term, postings));
            }
        });
    }

    /// Approximate memory use in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.parts.iter().map(|part| part.memory).sum()
    }

    /// All terms in ascending order; the accumulator is empty afterwards. Uses all threads of the pool.
    pub(crate) fn take_sorted(&mut self) -> Vec<Term> {
        let parts = self.parts.iter_mut().map(std::mem::take);
        let mut terms: Vec<Term> = parts.flat_map(|part| part.terms).collect();
        parallel::sort_unstable_by(&mut terms, |a, b| a.0.cmp(&b.0));
        terms
    }
}

impl Part {
    fn take(&mut self, term: &str, postings: &[(u32, u32)]) {
        let list = if let Some(known) = self.terms.get_mut(term) {
            known
        } else {
            self.memory += TERM_COST + term.len();
            self.terms.entry(term.into()).or_default()
        };
        let before = list.bytes.len();
        for (doc, freq) in postings {
            list.push(*doc, *freq);
        }
        self.memory += list.bytes.len() - before;
    }
}
