//! The block tree: terms in compressed blocks with an index of first terms (spec §21.3).
//!
//! | field | |
//! |---|---|
//! | u8 | version, 2 |
//! | uv | terms per block |
//! | uv | terms |
//! | uv | blocks |
//! | uv | bytes of the index |
//! | index | per block: `str` first term, `uv` offset in the blocks area, `uv` compressed length, `uv` raw length |
//! | blocks | one zstd frame each |
//!
//! The body of a block, per term: `uv` bytes shared with the previous term in this block, `uv` length of the
//! rest, the rest, the entry.

use std::ops::Range;

use bytes::Bytes;
use tesselle_codec::compress::zstd;
use tesselle_codec::{Error, Result, varint};
use tesselle_core::Within;

use super::run::RunSource;
use super::{TermEntry, index, slice};

const WHAT: &str = "block-tree dictionary";
const VERSION: u8 = 2;

/// Default number of terms per block.
pub(crate) const BLOCK_TERMS: usize = 64;

/// Compression level of a block; a block is small and read often.
const LEVEL: i32 = 3;

/// Bytes that hold the fields before the index.
const HEAD: usize = 41;

/// The parsed index over the run, whose blocks are read when a term is looked up.
#[derive(Debug)]
pub(crate) struct BlockTree {
    run: RunSource,
    /// The index of first terms.
    index: Bytes,
    terms: u64,
    block_terms: u64,
    blocks: Vec<BlockRef>,
}

/// One entry of the index.
#[derive(Debug)]
struct BlockRef {
    /// The first term, in the index.
    first: Range<usize>,
    /// The block, in the run.
    frame: Range<usize>,
    raw_len: usize,
}

impl BlockTree {
    pub(crate) fn parse(run: RunSource) -> tesselle_core::Result<Self> {
        let head = run.get(0..run.len().min(HEAD), WHAT)?;
        let Some(&version) = head.first() else {
            return Err(Error::truncated(WHAT, 1, 0).into());
        };
        if version != VERSION {
            return Err(Error::unsupported(WHAT, format!("version {version}, known is {VERSION}")).into());
        }
        let mut pos = 1;
        let block_terms = varint::take(&head, &mut pos)?;
        let terms = varint::take(&head, &mut pos)?;
        let count = index(varint::take(&head, &mut pos)?, WHAT)?;
        let index_len = index(varint::take(&head, &mut pos)?, WHAT)?;
        let area = pos.saturating_add(index_len);
        let entries = run.get(pos..area, WHAT)?;
        let blocks = block_refs(&entries, count, area, run.len())?;
        Ok(Self { run, index: entries, terms, block_terms, blocks })
    }

    /// Number of terms, from the header.
    pub(crate) fn len(&self) -> u64 {
        self.terms
    }

    /// Terms per block, from the header.
    pub(crate) fn block_terms(&self) -> u64 {
        self.block_terms
    }

    pub(crate) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The entry of a term, and its number, for which all blocks but the last must be full.
    pub(crate) fn lookup(&self, wanted: &[u8]) -> tesselle_core::Result<Option<(u64, TermEntry)>> {
        let mut found = None;
        let block = self.block_of(wanted);
        let mut number = (block as u64).saturating_mul(self.block_terms);
        self.scan(block, |term, entry| {
            if term == wanted {
                found = Some((number, entry));
            }
            number = number.saturating_add(1);
            term < wanted
        })?;
        Ok(found)
    }

    /// The last block whose first term is not greater than `wanted`, else the first block.
    pub(crate) fn block_of(&self, wanted: &[u8]) -> usize {
        self.blocks.partition_point(|block| self.first(block) <= wanted).saturating_sub(1)
    }

    /// Calls `visit` with the terms of block `number` until it answers false.
    pub(crate) fn scan(
        &self,
        number: usize,
        visit: impl FnMut(&[u8], TermEntry) -> bool,
    ) -> tesselle_core::Result<()> {
        let Some(block) = self.blocks.get(number) else { return Ok(()) };
        let frame = self.run.get(block.frame.clone(), WHAT)?;
        Ok(self.scan_block(number, block, &frame, visit)?)
    }

