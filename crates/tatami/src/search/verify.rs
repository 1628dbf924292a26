//! Verification of the inverted index of a segment.
//!
//! The quick depth checks the descriptor, the next depth the checksums and the structure of the runs. The
//! deepest decodes every list and compares redundant data: document frequencies with skip tables, skip tables
//! with blocks, frequencies with the token counts of the documents.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt16Type;
use tesselle_core::driver::Order;
use tesselle_core::{
    Context, Depth, Driver, Error, ErrorKind, Finding, Report, Result, Scan, Severity, Table,
};

use super::inverted::InvertedIndex;
use super::meta::{Dictionary, Entry};
use super::segment::{Segment, columns, descriptor};
use crate::meta::header::flags;
use crate::open::File;
use crate::table::FileTable;

const DICTIONARY: &str = "bad_dictionary";
const POSTINGS: &str = "bad_postings";

/// Checks the search part of `file`; does nothing for files that are not segments.
pub(crate) fn verify(file: &File, depth: Depth, driver: &Driver, report: &mut Report) -> Result<()> {
    if !file.header().has(flags::SEARCH) {
        return Ok(());
    }
    let path = file.path().to_string();
    let inverted = match descriptor(file).in_file(&path) {
        Ok(inverted) => inverted,
        Err(error) if error.kind() == ErrorKind::Io => return Err(error),
        Err(error) => {
            report.error(error.class_name(), &error);
            return Ok(());
        }
    };
    if depth == Depth::Quick {
        for run in [inverted.terms, inverted.postings, inverted.skips, inverted.live] {
            if let Err(error) = file.check_inside(run.offset, run.len) {
                report.error(error.class_name(), &error);
            }
        }
        return Ok(());
    }
    let segment = match Segment::open_whole(file.location(), file.options()) {
        Ok(segment) => segment,
        Err(error) if error.kind() == ErrorKind::Io => return Err(error),
        Err(error) => {
            report.error(error.class_name(), &error);
            return Ok(());
        }
    };
    report.pieces += segment.index().lists() as u64;
    let mut check = Check { report, path: &path, offset: inverted.terms.offset };
    if segment.terms() != inverted.term_count {
        let (found, stated) = (segment.terms(), inverted.term_count);
        check.add(
            DICTIONARY,
            format!("the dictionary states {found} terms, the footer {stated}"),
            "term dictionary",
        );
    }
    if depth < Depth::Deep {
        return Ok(());
    }
    let totals = check.lists(segment.index(), inverted.postings.offset);
    check.norms(&segment, &totals, driver)
}

struct Check<'a> {
    report: &'a mut Report,
    path: &'a str,
    /// Of the record that is being checked.
    offset: u64,
}

