//! The terms of some consecutive documents, collected by one thread.
//!
//! Nothing is allocated per term or posting: the bytes of all terms are in one arena, postings in one list in
//! order of appearance, which is document order. They are grouped by term when the shard is done.

use std::hash::{BuildHasher, Hasher};

use tesselle_core::Within;

use super::hash::TokenHash;
use crate::search::analyzer;
use crate::search::meta::positions::TOKEN_BITS;

/// A term: the end of its bytes in the arena (they start at the end of those of the previous term), and its
/// last posting.
#[derive(Debug, Clone, Copy)]
struct ShardEntry {
    hash: u64,
    end: usize,
    /// Index of its last document in the list of postings.
    last: usize,
    postings: u32,
}

#[derive(Debug, Clone, Copy)]
struct Posting {
    term: u32,
    doc: u32,
    freq: u32,
}

/// Terms and postings of consecutive documents.
#[derive(Debug)]
pub(crate) struct Shard {
    hash: TokenHash,
    /// Indexes of terms by the low bits of their hashes; [`FREE`] if unused. At most half full.
    slots: Vec<u32>,
    terms: Vec<ShardEntry>,
    arena: Vec<u8>,
    postings: Vec<Posting>,
    /// The posting and the position of every token; `None` if positions are not stored.
    tokens: Option<Vec<(u32, u32)>>,
}

const FREE: u32 = u32::MAX;
const FIRST_SLOTS: usize = 1 << 12;

impl Shard {
    /// An empty shard; shards that are absorbed together share their hash.
    pub(crate) fn new(hash: TokenHash, positions: bool) -> Self {
        Self {
            hash,
            slots: vec![FREE; FIRST_SLOTS],
            terms: Vec::new(),
            arena: Vec::new(),
            postings: Vec::new(),
            tokens: positions.then(Vec::new),
        }
    }

    /// Counts the tokens of one field of `doc`; documents arrive in ascending order. Returns the number of
    /// tokens.
    pub(crate) fn add(&mut self, doc: u32, field: u32, text: &[u8]) -> usize {
        let mut count = 0;
        analyzer::tokenize(text, |token, _| {
            self.count(doc, field << TOKEN_BITS | count as u32, token.as_bytes());
            count += 1;
        });
        count
    }

    fn count(&mut self, doc: u32, position: u32, token: &[u8]) {
        let mut hasher = self.hash.build_hasher();
        hasher.write(token);
        let number = self.term(hasher.finish(), token);
        let Some(term) = self.terms.get_mut(number as usize) else { return };
        match self.postings.get_mut(term.last) {
            Some(posting) if posting.term == number && posting.doc == doc => {
                posting.freq = posting.freq.saturating_add(1);
            }
            _ => {
                term.last = self.postings.len();
                term.postings += 1;
                self.postings.push(Posting { term: number, doc, freq: 1 });
            }
        }
        if let Some(tokens) = &mut self.tokens {
            tokens.push((term.last as u32, position));
        }
    }

    /// The index of a term, a new one if it is new.
    #[inline]
    fn term(&mut self, hash: u64, token: &[u8]) -> u32 {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let number = self.slots.get(at).copied().unwrap_or(FREE);
            if number == FREE {
                return self.new_term(hash, token, at);
            }
            if self.terms.get(number as usize).is_some_and(|term| term.hash == hash)
                && self.bytes(number as usize) == token
            {
                return number;
            }
            at = (at + 1) & mask;
        }
    }

    fn new_term(&mut self, hash: u64, token: &[u8], at: usize) -> u32 {
        let number = self.terms.len() as u32;
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = number;
        }
        self.arena.extend_from_slice(token);
        self.terms.push(ShardEntry { hash, end: self.arena.len(), last: usize::MAX, postings: 0 });
        if self.terms.len() * 2 > self.slots.len() {
            self.grow();
        }
        number
    }

    fn grow(&mut self) {
        let mask = self.slots.len() * 2 - 1;
        let mut slots = vec![FREE; mask + 1];
        for (number, term) in self.terms.iter().enumerate() {
            let mut at = term.hash as usize & mask;
            while slots.get(at).is_some_and(|slot| *slot != FREE) {
                at = (at + 1) & mask;
            }
            if let Some(slot) = slots.get_mut(at) {
                *slot = number as u32;
            }
        }
        self.slots = slots;
    }

    fn bytes(&self, number: usize) -> &[u8] {
        let start =
            number.checked_sub(1).and_then(|before| self.terms.get(before)).map_or(0, |term| term.end);
        let end = self.terms.get(number).map_or(start, |term| term.end);
        self.arena.within(start..end)
    }

    /// Groups the postings by term, and the terms by part.
    pub(crate) fn finish(self, parts: usize) -> Gathered {
        let mut starts = Vec::with_capacity(self.terms.len() + 1);
        let mut total = 0;
        starts.push(0);
        starts.extend(self.terms.iter().map(|term| {
            total += term.postings as usize;
            total
        }));
        let mut next = starts.clone();
        let mut postings = vec![(0, 0); self.postings.len()];
        let mut places = Vec::with_capacity(if self.tokens.is_some() { self.postings.len() } else { 0 });
        for posting in &self.postings {
            let Some(at) = next.get_mut(posting.term as usize) else { continue };
            if let Some(slot) = postings.get_mut(*at) {
                *slot = (posting.doc, posting.freq);
            }
            if self.tokens.is_some() {
                places.push(*at);
            }
            *at += 1;
        }
        let positions = self.tokens.as_ref().map(|tokens| grouped(tokens, &places, &postings));
        let mut by_part: Vec<Vec<u32>> = vec![Vec::with_capacity(self.terms.len() / parts * 5 / 4); parts];
        for (number, term) in self.terms.iter().enumerate() {
            // The low bits select the slot, so the high ones select the part.
            if let Some(part) = by_part.get_mut((term.hash >> 40) as usize % parts) {
                part.push(number as u32);
            }
        }
        Gathered {
            shard: Self { slots: Vec::new(), postings: Vec::new(), tokens: None, ..self },
            starts,
            postings,
            positions,
            by_part,
        }
    }
}

