//! A cursor over one posting list, a block at a time.
//!
//! Documents and frequencies of a block are decoded on demand, independently of each other. The skip table
//! provides the end of a block and its max frequency without decoding.

use std::sync::Arc;

use bytes::Bytes;
use tesselle_codec::{Result, Within};

use super::meta::{BLOCK, SkipTable, decode_docs, decode_freqs, docs_len};

/// Number of postings processed together.
const PART: usize = 16;

/// The document of a finished cursor; no segment has that many.
pub(crate) const END: u32 = u32::MAX;

/// The place of a document in a list: its block, the sum of all frequencies of the block and of those before it, and its
/// own frequency.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) block: usize,
    pub(crate) total: u64,
    pub(crate) before: u64,
    pub(crate) freq: u64,
}

/// The state of a cursor.
#[derive(Debug, Clone)]
pub(crate) struct PostingCursor {
    payload: Bytes,
    table: Arc<SkipTable>,
    block: usize,
    docs: [u32; BLOCK],
    freqs: [u32; BLOCK],
    /// Number of documents in the block, and the position in it.
    len: usize,
    pos: usize,
    /// Whether `docs` has the decoded block: its first document is known without decoding.
    has_docs: bool,
    has_freqs: bool,
    /// Offset of the block's frequencies in the payload; known once its documents are decoded.
    freqs_at: usize,
    /// End of the block whose frequencies were decoded last.
    block_end: usize,
    doc: u32,
    /// Whether the list is a single document, decoded from the start.
    single: bool,
    /// The block at which the last bounds query ended.
    shallow: usize,
}

impl PostingCursor {
    /// A walk that stands before its first document; [`PostingCursor::start`] comes first.
    pub(crate) fn new(table: Arc<SkipTable>, payload: Bytes) -> Self {
        Self {
            payload,
            table,
            block: 0,
            docs: [0; BLOCK],
            freqs: [0; BLOCK],
            len: 0,
            pos: 0,
            has_docs: false,
            has_freqs: false,
            freqs_at: 0,
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
        let mut cursor = Self::new(Arc::new(table), Bytes::new());
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

    /// The max frequency of the list.
    pub(crate) fn list_max(&self) -> u32 {
        self.table.list_max()
    }

    /// A frequency that at least `n` documents of the list reach, if the skip table provides one.
    pub(crate) fn reached_by(&self, n: usize) -> Option<u32> {
        self.table.reached_by(n)
    }

    pub(crate) fn blocks(&self) -> usize {
        self.table.len()
    }

    /// First and last document and max frequency of a block.
    pub(crate) fn block_bounds(&self, block: usize) -> Option<(u32, u32, u32)> {
        Some((*self.table.first.get(block)?, *self.table.last.get(block)?, *self.table.max_freq.get(block)?))
    }

    /// The current document, or [`END`] after the last.
    #[inline]
    pub(crate) fn doc(&self) -> u32 {
        self.doc
    }

    /// The frequency of the term in the current document.
    #[inline]
    pub(crate) fn freq(&mut self) -> Result<u32> {
        self.decode_freqs()?;
        Ok(self.freqs.value(self.pos))
    }

    /// Where the current document is in its list.
    pub(crate) fn place(&mut self) -> Result<Place> {
        self.decode_freqs()?;
        let sum = |freqs: &[u32]| freqs.iter().map(|freq| u64::from(*freq)).sum();
        let freqs = self.freqs.within(..self.len);
        let freq = u64::from(freqs.value(self.pos));
        Ok(Place { block: self.block, total: sum(freqs), before: sum(freqs.within(..self.pos)), freq })
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
            self.doc = self.docs.value(self.pos);
        } else {
            self.enter(self.block + 1);
        }
        Ok(())
    }

    /// Moves to the first document at or after `target`; never moves back.
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
        self.pos += before(self.docs.within(self.pos..self.len), target);
        self.doc = self.docs.get(self.pos).copied().unwrap_or(END);
        Ok(())
    }

