//! The routing index: the terms of each segment of a collection (spec §24).
//!
//! Per term and shard: the number of documents with the term, and its max frequency. That is enough to weigh
//! terms over all shards, to skip shards without any word of a query, and to order the rest by their best
//! possible score. The phrase sidecar has the same for adjacent pairs of words.

mod bigram;
mod file;
mod portable;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use bigram::{BigramBuilder, BigramIndex};
use tesselle_core::{Context, Result};

use super::bm25::{contribution, idf};
use super::inverted::InvertedIndex;
use super::meta::TermEntry;
use super::segment::Segment;

/// The statistics of a term in one shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardTerm {
    /// Position of the shard in the ordered list of segments.
    pub shard: u32,
    /// Documents of the shard that contain the term.
    pub df: u64,
    /// The max frequency in one of them.
    pub max_freq: u32,
}

/// A shard that can answer a query, with its best possible score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Route {
    /// Position of the shard in the ordered list of segments.
    pub shard: u32,
    /// Upper bound of the score of any document of the shard.
    pub bound: f32,
}

/// The terms of a collection and the shards that contain them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoutingIndex {
    /// Live documents of all shards.
    docs: u64,
    /// Live documents of each.
    shard_docs: Vec<u64>,
    terms: BTreeMap<Vec<u8>, TermRoutes>,
}

/// The shards of one term.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TermRoutes {
    pub(crate) df: u64,
    /// Ascending by shard.
    pub(crate) shards: Vec<ShardTerm>,
}

impl TermRoutes {
    fn push(&mut self, shard: u32, df: u64, max_freq: u32) {
        self.df += df;
        self.shards.push(ShardTerm { shard, df, max_freq });
    }
}

impl RoutingIndex {
    /// The routing index over segments, in this order.
    pub fn of(segments: &[Segment]) -> Result<Self> {
        let mut routing = Self::default();
        for segment in segments {
            routing.add(segment.index()).in_file(segment.file().path())?;
        }
        Ok(routing)
    }

    /// Adds the next shard, from its dictionary and skip tables alone.
    pub(crate) fn add(&mut self, index: &InvertedIndex) -> Result<()> {
        let shard = self.shard_docs.len() as u32;
        let live = u64::from(index.live_count());
        self.shard_docs.push(live);
        self.docs += live;
        let mut failed = None;
        index.dictionary().for_each(|term, entry| {
            let max_freq = match entry {
                TermEntry::Singleton { freq, .. } => Ok(freq),
                TermEntry::List { list, .. } => index.table(list).map(|table| table.list_max()),
            };
            match max_freq {
                Ok(max_freq) => {
                    let routes = self.terms.entry(term.to_vec()).or_default();
                    routes.push(shard, entry.df().into(), max_freq);
                }
                Err(error) => failed = Some(error),
            }
        })?;
        failed.map_or(Ok(()), Err)
    }

    /// Live documents of all shards.
    pub fn docs(&self) -> u64 {
        self.docs
    }

    /// How many segments there are.
    pub fn shards(&self) -> usize {
        self.shard_docs.len()
    }

    /// How many terms there are.
    pub fn terms(&self) -> usize {
        self.terms.len()
    }

    /// Documents that contain `term`, summed over the shards.
    pub fn df(&self, term: &str) -> u64 {
        self.terms.get(term.as_bytes()).map_or(0, |routes| routes.df)
    }

    /// The shards that contain any of the tokens, the most promising first.
    pub fn route(&self, tokens: &[&str]) -> Vec<Route> {
        let known = tokens.iter().filter_map(|token| self.terms.get(token.as_bytes()));
        bounds(self.docs, known)
    }
}

/// Contributions at the max frequencies, summed per shard in the given order; ordered by bound, then shard.
fn bounds<'a>(docs: u64, parts: impl Iterator<Item = &'a TermRoutes>) -> Vec<Route> {
    let mut sums: BTreeMap<u32, f32> = BTreeMap::new();
    for part in parts {
        let weight = idf(docs, part.df);
        for shard in &part.shards {
            *sums.entry(shard.shard).or_default() += contribution(weight, shard.max_freq);
        }
    }
    let mut routes: Vec<Route> = sums.into_iter().map(|(shard, bound)| Route { shard, bound }).collect();
    routes.sort_by(|a, b| b.bound.total_cmp(&a.bound).then(a.shard.cmp(&b.shard)));
    routes
}
