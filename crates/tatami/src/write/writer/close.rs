//! The end of a file: blob runs, dictionaries, the search index, the footer and the header.

use tesselle_codec::crc::crc32c_append;
use tesselle_core::{Action, At, Error, Result, Summary};

use super::Writer;
use crate::meta::extension::DictionaryEntry;
use crate::meta::header::{Header, flags as header_flags};
use crate::meta::inverted::{Inverted, Run};
use crate::meta::record::Record;
use crate::meta::regions::{BlobColumn, BlobRun, DictionaryRef};
use crate::meta::trailer::Trailer;
use crate::meta::types::{Codec, RecordKind};
use crate::search::RunBytes;
use crate::write::blobs::BlobSpool;
use crate::write::dictionary::DictionaryBuilder;
use crate::write::page::Packing;
use crate::write::writer::InvertedRuns;

impl Writer {
    /// Keeps the buffered blobs within their bound. Runs are written between row groups, so the pages of the group
    /// that is being filled come after them: it is not in the file yet.
    pub(super) fn spill(&mut self) -> Result<()> {
        let buffered: u64 = self.blobs.iter().flatten().map(BlobSpool::buffered).sum();
        let over = buffered > self.options.blob_buffer_bytes;
        for column in 0..self.blobs.len() {
            let Some(Some(spool)) = self.blobs.get(column) else { continue };
            let share = self.options.blob_run_bytes.saturating_mul(8);
            if over || (spool.is_streaming() && spool.buffered() > share) {
                self.write_runs(column, false)?;
            }
        }
        Ok(())
    }

    fn write_runs(&mut self, column: usize, all: bool) -> Result<()> {
        let Some(Some(spool)) = self.blobs.get_mut(column) else { return Ok(()) };
        let packing = Packing { codec: Codec::Zstd, ..self.packing };
        let driver = self.driver.clone();
        let runs = driver.install(|| spool.drain(packing, all))?;
        for run in runs {
            let record = run.record;
            let offset = self.write_record(record, &run.payload)?;
            let (compressed, uncompressed) = (u64::from(record.compressed), u64::from(record.uncompressed));
            self.footer.stats.compressed += compressed;
            self.footer.stats.uncompressed += uncompressed;
            let run = BlobRun { offset, compressed, uncompressed, values: u64::from(record.values) };
            self.blob_runs.at_mut(column)?.push(run);
        }
        Ok(())
    }

    /// Writes the blob and dictionary regions.
    fn close_blobs(&mut self) -> Result<()> {
        for column in 0..self.blobs.len() {
            self.write_runs(column, true)?;
        }
        let spools = std::mem::take(&mut self.blobs);
        for (column, spool) in spools.into_iter().enumerate() {
            let Some(spool) = spool else { continue };
            let runs = std::mem::take(self.blob_runs.at_mut(column)?);
            if let Some(mut known) = self.resumed_blobs.remove(&column) {
                known.runs.extend(runs);
                self.footer.blobs.push(known);
                continue;
            }
            let mut entry =
                BlobColumn { column: column as u64, dictionary: 0, codec: spool.codec().id(), runs };
            if let Some(content) = spool.dictionary() {
                let stored = Packing { codec: Codec::Zstd, ..self.packing }.pack(content)?;
                let record =
                    Record::new(RecordKind::Dictionary, Codec::Zstd, 1, content.len() as u32, &stored);
                let offset = self.write_record(record, &stored)?;
                self.footer.stats.compressed += stored.len() as u64;
                self.footer.stats.uncompressed += content.len() as u64;
                self.footer.dictionaries.push(DictionaryRef { offset, uncompressed: content.len() as u64 });
                entry.dictionary = self.footer.dictionaries.len() as u64;
            }
            self.footer.blobs.push(entry);
        }
        self.close_value_dictionaries()
    }

