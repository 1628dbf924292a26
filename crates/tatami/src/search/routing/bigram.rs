//! The phrase sidecar: adjacent pairs of words and the shards that contain them (spec §24.3).
//!
//! `uv pairs`, per pair ascending: `str first, str second`, then df and postings as in the routing index.

use std::collections::{BTreeMap, HashMap};

use tesselle_codec::varint;
use tesselle_core::{Cursor, Result};

use super::portable::{count, read_routes, write_routes, write_string};
use super::{Route, TermRoutes, bounds};
use crate::search::analyzer;

/// Two adjacent words.
type Pair = (Vec<u8>, Vec<u8>);

/// The adjacent pairs of a collection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BigramIndex {
    pairs: BTreeMap<Pair, TermRoutes>,
}

impl BigramIndex {
    /// Reads a sidecar.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes, 0, "phrase sidecar");
        let mut pairs = BTreeMap::new();
        for _ in 0..count(&mut cursor, 4)? {
            let len = cursor.uvarint()?;
            let first = cursor.bytes_u64(len)?.to_vec();
            let len = cursor.uvarint()?;
            let second = cursor.bytes_u64(len)?.to_vec();
            pairs.insert((first, second), read_routes(&mut cursor)?);
        }
        Ok(Self { pairs })
    }

    /// Writes the sidecar.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        varint::write(self.pairs.len() as u64, &mut out);
        for ((first, second), routes) in &self.pairs {
            write_string(first, &mut out);
            write_string(second, &mut out);
            write_routes(routes, &mut out);
        }
        out
    }

    /// How many pairs there are.
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// The shards that contain any adjacent pair of the tokens, in a collection of `docs` documents.
    ///
    /// Returns `None` if a pair is not tracked, or there is none: then only the routing index can decide.
    pub fn route(&self, docs: u64, tokens: &[&str]) -> Option<Vec<Route>> {
        let pairs = tokens.windows(2).map(|pair| match pair {
            [first, second] => self.pairs.get(&(first.as_bytes().to_vec(), second.as_bytes().to_vec())),
            _ => None,
        });
        let known = pairs.collect::<Option<Vec<_>>>().filter(|known| !known.is_empty())?;
        Some(bounds(docs, known.into_iter()))
    }

    /// Drops pairs that `keep` rejects, for example those of rare words.
    pub fn retain(&mut self, mut keep: impl FnMut(&[u8], &[u8]) -> bool) {
        self.pairs.retain(|(first, second), _| keep(first, second));
    }
}

/// Counts pairs shard by shard.
#[derive(Debug, Default)]
pub struct BigramBuilder {
    index: BigramIndex,
    shard: u32,
    /// Documents and max count of the current shard.
    counts: HashMap<Pair, (u64, u32)>,
}

impl BigramBuilder {
    /// Counts a document of the current shard; pairs never span two fields.
    pub fn add<'a>(&mut self, fields: impl IntoIterator<Item = &'a [u8]>) {
        let mut pairs: HashMap<Pair, u32> = HashMap::new();
        for field in fields {
            let mut before: Option<Vec<u8>> = None;
            analyzer::tokenize(field, |token, _| {
                let token = token.as_bytes().to_vec();
                if let Some(first) = before.replace(token.clone()) {
                    *pairs.entry((first, token)).or_default() += 1;
                }
            });
        }
        for (pair, times) in pairs {
            let (df, most) = self.counts.entry(pair).or_default();
            *df += 1;
            *most = times.max(*most);
        }
    }

    /// Ends the current shard and starts the next one.
    pub fn end_shard(&mut self) {
        for (pair, (df, most)) in self.counts.drain() {
            self.index.pairs.entry(pair).or_default().push(self.shard, df, most);
        }
        self.shard += 1;
    }

    /// The pairs of all ended shards.
    pub fn finish(self) -> BigramIndex {
        self.index
    }
}
