//! Decodes stored bytes to page payloads: checksum, codec, size.

use std::borrow::Cow;

use tesselle_codec::compress::zstd::{Front, RawDictionary};
use tesselle_codec::compress::{Compressor, decompress_into, zstd};
use tesselle_core::{At, Error, Limits, Result};

use crate::meta::extension::{Extension, features};
use crate::meta::record::Record;
use crate::meta::types::Codec;

/// The parameters of decoding a payload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PayloadReader<'a> {
    pub(crate) extension: &'a Extension,
    pub(crate) limits: &'a Limits,
}

impl PayloadReader<'_> {
    /// Checks and decompresses the payload of the record at `offset`.
    pub(crate) fn open<'b>(&self, record: &Record, stored: &'b [u8], offset: u64) -> Result<Cow<'b, [u8]>> {
        record.check(stored, offset)?;
        self.decompress(record, stored, offset)
    }

    /// Like [`PayloadReader::open`], for a run of a column that may have a content dictionary.
    pub(crate) fn open_run<'b>(
        &self,
        record: &Record,
        stored: &'b [u8],
        dictionary: Option<&RawDictionary>,
        offset: u64,
    ) -> Result<Cow<'b, [u8]>> {
        if dictionary.is_none_or(|_| record.codec < Codec::Zstd.id()) {
            return self.open(record, stored, offset);
        }
        let mut out = vec![0; self.run_size(record, stored, offset)?];
        self.open_run_into(record, stored, dictionary, offset, &mut out)?;
        Ok(Cow::Owned(out))
    }

    /// The decoded size of a run, refused if it is impossible.
    pub(crate) fn run_size(&self, record: &Record, stored: &[u8], offset: u64) -> Result<usize> {
        if !matches!(known_codec(record, offset)?, Codec::Zstd | Codec::ZstdDict) {
            return Ok(self.open(record, stored, offset)?.len());
        }
        let size = self.size(record, offset)?;
        zstd::check_size(stored, size).map_err(|e| bad_zstd(e, offset))?;
        Ok(size)
    }

    /// Checks a run and decompresses it into `out`, which has its decoded size.
    pub(crate) fn open_run_into(
        &self,
        record: &Record,
        stored: &[u8],
        dictionary: Option<&RawDictionary>,
        offset: u64,
        out: &mut [u8],
    ) -> Result<()> {
        match (known_codec(record, offset)?, dictionary) {
            (Codec::Zstd | Codec::ZstdDict, Some(dictionary)) => {
                record.check(stored, offset)?;
                dictionary.decompress_into(stored, out).map_err(|e| bad_zstd(e, offset))
            }
            (Codec::Zstd, None) => {
                record.check(stored, offset)?;
                zstd::decompress_into(stored, out).map_err(|e| bad_zstd(e, offset))
            }
            _ => {
                let payload = self.open(record, stored, offset)?;
                out.part_mut(..payload.len())?.copy_from_slice(&payload);
                Ok(())
            }
        }
    }

    /// A prefix of a page, if it can be decompressed without the rest.
    pub(crate) fn front<'b>(
        &self,
        record: &Record,
        stored: &'b [u8],
        offset: u64,
    ) -> Result<Option<Front<'b>>> {
        if known_codec(record, offset)? != Codec::Zstd {
            return Ok(None);
        }
        let size = self.size(record, offset)?;
        Front::try_new(stored, size).map(Some).map_err(|e| bad_zstd(e, offset))
    }

    /// Decompresses a payload with a checked checksum.
    pub(crate) fn decompress<'b>(
        &self,
        record: &Record,
        stored: &'b [u8],
        offset: u64,
    ) -> Result<Cow<'b, [u8]>> {
        match known_codec(record, offset)? {
            Codec::None => {
                if stored.len() as u64 != u64::from(record.uncompressed) {
                    let (found, stated) = (stored.len(), record.uncompressed);
                    return Err(Error::corrupt(format!("a payload of {found} bytes, stated are {stated}"))
                        .class("bad_values")
                        .offset(offset));
                }
                Ok(Cow::Borrowed(stored))
            }
            Codec::Zstd => {
                let size = self.size(record, offset)?;
                zstd::decompress(stored, size).map(Cow::Owned).map_err(|e| bad_zstd(e, offset))
            }
            Codec::Lz4 if self.extension.has(features::LZ4) => {
                let size = self.size(record, offset)?;
                // A block expands at most 255-fold: more is refused before allocation.
                if size as u64 > 255 * stored.len() as u64 + 64 {
                    return Err(Error::corrupt("an lz4 block cannot decode to its stated size")
                        .class("bad_lz4")
                        .offset(offset));
                }
                let mut out = vec![0; size];
                decompress_into(Compressor::Lz4Block, stored, &mut out)
                    .map_err(|e| Error::from(e).class("bad_lz4").offset(offset))?;
                Ok(Cow::Owned(out))
            }
            other => Err(unsupported_codec(other.id(), offset)),
        }
    }

    fn size(&self, record: &Record, offset: u64) -> Result<usize> {
        if u64::from(record.uncompressed) > self.limits.piece_bytes {
            return Err(Error::limit(format!(
                "a payload of {} bytes exceeds the limit of {}",
                record.uncompressed, self.limits.piece_bytes
            ))
            .offset(offset));
        }
        Ok(record.uncompressed as usize)
    }
}

fn known_codec(record: &Record, offset: u64) -> Result<Codec> {
    Codec::from_id(record.codec).ok_or_else(|| unsupported_codec(record.codec, offset))
}

fn unsupported_codec(id: u8, offset: u64) -> Error {
    Error::unsupported(format!("block codec {id} is not known"))
        .class("unsupported_codec")
        .offset(offset)
        .hint("the file may come from a newer writer")
}

fn bad_zstd(error: tesselle_codec::Error, offset: u64) -> Error {
    Error::from(error).class("bad_zstd").offset(offset)
}