    /// Approximate number of documents between `from` and `end`. Decodes nothing.
    pub(crate) fn postings_in(&self, from: u32, end: u32) -> u64 {
        let mut block = self.block_of(self.block, from);
        let mut postings = 0.0;
        while let Some((first, last, _)) = self.block_bounds(block)
            && first < end
        {
            let inside = (last.min(end - 1) - first.max(from) + 1) as f32 / (last - first + 1) as f32;
            postings += inside * f32::from(self.table.count.value(block));
            block += 1;
        }
        postings as u64
    }

    /// Passes on the documents from `from` up to `end` and their frequencies, block by block, except for
    /// blocks without frequencies above `least`. Ranges must ascend from call to call.
    #[inline]
    pub(crate) fn drain(
        &mut self,
        from: u32,
        end: u32,
        least: u32,
        mut take: impl FnMut(&[u32], &[u32]),
    ) -> Result<()> {
        let mut block = self.block_of(self.block, from);
        while let Some((first, last, max_freq)) = self.block_bounds(block)
            && first < end
        {
            if max_freq <= least {
                block += 1;
                continue;
            }
            if block != self.block {
                self.enter(block);
            }
            self.decode_docs()?;
            self.decode_freqs()?;
            let docs = self.docs.within(..self.len);
            let start = if first < from { before(docs, from) } else { 0 };
            let stop = if last < end { docs.len() } else { before(docs, end) };
            take(docs.within(start..stop), self.freqs.within(start..stop));
            block += 1;
        }
        Ok(())
    }

    /// Passes on every document from `from` up to `end` with a frequency above `least`. Ranges must ascend
    /// from call to call. A block with lower frequencies is not decoded; if all decoded frequencies turn out
    /// to be lower, its documents are not decoded.
    #[inline]
    pub(crate) fn above(
        &mut self,
        from: u32,
        end: u32,
        least: u32,
        mut take: impl FnMut(u32, u32) -> Result<()>,
    ) -> Result<()> {
        let mut block = self.block_of(self.block, from);
        while let Some((first, _, max_freq)) = self.block_bounds(block)
            && first < end
        {
            if max_freq > least {
                if block != self.block {
                    self.enter(block);
                }
                self.decode_freqs()?;
                for part in 0..self.len.div_ceil(PART) {
                    self.above_in_part(part, from, end, least, &mut take)?;
                }
            }
            block += 1;
        }
        Ok(())
    }

    #[inline]
    fn above_in_part(
        &mut self,
        part: usize,
        from: u32,
        end: u32,
        least: u32,
        take: &mut impl FnMut(u32, u32) -> Result<()>,
    ) -> Result<()> {
        let range = part * PART..(part * PART + PART).min(self.len);
        let freqs = self.freqs.within(range.clone());
        // Counting vectorizes; most parts have none.
        if freqs.iter().map(|&freq| u32::from(freq > least)).sum::<u32>() == 0 {
            return Ok(());
        }
        self.decode_docs()?;
        let freqs = self.freqs.within(range.clone());
        let docs = self.docs.within(range);
        for (&doc, &freq) in docs.iter().zip(freqs) {
            if freq > least && doc >= from && doc < end {
                take(doc, freq)?;
            }
        }
        Ok(())
    }

    /// The first block from `from` on that ends at or after `target`.
    fn block_of(&self, from: usize, target: u32) -> usize {
        let rest = self.table.last.get(from..).unwrap_or_default();
        // Most steps are short: check a few blocks before a binary search of the rest.
        let near = rest.iter().take(4).position(|&last| last >= target);
        from + near.unwrap_or_else(|| rest.partition_point(|&last| last < target))
    }

