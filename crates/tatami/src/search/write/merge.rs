//! Sorted runs of postings: spilled one by one, merged term by term.
//!
//! A run is a sequence of `uv term length, term, uv first document, uv documents, uv bytes, bytes, uv bytes of
//! positions, positions`, terms ascending.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use bytes::Bytes;
use tesselle_codec::varint;
use tesselle_core::driver::{Progress, Steps};
use tesselle_core::storage::Staged;
use tesselle_core::{At, Error, Location, Result};

use super::accumulate::{Accumulator, List, TermList};
use super::encode::{CHUNK_TERMS, RunEncoder};
use super::scratch::Scratch;

/// Writes the accumulated terms as a run and empties the accumulator.
pub(crate) fn spill(accumulator: &mut Accumulator, scratch: &mut Scratch) -> Result<Location> {
    let (mut staged, location) = scratch.create()?;
    let mut head = Vec::new();
    for (term, list) in accumulator.take_sorted() {
        write_term(staged.as_mut(), &mut head, &term, &list)?;
    }
    staged.commit()?;
    Ok(location)
}

fn write_term(staged: &mut dyn Staged, head: &mut Vec<u8>, term: &str, list: &List) -> Result<()> {
    head.clear();
    varint::write(term.len() as u64, head);
    head.extend_from_slice(term.as_bytes());
    varint::write(list.first.into(), head);
    varint::write(list.count.into(), head);
    varint::write(list.bytes.len() as u64, head);
    staged.write(head)?;
    staged.write(&list.bytes)?;
    head.clear();
    varint::write(list.positions.len() as u64, head);
    staged.write(head)?;
    staged.write(&list.positions)
}

/// Merges the runs, oldest documents first, and the remaining accumulated terms, which come last, into
/// `encoder`.
pub(crate) fn merge(
    runs: &[Location],
    mut accumulator: Accumulator,
    encoder: &mut RunEncoder,
    scratch: &mut Scratch,
    progress: &Arc<dyn Progress>,
) -> Result<()> {
    let mut batch = Batch::default();
    let last = accumulator.take_sorted();
    let bytes = last.iter().map(|(term, list)| (term.len() + list.len()) as u64).sum();
    let mut steps = Steps::new(progress, bytes, last.len() as u64);
    if runs.is_empty() {
        for (term, list) in last {
            batch.start(term, list);
            batch.flush_if_full(encoder, scratch)?;
            steps.advance(1);
        }
        steps.finish();
        return batch.flush(encoder, scratch);
    }
    let mut sources: Vec<TermSource> =
        runs.iter().map(|run| RunReader::open(run, progress).map(TermSource::Run)).collect::<Result<_>>()?;
    sources.push(TermSource::Memory(last.into_iter(), steps));
    // The next term of every source; equal terms are in source order, which is document order.
    let mut heads: Vec<Option<List>> = Vec::with_capacity(sources.len());
    let mut heap = BinaryHeap::new();
    for (i, source) in sources.iter_mut().enumerate() {
        heads.push(advance(source, i, &mut heap)?);
    }
    while let Some(Reverse((term, i))) = heap.pop() {
        let head = heads.at_mut(i)?;
        let list = head.take().ok_or_else(|| Error::internal("a term has no postings"))?;
        *head = advance(sources.at_mut(i)?, i, &mut heap)?;
        if batch.ends_with(&term) {
            batch.extend(list);
        } else {
            batch.flush_if_full(encoder, scratch)?;
            batch.start(term, list);
        }
    }
    batch.flush(encoder, scratch)
}

/// Terms with complete lists, except possibly the last one.
#[derive(Default)]
struct Batch {
    terms: Vec<(Box<str>, Vec<List>)>,
    bytes: usize,
}

/// Terms that are encoded together: whole blocks of the dictionary, enough for every thread.
const BATCH_TERMS: usize = 32 * CHUNK_TERMS;

/// Packed postings held for encoding together; unpacked they take several times as much.
const BATCH_BYTES: usize = 32 << 20;

impl Batch {
    fn ends_with(&self, term: &str) -> bool {
        self.terms.last().is_some_and(|(last, _)| **last == *term)
    }

