//! The generic tile (spec §3): a self-describing tile that stores every structure except footers.
//!
//! | offset | field |
//! |---|---|
//! | 0 | u32 format version |
//! | 4 | u64 persisted size: bytes of the body |
//! | 12 | u64 tile size: bytes of the payload |
//! | 20 | u8 datatype |
//! | 21 | u64 cell size |
//! | 29 | u8 encryption: 0 none, 1 AES-256-GCM |
//! | 30 | u32 pipeline size |
//! | 34 | filter pipeline, then the body |

use tesselle_codec::cipher::Key;
use tesselle_codec::compress::Compressor;
use tesselle_core::{Action, At, Context, ErrorKind};

use super::datatype::Datatype;
use crate::filter::{Filter, Pipeline, TileCodec, TileKind};
use crate::{Cursor, Error, Result};

/// Bytes before the pipeline.
const HEADER: u64 = 34;

/// A generic tile with its payload decoded.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GenericTile {
    /// The format version of its writer.
    pub version: u32,
    /// Whether it was encrypted.
    pub encrypted: bool,
    /// The decoded bytes.
    pub payload: Vec<u8>,
    /// Bytes it occupies in its file.
    pub stored_size: u64,
}

impl GenericTile {
    /// Parses the tile at the start of `bytes`, which are at `base` in their file. Payloads larger than `limit` are an
    /// error.
    pub(crate) fn parse(bytes: &[u8], base: u64, key: Option<&Key>, limit: u64) -> Result<Self> {
        let mut cursor = Cursor::new(bytes, base, "generic tile");
        let version = cursor.u32_le()?;
        let persisted = cursor.u64_le()?;
        let size = cursor.u64_le()?;
        let datatype = Datatype::from_id(cursor.u8()?).at_offset(base)?;
        let cell_size = cursor.u64_le()?;
        let encryption = cursor.u8()?;
        let pipeline_size = cursor.u32_le()?;
        if version == 0 || version > u32::from(u16::MAX) {
            // Development builds wrote absurd versions; what follows cannot be trusted.
            super::schema::check_version(version).at_offset(base)?;
        }
        let mut pipeline_cursor = cursor.sub(pipeline_size.into(), "filter pipeline")?;
        let pipeline = Pipeline::parse(&mut pipeline_cursor, version)?;
        let encrypted = match encryption {
            0 => false,
            1 => true,
            other => {
                return Err(Error::unsupported(format!(
                    "encryption {other} is not known; known are 0 and 1"
                ))
                .offset(base.saturating_add(29)));
            }
        };
        let key = match (encrypted, key) {
            (false, _) => None,
            (true, Some(key)) => Some(key),
            (true, None) => {
                return Err(Error::new(ErrorKind::Denied, "the array is encrypted and no key was given")
                    .class("key_missing")
                    .offset(base)
                    .suggest("give the key with {}", [Action::Key]));
            }
        };
        let body_offset = cursor.offset();
        let body = cursor.bytes_u64(persisted)?;
        if size > limit {
            return Err(Error::limit(format!(
                "a metadata tile of {size} bytes exceeds the limit of {limit}"
            ))
            .offset(base));
        }
        let cell_size = usize::try_from(cell_size).ok().filter(|size| *size > 0);
        let cell_size =
            cell_size.ok_or_else(|| Error::corrupt("a generic tile has cells of 0 bytes").offset(base))?;
        let codec = TileCodec::try_new(&pipeline, datatype, TileKind::Fixed { cell_size }, version, key)?;
        let payload = decode_growing(&codec, body, size).map_err(|error| {
            let error = if encrypted {
                Error::new(ErrorKind::Denied, "the key does not open this array")
                    .class("key_wrong")
                    .source(error)
            } else {
                error
            };
            error.offset(body_offset)
        })?;
        let stored_size = HEADER.saturating_add(pipeline_size.into()).saturating_add(persisted);
        Ok(Self { version, encrypted, payload, stored_size })
    }

    /// The bytes of a tile with `payload`, compressed as the engine does it.
    pub(crate) fn write(payload: &[u8], version: u32, key: Option<&Key>) -> Result<Vec<u8>> {
        let mut filters = vec![Filter::Compress { compressor: Compressor::Zlib, level: 1 }];
        if key.is_some() {
            filters.push(Filter::Aes256Gcm);
        }
        let pipeline = Pipeline::new(filters);
        let codec =
            TileCodec::try_new(&pipeline, Datatype::Char, TileKind::Fixed { cell_size: 1 }, version, key)?;
        let mut body = Vec::new();
        codec.encode(payload, None, &mut body)?;
        let mut stored = Vec::new();
        pipeline.write(version, &mut stored);
        let mut out = version.to_le_bytes().to_vec();
        out.extend_from_slice(&(body.len() as u64).to_le_bytes());
        out.extend_from_slice(&(payload.len() as u64).to_le_bytes());
        out.push(Datatype::Char.id());
        out.extend_from_slice(&1_u64.to_le_bytes());
        out.push(u8::from(key.is_some()));
        out.extend_from_slice(&(stored.len() as u32).to_le_bytes());
        out.extend_from_slice(&stored);
        out.extend_from_slice(&body);
        Ok(out)
    }
}

/// Decodes chunk by chunk, so that an allocation never exceeds what one chunk can decode to.
fn decode_growing(codec: &TileCodec, body: &[u8], size: u64) -> Result<Vec<u8>> {
    let size =
        usize::try_from(size).map_err(|_| Error::corrupt("a tile exceeds the memory of this machine"))?;
    let mut out = Vec::new();
    for chunk in TileCodec::chunks(body, size)? {
        let stored = chunk.data.len().saturating_add(chunk.metadata.len());
        if chunk.original > stored.saturating_mul(100_000).saturating_add(1 << 16) {
            return Err(Error::corrupt(format!("{stored} bytes cannot decode to {}", chunk.original)));
        }
        let start = out.len();
        out.resize(start.saturating_add(chunk.original), 0);
        codec.decode_chunk(&chunk, out.part_mut(start..)?)?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_come_back_with_and_without_a_key() {
        let payload: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        let key = Key::new([7; 32]);
        for key in [None, Some(&key)] {
            let bytes = GenericTile::write(&payload, 22, key).unwrap();
            let tile = GenericTile::parse(&bytes, 0, key, 1 << 30).unwrap();
            assert_eq!(tile.payload, payload);
            assert_eq!(tile.stored_size, bytes.len() as u64);
        }
        let sealed = GenericTile::write(b"x", 22, Some(&key)).unwrap();
        assert_eq!(GenericTile::parse(&sealed, 0, None, 100).unwrap_err().kind(), ErrorKind::Denied);
        let wrong = Key::new([8; 32]);
        assert_eq!(GenericTile::parse(&sealed, 0, Some(&wrong), 100).unwrap_err().class_name(), "key_wrong");
    }

    #[test]
    fn cut_tiles_and_absurd_sizes_are_refused() {
        let bytes = GenericTile::write(b"some payload", 22, None).unwrap();
        for len in 0..bytes.len() {
            assert!(GenericTile::parse(&bytes[..len], 0, None, 1 << 20).is_err(), "{len}");
        }
        let mut huge = bytes.clone();
        huge[12..20].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(GenericTile::parse(&huge, 0, None, u64::MAX).is_err());
        assert_eq!(GenericTile::parse(&bytes, 0, None, 3).unwrap_err().kind(), ErrorKind::Limit);
    }
}