impl Check<'_> {
    fn finding(
        &self,
        severity: Severity,
        kind: &'static str,
        message: String,
        piece: impl Into<String>,
    ) -> Finding {
        Finding::new(severity, kind, message).file(self.path).offset(self.offset).piece(piece)
    }

    fn add(&mut self, kind: &'static str, message: String, piece: impl Into<String>) {
        let finding = self.finding(Severity::Error, kind, message, piece);
        self.report.add(finding);
    }

    fn failed(&mut self, kind: &'static str, error: impl Into<Error>, piece: impl Into<String>) {
        self.add(kind, error.into().message().to_owned(), piece);
    }

    /// Decodes every list, term by term; returns the number of tokens of each document.
    fn lists(&mut self, index: &InvertedIndex, postings_offset: u64) -> Vec<u64> {
        let dictionary = index.dictionary();
        if let Dictionary::BlockTree(tree) = dictionary {
            let blocks = if tree.block_terms() == 0 { 0 } else { tree.len().div_ceil(tree.block_terms()) };
            if blocks != tree.blocks() as u64 {
                let found = tree.blocks();
                self.add(
                    DICTIONARY,
                    format!("{found} blocks, but the terms need {blocks}"),
                    "term dictionary",
                );
            }
        }
        let dictionary_offset = std::mem::replace(&mut self.offset, postings_offset);
        let mut totals = vec![0u64; index.docs() as usize];
        let (mut terms, mut lists) = (0u64, 0u32);
        let result = dictionary.for_each(|term, entry| {
            terms += 1;
            let term = String::from_utf8_lossy(term);
            if let Entry::List { list, .. } = entry {
                if list != lists {
                    let piece = format!("term '{term}'");
                    self.add(DICTIONARY, format!("refers to list {list}, expected {lists}"), piece);
                }
                lists = list.saturating_add(1);
            }
            self.list(index, &term, entry, &mut totals);
        });
        if lists as usize != index.lists() && result.is_ok() {
            let found = index.lists();
            self.add(
                POSTINGS,
                format!("the terms refer to {lists} posting lists, found {found}"),
                "postings",
            );
        }
        self.offset = dictionary_offset;
        match result {
            Err(error) => self.failed(DICTIONARY, error, "term dictionary"),
            Ok(()) if terms != dictionary.len() => {
                let stated = dictionary.len();
                self.add(DICTIONARY, format!("{stated} terms stated, found {terms}"), "term dictionary");
            }
            Ok(()) => {}
        }
        totals
    }

    fn list(&mut self, index: &InvertedIndex, term: &str, entry: Entry, totals: &mut [u64]) {
        let piece = || format!("term '{term}'");
        let mut cursor = match index.cursor(entry) {
            Ok(cursor) => cursor,
            Err(error) => return self.failed(POSTINGS, error, piece()),
        };
        if cursor.docs() != u64::from(entry.df()) {
            let (found, stated) = (cursor.docs(), entry.df());
            self.add(
                DICTIONARY,
                format!("document frequency {stated}, but the list has {found} documents"),
                piece(),
            );
        }
        let mut end = 0;
        for block in 0..cursor.blocks() {
            let Some((_, _, max_freq)) = cursor.block_bounds(block) else { break };
            let (docs, freqs) = match cursor.read_block(block) {
                Ok(block) => block,
                Err(error) => return self.failed(POSTINGS, error, piece()),
            };
            let largest = freqs.iter().copied().max().unwrap_or(0);
            let empty = freqs.contains(&0);
            for (doc, freq) in docs.iter().zip(freqs) {
                if let Some(total) = totals.get_mut(*doc as usize) {
                    *total += u64::from(*freq);
                }
            }
            if largest != max_freq {
                self.add(
                    POSTINGS,
                    format!("block {block}: max frequency {largest}, the skip table states {max_freq}"),
                    piece(),
                );
            }
            if empty {
                self.add(
                    POSTINGS,
                    format!("block {block} lists a document that does not contain the term"),
                    piece(),
                );
            }
            let (start, stop) = cursor.block_bytes(block);
            if start != end {
                self.add(
                    POSTINGS,
                    format!("block {block} starts at byte {start} of its list, expected {end}"),
                    piece(),
                );
            }
            end = stop;
        }
        if end != cursor.payload_len() {
            let len = cursor.payload_len();
            self.add(POSTINGS, format!("the blocks end at byte {end} of a list of {len}"), piece());
        }
    }

    /// Compares the frequencies of each document with its token counts. Other writers may count differently,
    /// so a difference is only a notice.
    fn norms(&mut self, segment: &Segment, totals: &[u64], driver: &Driver) -> Result<()> {
        let table = FileTable::new(segment.file().clone())?;
        let schema = table.schema();
        let names = schema.fields().iter().skip(columns::NORM_BODY).take(4).map(|field| field.name().clone());
        let plan = table.plan(&Scan::all().columns(names))?;
        let (mut row, mut differing) = (0, 0u64);
        for batch in driver.for_run().batches(table.storage(), plan, Order::Plan) {
            // Damaged pages are reported by the page checks.
            let Ok(batch) = batch else { return Ok(()) };
            for i in 0..batch.num_rows() {
                let norms =
                    batch.columns().iter().filter_map(|column| column.as_primitive_opt::<UInt16Type>());
                let norms: Vec<u64> = norms.map(|norms| norms.value(i).into()).collect();
                let sum: u64 = norms.iter().sum();
                // A count at its cap is not conclusive.
                let capped = norms.contains(&u64::from(u16::MAX));
                let total = totals.get(row).copied().unwrap_or(0);
                differing += u64::from(if capped { total < sum } else { total != sum });
                row += 1;
            }
        }
        if differing > 0 {
            let message = format!(
                "{differing} documents have token counts that differ from the sums of their frequencies"
            );
            let finding = self.finding(Severity::Warning, "norms", message, "postings");
            self.report.add(finding);
        }
        Ok(())
    }
}
