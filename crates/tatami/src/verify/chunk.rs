//! The pages of column chunks: checksums, then values against zone maps, filters and indexes.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::FieldRef;
use bytes::Bytes;
use tesselle_core::{Context, Depth, Error, Finding, Report, Result, Severity, hex};

use super::Findings;
use crate::meta::bloom::Bloom;
use crate::meta::groups::{Chunk, RowGroup};
use crate::meta::page_index::{self, PageEntry};
use crate::meta::record::Record;
use crate::meta::types::{LogicalType, RecordKind};
use crate::meta::zone::{Zone, compare};
use crate::open::{File, page_piece};
use crate::read::chunk::page_headers;
use crate::read::column::{ColumnBuilder, Decoding};
use crate::read::schema::to_arrow;
use crate::scalars::{for_each, zone_of};
use crate::write::order::OrderCheck;

/// Checks all chunks of a row group.
pub(super) fn check_group(file: &File, g: usize, depth: Depth, out: &mut Findings) {
    let Some(group) = file.footer().groups.get(g) else { return };
    // Strings are compared as bytes: the reader checks UTF-8.
    let schema = to_arrow(&file.footer().schema, &[], true);
    for (column, field) in schema.fields().iter().enumerate() {
        let Some(chunk) = group.chunk(column) else { continue };
        let check = ChunkCheck { file, group, g, column, chunk, field: Arc::clone(field), depth };
        if let Err(error) = check.check(out) {
            out.error(&error);
        }
    }
}

/// One column chunk.
struct ChunkCheck<'a> {
    file: &'a File,
    group: &'a RowGroup,
    g: usize,
    column: usize,
    chunk: &'a Chunk,
    field: FieldRef,
    depth: Depth,
}