    fn start(&mut self, term: Box<str>, list: List) {
        self.bytes += list.len();
        self.terms.push((term, vec![list]));
    }

    fn extend(&mut self, list: List) {
        self.bytes += list.len();
        if let Some((_, lists)) = self.terms.last_mut() {
            lists.push(list);
        }
    }

    /// Only between two terms, and only at the end of a block of the dictionary.
    fn flush_if_full(&mut self, encoder: &mut RunEncoder, scratch: &mut Scratch) -> Result<()> {
        let full = self.terms.len() >= BATCH_TERMS || self.bytes >= BATCH_BYTES;
        if full && self.terms.len().is_multiple_of(CHUNK_TERMS) {
            self.flush(encoder, scratch)
        } else {
            Ok(())
        }
    }

    fn flush(&mut self, encoder: &mut RunEncoder, scratch: &mut Scratch) -> Result<()> {
        self.bytes = 0;
        encoder.push_lists(&std::mem::take(&mut self.terms), scratch)
    }
}

type Heap = BinaryHeap<Reverse<(Box<str>, usize)>>;

/// Pushes the next term of source `i` onto the heap and returns its list.
fn advance(source: &mut TermSource, i: usize, heap: &mut Heap) -> Result<Option<List>> {
    let Some((term, list)) = source.next()? else { return Ok(None) };
    heap.push(Reverse((term, i)));
    Ok(Some(list))
}

enum TermSource {
    Run(RunReader),
    Memory(std::vec::IntoIter<TermList>, Steps),
}

impl TermSource {
    fn next(&mut self) -> Result<Option<TermList>> {
        match self {
            Self::Run(run) => run.next(),
            Self::Memory(terms, steps) => {
                let term = terms.next();
                steps.advance(u64::from(term.is_some()));
                Ok(term)
            }
        }
    }
}

/// Bytes of a run read at once.
const WINDOW: u64 = 256 << 10;

/// Reads a run sequentially.
struct RunReader {
    location: Location,
    size: u64,
    /// File offset of the byte after `window`.
    at: u64,
    window: Bytes,
    pos: usize,
    progress: Arc<dyn Progress>,
}

impl RunReader {
    fn open(location: &Location, progress: &Arc<dyn Progress>) -> Result<Self> {
        let (size, progress) = (location.size()?, Arc::clone(progress));
        progress.expect(size);
        Ok(Self { location: location.clone(), size, at: 0, window: Bytes::new(), pos: 0, progress })
    }

    fn next(&mut self) -> Result<Option<TermList>> {
        if self.pos == self.window.len() && self.at == self.size {
            return Ok(None);
        }
        let len = self.varint()?;
        let term = self.bytes(len)?;
        let term =
            String::from_utf8(term).map_err(|_| Error::internal("a scratch run has an invalid term"))?;
        let (first, count, len) = (self.varint()?, self.varint()?, self.varint()?);
        let bytes = self.bytes(len)?;
        let len = self.varint()?;
        let positions = self.bytes(len)?;
        let list = List { first: first as u32, last: 0, count: count as u32, bytes, positions };
        Ok(Some((term.into(), list)))
    }

    /// Makes sure that `len` bytes, or all that are left, are in the window.
    fn fill(&mut self, len: u64) -> Result<()> {
        let there = (self.window.len() - self.pos) as u64;
        if there >= len || self.at == self.size {
            return Ok(());
        }
        let start = self.at - there;
        let end = self.size.min(start.saturating_add(len.max(WINDOW)));
        self.window = self.location.read_range(start..end)?;
        self.pos = 0;
        self.progress.advance(end - self.at);
        self.at = end;
        Ok(())
    }

    fn varint(&mut self) -> Result<u64> {
        self.fill(varint::MAX_LEN as u64)?;
        Ok(varint::take(&self.window, &mut self.pos)?)
    }

    fn bytes(&mut self, len: u64) -> Result<Vec<u8>> {
        self.fill(len)?;
        let bytes = usize::try_from(len).ok().and_then(|len| self.window.get(self.pos..)?.get(..len));
        let Some(bytes) = bytes else { return Err(Error::internal("a scratch run ends early")) };
        self.pos += bytes.len();
        Ok(bytes.to_vec())
    }
}
