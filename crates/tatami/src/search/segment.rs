//! One search segment: a file whose rows are documents, with an inverted index over them (spec §19).

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use bytes::Bytes;
use tesselle_core::{Action, Context, Error, Location, OpenOptions, Result};

use super::inverted::{InvertedIndex, Runs};
use super::meta::{DictionaryKind, LiveDocs, ReadRange, RunSource};
use crate::meta::header::flags;
use crate::meta::inverted::{Inverted, Run};
use crate::open::File;

/// Positions of the forward columns; names do not matter.
pub(crate) mod columns {
    pub(crate) const DOC_ID: usize = 0;
    pub(crate) const URL: usize = 1;
    pub(crate) const TITLE: usize = 2;
    /// The body as a blob, or a snippet in search-only segments.
    pub(crate) const TEXT: usize = 3;
    pub(crate) const NORM_BODY: usize = 4;
    pub(crate) const NORM_ANCHOR: usize = 6;
    /// Columns that every segment has; more may follow.
    pub(crate) const COUNT: usize = 8;
}

/// How a segment stores the bodies of its documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Whole bodies.
    Body,
    /// A short snippet.
    Snippet,
}

/// An open segment. Reading is safe from many threads.
#[derive(Debug)]
pub struct Segment {
    file: File,
    index: InvertedIndex,
    shape: Shape,
}

impl Segment {
    /// Opens a segment. Small runs of its inverted index are read as a whole and their checksums compared, large ones by
    /// ranges, as queries need them.
    pub fn open(location: &Location, options: &OpenOptions) -> Result<Self> {
        Self::open_as(location, options, Reading::OnDemand)
    }

    /// Opens a segment all of which is going to be read: all runs are read and their checksums compared.
    pub(crate) fn open_whole(location: &Location, options: &OpenOptions) -> Result<Self> {
        Self::open_as(location, options, Reading::Whole)
    }

    pub(crate) fn open_as(location: &Location, options: &OpenOptions, reading: Reading) -> Result<Self> {
        Self::of(File::open(location, &Self::options(options))?, reading)
    }

    /// The options for opening the file of a segment: documents may contain bytes that are not UTF-8, and are
    /// shown as hits instead of refused. Documents are identified by row, so deleted ones are rows too; the
    /// index marks them.
    pub(crate) fn options(options: &OpenOptions) -> OpenOptions {
        options.clone().with_text_as_binary(true).with_deleted(true)
    }

    /// The segment in an open file, which reads text as bytes.
    pub(crate) fn of(file: File, reading: Reading) -> Result<Self> {
        let path = file.path().to_string();
        Self::read(file, reading).in_file(&path)
    }

    fn read(file: File, reading: Reading) -> Result<Self> {
        let inverted = descriptor(&file)?;
        let shape = shape(&file)?;
        let docs = u32::try_from(inverted.documents).ok().filter(|docs| u64::from(*docs) == file.rows());
        let Some(docs) = docs else {
            return Err(Error::corrupt(format!(
                "the inverted index covers {} documents, the file has {} rows",
                inverted.documents,
                file.rows()
            ))
            .class("row_count_mismatch"));
        };
        let runs = read_runs(&file, &inverted, reading)?;
        let index =
            InvertedIndex::parse(runs, docs).of_class("bad_dictionary").at_offset(inverted.terms.offset)?;
        Ok(Self { file, index, shape })
    }

    /// The name of its file, without the folder.
    pub fn name(&self) -> &str {
        self.file.location().name()
    }

    /// Documents, deleted ones included.
    pub fn docs(&self) -> u32 {
        self.index.docs()
    }

    /// Documents that are not deleted.
    pub fn live_docs(&self) -> u32 {
        self.index.live_count()
    }

    /// Which documents are live; `None`: all.
    pub fn live(&self) -> Option<&LiveDocs> {
        self.index.live()
    }

    /// Distinct terms.
    pub fn terms(&self) -> u64 {
        self.index.dictionary().len()
    }

    /// How it stores bodies.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    pub(crate) fn index(&self) -> &InvertedIndex {
        &self.index
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Documents and frequencies of a term, ascending; empty if no document contains it.
    pub fn postings(&self, term: &str) -> Result<Vec<(u32, u32)>> {
        let Some(entry) = self.index.lookup(term.as_bytes()).in_file(self.file.path())? else {
            return Ok(Vec::new());
        };
        let mut cursor = self.index.cursor(entry).in_file(self.file.path())?;
        let mut postings = Vec::new();
        for block in 0..cursor.blocks() {
            let (docs, freqs) = cursor.read_block(block).in_file(self.file.path())?;
            postings.extend(docs.iter().copied().zip(freqs.iter().copied()));
        }
        Ok(postings)
    }

    /// Calls `visit` with every term and its document frequency, ascending.
    pub fn for_each_term(&self, mut visit: impl FnMut(&str, u32)) -> Result<()> {
        let result = self.index.dictionary().for_each(|term, entry| {
            visit(&String::from_utf8_lossy(term), entry.df());
        });
        result.of_class("bad_dictionary").in_file(self.file.path())
    }