    fn scan_block(
        &self,
        number: usize,
        block: &BlockRef,
        frame: &[u8],
        mut visit: impl FnMut(&[u8], TermEntry) -> bool,
    ) -> Result<()> {
        let body = zstd::decompress(frame, block.raw_len)?;
        let mut term = Vec::new();
        let (mut pos, mut first) = (0, true);
        while pos < body.len() {
            let shared = index(varint::take(&body, &mut pos)?, WHAT)?;
            let len = varint::take(&body, &mut pos)?;
            let rest = slice(&body, &mut pos, len, WHAT)?;
            // The bytes after the shared ones must increase, otherwise the terms do not ascend.
            if shared > term.len() || (!first && term.within(shared..) >= rest) {
                return Err(Error::corrupt(WHAT, format!("block {number}: terms do not ascend")));
            }
            term.truncate(shared);
            term.extend_from_slice(rest);
            if first && term != self.first(block) {
                return Err(Error::corrupt(
                    WHAT,
                    format!("the first term of block {number} differs from the index"),
                ));
            }
            first = false;
            let entry = TermEntry::parse(&body, &mut pos)?;
            if !visit(&term, entry) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn first(&self, block: &BlockRef) -> &[u8] {
        self.index.get(block.first.clone()).unwrap_or_default()
    }
}

/// The entries of an index, in front of blocks that lie from `area` to `end` of the run.
fn block_refs(entries: &[u8], count: usize, area: usize, end: usize) -> Result<Vec<BlockRef>> {
    // An index entry takes at least four bytes.
    if count > entries.len() / 4 {
        let why = format!("{count} blocks in an index of {} bytes", entries.len());
        return Err(Error::corrupt(WHAT, why));
    }
    let mut blocks: Vec<BlockRef> = Vec::with_capacity(count);
    let mut at = 0;
    for i in 0..count {
        let block = BlockRef::parse(entries, &mut at, area, end)?;
        if let Some(last) = blocks.last()
            && entries.get(last.first.clone()) >= entries.get(block.first.clone())
        {
            return Err(Error::corrupt(WHAT, format!("block {i} does not start after the one before")));
        }
        blocks.push(block);
    }
    Ok(blocks)
}

impl BlockRef {
    /// Reads the entry at `pos` of the index; the blocks lie from `area` to `end` of the run.
    fn parse(entries: &[u8], pos: &mut usize, area: usize, end: usize) -> Result<Self> {
        let len = varint::take(entries, pos)?;
        let first = slice(entries, pos, len, WHAT)?;
        let first = *pos - first.len()..*pos;
        let offset = index(varint::take(entries, pos)?, WHAT)?;
        let len = index(varint::take(entries, pos)?, WHAT)?;
        let raw_len = index(varint::take(entries, pos)?, WHAT)?;
        let frame = area.checked_add(offset).and_then(|from| Some(from..from.checked_add(len)?));
        match frame.filter(|frame| frame.end <= end) {
            Some(frame) => Ok(Self { first, frame, raw_len }),
            None => Err(Error::truncated(WHAT, offset.saturating_add(len), end - area)),
        }
    }
}

/// Collects terms in ascending order.
#[derive(Debug)]
pub(crate) struct BlockTreeWriter {
    terms: u64,
    /// First term, compressed and raw length of every block.
    blocks: Vec<(Vec<u8>, usize, usize)>,
    area: Vec<u8>,
    body: Vec<u8>,
    in_block: usize,
    first: Vec<u8>,
    last: Vec<u8>,
}

impl BlockTreeWriter {
    pub(crate) fn new() -> Self {
        Self {
            terms: 0,
            blocks: Vec::new(),
            area: Vec::new(),
            body: Vec::new(),
            in_block: 0,
            first: Vec::new(),
            last: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, term: &[u8], entry: TermEntry) -> Result<()> {
        let shared = if self.in_block == 0 {
            self.first = term.to_vec();
            0
        } else {
            self.last.iter().zip(term).take_while(|(a, b)| a == b).count()
        };
        let rest = term.within(shared..);
        varint::write(shared as u64, &mut self.body);
        varint::write(rest.len() as u64, &mut self.body);
        self.body.extend_from_slice(rest);
        entry.write(&mut self.body);
        self.last.truncate(shared);
        self.last.extend_from_slice(rest);
        self.terms += 1;
        self.in_block += 1;
        if self.in_block == BLOCK_TERMS { self.flush() } else { Ok(()) }
    }

    /// Appends the terms of another writer. Blocks are kept as both writers cut them, so this one must be at
    /// the end of a block.
    pub(crate) fn append(&mut self, other: Self) -> Result<()> {
        if self.in_block > 0 {
            return Err(Error::unencodable(WHAT, "terms are appended to an incomplete block"));
        }
        self.terms += other.terms;
        self.blocks.extend(other.blocks);
        self.area.extend_from_slice(&other.area);
        self.body = other.body;
        self.in_block = other.in_block;
        self.first = other.first;
        self.last = other.last;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let offset = self.area.len();
        zstd::compress_with_checksum(LEVEL, &self.body, &mut self.area)?;
        let first = std::mem::take(&mut self.first);
        self.blocks.push((first, self.area.len() - offset, self.body.len()));
        self.body.clear();
        self.last.clear();
        self.in_block = 0;
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<Vec<u8>> {
        if self.in_block > 0 {
            self.flush()?;
        }
        let mut index = Vec::new();
        let mut offset = 0;
        for (first, stored, raw) in &self.blocks {
            varint::write(first.len() as u64, &mut index);
            index.extend_from_slice(first);
            for field in [offset, *stored, *raw] {
                varint::write(field as u64, &mut index);
            }
            offset += stored;
        }
        let mut run = vec![VERSION];
        varint::write(BLOCK_TERMS as u64, &mut run);
        varint::write(self.terms, &mut run);
        varint::write(self.blocks.len() as u64, &mut run);
        varint::write(index.len() as u64, &mut run);
        run.extend_from_slice(&index);
        run.extend_from_slice(&self.area);
        Ok(run)
    }
}
