//! Sorted runs of postings: spilled one by one, merged term by term.
//!
//! A run is a sequence of `uv term length, term, uv first document, uv documents, uv bytes, bytes`, terms ascending.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bytes::Bytes;
use tesselle_codec::varint;
use tesselle_core::storage::Staged;
use tesselle_core::{Error, Location, Result};

use super::accumulate::{Accumulator, List};
use super::encode::RunEncoder;
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
    staged.write(&list.bytes)
}

/// Merges the runs, oldest documents first, and what is still accumulated, which comes last, into `encoder`.
pub(crate) fn merge(
    runs: &[Location],
    mut accumulator: Accumulator,
    encoder: &mut RunEncoder,
    scratch: &mut Scratch,
) -> Result<()> {
    let (mut docs, mut freqs) = (Vec::new(), Vec::new());
    let mut sources: Vec<Source> =
        runs.iter().map(|run| RunReader::open(run).map(Source::Run)).collect::<Result<_>>()?;
    sources.push(Source::Memory(accumulator.take_sorted().into_iter()));
    // The next term of every source; equal terms come in the order of the sources, that is of documents.
    let mut heads: Vec<Option<List>> = Vec::with_capacity(sources.len());
    let mut heap = BinaryHeap::new();
    for (i, source) in sources.iter_mut().enumerate() {
        heads.push(advance(source, i, &mut heap)?);
    }
    while let Some(Reverse((term, first))) = heap.pop() {
        docs.clear();
        freqs.clear();
        take(&mut sources, &mut heads, first, &mut heap, &mut docs, &mut freqs)?;
        while let Some(Reverse((next, i))) = heap.peek()
            && *next == term
        {
            let i = *i;
            heap.pop();
            take(&mut sources, &mut heads, i, &mut heap, &mut docs, &mut freqs)?;
        }
        encoder.push(term.as_bytes(), &docs, &freqs, scratch)?;
    }
    Ok(())
}

type Heap = BinaryHeap<Reverse<(Box<str>, usize)>>;

/// Puts the next term of source `i` on the heap and gives its list.
fn advance(source: &mut Source, i: usize, heap: &mut Heap) -> Result<Option<List>> {
    let Some((term, list)) = source.next()? else { return Ok(None) };
    heap.push(Reverse((term, i)));
    Ok(Some(list))
}

/// Unpacks the current list of source `i` and moves the source on.
fn take(
    sources: &mut [Source],
    heads: &mut [Option<List>],
    i: usize,
    heap: &mut Heap,
    docs: &mut Vec<u32>,
    freqs: &mut Vec<u32>,
) -> Result<()> {
    let (Some(source), Some(head)) = (sources.get_mut(i), heads.get_mut(i)) else { return Ok(()) };
    if let Some(list) = head.take() {
        unpack(&list, docs, freqs)?;
    }
    *head = advance(source, i, heap)?;
    Ok(())
}

fn unpack(list: &List, docs: &mut Vec<u32>, freqs: &mut Vec<u32>) -> Result<()> {
    docs.reserve(list.count as usize);
    freqs.reserve(list.count as usize);
    let (mut pos, mut doc) = (0, list.first);
    for i in 0..list.count {
        if i > 0 {
            doc = doc.wrapping_add(varint::take(&list.bytes, &mut pos)? as u32);
        }
        docs.push(doc);
        freqs.push(varint::take(&list.bytes, &mut pos)? as u32);
    }
    Ok(())
}

enum Source {
    Run(RunReader),
    Memory(std::vec::IntoIter<(Box<str>, List)>),
}

impl Source {
    fn next(&mut self) -> Result<Option<(Box<str>, List)>> {
        match self {
            Self::Run(run) => run.next(),
            Self::Memory(terms) => Ok(terms.next()),
        }
    }
}

/// How much of a run is read at once.
const WINDOW: u64 = 256 << 10;

/// Reads a run from front to back.
struct RunReader {
    location: Location,
    size: u64,
    /// Of the byte after `window`, in the file.
    at: u64,
    window: Bytes,
    pos: usize,
}

impl RunReader {
    fn open(location: &Location) -> Result<Self> {
        let size = location.size()?;
        Ok(Self { location: location.clone(), size, at: 0, window: Bytes::new(), pos: 0 })
    }

    fn next(&mut self) -> Result<Option<(Box<str>, List)>> {
        if self.pos == self.window.len() && self.at == self.size {
            return Ok(None);
        }
        let len = self.varint()?;
        let term = self.bytes(len)?;
        let term = String::from_utf8(term).map_err(|_| Error::internal("a scratch run holds a torn term"))?;
        let (first, count, len) = (self.varint()?, self.varint()?, self.varint()?);
        let bytes = self.bytes(len)?;
        let list = List { first: first as u32, last: 0, count: count as u32, bytes };
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
