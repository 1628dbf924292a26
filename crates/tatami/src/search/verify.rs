//! Verification of the inverted index of a segment.
//!
//! The quick depth checks the descriptor, the next depth the checksums and the structure of the runs. The
//! deepest decodes every list and compares redundant data: document frequencies with skip tables, skip tables
//! with blocks, frequencies and positions with the token counts of the documents.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt16Type;
use bytes::Bytes;
use tesselle_core::driver::Order;
use tesselle_core::{
    Context, Depth, Driver, Error, ErrorKind, Finding, Report, Result, Scan, Severity, Table,
};

use super::inverted::{BAD_POSITIONS, InvertedIndex};
use super::meta::positions::{self, TOKEN_BITS};
use super::meta::{Dictionary, TermEntry};
use super::segment::{Reading, Segment, columns, descriptor};
use crate::meta::header::flags;
use crate::open::File;
use crate::table::FileTable;

const DICTIONARY: &str = "bad_dictionary";
const POSTINGS: &str = "bad_postings";

/// Checks the search part of `file`; does nothing for files that are not segments.
pub(crate) fn verify(file: &File, depth: Depth, driver: &Driver, report: &mut Report) -> Result<()> {
    verify_as(file, depth, Reading::Whole, driver, report)
}

/// Checks what is read in this way.
pub(crate) fn verify_as(
    file: &File,
    depth: Depth,
    reading: Reading,
    driver: &Driver,
    report: &mut Report,
) -> Result<()> {
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
        let runs = [inverted.terms, inverted.postings, inverted.skips, inverted.live];
        for run in runs.into_iter().chain(file.footer().positions) {
            if let Err(error) = file.check_inside(run.offset, run.len) {
                report.error(error.class_name(), &error);
            }
        }
        return Ok(());
    }
    let segment = match Segment::open_as(file.location(), file.options(), reading) {
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

/// Sums over all terms.
struct Totals {
    /// Tokens of each document.
    tokens: Vec<u64>,
    /// Sums of the positions in each document; `None` if positions are not stored or damaged.
    positions: Option<Vec<u64>>,
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

    /// Decodes every list, term by term.
    fn lists(&mut self, index: &InvertedIndex, postings_offset: u64) -> Totals {
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
        let zeros = || vec![0u64; index.docs() as usize];
        let mut totals = Totals { tokens: zeros(), positions: index.positions().map(|_| zeros()) };
        let (mut terms, mut lists) = (0u64, 0u32);
        let result = dictionary.for_each(|term, entry| {
            terms += 1;
            let term = String::from_utf8_lossy(term);
            if let TermEntry::List { list, .. } = entry {
                if list != lists {
                    let piece = format!("term '{term}'");
                    self.add(DICTIONARY, format!("refers to list {list}, expected {lists}"), piece);
                }
                lists = list.saturating_add(1);
            }
            self.list(index, &term, entry, &mut totals.tokens);
            if let (Some(all), Some(sums)) = (index.positions(), &mut totals.positions) {
                let checked = check_positions(index, entry, all.payload(terms - 1), sums);
                if let Err(error) = checked {
                    // The first finding is enough: positions are dropped as a whole.
                    totals.positions = None;
                    self.failed(BAD_POSITIONS, error, format!("positions of term '{term}'"));
                }
            }
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

    fn list(&mut self, index: &InvertedIndex, term: &str, entry: TermEntry, totals: &mut [u64]) {
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
    fn norms(&mut self, segment: &Segment, totals: &Totals, driver: &Driver) -> Result<()> {
        let table = FileTable::try_new(segment.file().clone())?;
        let schema = table.schema();
        let names = schema.fields().iter().skip(columns::NORM_BODY).take(4).map(|field| field.name().clone());
        let plan = table.plan(&Scan::all().columns(names))?;
        let (mut row, mut differing, mut misplaced) = (0, 0u64, 0u64);
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
                let total = totals.tokens.get(row).copied().unwrap_or(0);
                differing += u64::from(if capped { total < sum } else { total != sum });
                if let Some(positions) = totals.positions.as_ref().filter(|_| !capped) {
                    misplaced += u64::from(positions.get(row) != Some(&sum_of_positions(&norms)));
                }
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
        if misplaced > 0 {
            let message = format!("{misplaced} documents have positions that differ from their token counts");
            self.add(BAD_POSITIONS, message, "positions");
        }
        Ok(())
    }
}

/// Decodes the positions of a term, and adds them to the sums of its documents.
fn check_positions(
    index: &InvertedIndex,
    entry: TermEntry,
    payload: Result<Bytes>,
    sums: &mut [u64],
) -> Result<()> {
    let payload = payload?;
    // Damage to the list itself is found when the list is checked.
    let Ok(mut cursor) = index.cursor(entry) else { return Ok(()) };
    let (mut numbers, mut end) = (Vec::new(), 0);
    let blocks = cursor.blocks();
    for number in 0..blocks {
        let Ok((docs, freqs)) = cursor.read_block(number) else { return Ok(()) };
        let block = positions::block(&payload, blocks, number)?;
        let total = freqs.iter().map(|freq| u64::from(*freq)).sum();
        end = block.len() - positions::numbers(block, total, 0, total, &mut numbers)?;
        let mut rest = numbers.as_mut_slice();
        for (doc, freq) in docs.iter().zip(freqs) {
            let (own, others) = rest
                .split_at_mut_checked(*freq as usize)
                .ok_or_else(|| Error::internal("a document has fewer positions than its frequency"))?;
            positions::sum(own)?;
            if let Some(sum) = sums.get_mut(*doc as usize) {
                *sum += own.iter().map(|position| u64::from(*position)).sum::<u64>();
            }
            rest = others;
        }
        if end > 0 && number + 1 < blocks {
            break;
        }
    }
    if end > 0 {
        return Err(Error::corrupt(format!("{end} bytes too many")));
    }
    Ok(())
}

/// The sum of the positions of a document whose fields, in the order of the columns, have so many tokens.
fn sum_of_positions(norms: &[u64]) -> u64 {
    // Columns and positions number the fields alike: body, title, anchor, url.
    let fields = norms.iter().zip(0u64..);
    fields.map(|(&n, field)| n * n.saturating_sub(1) / 2 + n * (field << TOKEN_BITS)).sum()
}