impl ChunkCheck<'_> {
    fn piece(&self) -> String {
        format!("row group {}, column {}", self.g, self.column)
    }

    fn logical(&self) -> LogicalType {
        self.file.footer().schema.fields.get(self.column).map_or(LogicalType::Bytes, |f| f.logical)
    }

    fn check(&self, out: &mut Findings) -> Result<()> {
        let pages = self.pages(out);
        let sum = |size: fn(&Record) -> u32| {
            pages.iter().map(|(_, p)| u64::from(size(p))).fold(0, u64::saturating_add)
        };
        for (what, found, stated) in [
            ("compressed bytes", sum(|p| p.compressed), self.chunk.compressed),
            ("uncompressed bytes", sum(|p| p.uncompressed), self.chunk.uncompressed),
            ("rows", sum(|p| p.values), self.chunk.values),
            ("nulls", sum(|p| p.nulls), self.chunk.nulls),
        ] {
            if found != stated {
                out.wrong(
                    "chunk_totals",
                    format!("{what} of the pages sum to {found}, the footer states {stated}"),
                    self.piece(),
                );
            }
        }
        let entries = self.page_index(pages.len(), out);
        let bloom = self.bloom(out);
        if self.depth == Depth::Deep {
            self.file.load_value_dictionary(self.column)?;
        }
        let mut row = 0u64;
        for (number, (offset, record)) in pages.iter().enumerate() {
            out.pieces += 1;
            let piece = page_piece(self.g, self.column, number);
            if u64::from(record.first_row) != row {
                out.wrong(
                    "page_header",
                    format!("the page states first row {}, expected {row}", record.first_row),
                    &piece,
                );
            }
            if record.kind != RecordKind::Data.id() {
                out.add(
                    Severity::Warning,
                    "page_header",
                    format!("a data page of kind {}", record.kind),
                    &piece,
                );
            }
            row = row.saturating_add(u64::from(record.values));
            match self.page(*offset, record, number) {
                Ok(Some(array)) => {
                    let entry = entries.as_ref().and_then(|all| all.get(number));
                    self.check_values(&array, record, entry, bloom.as_ref(), &piece, out);
                }
                Ok(None) => {}
                Err(error) => out.error(&error),
            }
        }
        Ok(())
    }

    /// The page headers. If their sizes do not sum to what the footer states, one of them is damaged: then
    /// each payload must match its checksum before the next header is trusted.
    fn pages(&self, out: &mut Findings) -> Vec<(u64, Record)> {
        if let Ok(pages) = page_headers(self.file, self.chunk, self.g)
            && pages.iter().map(|(_, p)| u64::from(p.compressed)).sum::<u64>() == self.chunk.compressed
        {
            return pages;
        }
        let mut pages = Vec::new();
        let mut offset = self.chunk.offset;
        while (pages.len() as u64) < self.chunk.pages {
            let piece = || page_piece(self.g, self.column, pages.len());
            let checked = self.file.record(offset).in_piece(piece).and_then(|(record, payload)| {
                record.check(&payload, offset).in_piece(piece)?;
                Ok(record)
            });
            match checked {
                Ok(record) => {
                    pages.push((offset, record));
                    offset = offset.saturating_add(record.stored_len());
                }
                Err(error) => {
                    out.error(&error);
                    break;
                }
            }
        }
        pages
    }

    /// Checks the checksum of a page; with `Deep`, decodes it.
    fn page(&self, offset: u64, record: &Record, number: usize) -> Result<Option<ArrayRef>> {
        let piece = || page_piece(self.g, self.column, number);
        let stored =
            self.file.read(offset.saturating_add(32), u64::from(record.compressed)).in_piece(piece)?;
        record.check(&stored, offset).in_piece(piece)?;
        if self.depth != Depth::Deep {
            return Ok(None);
        }
        let payload = self.file.profile().decompress(record, &stored, offset).in_piece(piece)?;
        let decoding = Decoding { text_as_binary: true, ..self.file.decoding(self.column) };
        let element = self
            .file
            .footer()
            .schema
            .fields
            .get(self.column)
            .and_then(super::super::meta::schema::Field::element_type);
        let mut builder = ColumnBuilder::new(self.logical(), element);
        builder.append_page(record, payload, &decoding).at_offset(offset).in_piece(piece)?;
        if self.logical() == LogicalType::BlobRef {
            let rows = builder.len();
            let validity = builder.into_validity();
            let present = validity.map_or(rows, |bits| bits.count_set_bits());
            return null_count(rows - present, record).at_offset(offset).in_piece(piece).map(|()| None);
        }
        let array = builder.finish(&self.field, &decoding).at_offset(offset).in_piece(piece)?;
        null_count(array.null_count(), record).at_offset(offset).in_piece(piece)?;
        Ok(Some(array))
    }

    fn check_values(
        &self,
        array: &ArrayRef,
        record: &Record,
        entry: Option<&PageEntry>,
        bloom: Option<&Bytes>,
        piece: &str,
        out: &mut Findings,
    ) {
        let logical = self.logical();
        let found = zone_of(array.as_ref(), logical);
        if let (Some(stated), Some(found)) = (&self.chunk.zone, &found) {
            outside(stated, found, logical, "zone_map", piece, out);
        }
        if let (Some(found), Some(entry)) = (&found, entry) {
            match &entry.zone {
                Some(stated) => outside(stated, found, logical, "page_index", piece, out),
                None => out.wrong("page_index", "the page index has no bounds for a page with values", piece),
            }
        }
        let bloom = bloom.and_then(|bytes| Bloom::parse(bytes, 0).ok());
        if let Some(bloom) = bloom {
            let mut missing = 0u64;
            for_each(array.as_ref(), logical, |key| missing += u64::from(!bloom.may_contain(key)));
            if missing > 0 {
                let of = record.values;
                out.wrong(
                    "bloom",
                    format!("{missing} of {of} values are missing in the bloom filter"),
                    piece,
                );
            }
        }
    }

    /// Reads the page index of the sort key and compares what needs no values.
    fn page_index(&self, pages: usize, out: &mut Findings) -> Option<Vec<PageEntry>> {
        let is_key = self.file.footer().schema.sort_key() == Some(self.column);
        let Some(offset) = self.chunk.page_index else {
            if is_key && self.file.header().minor > 0 {
                out.add(Severity::Warning, "page_index", "the sort key has no page index", self.piece());
            }
            return None;
        };
        out.pieces += 1;
        let read = || {
            let (record, payload) = self.file.record(offset)?;
            record.check(&payload, offset)?;
            page_index::parse(&payload, offset)
        };
        let entries = match read() {
            Ok(entries) => entries,
            Err(error) => {
                out.error(&error.piece(format!("page index of row group {}", self.g)));
                return None;
            }
        };
        if entries.len() != pages {
            out.wrong(
                "page_index",
                format!("the page index lists {} pages of {pages}", entries.len()),
                self.piece(),
            );
            return None;
        }
        let headers = page_headers(self.file, self.chunk, self.g).ok()?;
        for (number, (entry, (at, record))) in entries.iter().zip(&headers).enumerate() {
            if entry.offset != *at || entry.first_row != u64::from(record.first_row) {
                out.wrong(
                    "page_index",
                    "an entry does not refer to its page",
                    page_piece(self.g, self.column, number),
                );
            }
        }
        Some(entries)
    }

    fn bloom(&self, out: &mut Findings) -> Option<Bytes> {
        let index = usize::try_from(self.chunk.bloom?.checked_sub(1)?).ok()?;
        let entry = self.file.footer().blooms.get(index)?;
        out.pieces += 1;
        let read = || {
            let payload = self.file.index_record(entry.offset, entry.len)?;
            Bloom::parse(&payload, entry.offset)?;
            Ok(payload)
        };
        match read() {
            Ok(payload) => Some(payload),
            Err(error) => {
                let error: Error = error;
                out.kind("bloom", &error.piece(format!("bloom filter of {}", self.piece())));
                None
            }
        }
    }
}

