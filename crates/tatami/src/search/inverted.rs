//! The inverted index of one segment, ready to be asked.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use tesselle_codec::{Error, Result};

use super::cursor::PostingCursor;
use super::meta::{Dictionary, DictionaryKind, Entry, LiveDocs, Postings, SkipTable, Skips};

const WHAT: &str = "inverted index";

/// The runs of a segment as they are stored.
#[derive(Debug, Clone)]
pub(crate) struct Runs {
    pub(crate) kind: DictionaryKind,
    pub(crate) terms: Bytes,
    pub(crate) postings: Bytes,
    pub(crate) skips: Bytes,
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
    live: Option<LiveDocs>,
    /// What was looked up lately: a query asks for each of its terms more than once, people ask for the same terms.
    known: Mutex<HashMap<Box<[u8]>, Option<Entry>>>,
}

/// Most terms that are remembered.
const KNOWN: usize = 4096;

impl InvertedIndex {
    /// Parses the dictionary, finds all lists; their blocks are decoded when a query needs them.
    pub(crate) fn parse(runs: Runs, docs: u32) -> Result<Self> {
        let dictionary = Dictionary::parse(runs.kind, runs.terms)?;
        let postings = Postings::parse(runs.postings)?;
        let skips = Skips::parse(runs.skips)?;
        if postings.len() != skips.len() {
            return Err(Error::corrupt(
                WHAT,
                format!("{} posting lists, {} skip tables", postings.len(), skips.len()),
            ));
        }
        let live = runs.live.map(|run| LiveDocs::parse(&run, docs)).transpose()?;
        Ok(Self { docs, dictionary, postings, skips, live, known: Mutex::default() })
    }

    /// Documents, deleted ones included.
    pub(crate) fn docs(&self) -> u32 {
        self.docs
    }

    pub(crate) fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// Posting lists; terms of one document have none.
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

    /// What the dictionary says about `term`.
    pub(crate) fn lookup(&self, term: &[u8]) -> Result<Option<Entry>> {
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
    pub(crate) fn cursor(&self, entry: Entry) -> Result<PostingCursor<'_>> {
        let cursor = match entry {
            Entry::Singleton { doc, freq, .. } => PostingCursor::singleton(doc, freq),
            Entry::List { list, .. } => {
                let (table, payload) = self.list(list)?;
                PostingCursor::new(table, payload)
            }
        };
        match cursor.last() {
            Some(last) if last >= self.docs => Err(Error::corrupt(
                WHAT,
                format!("a posting list names document {last}, the segment has {}", self.docs),
            )),
            _ => Ok(cursor),
        }
    }

    /// Skip table and payload of list `i`.
    pub(crate) fn list(&self, i: u32) -> Result<(SkipTable, &[u8])> {
        match (self.skips.table(i)?, self.postings.payload(i)) {
            (Some(table), Some(payload)) => Ok((table, payload)),
            _ => Err(Error::corrupt(WHAT, format!("posting list {i} of {}", self.postings.len()))),
        }
    }
}
