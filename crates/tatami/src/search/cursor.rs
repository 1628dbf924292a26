//! A walk over one posting list, a block at a time.
//!
//! Documents of a block are decoded when the walk enters it, frequencies only when one is asked for. The skip table
//! answers where a block ends and how large its frequencies get without decoding anything.

use std::sync::Arc;

use tesselle_codec::Result;

use super::meta::{BLOCK, SkipTable, decode_docs, decode_freqs};

/// The document of a walk that is over; no segment has that many.
pub(crate) const END: u32 = u32::MAX;

/// Where a walk stands.
#[derive(Debug)]
pub(crate) struct PostingCursor<'a> {
    payload: &'a [u8],
    table: Arc<SkipTable>,
    block: usize,
    docs: [u32; BLOCK],
    freqs: [u32; BLOCK],
    /// Documents in the block, and the place in it.
    len: usize,
    pos: usize,
    /// Whether `docs` holds the block: its first document is known without that.
    decoded: bool,
    /// Where the block's frequencies start in the payload; `None` once they are decoded.
    freqs_at: Option<usize>,
    /// Where the block whose frequencies were decoded last ends in the payload.
    block_end: usize,
    doc: u32,
    /// The list is one document, which is decoded from the beginning.
    single: bool,
    /// The block that the last question about bounds ended in.
    shallow: usize,
}

impl<'a> PostingCursor<'a> {
    /// A walk that stands before its first document; [`PostingCursor::start`] comes first.
    pub(crate) fn new(table: Arc<SkipTable>, payload: &'a [u8]) -> Self {
        Self {
            payload,
            table,
            block: 0,
            docs: [0; BLOCK],
            freqs: [0; BLOCK],
            len: 0,
            pos: 0,
            decoded: false,
            freqs_at: None,
            block_end: 0,
            doc: 0,
            single: false,
            shallow: 0,
        }
    }

    /// A list of one document.
    pub(crate) fn singleton(doc: u32, freq: u32) -> Self {
        let mut table = SkipTable { docs: 1, ..SkipTable::default() };
        table.push(doc, doc, freq, 0, 1);
        let mut cursor = Self::new(Arc::new(table), &[]);
        cursor.single = true;
        (cursor.docs[0], cursor.freqs[0]) = (doc, freq);
        cursor
    }

    /// The last document of the list.
    pub(crate) fn last(&self) -> Option<u32> {
        self.table.last.last().copied()
    }

    /// Documents in the list.
    pub(crate) fn docs(&self) -> u64 {
        self.table.docs
    }

    /// The largest frequency of the list.
    pub(crate) fn list_max(&self) -> u32 {
        self.table.list_max()
    }

    pub(crate) fn blocks(&self) -> usize {
        self.table.len()
    }

    /// First and last document and largest frequency of a block.
    pub(crate) fn block_bounds(&self, block: usize) -> Option<(u32, u32, u32)> {
        Some((*self.table.first.get(block)?, *self.table.last.get(block)?, *self.table.max_freq.get(block)?))
    }

    /// The current document, [`END`] behind the last.
    #[inline]
    pub(crate) fn doc(&self) -> u32 {
        self.doc
    }

    /// How often the current document contains the term.
    #[inline]
    pub(crate) fn freq(&mut self) -> Result<u32> {
        self.decode_freqs()?;
        Ok(self.freqs.get(self.pos).copied().unwrap_or(0))
    }

    /// Moves to the first document.
    pub(crate) fn start(&mut self) {
        self.enter(0);
    }

