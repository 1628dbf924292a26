//! General-purpose compressors behind one enum, one feature each.
//!
//! [`decompress_into`] fills a buffer of a size that the caller has checked against the container. A stream
//! that decodes to more or fewer bytes is an error, so a hostile stream costs no more than that buffer.

#[cfg(feature = "bzip2")]
mod bzip2;
#[cfg(feature = "gzip")]
mod deflate;
#[cfg(feature = "zstd")]
mod frame;
#[cfg(feature = "lz4")]
mod lz4;
mod lzo;
#[cfg(feature = "snappy")]
mod snappy;
#[cfg(any(feature = "bzip2", feature = "gzip", feature = "xz"))]
mod stream;
#[cfg(test)]
mod tests;
#[cfg(feature = "xz")]
mod xz;
#[cfg(feature = "zstd")]
pub mod zstd;

use crate::{Error, Result};

/// A general-purpose compressor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compressor {
    /// Bytes as they are.
    None,
    /// One or more Zstandard frames.
    Zstd,
    /// One LZ4 block, without frame or length.
    Lz4Block,
    /// One raw Snappy block (varint length first).
    Snappy,
    /// A gzip member (RFC 1952).
    Gzip,
    /// A zlib stream (RFC 1950).
    Zlib,
    /// A bzip2 stream.
    Bzip2,
    /// An `.xz` container.
    Xz,
    /// One LZO1X block, without frame or length; it is only read.
    Lzo,
}

impl Compressor {
    /// The name used in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "uncompressed data",
            Self::Zstd => "zstd data",
            Self::Lz4Block => "lz4 block",
            Self::Snappy => "snappy block",
            Self::Gzip => "gzip stream",
            Self::Zlib => "zlib stream",
            Self::Bzip2 => "bzip2 stream",
            Self::Xz => "xz stream",
            Self::Lzo => "lzo block",
        }
    }
}

/// Decompresses `src` so that it fills `dst` exactly.
pub fn decompress_into(compressor: Compressor, src: &[u8], dst: &mut [u8]) -> Result<()> {
    match compressor {
        Compressor::None => {
            if src.len() != dst.len() {
                return Err(length_error(compressor, dst.len(), src.len()));
            }
            dst.copy_from_slice(src);
            Ok(())
        }
        #[cfg(feature = "zstd")]
        Compressor::Zstd => zstd::decompress_into(src, dst),
        #[cfg(feature = "lz4")]
        Compressor::Lz4Block => lz4::decompress_into(src, dst),
        #[cfg(feature = "snappy")]
        Compressor::Snappy => snappy::decompress_into(src, dst),
        #[cfg(feature = "gzip")]
        Compressor::Gzip => deflate::gunzip_into(src, dst),
        #[cfg(feature = "gzip")]
        Compressor::Zlib => deflate::inflate_into(src, dst),
        #[cfg(feature = "bzip2")]
        Compressor::Bzip2 => bzip2::decompress_into(src, dst),
        #[cfg(feature = "xz")]
        Compressor::Xz => xz::decompress_into(src, dst),
        Compressor::Lzo => lzo::decompress_into(src, dst),
        #[allow(unreachable_patterns, reason = "reached only when a compressor's feature is off")]
        other => Err(not_built(other)),
    }
}

/// Appends the compressed form of `src` to `dst`. `level` is in the compressor's own scale; `None` is its default.
pub fn compress(compressor: Compressor, level: Option<i32>, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
    let _ = level;
    match compressor {
        Compressor::None => {
            dst.extend_from_slice(src);
            Ok(())
        }
        #[cfg(feature = "zstd")]
        Compressor::Zstd => zstd::compress(level.unwrap_or(zstd::DEFAULT_LEVEL), src, dst),
        #[cfg(feature = "lz4")]
        Compressor::Lz4Block => lz4::compress(src, dst),
        #[cfg(feature = "snappy")]
        Compressor::Snappy => snappy::compress(src, dst),
        #[cfg(feature = "gzip")]
        Compressor::Gzip => deflate::gzip(level, src, dst),
        #[cfg(feature = "gzip")]
        Compressor::Zlib => deflate::deflate(level, src, dst),
        #[cfg(feature = "bzip2")]
        Compressor::Bzip2 => bzip2::compress(level, src, dst),
        #[cfg(feature = "xz")]
        Compressor::Xz => xz::compress(level, src, dst),
        Compressor::Lzo => Err(Error::unsupported(compressor.name(), "it is only read")),
        #[allow(unreachable_patterns, reason = "reached only when a compressor's feature is off")]
        other => Err(not_built(other)),
    }
}

fn length_error(compressor: Compressor, expected: usize, found: usize) -> Error {
    Error::Length { what: compressor.name(), expected: expected as u64, found: found as u64 }
}

#[allow(dead_code, reason = "used only when a compressor's feature is off")]
fn not_built(compressor: Compressor) -> Error {
    Error::unsupported(
        compressor.name(),
        "this build does not include the compressor; enable its feature in tesselle-codec",
    )
}
