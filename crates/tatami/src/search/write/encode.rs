//! Encodes terms in ascending order into the runs of a segment.

use tesselle_codec::varint;
use tesselle_core::driver::parallel;
use tesselle_core::{Error, Result};

use super::accumulate::{List, Unpacked};
use super::scratch::{RunBytes, Scratch, Spool, Spooled};
use crate::search::meta::{
    BLOCK_TERMS, BlockTreeWriter, DictionaryKind, FlatWriter, PositionsWriter, TermEntry, encode_list,
};
use crate::write::writer::InvertedRuns;

/// Maximum size of a run: it is one record with a 32-bit length.
const MAX_RUN: u64 = u32::MAX as u64;

/// Postings kept in memory before they are moved to a scratch file.
const SPOOL_LIMIT: usize = 64 << 20;

/// Terms that one thread encodes at a time: whole blocks of the dictionary.
pub(crate) const CHUNK_TERMS: usize = 4 * BLOCK_TERMS;

#[derive(Debug)]
enum TermWriter {
    Flat(FlatWriter),
    BlockTree(BlockTreeWriter),
}

impl TermWriter {
    fn new(kind: DictionaryKind) -> Self {
        match kind {
            DictionaryKind::Flat => Self::Flat(FlatWriter::default()),
            DictionaryKind::BlockTree => Self::BlockTree(BlockTreeWriter::new()),
        }
    }

    fn kind(&self) -> DictionaryKind {
        match self {
            Self::Flat(_) => DictionaryKind::Flat,
            Self::BlockTree(_) => DictionaryKind::BlockTree,
        }
    }

    fn push(&mut self, term: &[u8], entry: TermEntry) -> Result<()> {
        match self {
            Self::Flat(flat) => flat.push(term, entry),
            Self::BlockTree(tree) => tree.push(term, entry)?,
        }
        Ok(())
    }

    /// Appends the terms of a writer of the same kind; no block may be incomplete.
    fn append(&mut self, other: Self) -> Result<()> {
        match (self, other) {
            (Self::Flat(flat), Self::Flat(other)) => flat.append(&other),
            (Self::BlockTree(tree), Self::BlockTree(other)) => tree.append(other)?,
            _ => return Err(Error::internal("dictionaries of two kinds")),
        }
        Ok(())
    }
}

/// Adds the postings of each term, in ascending order of terms.
#[derive(Debug)]
pub(crate) struct RunEncoder {
    terms: TermWriter,
    postings: Spool,
    skips: Spool,
    /// `None` if positions are not stored.
    positions: Option<(PositionsWriter, Spool)>,
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
    /// The number of lists, which both of the following start with.
    pub(crate) lists: Vec<u8>,
    pub(crate) postings: Spooled,
    pub(crate) skips: Spooled,
    /// Empty if positions are not stored.
    pub(crate) positions: RunBytes,
}