    /// The forward columns `wanted` of some documents, in the given order.
    pub(crate) fn take(&self, docs: &[u32], wanted: &[usize]) -> Result<RecordBatch> {
        let schema = self.file.schema();
        let names: Vec<&str> = wanted
            .iter()
            .filter_map(|i| schema.fields().get(*i))
            .map(|field| field.name().as_str())
            .collect();
        let rows: Vec<u64> = docs.iter().map(|doc| u64::from(*doc)).collect();
        self.file.take(&rows, Some(&names))
    }

    /// Columns after those that every segment has.
    pub(crate) fn extra_columns(&self) -> Range<usize> {
        columns::COUNT..self.file.schema().fields().len().max(columns::COUNT)
    }
}

/// The bytes of row `row` of a string or blob column.
pub(crate) fn bytes_at(batch: &RecordBatch, column: usize, row: usize) -> &[u8] {
    match batch.columns().get(column).and_then(|array| array.as_binary_opt::<i32>()) {
        Some(array) if row < array.len() && array.is_valid(row) => array.value(row),
        _ => &[],
    }
}

/// Whether the header marks a file as a search segment.
pub(crate) fn is_segment(file: &File) -> bool {
    file.header().has(flags::SEARCH)
}

/// Whether a file has the columns of a search segment, regardless of its header.
pub(crate) fn has_segment_columns(file: &File) -> bool {
    shape(file).is_ok()
}

/// The descriptor of a file's inverted index.
pub(crate) fn descriptor(file: &File) -> Result<Inverted> {
    if !is_segment(file) {
        return Err(Error::unsupported("the file is not a search segment")
            .class("not_search_segment")
            .suggest("{} builds one", [Action::Index]));
    }
    file.footer().inverted.ok_or_else(|| {
        Error::corrupt("the header marks a search segment, but the footer has no inverted index")
            .class("missing_inverted")
            .offset(file.trailer().footer_offset)
    })
}

fn shape(file: &File) -> Result<Shape> {
    use crate::meta::types::LogicalType::{BlobRef, String, UInt16};
    let types: Vec<_> = file.footer().schema.fields.iter().map(|field| field.logical).collect();
    let shape = match types.get(columns::TEXT) {
        Some(String) => Some(Shape::Snippet),
        Some(BlobRef) => Some(Shape::Body),
        _ => None,
    };
    let strings = types.iter().take(columns::TEXT).all(|logical| *logical == String);
    let norms =
        types.get(columns::NORM_BODY..columns::COUNT).is_some_and(|norms| norms.iter().all(|t| *t == UInt16));
    shape.filter(|_| strings && norms).ok_or_else(|| {
        Error::corrupt("the columns are not those of a search segment")
            .class("not_search_segment")
            .offset(file.trailer().footer_offset)
    })
}

/// How the runs of an inverted index are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// All of them at once, with their checksums.
    Whole,
    /// All of them but the positions.
    WithoutPositions,
    /// Large ones by ranges; their checksums are left to verification.
    OnDemand,
}

/// Runs up to this size are read as a whole.
const SMALL_RUN: u64 = 1 << 20;

fn read_runs(file: &File, inverted: &Inverted, reading: Reading) -> Result<Runs> {
    let read = |run: Run, name: &'static str| read_run(file, run, reading).in_piece(|| name);
    let block_tree = file.header().has(flags::BLOCK_TREE);
    let positions = file.footer().positions.filter(|_| reading != Reading::WithoutPositions);
    Ok(Runs {
        kind: if block_tree { DictionaryKind::BlockTree } else { DictionaryKind::Flat },
        terms: read(inverted.terms, "term dictionary")?,
        postings: read(inverted.postings, "postings")?,
        skips: read(inverted.skips, "skip tables")?,
        positions: positions.map(|run| read(run, "positions")).transpose()?,
        live: read_live(file, inverted)?,
    })
}

fn read_run(file: &File, run: Run, reading: Reading) -> Result<RunSource> {
    if reading == Reading::OnDemand
        && run.len > SMALL_RUN
        && let Ok(len) = usize::try_from(run.len)
        && let Some(offset) = file.plain_index(run.offset, run.len)?
    {
        return Ok(RunSource::Ranged { len, source: Arc::new(RunRanges { file: file.clone(), offset }) });
    }
    file.index_record(run.offset, run.len).map(RunSource::Held)
}

/// A run in its file.
#[derive(Debug)]
struct RunRanges {
    file: File,
    offset: u64,
}

impl ReadRange for RunRanges {
    fn read(&self, range: Range<usize>) -> Result<Bytes> {
        let read = self.file.read(self.offset.saturating_add(range.start as u64), range.len() as u64);
        // A read that fails is not a damaged dictionary.
        read.map_err(|error| {
            let class = error.class_name();
            error.class(class)
        })
    }
}

/// The live-docs run; `None` where every document is live.
pub(crate) fn read_live(file: &File, inverted: &Inverted) -> Result<Option<Bytes>> {
    if inverted.live.len == 0 {
        return Ok(None);
    }
    file.index_record(inverted.live.offset, inverted.live.len).in_piece(|| "live documents").map(Some)
}
