//! Encoding: the filters, first to last, over each chunk of a tile.

use tesselle_codec::cipher::{self, Key};
use tesselle_codec::{compress, difference, runs, scale, shuffle, strings, webp, window};
use tesselle_core::At;

use super::TileCodec;
use super::stage::{PartCodec, Stage, StringCodec};
use crate::{Error, Result};

impl TileCodec {
    /// Appends the body of the tile `src`. `offsets` are the starts of variable-length cells, one each.
    pub(crate) fn encode(&self, src: &[u8], offsets: Option<&[u64]>, out: &mut Vec<u8>) -> Result<()> {
        // An empty tile has no chunks; empty strings still have offsets.
        let cuts = match offsets {
            Some(cells) if self.makes_offsets() && !cells.is_empty() => vec![src.len()],
            _ if src.is_empty() => Vec::new(),
            _ => self.cuts(src.len(), offsets),
        };
        out.reserve(8 + src.len() + 12 * cuts.len());
        out.extend_from_slice(&(cuts.len() as u64).to_le_bytes());
        let mut start = 0;
        for end in cuts {
            let part = src.get(start..end).ok_or_else(|| {
                Error::invalid("the offsets of variable-length cells do not fit their values")
            })?;
            self.encode_chunk(part, offsets.unwrap_or_default(), out)?;
            start = end;
        }
        Ok(())
    }

    /// Appends the body of an offsets tile whose offsets are in the data tile.
    pub(crate) fn encode_no_chunks(out: &mut Vec<u8>) {
        out.extend_from_slice(&0_u64.to_le_bytes());
    }

    fn encode_chunk(&self, src: &[u8], offsets: &[u64], out: &mut Vec<u8>) -> Result<()> {
        let mut parts = Parts { metadata: Vec::new(), data: None };
        // What the last filter compresses goes straight to its place.
        let (last, stages) = match self.stages.split_last() {
            Some((Stage::Compress(codec), stages)) => (Some(*codec), stages),
            _ => (None, self.stages.as_slice()),
        };
        for stage in stages {
            parts.apply(stage, src, offsets, self.key.as_ref())?;
        }
        if let Some(codec) = last {
            return parts.compress_to(codec, src, out);
        }
        let data = parts.data.as_deref().unwrap_or(src);
        let metadata: usize = parts.metadata.iter().map(Vec::len).sum();
        for len in [src.len(), data.len(), metadata] {
            out.extend_from_slice(&short(len)?.to_le_bytes());
        }
        parts.metadata.iter().for_each(|part| out.extend_from_slice(part));
        out.extend_from_slice(data);
        Ok(())
    }
}

fn short(len: usize) -> Result<u32> {
    u32::try_from(len).map_err(|_| Error::invalid(format!("a chunk of {len} bytes exceeds 4 GiB")))
}

/// A chunk between two stages: metadata parts, newest first, and the data (`None`: unchanged input).
struct Parts {
    metadata: Vec<Vec<u8>>,
    data: Option<Vec<u8>>,
}