    fn close_value_dictionaries(&mut self) -> Result<()> {
        for (column, builder) in std::mem::take(&mut self.dictionaries).into_iter().enumerate() {
            let Some((payload, entries)) = builder.and_then(DictionaryBuilder::finish) else { continue };
            let stored = self.packing.pack(&payload)?;
            let record =
                Record::new(RecordKind::Dictionary, self.packing.codec, 1, payload.len() as u32, &stored);
            let offset = self.write_record(record, &stored)?;
            self.footer.stats.compressed += stored.len() as u64;
            self.footer.stats.uncompressed += payload.len() as u64;
            let entry =
                DictionaryEntry { column: column as u64, offset, stored: stored.len() as u64, entries };
            self.footer.extension.dictionaries.push(entry);
        }
        Ok(())
    }

    /// Writes an index record whose payload comes in pieces; its header is filled in behind them.
    fn write_run(&mut self, run: &RunBytes) -> Result<Run> {
        let (offset, len) = (self.out.position(), run.len());
        let size = u32::try_from(len).map_err(|_| {
            Error::limit("an index record exceeds 4 GiB").hint("split the rows over several files")
        })?;
        let mut record = Record::new(RecordKind::Index, Codec::None, 0, size, &[]);
        record.compressed = size;
        self.out.write(&record.to_bytes())?;
        run.for_each(|piece| {
            record.crc = crc32c_append(record.crc, piece);
            self.out.write(piece)
        })?;
        self.out.write_at(offset, &record.to_bytes())?;
        Ok(Run { offset, len })
    }

    fn close_inverted(&mut self) -> Result<()> {
        let Some(runs) = self.inverted.take() else { return Ok(()) };
        let (terms, postings, skips) =
            (self.write_run(&runs.terms)?, self.write_run(&runs.postings)?, self.write_run(&runs.skips)?);
        if runs.positions.len() > 0 {
            self.footer.positions = Some(self.write_run(&runs.positions)?);
        }
        // Deletions replace the set of live documents if it is the last record.
        let live = if runs.live.len() == 0 { Run::default() } else { self.write_run(&runs.live)? };
        let (term_count, documents) = (runs.term_count, runs.documents);
        self.footer.inverted = Some(Inverted { terms, postings, skips, term_count, documents, live });
        self.inverted = Some(InvertedRuns { block_tree: runs.block_tree, ..InvertedRuns::default() });
        Ok(())
    }

    fn flags(&self) -> u16 {
        let footer = &self.footer;
        let mut flags = 0;
        let mut set = |condition: bool, flag: u16| flags |= if condition { flag } else { 0 };
        set(footer.schema.sort_key().is_some(), header_flags::SORTED);
        set(!footer.blobs.is_empty(), header_flags::BLOBS);
        set(!footer.dictionaries.is_empty(), header_flags::DICTIONARIES);
        set(!footer.blooms.is_empty() || footer.inverted.is_some(), header_flags::INDEXES);
        set(footer.inverted.is_some(), header_flags::SEARCH);
        set(self.inverted.as_ref().is_some_and(|i| i.block_tree), header_flags::BLOCK_TREE);
        flags
    }

    pub(super) fn close(mut self) -> Result<Summary> {
        self.flush_group()?;
        self.close_blobs()?;
        self.write_blooms()?;
        self.close_inverted()?;
        let footer_offset = self.out.position();
        let footer = self.footer.to_bytes(self.minor);
        if u32::try_from(footer.len()).is_err() {
            return Err(Error::limit("the footer exceeds 4 GiB")
                .suggest("write larger row groups: {}", [Action::setting("row_group_rows", "N")]));
        }
        self.out.write(&footer)?;
        self.out.write(&Trailer::bytes_for(&footer))?;
        let header = Header {
            major: 1,
            minor: self.minor,
            flags: self.flags(),
            checksum: 1,
            default_codec: Codec::Zstd.id(),
            page_size_hint: self.options.page_size_hint,
            uuid: self.options.uuid,
            rows: self.footer.stats.rows,
            footer_offset,
            created_ms: self.options.created_ms,
            creator_id: self.options.creator_id,
        };
        self.out.write_at(0, &header.to_bytes())?;
        let summary = Summary {
            rows: header.rows - self.resumed_rows,
            bytes: self.out.position(),
            pieces: self.pages,
            ..Summary::default()
        };
        self.out.commit()?;
        Ok(summary)
    }
}