    /// The max frequency of the blocks that may contain documents from `from` up to `end`, and the first
    /// possible document at or after `from`. Decodes nothing; `from` must ascend from call to call.
    #[inline]
    pub(crate) fn bounds_in(&mut self, from: u32, end: u32) -> (u32, u32) {
        self.shallow = self.block_of(self.shallow.max(self.block), from);
        let Some(&first) = self.table.first.get(self.shallow) else { return (0, END) };
        let firsts = self.table.first.within(self.shallow..);
        let freqs = self.table.max_freq.within(self.shallow..);
        let inside = firsts.iter().zip(freqs).take_while(|(first, _)| **first < end);
        (inside.map(|(_, freq)| *freq).max().unwrap_or(0), first.max(from))
    }

    /// The max frequency of the block that may contain `doc`; 0 if none does. Decodes nothing; documents must
    /// ascend from call to call.
    #[inline]
    pub(crate) fn most_at(&mut self, doc: u32) -> u32 {
        self.shallow = self.block_of(self.shallow.max(self.block), doc);
        match self.block_bounds(self.shallow) {
            Some((first, _, max_freq)) if first <= doc => max_freq,
            _ => 0,
        }
    }

    /// Moves to the first document of `block`; there is none after the last block.
    fn enter(&mut self, block: usize) {
        self.block = block;
        self.pos = 0;
        self.has_docs = self.single;
        self.has_freqs = self.single;
        self.len = usize::from(self.table.count.get(block).copied().unwrap_or(0));
        self.doc = self.table.first.get(block).copied().unwrap_or(END);
    }

    /// Where the block starts in the payload.
    fn block_start(&self) -> usize {
        self.table.offset.value(self.block) as usize
    }

    #[inline]
    fn decode_docs(&mut self) -> Result<()> {
        if self.has_docs { Ok(()) } else { self.decode_block() }
    }

    fn decode_block(&mut self) -> Result<()> {
        let Some((first, last, _)) = self.block_bounds(self.block) else { return Ok(()) };
        let at = self.block_start();
        let src = self.payload.get(at..).unwrap_or_default();
        let docs = self.docs.within_mut(..self.len);
        self.freqs_at = at + decode_docs(src, first, last, docs)?;
        self.has_docs = true;
        Ok(())
    }

    #[inline]
    fn decode_freqs(&mut self) -> Result<()> {
        if self.has_freqs { Ok(()) } else { self.decode_block_freqs() }
    }

    fn decode_block_freqs(&mut self) -> Result<()> {
        if self.block >= self.table.len() {
            return Ok(());
        }
        let at = self.block_start();
        let src = self.payload.get(at..).unwrap_or_default();
        match docs_len(src, self.len) {
            Some(len) if !self.has_docs => self.freqs_at = at + len,
            _ => self.decode_docs()?,
        }
        let freqs = self.freqs.within_mut(..self.len);
        let src = self.payload.get(self.freqs_at..).unwrap_or_default();
        self.block_end = self.freqs_at + decode_freqs(src, freqs)?;
        self.has_freqs = true;
        Ok(())
    }

    /// Start and end of the last read block in the payload.
    pub(crate) fn block_bytes(&self, block: usize) -> (usize, usize) {
        let start = self.table.offset.value(block) as usize;
        (start, self.block_end)
    }

    pub(crate) fn payload_len(&self) -> usize {
        self.payload.len()
    }

    /// Decodes a whole block: its documents and their frequencies.
    pub(crate) fn read_block(&mut self, block: usize) -> Result<(&[u32], &[u32])> {
        self.enter(block);
        self.decode_docs()?;
        self.decode_freqs()?;
        Ok((self.docs.within(..self.len), self.freqs.within(..self.len)))
    }
}

/// The number of ascending documents before `target`.
#[inline]
fn before(docs: &[u32], target: u32) -> usize {
    // Counting has no branches to mispredict and vectorizes.
    docs.iter().map(|&doc| u32::from(doc < target)).sum::<u32>() as usize
}
