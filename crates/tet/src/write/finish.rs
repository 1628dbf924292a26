//! The end of a write: index rows, footer, commit.

use tesselle_core::{At, Error, Result, Summary};

use super::spec::FooterSpec;
use super::writer::Writer;
use crate::meta::footer::{Document, SpillRef, Tail};
use crate::meta::index::{Header, Row};
use crate::meta::limits::{INLINE_FOOTER, METADATA_SPILL};
use crate::meta::metadata::Metadata;
use crate::meta::statistics::secondary_document;
use crate::meta::superblock::FLAG_FOOTER;
use crate::meta::zone::{ZoneDocument, pretty};

/// Index rows written at once.
const ROWS_AT_ONCE: usize = 8192;

impl Writer {
    /// Writes index and footer and commits: from here on readers see the new file.
    pub fn finish(mut self) -> Result<Summary> {
        self.check_complete()?;
        self.write_index()?;
        if let Some(footer) = self.footer.take() {
            self.write_footer(&footer)?;
            self.superblock.flags |= FLAG_FOOTER;
            let superblock = self.superblock.to_bytes();
            self.staged.write_at(0, &superblock)?;
        }
        let summary = Summary {
            rows: self.datasets.iter().map(|output| output.grid.cells).sum(),
            bytes: self.staged.position(),
            pieces: self.rows().unwrap_or(0),
            ..Summary::default()
        };
        self.staged.commit()?;
        Ok(summary)
    }

    fn check_complete(&self) -> Result<()> {
        for output in &self.datasets {
            if let Some(linear) = output.slots.iter().position(Option::is_none) {
                let missing = output.slots.iter().filter(|slot| slot.is_none()).count();
                return Err(Error::invalid(format!(
                    "{missing} chunks of '{}' are missing, the first is {:?}",
                    output.dataset.name,
                    output.grid.chunk_at(linear as u64)
                )));
            }
        }
        Ok(())
    }

    fn write_index(&mut self) -> Result<()> {
        let mut at = self.superblock.chunk_index_offset + Header::LEN as u64;
        let mut part = Vec::with_capacity(ROWS_AT_ONCE * Row::LEN);
        for id in self.order.clone() {
            let output = self.datasets.at(id)?;
            for (linear, slot) in (0_u64..).zip(&output.slots) {
                let Some(slot) = slot else { continue };
                let coordinates = output.grid.chunk_at(linear);
                let mut chunk = [0; 8];
                chunk.iter_mut().zip(&coordinates).for_each(|(place, at)| *place = *at);
                let row = Row {
                    dataset_id: id as u64,
                    chunk,
                    payload_offset: slot.offset,
                    raw_len: output.grid.chunk_bytes(&coordinates),
                    stored_len: slot.stored_len,
                    codec: slot.codec,
                };
                part.extend_from_slice(&row.to_bytes());
                if part.len() == ROWS_AT_ONCE * Row::LEN {
                    self.staged.write_at(at, &part)?;
                    at += part.len() as u64;
                    part.clear();
                }
            }
        }
        if part.is_empty() { Ok(()) } else { self.staged.write_at(at, &part) }
    }

    /// Spills first, then JSON and tail, directly after the payloads.
    fn write_footer(&mut self, footer: &FooterSpec) -> Result<()> {
        let mut document = Document { history: footer.history.clone(), ..Document::default() };
        if footer.indexes {
            let zones = self.zone_document()?;
            document.zone_maps_ref = Some(self.spill(&zones)?);
            if let Some(indexes) = self.secondary_document(footer.metadata.as_ref())? {
                document.secondary_index_ref = Some(self.spill(&indexes)?);
            }
        }
        document.metadata = footer.metadata.clone().filter(|metadata| !metadata.is_empty());
        let mut json = compact(&document)?;
        if json.len() > INLINE_FOOTER
            && let Some(metadata) = document.metadata.take()
        {
            let spilled = compact(&metadata)?;
            if spilled.len() as u64 > METADATA_SPILL {
                return Err(Error::invalid(format!(
                    "metadata takes {} bytes, at most {METADATA_SPILL} are allowed",
                    spilled.len()
                )));
            }
            document.metadata_ref = Some(self.spill(&spilled)?);
            json = compact(&document)?;
        }
        if json.len() > INLINE_FOOTER {
            return Err(Error::invalid(format!(
                "the footer takes {} bytes, at most {INLINE_FOOTER} are allowed",
                json.len()
            ))
            .hint("drop history rows"));
        }
        self.staged.write(&json)?;
        let version = if footer.indexes { 2 } else { footer.version.unwrap_or(1).clamp(1, 2) };
        self.staged.write(&Tail { json_len: json.len() as u64, version }.to_bytes())
    }

    fn spill(&mut self, bytes: &[u8]) -> Result<SpillRef> {
        let offset = self.staged.position();
        self.staged.write(bytes)?;
        Ok(SpillRef { offset, len: bytes.len() as u64 })
    }

    fn zone_document(&self) -> Result<Vec<u8>> {
        let mut entries = Vec::new();
        for id in &self.order {
            let output = self.datasets.at(*id)?;
            let Some(statistics) = &output.statistics else { continue };
            let chunks = (0..output.grid.chunks).map(|linear| output.grid.chunk_at(linear));
            entries
                .extend(chunks.filter_map(|chunk| statistics.zone_entry(&output.grid, *id as u64, &chunk)));
        }
        pretty(&ZoneDocument::standalone(entries))
    }

    fn secondary_document(&self, metadata: Option<&Metadata>) -> Result<Option<Vec<u8>>> {
        let entries = (0_u64..).zip(&self.datasets).flat_map(|(id, output)| {
            let metadata = metadata.and_then(|metadata| metadata.datasets.get(&output.dataset.name));
            output.statistics.as_ref().map_or(Vec::new(), |s| s.secondary(&output.grid, id, metadata))
        });
        secondary_document(entries.collect()).map(|document| pretty(&document)).transpose()
    }
}

fn compact(value: &impl serde::Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value)
        .map_err(|source| Error::internal("a footer cannot be serialized").source(source))
}