fn null_count(found: usize, record: &Record) -> Result<()> {
    if found as u64 == u64::from(record.nulls) {
        return Ok(());
    }
    Err(Error::corrupt(format!("the page header states {} nulls, the page has {found}", record.nulls))
        .class("null_count"))
}

/// Reports values outside the stated bounds; bounds that are wider than needed are legal.
fn outside(
    stated: &Zone,
    found: &Zone,
    logical: LogicalType,
    kind: &'static str,
    piece: &str,
    out: &mut Findings,
) {
    if !stated.is_usable(logical) {
        return;
    }
    if compare(logical, &found.min, &stated.min).is_lt() {
        out.wrong(
            kind,
            format!("a value {} is below the stated minimum {}", hex(&found.min), hex(&stated.min)),
            piece,
        );
    }
    if compare(logical, &found.max, &stated.max).is_gt() {
        out.wrong(
            kind,
            format!("a value {} is above the stated maximum {}", hex(&found.max), hex(&stated.max)),
            piece,
        );
    }
}

/// With `Deep`, reads the sort key of the whole file: nothing else checks the promised order.
pub(super) fn check_order(file: &File, depth: Depth, report: &mut Report) {
    let schema = &file.footer().schema;
    let Some((column, field)) = schema.sort_key().and_then(|c| Some((c, schema.fields.get(c)?))) else {
        return;
    };
    if depth != Depth::Deep || report.error_count() > 0 {
        return;
    }
    let mut order = OrderCheck::new(field.display_name(), field.logical);
    let arrow = to_arrow(schema, &[], true);
    let Some(arrow) = arrow.fields().get(column) else { return };
    for (g, group) in file.footer().groups.iter().enumerate() {
        let Some(chunk) = group.chunk(column) else { return };
        let check = ChunkCheck { file, group, g, column, chunk, field: Arc::clone(arrow), depth };
        let Ok(pages) = page_headers(file, check.chunk, check.g) else { return };
        for (number, (offset, record)) in pages.iter().enumerate() {
            let Ok(Some(array)) = check.page(*offset, record, number) else { return };
            if array.null_count() > 0 {
                let finding = Finding::new(
                    Severity::Warning,
                    "sort_order",
                    "the sort key has nulls, which lookups cannot find",
                );
                report.add(finding.file(file.path().to_string()).piece(page_piece(check.g, column, number)));
                return;
            }
            if let Err(error) = order.check(array.as_ref()) {
                let finding = Finding::new(Severity::Error, "sort_order", error.message().to_owned());
                report.add(finding.file(file.path().to_string()).piece(page_piece(check.g, column, number)));
                return;
            }
        }
        debug_assert_eq!(check.group.rows, group.rows);
    }
}
