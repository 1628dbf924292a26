//! Combines several segments into one, without deleted documents (spec §23).
//!
//! Live documents keep their order and get new numbers; stored fields are copied. Lists are combined from the
//! inverted indexes: the text is not tokenized again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use arrow_array::BooleanArray;
use arrow_select::filter::filter_record_batch;
use tesselle_core::driver::{Order, Steps};
use tesselle_core::{Context, Driver, Error, Location, OpenOptions, Result, Scan, Sink, Summary, Table};

use super::accumulate::Unpacked;
use super::encode::RunEncoder;
use super::scratch::Scratch;
use crate::collection::common_metadata;
use crate::search::cursor::{END, PostingCursor};
use crate::search::meta::{Dictionary, DictionaryKind, LiveDocs, TermEntry, positions};
use crate::search::segment::Segment;
use crate::table::FileTable;
use crate::write::options::WriterOptions;
use crate::write::writer::Writer;

/// Writes the live documents of `inputs`, in that order, as one segment to `target`.
pub fn merge_segments(
    inputs: &[Location],
    target: &Location,
    overwrite: bool,
    driver: &Driver,
) -> Result<Summary> {
    let segments = inputs
        .iter()
        .map(|input| Segment::open_whole(input, &OpenOptions::default()))
        .collect::<Result<Vec<_>>>()?;
    let files: Vec<_> = segments.iter().map(|segment| segment.file().clone()).collect();
    let options = WriterOptions {
        metadata: common_metadata(&files),
        ..WriterOptions::within(driver.budget().total())?
    };
    combine(&segments, target, options, overwrite, driver)
}

/// Writes the live documents of `segments` as one segment; the roles of the columns are those of the first.
pub(crate) fn combine(
    segments: &[Segment],
    target: &Location,
    options: WriterOptions,
    overwrite: bool,
    driver: &Driver,
) -> Result<Summary> {
    let Some(first) = segments.first() else { return Err(Error::invalid("no segments to merge")) };
    let columns = |segment: &Segment| segment.file().footer().schema.clone();
    if segments.iter().any(|segment| columns(segment) != columns(first)) {
        return Err(Error::invalid("the segments do not store the same columns")
            .hint("segments with bodies and segments with snippets cannot be merged"));
    }
    let renumbering = Renumbering::of(segments)?;
    let mut scratch = Scratch::next_to(target);
    let arrow = first.file().schema();
    let mut writer = Writer::with_schema(target, columns(first), &arrow, options, overwrite, driver)?;
    for segment in segments {
        copy(segment, &mut writer, driver).in_file(segment.file().path())?;
    }
    let with_positions = segments.iter().filter(|segment| segment.index().positions().is_some()).count();
    let mut encoder = RunEncoder::new(DictionaryKind::BlockTree, with_positions == segments.len());
    merge_lists(segments, &renumbering, &mut encoder, &mut scratch, driver)?;
    writer.attach_inverted(encoder.finish(&mut scratch)?.into_inverted(renumbering.docs));
    let mut summary = Box::new(writer).finish()?;
    if with_positions > 0 && with_positions < segments.len() {
        summary.lost.push("the positions of words, which not all segments have".to_owned());
    }
    Ok(summary)
}

/// Copies the stored fields of the live documents.
fn copy(segment: &Segment, writer: &mut Writer, driver: &Driver) -> Result<()> {
    let table = FileTable::try_new(segment.file().clone())?;
    let plan = table.plan(&Scan::all())?;
    let mut doc = 0u32;
    for batch in driver.for_run().batches(table.storage(), plan, Order::Plan) {
        let batch = batch?;
        let rows = batch.num_rows() as u32;
        let batch = match segment.live() {
            Some(live) => {
                let mask: BooleanArray = (doc..doc + rows).map(|doc| Some(live.contains(doc))).collect();
                filter_record_batch(&batch, &mask)?
            }
            None => batch,
        };
        writer.write(&batch)?;
        doc += rows;
    }
    Ok(())
}

/// The new numbers of the live documents.
struct Renumbering {
    /// Per segment: the number of its first live document, and the number of live documents before each group
    /// of 64.
    segments: Vec<(u32, Option<Vec<u32>>)>,
    docs: u64,
}

impl Renumbering {
    fn of(segments: &[Segment]) -> Result<Self> {
        let mut docs = 0u64;
        let mut all = Vec::with_capacity(segments.len());
        for segment in segments {
            let base = u32::try_from(docs).ok().filter(|base| *base < END);
            docs += u64::from(segment.live_docs());
            let Some(base) = base.filter(|_| docs < u64::from(END)) else {
                return Err(Error::limit("a segment has fewer than 4294967295 documents"));
            };
            all.push((base, segment.live().map(LiveDocs::ranks)));
        }
        Ok(Self { segments: all, docs })
    }

    /// The new number of a document; `None` if it is deleted.
    fn number(&self, segment: usize, live: Option<&LiveDocs>, doc: u32) -> Option<u32> {
        let (base, ranks) = self.segments.get(segment)?;
        match (live, ranks) {
            (Some(live), Some(ranks)) => Some(base + live.rank(ranks, doc)?),
            _ => Some(base + doc),
        }
    }
}