impl RunEncoder {
    pub(crate) fn new(kind: DictionaryKind, positions: bool) -> Self {
        Self {
            terms: TermWriter::new(kind),
            postings: Spool::new(SPOOL_LIMIT),
            skips: Spool::new(SPOOL_LIMIT),
            positions: positions.then(|| (PositionsWriter::default(), Spool::new(SPOOL_LIMIT))),
            term_count: 0,
            lists: 0,
            payload: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// Whether positions are stored.
    pub(crate) fn has_positions(&self) -> bool {
        self.positions.is_some()
    }

    /// Adds a term with its postings, documents ascending; a term without documents is skipped.
    pub(crate) fn push(&mut self, term: &[u8], postings: &Unpacked, scratch: &mut Scratch) -> Result<()> {
        let Unpacked { docs, freqs, numbers } = postings;
        let entry = match (docs.as_slice(), freqs.as_slice()) {
            ([], _) => return Ok(()),
            (&[doc], &[freq]) => TermEntry::Singleton { df: 1, doc, freq },
            _ => {
                let list = self.lists;
                self.lists += 1;
                self.list(docs, freqs, scratch)?;
                TermEntry::List { df: docs.len() as u32, list }
            }
        };
        if let Some((writer, spool)) = &mut self.positions {
            writer.push(freqs, numbers)?;
            spool.write(&writer.take(), scratch)?;
        }
        self.term_count += 1;
        self.terms.push(term, entry)
    }

    /// Adds many terms, each with the packed lists of consecutive documents; encodes on all threads of the
    /// pool. The next call must not come before a multiple of [`CHUNK_TERMS`] is reached.
    pub(crate) fn push_lists(
        &mut self,
        terms: &[(Box<str>, Vec<List>)],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let chunks: Vec<&[(Box<str>, Vec<List>)]> = terms.chunks(CHUNK_TERMS).collect();
        let mut firsts = Vec::with_capacity(chunks.len());
        for chunk in &chunks {
            firsts.push(self.lists);
            let lists = chunk.iter().filter(|(_, lists)| documents(lists) > 1).count();
            self.lists += lists as u32;
        }
        let (kind, positions) = (self.terms.kind(), self.has_positions());
        let encoded: Vec<Result<TermChunk>> = parallel::map(chunks.iter().zip(firsts), |(chunk, first)| {
            TermChunk::encode(chunk, first, kind, positions)
        });
        for chunk in encoded {
            let TermChunk { terms, postings, skips, positions } = chunk?;
            if let Some((writer, spool)) = &mut self.positions {
                writer.append(positions);
                spool.write(&writer.take(), scratch)?;
            }
            self.terms.append(terms)?;
            self.postings.write(&postings, scratch)?;
            self.skips.write(&skips, scratch)?;
        }
        self.term_count += terms.len() as u64;
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

    pub(crate) fn finish(self, scratch: &mut Scratch) -> Result<EncodedRuns> {
        let (kind, terms) = match self.terms {
            TermWriter::Flat(flat) => (DictionaryKind::Flat, flat.finish()),
            TermWriter::BlockTree(tree) => (DictionaryKind::BlockTree, tree.finish()?),
        };
        let positions = match self.positions {
            Some((writer, mut spool)) => {
                let (head, rest) = writer.finish()?;
                spool.write(&rest, scratch)?;
                RunBytes { head, body: spool.finish()? }
            }
            None => RunBytes::default(),
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
            positions,
        };
        let longest = runs.postings.len().max(runs.skips.len()) + runs.lists.len() as u64;
        if longest.max(runs.terms.len() as u64).max(runs.positions.len()) > MAX_RUN {
            return Err(Error::limit("the inverted index exceeds 4 GiB, the maximum of one segment")
                .hint("split the documents into several segments; a folder of them is searched as one"));
        }
        Ok(runs)
    }
}

/// Some consecutive terms, encoded by one thread.
struct TermChunk {
    terms: TermWriter,
    postings: Vec<u8>,
    skips: Vec<u8>,
    positions: PositionsWriter,
}

impl TermChunk {
    /// Encodes terms with posting lists numbered from `list` on.
    fn encode(
        terms: &[(Box<str>, Vec<List>)],
        mut list: u32,
        kind: DictionaryKind,
        positions: bool,
    ) -> Result<Self> {
        let mut chunk = Self {
            terms: TermWriter::new(kind),
            postings: Vec::new(),
            skips: Vec::new(),
            positions: PositionsWriter::default(),
        };
        let (mut unpacked, mut payload) = (Unpacked::default(), Vec::new());
        for (term, lists) in terms {
            unpacked.clear();
            for list in lists {
                list.unpack(&mut unpacked)?;
            }
            let Unpacked { docs, freqs, numbers } = &unpacked;
            if positions {
                chunk.positions.push(freqs, numbers)?;
            }
            let entry = if let (&[doc], &[freq]) = (docs.as_slice(), freqs.as_slice()) {
                TermEntry::Singleton { df: 1, doc, freq }
            } else {
                payload.clear();
                let table = encode_list(docs, freqs, &mut payload)?;
                varint::write(payload.len() as u64, &mut chunk.postings);
                chunk.postings.extend_from_slice(&payload);
                table.write(&mut chunk.skips);
                list += 1;
                TermEntry::List { df: docs.len() as u32, list: list - 1 }
            };
            chunk.terms.push(term.as_bytes(), entry)?;
        }
        Ok(chunk)
    }
}

fn documents(lists: &[List]) -> u64 {
    lists.iter().map(|list| u64::from(list.count)).sum()
}

impl EncodedRuns {
    /// The runs in the form that the file writer takes.
    pub(crate) fn into_inverted(self, documents: u64) -> InvertedRuns {
        InvertedRuns {
            terms: RunBytes::from(self.terms),
            postings: RunBytes { head: self.lists.clone(), body: self.postings },
            skips: RunBytes { head: self.lists, body: self.skips },
            positions: self.positions,
            live: RunBytes::default(),
            term_count: self.term_count,
            documents,
            block_tree: self.kind == DictionaryKind::BlockTree,
        }
    }
}
