//! The inverted index of one segment, ready for queries.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tesselle_codec::Error as Damage;
use tesselle_core::{Error, Result};

use super::cursor::PostingCursor;
use super::meta::{
    Dictionary, DictionaryKind, LiveDocs, Positions, Postings, RunSource, SkipTable, Skips, TermEntry,
};

const WHAT: &str = "inverted index";

/// The class of damage to the positions, without which a segment can be searched.
pub(crate) const BAD_POSITIONS: &str = "bad_positions";

/// The stored runs of a segment.
#[derive(Debug, Clone)]
pub(crate) struct Runs {
    pub(crate) kind: DictionaryKind,
    pub(crate) terms: RunSource,
    pub(crate) postings: RunSource,
    pub(crate) skips: RunSource,
    /// `None`: positions are not stored.
    pub(crate) positions: Option<RunSource>,
    /// `None`: every document is live.
    pub(crate) live: Option<Bytes>,
}

/// Terms, posting lists and live documents.
#[derive(Debug)]
pub(crate) struct InvertedIndex {
    docs: u32,
    dictionary: Dictionary,
    postings: Postings,
    skips: Skips,
    positions: Option<Positions>,
    live: Option<LiveDocs>,
    /// Cache of recent lookups: a query looks up each of its terms more than once, and terms recur between
    /// queries.
    known: Mutex<KnownTerms>,
    /// The lists that were walked lately.
    lists: Mutex<Lists>,
    /// Whether payloads are slices of a run in memory, which take no memory of their own.
    payloads_held: bool,
}

/// The numbers and entries of terms, `None` for terms that are not in the dictionary.
type KnownTerms = HashMap<Box<[u8]>, Option<(u64, TermEntry)>>;

/// Skip tables and payloads.
#[derive(Debug, Default)]
struct Lists {
    by_number: HashMap<u32, (Arc<SkipTable>, Bytes)>,
    bytes: usize,
}

/// Maximum bytes of cached lists, and the bytes that a block of a skip table and a list take.
const LISTS_BYTES: usize = 64 << 20;
const BLOCK_BYTES: usize = 17;
const LIST_BYTES: usize = 136;

/// Maximum number of cached terms.
const KNOWN: usize = 4096;

impl InvertedIndex {
    /// Parses the dictionary and locates all lists; blocks are decoded on demand.
    pub(crate) fn parse(runs: Runs, docs: u32) -> Result<Self> {
        let payloads_held = runs.postings.is_held();
        let dictionary = Dictionary::parse(runs.kind, runs.terms)?;
        let postings = Postings::parse(runs.postings)?;
        let skips = Skips::parse(runs.skips)?;
        if postings.len() != skips.len() {
            let why = format!("{} posting lists, {} skip tables", postings.len(), skips.len());
            return Err(Damage::corrupt(WHAT, why).into());
        }
        let positions = runs.positions.map(|run| positions(run, dictionary.len())).transpose()?;
        let live = runs.live.map(|run| LiveDocs::parse(&run, docs)).transpose()?;
        Ok(Self {
            docs,
            dictionary,
            postings,
            skips,
            positions,
            live,
            known: Mutex::default(),
            lists: Mutex::default(),
            payloads_held,
        })
    }

    /// Number of documents, including deleted ones.
    pub(crate) fn docs(&self) -> u32 {
        self.docs
    }

    pub(crate) fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// Number of posting lists; terms of one document have none.
    pub(crate) fn lists(&self) -> usize {
        self.postings.len()
    }

    /// The live documents; `None`: all.
    pub(crate) fn live(&self) -> Option<&LiveDocs> {
        self.live.as_ref()
    }

    pub(crate) fn live_count(&self) -> u32 {
        self.live.as_ref().map_or(self.docs, LiveDocs::count)
    }

    /// The positions of the terms, if they are stored.
    pub(crate) fn positions(&self) -> Option<&Positions> {
        self.positions.as_ref()
    }

    /// The dictionary entry of `term`.
    pub(crate) fn lookup(&self, term: &[u8]) -> Result<Option<TermEntry>> {
        Ok(self.numbered(term)?.map(|(_, entry)| entry))
    }

    /// The number of `term` in ascending order, and its dictionary entry.
    pub(crate) fn numbered(&self, term: &[u8]) -> Result<Option<(u64, TermEntry)>> {
        if let Some(entry) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(term) {
            return Ok(*entry);
        }
        let entry = self.dictionary.lookup(term)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KNOWN {
            known.clear();
        }
        known.insert(term.into(), entry);
        Ok(entry)
    }

    /// The postings that `entry` names.
    pub(crate) fn cursor(&self, entry: TermEntry) -> Result<PostingCursor> {
        let cursor = match entry {
            TermEntry::Singleton { doc, freq, .. } => PostingCursor::singleton(doc, freq),
            TermEntry::List { list, .. } => {
                let (table, payload) = self.remembered(list)?;
                PostingCursor::new(table, payload)
            }
        };
        match cursor.last() {
            Some(last) if last >= self.docs => {
                let why = format!("a posting list names document {last}, the segment has {}", self.docs);
                Err(Damage::corrupt(WHAT, why).into())
            }
            _ => Ok(cursor),
        }
    }

    /// Skip table and payload of list `i`, read and parsed once as long as they are remembered.
    fn remembered(&self, i: u32) -> Result<(Arc<SkipTable>, Bytes)> {
        if let Some(list) = self.lists.lock().unwrap_or_else(PoisonError::into_inner).by_number.get(&i) {
            return Ok(list.clone());
        }
        let (table, payload) = (Arc::new(self.table(i)?), self.payload(i)?);
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if lists.bytes > LISTS_BYTES {
            *lists = Lists::default();
        }
        let own = if self.payloads_held { 0 } else { payload.len() };
        lists.bytes += table.len() * BLOCK_BYTES + LIST_BYTES + own;
        lists.by_number.insert(i, (Arc::clone(&table), payload.clone()));
        Ok((table, payload))
    }

    /// The skip table of list `i`, which is not remembered.
    pub(crate) fn table(&self, i: u32) -> Result<SkipTable> {
        self.skips.table(i)?.ok_or_else(|| self.no_list(i))
    }

    fn payload(&self, i: u32) -> Result<Bytes> {
        self.postings.payload(i)?.ok_or_else(|| self.no_list(i))
    }

    fn no_list(&self, i: u32) -> Error {
        Damage::corrupt(WHAT, format!("posting list {i} of {}", self.postings.len())).into()
    }
}

fn positions(run: RunSource, terms: u64) -> Result<Positions> {
    let class = |error: Error| error.class(BAD_POSITIONS);
    let positions = Positions::parse(run).map_err(class)?;
    if positions.terms() == terms {
        return Ok(positions);
    }
    let stated = positions.terms();
    Err(Error::corrupt(format!("positions of {stated} terms, the dictionary has {terms}"))
        .class(BAD_POSITIONS))
}