impl Parts {
    fn apply(&mut self, stage: &Stage, src: &[u8], offsets: &[u64], key: Option<&Key>) -> Result<()> {
        let data = self.data.as_deref().unwrap_or(src);
        match stage {
            Stage::Pass => {}
            Stage::Compress(codec) => {
                let mut out = Vec::new();
                let table = self.compress(*codec, data, &mut out)?;
                (self.metadata, self.data) = (vec![table], Some(out));
            }
            Stage::Strings(codec) => {
                let mut out = Vec::new();
                let (first, second, entries) = match codec {
                    StringCodec::Rle => {
                        let widths = strings::runs::encode(data, offsets, &mut out)?;
                        (widths.run, widths.string, None)
                    }
                    StringCodec::Dictionary => {
                        let dictionary = strings::dictionary::encode(data, offsets, &mut out)?;
                        (dictionary.id_width, dictionary.length_width, Some(dictionary.entries))
                    }
                };
                let mut metadata = self.part_counts();
                for len in [data.len(), out.len(), offsets.len().saturating_mul(8)] {
                    metadata.extend_from_slice(&short(len)?.to_le_bytes());
                }
                metadata.extend_from_slice(&[first, second]);
                if let Some(entries) = entries {
                    metadata.extend_from_slice(&short(entries.len())?.to_le_bytes());
                    metadata.extend_from_slice(&entries);
                }
                (self.metadata, self.data) = (vec![metadata], Some(out));
            }
            Stage::Byteshuffle(width) => {
                let mut out = vec![0; data.len()];
                shuffle::byteshuffle(*width, data, &mut out)?;
                self.forward_lengths(out, &[data.len()])?;
            }
            Stage::Bitshuffle(width) => {
                // Bytes after the last whole group of eight form a separate part.
                let whole = data.len() - data.len() % 8;
                let (body, rest) = data.split_at(whole);
                let mut out = vec![0; whole];
                shuffle::bitshuffle(*width, body, &mut out)?;
                out.extend_from_slice(rest);
                let lengths = [whole, data.len() - whole];
                let count = if rest.is_empty() { 1 } else { 2 };
                self.forward_lengths(out, lengths.part(..count)?)?;
            }
            Stage::Xor(width) => {
                let mut out = vec![0; data.len()];
                difference::xor::encode(*width, data, &mut out)?;
                self.forward_lengths(out, &[data.len()])?;
            }
            Stage::BitWidth(kind, max_window) => {
                let (mut out, mut metadata) = (Vec::new(), Vec::new());
                window::bit_width::encode(*kind, *max_window, data, &mut out, &mut metadata)?;
                self.forward(out, metadata);
            }
            Stage::PositiveDelta(kind, max_window) => {
                let (mut out, mut metadata) = (Vec::new(), Vec::new());
                window::positive_delta::encode(*kind, *max_window, data, &mut out, &mut metadata)?;
                self.forward(out, metadata);
            }
            Stage::FloatScale(width, scale) => {
                let mut out = Vec::new();
                scale::encode(*width, scale, data, &mut out)?;
                let len = out.len();
                self.forward_lengths(out, &[len])?;
            }
            Stage::Webp(layout) => {
                let mut out = Vec::new();
                webp::encode(*layout, data, &mut out)?;
                let len = out.len();
                self.forward_lengths(out, &[len])?;
            }
            Stage::Checksum(digest) => {
                let mut table = self.part_counts();
                for part in self.metadata.iter().map(Vec::as_slice).chain([data]) {
                    table.extend_from_slice(&(part.len() as u64).to_le_bytes());
                    digest.append(part, &mut table);
                }
                self.metadata.insert(0, table);
            }
            Stage::Aes256Gcm => {
                let Some(key) = key else { return Err(Error::invalid("an encrypted tile needs a key")) };
                let mut table = self.part_counts();
                let mut out = Vec::with_capacity(data.len());
                for part in self.metadata.iter().map(Vec::as_slice).chain([data]) {
                    let start = out.len();
                    out.extend_from_slice(part);
                    let iv = random_iv()?;
                    let tag = cipher::encrypt(key, iv, out.part_mut(start..)?)?;
                    let len = short(part.len())?.to_le_bytes();
                    for field in [&len[..], &len, &iv, &tag] {
                        table.extend_from_slice(field);
                    }
                }
                (self.metadata, self.data) = (vec![table], Some(out));
            }
        }
        Ok(())
    }

    /// Appends the metadata parts and `data`, each compressed, and returns the table of their lengths.
    fn compress(&self, codec: PartCodec, data: &[u8], out: &mut Vec<u8>) -> Result<Vec<u8>> {
        let mut table = self.part_counts();
        for part in self.metadata.iter().map(Vec::as_slice).chain([data]) {
            let start = out.len();
            apply_part(codec, part, out)?;
            table.extend_from_slice(&short(part.len())?.to_le_bytes());
            table.extend_from_slice(&short(out.len() - start)?.to_le_bytes());
        }
        Ok(table)
    }

    /// Appends the chunk whose last filter compresses: its header, the table of that filter, and the compressed parts.
    fn compress_to(&self, codec: PartCodec, src: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let (start, table) = (out.len(), 8 + 8 * (self.metadata.len() + 1));
        let body = start + 12 + table;
        out.resize(body, 0);
        let lengths = self.compress(codec, self.data.as_deref().unwrap_or(src), out)?;
        let mut head = Vec::with_capacity(12 + table);
        for len in [src.len(), out.len() - body, lengths.len()] {
            head.extend_from_slice(&short(len)?.to_le_bytes());
        }
        head.extend_from_slice(&lengths);
        out.part_mut(start..body)?.copy_from_slice(&head);
        Ok(())
    }

    /// `u32 metadata parts | u32 data parts`, as the tables of several filters begin.
    fn part_counts(&self) -> Vec<u8> {
        let mut table = (self.metadata.len() as u32).to_le_bytes().to_vec();
        table.extend_from_slice(&1_u32.to_le_bytes());
        table
    }

    fn forward_lengths(&mut self, data: Vec<u8>, lengths: &[usize]) -> Result<()> {
        let mut metadata = (lengths.len() as u32).to_le_bytes().to_vec();
        for len in lengths {
            metadata.extend_from_slice(&short(*len)?.to_le_bytes());
        }
        self.forward(data, metadata);
        Ok(())
    }

    fn forward(&mut self, data: Vec<u8>, metadata: Vec<u8>) {
        self.metadata.insert(0, metadata);
        self.data = Some(data);
    }
}

fn apply_part(codec: PartCodec, src: &[u8], out: &mut Vec<u8>) -> Result<()> {
    match codec {
        PartCodec::General(compressor, level) => compress::compress(compressor, level, src, out)?,
        PartCodec::Rle(cell) => runs::encode(cell, src, out)?,
        PartCodec::Delta(kind) => difference::delta::encode(kind, src, out)?,
        PartCodec::DoubleDelta(kind) => difference::double_delta::encode(kind, src, out)?,
    }
    Ok(())
}

fn random_iv() -> Result<[u8; cipher::IV_LEN]> {
    let mut iv = [0; cipher::IV_LEN];
    getrandom::fill(&mut iv).map_err(|e| Error::internal(format!("the system has no random bytes: {e}")))?;
    Ok(iv)
}
