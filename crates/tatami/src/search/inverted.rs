//! The inverted index of one segment, ready for queries.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tesselle_codec::{Error, Result};

use super::cursor::PostingCursor;
use super::meta::{Dictionary, DictionaryKind, Entry, LiveDocs, Postings, SkipTable, Skips};

const WHAT: &str = "inverted index";

/// The stored runs of a segment.
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
    /// Cache of recent lookups: a query looks up each of its terms more than once, and terms recur between
    /// queries.
    known: Mutex<HashMap<Box<[u8]>, Option<Entry>>>,
    /// Cache of the skip tables of recent lists.
    tables: Mutex<Tables>,
}

/// Parsed skip tables.
#[derive(Debug, Default)]
struct Tables {
    by_list: HashMap<u32, Arc<SkipTable>>,
    blocks: usize,
}

/// Maximum number of blocks of cached tables; a block takes 17 bytes, the overhead of a table equals some
/// blocks.
const TABLE_BLOCKS: usize = 1 << 20;

/// Maximum number of cached terms.
const KNOWN: usize = 4096;

impl InvertedIndex {
    /// Parses the dictionary and locates all lists; blocks are decoded on demand.
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
        Ok(Self {
            docs,
            dictionary,
            postings,
            skips,
            live,
            known: Mutex::default(),
            tables: Mutex::default(),
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

    /// The dictionary entry of `term`.
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

    /// The postings of `entry`.
    pub(crate) fn cursor(&self, entry: Entry) -> Result<PostingCursor<'_>> {
        let cursor = match entry {
            Entry::Singleton { doc, freq, .. } => PostingCursor::singleton(doc, freq),
            Entry::List { list, .. } => {
                let payload = self.payload(list)?;
                PostingCursor::new(self.table(list)?, payload)
            }
        };
        match cursor.last() {
            Some(last) if last >= self.docs => Err(Error::corrupt(
                WHAT,
                format!("a posting list contains document {last}, the segment has {}", self.docs),
            )),
            _ => Ok(cursor),
        }
    }

    /// The skip table of list `i`, parsed once while it is cached.
    fn table(&self, i: u32) -> Result<Arc<SkipTable>> {
        if let Some(table) = self.tables.lock().unwrap_or_else(PoisonError::into_inner).by_list.get(&i) {
            return Ok(Arc::clone(table));
        }
        let table = Arc::new(self.skips.table(i)?.ok_or_else(|| self.no_list(i))?);
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if tables.blocks > TABLE_BLOCKS {
            *tables = Tables::default();
        }
        tables.blocks += table.len() + 8;
        tables.by_list.insert(i, Arc::clone(&table));
        Ok(table)
    }

    fn payload(&self, i: u32) -> Result<&[u8]> {
        self.postings.payload(i).ok_or_else(|| self.no_list(i))
    }

    fn no_list(&self, i: u32) -> Error {
        Error::corrupt(WHAT, format!("posting list {i} is out of range, there are {}", self.postings.len()))
    }

    /// Skip table and payload of list `i`, not cached.
    pub(crate) fn list(&self, i: u32) -> Result<(SkipTable, &[u8])> {
        Ok((self.skips.table(i)?.ok_or_else(|| self.no_list(i))?, self.payload(i)?))
    }
}
