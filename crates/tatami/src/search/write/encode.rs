//! Terms in ascending order to the runs of a segment.

use tesselle_codec::varint;
use tesselle_core::{Error, Result};

use super::scratch::{RunBytes, Scratch, Spool, Spooled};
use crate::search::meta::{BlockTreeWriter, DictionaryKind, Entry, FlatWriter, encode_list};
use crate::write::writer::InvertedRuns;

/// A run is one record, whose length has 32 bits.
const MAX_RUN: u64 = u32::MAX as u64;

/// Postings kept in memory before they go to a scratch file.
const SPOOL_LIMIT: usize = 64 << 20;

#[derive(Debug)]
enum TermWriter {
    Flat(FlatWriter),
    BlockTree(BlockTreeWriter),
}

/// Takes the postings of each term, in ascending order of terms.
#[derive(Debug)]
pub(crate) struct RunEncoder {
    terms: TermWriter,
    postings: Spool,
    skips: Spool,
    term_count: u64,
    lists: u32,
    payload: Vec<u8>,
    bytes: Vec<u8>,
}

/// The runs of a segment, ready to be written.
#[derive(Debug)]
pub(crate) struct EncodedRuns {
    pub(crate) kind: DictionaryKind,
    pub(crate) term_count: u64,
    pub(crate) terms: Vec<u8>,
    /// The number of lists, which both of the following begin with.
    pub(crate) lists: Vec<u8>,
    pub(crate) postings: Spooled,
    pub(crate) skips: Spooled,
}

impl RunEncoder {
    pub(crate) fn new(kind: DictionaryKind) -> Self {
        let terms = match kind {
            DictionaryKind::Flat => TermWriter::Flat(FlatWriter::default()),
            DictionaryKind::BlockTree => TermWriter::BlockTree(BlockTreeWriter::new()),
        };
        Self {
            terms,
            postings: Spool::new(SPOOL_LIMIT),
            skips: Spool::new(SPOOL_LIMIT),
            term_count: 0,
            lists: 0,
            payload: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// Adds a term with its documents, ascending, and their frequencies; a term without documents is left out.
    pub(crate) fn push(
        &mut self,
        term: &[u8],
        docs: &[u32],
        freqs: &[u32],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let entry = match (docs, freqs) {
            ([], _) => return Ok(()),
            (&[doc], &[freq]) => Entry::Singleton { df: 1, doc, freq },
            _ => {
                let list = self.lists;
                self.lists += 1;
                self.list(docs, freqs, scratch)?;
                Entry::List { df: docs.len() as u32, list }
            }
        };
        self.term_count += 1;
        match &mut self.terms {
            TermWriter::Flat(flat) => flat.push(term, entry),
            TermWriter::BlockTree(tree) => tree.push(term, entry)?,
        }
        Ok(())
    }

    fn list(&mut self, docs: &[u32], freqs: &[u32], scratch: &mut Scratch) -> Result<()> {
        self.payload.clear();
        let table = encode_list(docs, freqs, &mut self.payload)?;
        self.bytes.clear();
        varint::write(self.payload.len() as u64, &mut self.bytes);
        self.postings.write(&self.bytes, scratch)?;
        self.postings.write(&self.payload, scratch)?;
        self.bytes.clear();
        table.write(&mut self.bytes);
        self.skips.write(&self.bytes, scratch)
    }

    pub(crate) fn finish(self) -> Result<EncodedRuns> {
        let (kind, terms) = match self.terms {
            TermWriter::Flat(flat) => (DictionaryKind::Flat, flat.finish()),
            TermWriter::BlockTree(tree) => (DictionaryKind::BlockTree, tree.finish()?),
        };
        let mut lists = Vec::new();
        varint::write(self.lists.into(), &mut lists);
        let runs = EncodedRuns {
            kind,
            term_count: self.term_count,
            terms,
            lists,
            postings: self.postings.finish()?,
            skips: self.skips.finish()?,
        };
        let longest = runs.postings.len().max(runs.skips.len()) + runs.lists.len() as u64;
        if longest.max(runs.terms.len() as u64) > MAX_RUN {
            return Err(Error::limit("the inverted index exceeds 4 GiB, the most that one segment holds")
                .hint("split the documents into several segments; a folder of them is searched as one"));
        }
        Ok(runs)
    }
}

impl EncodedRuns {
    /// The runs in the form that the file writer takes.
    pub(crate) fn into_inverted(self, documents: u64) -> InvertedRuns {
        InvertedRuns {
            terms: RunBytes::from(self.terms),
            postings: RunBytes { head: self.lists.clone(), body: self.postings },
            skips: RunBytes { head: self.lists, body: self.skips },
            live: RunBytes::default(),
            term_count: self.term_count,
            documents,
            block_tree: self.kind == DictionaryKind::BlockTree,
        }
    }
}
