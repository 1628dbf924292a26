//! A walk over one posting list, a block at a time.
//!
//! Documents of a block are decoded when the walk enters it, frequencies only when one is asked for. The skip table
//! answers where a block ends and how large its frequencies get without decoding anything.

use tesselle_codec::Result;

use super::meta::{BLOCK, SkipTable, decode_docs, decode_freqs};

/// The document of a walk that is over; no segment has that many.
pub(crate) const END: u32 = u32::MAX;

/// Where a walk stands.
#[derive(Debug)]
pub(crate) struct PostingCursor<'a> {
    payload: &'a [u8],
    table: SkipTable,
    /// The block that `docs` holds.
    block: usize,
    docs: [u32; BLOCK],
    freqs: [u32; BLOCK],
    /// Documents in the block, and the place in it.
    len: usize,
    pos: usize,
    /// Where the block's frequencies start in the payload; `None` once they are decoded.
    freqs_at: Option<usize>,
    /// Where the block whose frequencies were decoded last ends in the payload.
    block_end: usize,
    doc: u32,
    /// The block that the last question about bounds ended in.
    shallow: usize,
}

impl<'a> PostingCursor<'a> {
    /// A walk that stands before its first document; [`PostingCursor::next`] or `seek` comes first.
    pub(crate) fn new(table: SkipTable, payload: &'a [u8]) -> Self {
        Self {
            payload,
            table,
            block: 0,
            docs: [0; BLOCK],
            freqs: [0; BLOCK],
            len: 0,
            pos: 0,
            freqs_at: None,
            block_end: 0,
            doc: 0,
            shallow: 0,
        }
    }

    /// A list of one document.
    pub(crate) fn singleton(doc: u32, freq: u32) -> Self {
        let mut table = SkipTable { docs: 1, ..SkipTable::default() };
        table.push(doc, doc, freq, 0, 1);
        let mut cursor = Self::new(table, &[]);
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
        if let Some(at) = self.freqs_at.take() {
            let len = decode_freqs(self.payload.get(at..).unwrap_or_default(), &mut self.freqs[..self.len])?;
            self.block_end = at + len;
        }
        Ok(self.freqs.get(self.pos).copied().unwrap_or(0))
    }

    /// Moves to the first document.
    pub(crate) fn start(&mut self) -> Result<()> {
        self.enter(0)
    }

    /// Moves to the next document.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        if self.pos + 1 < self.len {
            self.pos += 1;
            self.doc = self.docs.get(self.pos).copied().unwrap_or(END);
            return Ok(());
        }
        self.enter(self.block + 1)
    }

    /// Moves to the first document that is not before `target`; never back.
    #[inline]
    pub(crate) fn seek(&mut self, target: u32) -> Result<()> {
        if self.doc >= target {
            return Ok(());
        }
        if self.table.last.get(self.block).is_none_or(|&last| last < target) {
            let block = self.block_of(self.block, target);
            self.enter(block)?;
        }
        let rest = self.docs.get(self.pos..self.len).unwrap_or_default();
        // Counting has no branches to mispredict and runs on whole vectors.
        self.pos += rest.iter().map(|&doc| usize::from(doc < target)).sum::<usize>();
        if self.doc != END {
            self.doc = self.docs.get(self.pos).copied().unwrap_or(END);
        }
        Ok(())
    }

    /// The first block from `from` on that does not end before `target`.
    fn block_of(&self, from: usize, target: u32) -> usize {
        let rest = self.table.last.get(from..).unwrap_or_default();
        // Most steps are short: look at a few blocks before halving the rest.
        let near = rest.iter().take(4).position(|&last| last >= target);
        from + near.unwrap_or_else(|| rest.partition_point(|&last| last < target))
    }

    /// Largest frequency and last document of the block that would hold `target`; nothing is decoded.
    #[inline]
    pub(crate) fn bounds_at(&mut self, target: u32) -> (u32, u32) {
        self.shallow = self.block_of(self.shallow.max(self.block), target);
        match (self.table.max_freq.get(self.shallow), self.table.last.get(self.shallow)) {
            (Some(&max_freq), Some(&last)) => (max_freq, last),
            _ => (0, END),
        }
    }

    /// Decodes the documents of `block` and stands on its first.
    fn enter(&mut self, block: usize) -> Result<()> {
        self.block = block;
        self.pos = 0;
        let Some((first, last, _)) = self.block_bounds(block) else {
            self.len = 0;
            self.freqs_at = None;
            self.doc = END;
            return Ok(());
        };
        self.len = usize::from(self.table.count.get(block).copied().unwrap_or(0));
        self.doc = first;
        if self.payload.is_empty() {
            // The one document of a singleton is there from the beginning.
            return Ok(());
        }
        let at = self.table.offset.get(block).copied().unwrap_or(0) as usize;
        let src = self.payload.get(at..).unwrap_or_default();
        let docs = self.docs.get_mut(..self.len).unwrap_or_default();
        self.freqs_at = Some(at + decode_docs(src, first, last, docs)?);
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
        self.enter(block)?;
        self.freq()?;
        Ok((self.docs.get(..self.len).unwrap_or_default(), self.freqs.get(..self.len).unwrap_or_default()))
    }
}