fn merge_lists(
    segments: &[Segment],
    renumbering: &Renumbering,
    encoder: &mut RunEncoder,
    scratch: &mut Scratch,
    driver: &Driver,
) -> Result<()> {
    let mut steps = index_steps(segments, driver);
    let mut streams: Vec<TermStream<'_>> =
        segments.iter().map(|s| TermStream::new(s.index().dictionary())).collect();
    let mut heap = BinaryHeap::new();
    for (i, stream) in streams.iter_mut().enumerate() {
        if let Some((term, entry)) = stream.next().of_class("bad_dictionary")? {
            heap.push(Reverse((term, i, Opaque(entry))));
        }
    }
    let mut postings = Unpacked::default();
    let mut current: Option<Arc<[u8]>> = None;
    while let Some(Reverse((term, i, Opaque(entry)))) = heap.pop() {
        if current.as_ref().is_some_and(|current| *current != term) {
            if let Some(done) = current.take() {
                encoder.push(&done, &postings, scratch)?;
            }
            postings.clear();
        }
        if let (Some(segment), Some(stream)) = (segments.get(i), streams.get_mut(i)) {
            let path = segment.file().path();
            let number = |doc| renumbering.number(i, segment.live(), doc);
            let positions = segment.index().positions().filter(|_| encoder.has_positions());
            let payload = positions.map(|all| all.payload(stream.taken - 1)).transpose().in_file(path)?;
            renumber(segment.index().cursor(entry)?, payload.as_deref(), number, &mut postings)
                .in_file(path)?;
            steps.advance(1);
            if let Some((term, entry)) = stream.next().of_class("bad_dictionary").in_file(path)? {
                heap.push(Reverse((term, i, Opaque(entry))));
            }
        }
        current = Some(term);
    }
    if let Some(last) = current {
        encoder.push(&last, &postings, scratch)?;
    }
    steps.finish();
    Ok(())
}

/// Progress through the terms of all inverted indexes.
fn index_steps(segments: &[Segment], driver: &Driver) -> Steps {
    let (mut bytes, mut terms) = (0_u64, 0_u64);
    for segment in segments {
        let footer = segment.file().footer();
        let Some(inverted) = footer.inverted else { continue };
        let runs = [Some(inverted.terms), Some(inverted.postings), Some(inverted.skips), footer.positions];
        bytes = runs.into_iter().flatten().fold(bytes, |bytes, run| bytes.saturating_add(run.len));
        terms = terms.saturating_add(inverted.term_count);
    }
    Steps::new(driver.progress(), bytes, terms)
}

/// Appends the postings of the documents that have a new number.
fn renumber(
    mut cursor: PostingCursor,
    positions: Option<&[u8]>,
    number: impl Fn(u32) -> Option<u32>,
    postings: &mut Unpacked,
) -> Result<()> {
    let mut numbers = Vec::new();
    let blocks = cursor.blocks();
    for block in 0..blocks {
        let (docs, freqs) = cursor.read_block(block)?;
        if let Some(positions) = positions {
            let total = freqs.iter().map(|freq| u64::from(*freq)).sum();
            let bytes = positions::block(positions, blocks, block)?;
            positions::numbers(bytes, total, 0, total, &mut numbers)?;
        }
        let mut rest = numbers.as_slice();
        for (doc, freq) in docs.iter().zip(freqs) {
            let own = if positions.is_some() {
                let (own, others) = rest
                    .split_at_checked(*freq as usize)
                    .ok_or_else(|| Error::internal("a document has fewer positions than its frequency"))?;
                rest = others;
                own
            } else {
                &[]
            };
            if let Some(doc) = number(*doc) {
                postings.docs.push(doc);
                postings.freqs.push(*freq);
                postings.numbers.extend_from_slice(own);
            }
        }
    }
    Ok(())
}

/// A value without an order: all are equal.
struct Opaque<T>(T);

impl<T> PartialEq for Opaque<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for Opaque<T> {}

impl<T> PartialOrd for Opaque<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Opaque<T> {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

/// Iterates over the terms of a dictionary, with one block in memory at a time.
struct TermStream<'a> {
    dictionary: &'a Dictionary,
    /// Terms that were taken.
    taken: u64,
    next: usize,
    block: std::vec::IntoIter<(Arc<[u8]>, TermEntry)>,
}

impl<'a> TermStream<'a> {
    fn new(dictionary: &'a Dictionary) -> Self {
        Self { dictionary, taken: 0, next: 0, block: Vec::new().into_iter() }
    }

    fn next(&mut self) -> Result<Option<(Arc<[u8]>, TermEntry)>> {
        self.taken += 1;
        loop {
            if let Some(term) = self.block.next() {
                return Ok(Some(term));
            }
            match self.dictionary {
                Dictionary::Flat(flat) => {
                    self.next += 1;
                    return Ok(flat.get(self.next - 1)?.map(|(term, entry)| (term.into(), entry)));
                }
                Dictionary::BlockTree(tree) => {
                    if self.next >= tree.blocks() {
                        return Ok(None);
                    }
                    let mut block = Vec::new();
                    tree.scan(self.next, |term, entry| {
                        block.push((term.into(), entry));
                        true
                    })?;
                    self.next += 1;
                    self.block = block.into_iter();
                }
            }
        }
    }
}
