//! Postings in memory, in a compact form: one byte string per term.
//!
//! A list is its first document, then the bytes `freq (delta freq)*` as varints. Positions, if they are stored, are
//! next to them: per document the first one, then the gaps.

use std::collections::HashMap;

use tesselle_codec::{Result, varint};
use tesselle_core::driver::parallel;

use super::hash::TokenHash;
use super::shard::{Found, Gathered, Shard};

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
    pub(crate) positions: Vec<u8>,
}

/// Unpacked postings of a term.
#[derive(Debug, Default)]
pub(crate) struct Unpacked {
    pub(crate) docs: Vec<u32>,
    pub(crate) freqs: Vec<u32>,
    /// Per document its first position, then the gaps; empty if positions are not stored.
    pub(crate) numbers: Vec<u32>,
}

impl Unpacked {
    pub(crate) fn clear(&mut self) {
        self.docs.clear();
        self.freqs.clear();
        self.numbers.clear();
    }
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

    fn push_positions(&mut self, positions: &[u32]) {
        let mut last = 0;
        for position in positions {
            varint::write((position - last).into(), &mut self.positions);
            last = *position;
        }
    }

    /// Bytes of the packed form.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() + self.positions.len()
    }

    /// Appends documents, frequencies and positions.
    pub(crate) fn unpack(&self, to: &mut Unpacked) -> Result<()> {
        let Unpacked { docs, freqs, numbers } = to;
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
        pos = 0;
        while pos < self.positions.len() {
            numbers.push(varint::take(&self.positions, &mut pos)? as u32);
        }
        Ok(())
    }
}

/// Parts into which the terms are divided by hash, each filled by one thread at a time.
pub(crate) const PARTS: usize = 16;

/// A term and its postings.
pub(crate) type TermList = (Box<str>, List);

/// All terms since the last spill.
#[derive(Debug)]
pub(crate) struct Accumulator {
    parts: Vec<Partition>,
    hash: TokenHash,
    /// Whether positions are stored.
    positions: bool,
}

/// The terms of one part.
#[derive(Debug, Default)]
struct Partition {
    terms: HashMap<Box<str>, List, TokenHash>,
    memory: usize,
}

impl Accumulator {
    pub(crate) fn new(positions: bool) -> Self {
        let parts = (0..PARTS).map(|_| Partition::default()).collect();
        Self { parts, hash: TokenHash::default(), positions }
    }

    /// A shard to be absorbed once it is finished.
    pub(crate) fn shard(&self) -> Shard {
        Shard::new(self.hash.clone(), self.positions)
    }

    /// Absorbs the shards of the documents that follow all earlier ones, in order. Uses all threads of the
    /// pool.
    pub(crate) fn absorb(&mut self, shards: &[Gathered]) {
        parallel::for_each(self.parts.iter_mut().enumerate(), |(number, part)| {
            for shard in shards {
                shard.part(number).for_each(|found| part.take(&found));
            }
        });
    }

    /// Approximate memory use in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.parts.iter().map(|part| part.memory).sum()
    }

    /// All terms in ascending order; the accumulator is empty afterwards. Uses all threads of the pool.
    pub(crate) fn take_sorted(&mut self) -> Vec<TermList> {
        let parts = self.parts.iter_mut().map(std::mem::take);
        let mut terms: Vec<TermList> = parts.flat_map(|part| part.terms).collect();
        parallel::sort_unstable_by(&mut terms, |a, b| a.0.cmp(&b.0));
        terms
    }
}

impl Partition {
    fn take(&mut self, found: &Found<'_>) {
        let term = found.term;
        let list = if let Some(known) = self.terms.get_mut(term) {
            known
        } else {
            self.memory += TERM_COST + term.len();
            self.terms.entry(term.into()).or_default()
        };
        let before = list.len();
        let mut positions = found.positions;
        for (doc, freq) in found.postings {
            list.push(*doc, *freq);
            let (own, rest) = positions.split_at_checked(*freq as usize).unwrap_or_default();
            debug_assert!(found.positions.is_empty() || own.len() == *freq as usize);
            list.push_positions(own);
            positions = rest;
        }
        self.memory += list.len() - before;
    }
}