/// A finished shard.
#[derive(Debug)]
pub(crate) struct Gathered {
    shard: Shard,
    /// Start of the postings of each term, and one past the last.
    starts: Vec<usize>,
    /// Documents and frequencies.
    postings: Vec<(u32, u32)>,
    positions: Option<Grouped>,
    by_part: Vec<Vec<u32>>,
}

/// Positions by posting.
#[derive(Debug)]
struct Grouped {
    /// Where those of each posting start, and one past the last.
    starts: Vec<usize>,
    positions: Vec<u32>,
}

/// Groups the positions of tokens, each with the number of its posting, by the places of the postings.
fn grouped(tokens: &[(u32, u32)], places: &[usize], postings: &[(u32, u32)]) -> Grouped {
    let mut total = 0;
    let mut starts = vec![0];
    starts.extend(postings.iter().map(|(_, freq)| {
        total += *freq as usize;
        total
    }));
    let mut next = starts.clone();
    let mut positions = vec![0; tokens.len()];
    for (posting, position) in tokens {
        let Some(at) = places.get(*posting as usize).and_then(|place| next.get_mut(*place)) else { continue };
        if let Some(slot) = positions.get_mut(*at) {
            *slot = *position;
        }
        *at += 1;
    }
    Grouped { starts, positions }
}

/// A term of a shard.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    pub(crate) term: &'a str,
    /// Documents, ascending, and frequencies.
    pub(crate) postings: &'a [(u32, u32)],
    /// The positions in all of them, ascending in each document; empty if positions are not stored.
    pub(crate) positions: &'a [u32],
}

impl Gathered {
    /// The terms of one part.
    pub(crate) fn part(&self, part: usize) -> impl Iterator<Item = Found<'_>> {
        self.by_part.get(part).into_iter().flatten().map(|number| {
            let number = *number as usize;
            // Tokens are valid UTF-8, and nothing else is in the arena.
            let term = std::str::from_utf8(self.shard.bytes(number)).unwrap_or_default();
            let (start, end) = (self.starts.value(number), self.starts.value(number + 1));
            let postings = self.postings.within(start..end);
            let positions = self.positions.as_ref().map(|grouped| {
                grouped.positions.within(grouped.starts.value(start)..grouped.starts.value(end))
            });
            Found { term, postings, positions: positions.unwrap_or_default() }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postings_are_grouped_by_term_for_any_number_of_parts() {
        for parts in [1, 3, 16] {
            let mut shard = Shard::new(TokenHash::default(), true);
            for doc in 0..500u32 {
                let text = format!("all w{} w{} w{} all", doc % 7, doc % 7, doc % 3000);
                assert_eq!(shard.add(doc, 0, text.as_bytes()), 5);
            }
            assert_eq!(shard.add(499, 1, b"late all"), 2);
            let gathered = shard.finish(parts);
            let terms: Vec<Found<'_>> = (0..parts).flat_map(|part| gathered.part(part)).collect();
            assert_eq!(terms.len(), 502);
            let found = |name: &str| terms.iter().find(|found| found.term == name).unwrap();
            let find = |name: &str| found(name).postings;
            assert_eq!(find("all").len(), 500);
            assert_eq!((find("all")[0], find("all")[499]), ((0, 2), (499, 3)));
            assert_eq!(find("w3")[..2], [(3, 3), (10, 2)]);
            assert_eq!(find("w123"), [(123, 1)]);
            assert_eq!(find("late"), [(499, 1)]);
            assert_eq!(found("all").positions[..4], [0, 4, 0, 4]);
            assert_eq!(found("all").positions[998..], [0, 4, 1 << TOKEN_BITS | 1]);
            assert_eq!(
                (found("w3").positions.len(), &found("w3").positions[..5]),
                (143, &[1, 2, 3, 1, 2][..])
            );
        }
    }
}