    /// Moves to the next document.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        if self.pos + 1 < self.len {
            self.decode_docs()?;
            self.pos += 1;
            self.doc = self.docs.get(self.pos).copied().unwrap_or(END);
        } else {
            self.enter(self.block + 1);
        }
        Ok(())
    }

    /// Moves to the first document that is not before `target`; never back.
    #[inline]
    pub(crate) fn seek(&mut self, target: u32) -> Result<()> {
        if self.doc >= target {
            return Ok(());
        }
        if self.table.last.get(self.block).is_none_or(|&last| last < target) {
            self.enter(self.block_of(self.block, target));
            if self.doc >= target {
                return Ok(());
            }
        }
        self.decode_docs()?;
        self.pos += self.before(target);
        self.doc = self.docs.get(self.pos).copied().unwrap_or(END);
        Ok(())
    }

    /// Hands out every document before `end`, with its frequency, and stands on the first that is not.
    #[inline]
    pub(crate) fn drain(&mut self, end: u32, mut take: impl FnMut(u32, u32)) -> Result<()> {
        while self.doc < end {
            self.decode_freqs()?;
            let whole = self.table.last.get(self.block).is_some_and(|&last| last < end);
            let to = if whole { self.len } else { self.pos + self.before(end) };
            let docs = self.docs.get(self.pos..to).unwrap_or_default();
            let freqs = self.freqs.get(self.pos..to).unwrap_or_default();
            for (&doc, &freq) in docs.iter().zip(freqs) {
                take(doc, freq);
            }
            if to < self.len {
                self.pos = to;
                self.doc = self.docs.get(to).copied().unwrap_or(END);
            } else {
                self.enter(self.block + 1);
            }
        }
        Ok(())
    }

    /// Documents of the decoded block from here on that come before `target`.
    #[inline]
    fn before(&self, target: u32) -> usize {
        let rest = self.docs.get(self.pos..self.len).unwrap_or_default();
        // Counting has no branches to mispredict and runs on whole vectors.
        rest.iter().map(|&doc| usize::from(doc < target)).sum()
    }

    /// The first block from `from` on that does not end before `target`.
    fn block_of(&self, from: usize, target: u32) -> usize {
        let rest = self.table.last.get(from..).unwrap_or_default();
        // Most steps are short: look at a few blocks before halving the rest.
        let near = rest.iter().take(4).position(|&last| last >= target);
        from + near.unwrap_or_else(|| rest.partition_point(|&last| last < target))
    }

    /// The largest frequency among the blocks that may hold documents from `from` up to `end`, and the first
    /// document at or after `from` that there can be. Nothing is decoded; questions come with rising `from`.
    #[inline]
    pub(crate) fn bounds_in(&mut self, from: u32, end: u32) -> (u32, u32) {
        self.shallow = self.block_of(self.shallow.max(self.block), from);
        let Some(&first) = self.table.first.get(self.shallow) else { return (0, END) };
        let firsts = self.table.first.get(self.shallow..).unwrap_or_default();
        let freqs = self.table.max_freq.get(self.shallow..).unwrap_or_default();
        let inside = firsts.iter().zip(freqs).take_while(|(first, _)| **first < end);
        (inside.map(|(_, freq)| *freq).max().unwrap_or(0), first.max(from))
    }

    /// Stands on the first document of `block`, which the skip table knows.
    fn enter(&mut self, block: usize) {
        self.block = block;
        self.pos = 0;
        self.freqs_at = None;
        self.decoded = self.single;
        self.len = usize::from(self.table.count.get(block).copied().unwrap_or(0));
        self.doc = self.table.first.get(block).copied().unwrap_or(END);
    }

    #[inline]
    fn decode_docs(&mut self) -> Result<()> {
        if self.decoded { Ok(()) } else { self.decode_block() }
    }

    fn decode_block(&mut self) -> Result<()> {
        let Some((first, last, _)) = self.block_bounds(self.block) else { return Ok(()) };
        let at = self.table.offset.get(self.block).copied().unwrap_or(0) as usize;
        let src = self.payload.get(at..).unwrap_or_default();
        let docs = self.docs.get_mut(..self.len).unwrap_or_default();
        self.freqs_at = Some(at + decode_docs(src, first, last, docs)?);
        self.decoded = true;
        Ok(())
    }

    #[inline]
    fn decode_freqs(&mut self) -> Result<()> {
        self.decode_docs()?;
        if let Some(at) = self.freqs_at.take() {
            let freqs = self.freqs.get_mut(..self.len).unwrap_or_default();
            self.block_end = at + decode_freqs(self.payload.get(at..).unwrap_or_default(), freqs)?;
        }
        Ok(())
    }

    /// Where the block that was read last begins and ends in the payload.
    pub(crate) fn block_bytes(&self, block: usize) -> (usize, usize) {
        let start = self.table.offset.get(block).copied().unwrap_or(0) as usize;
        (start, self.block_end)
    }

    pub(crate) fn payload_len(&self) -> usize {
        self.payload.len()
    }

    /// Decodes a whole block: its documents and their frequencies.
    pub(crate) fn read_block(&mut self, block: usize) -> Result<(&[u32], &[u32])> {
        self.enter(block);
        self.decode_freqs()?;
        Ok((self.docs.get(..self.len).unwrap_or_default(), self.freqs.get(..self.len).unwrap_or_default()))
    }
}
