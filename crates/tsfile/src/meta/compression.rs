//! Compressors and their codes.

use tesselle_codec::compress::Compressor;
use tesselle_core::{Error, Result};

/// The compression of the pages of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Compression {
    /// Uncompressed.
    Uncompressed,
    /// A raw Snappy block.
    Snappy,
    /// A gzip member.
    Gzip,
    /// A raw LZ4 block.
    Lz4,
    /// A Zstandard frame.
    Zstd,
    /// An `.xz` container.
    Lzma2,
    /// An LZO1X block, which only the writer in C++ has.
    Lzo,
}

impl Compression {
    /// All compressors.
    pub const ALL: [Self; 7] =
        [Self::Uncompressed, Self::Snappy, Self::Gzip, Self::Lz4, Self::Zstd, Self::Lzma2, Self::Lzo];

    /// The code in files.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Uncompressed => 0,
            Self::Snappy => 1,
            Self::Gzip => 2,
            Self::Lzo => 3,
            Self::Lz4 => 7,
            Self::Zstd => 8,
            Self::Lzma2 => 9,
        }
    }

    /// The compressor of a code. Codes 4 to 6 are names that were never implemented.
    pub(crate) fn from_code(code: i32) -> Result<Self> {
        Self::ALL.into_iter().find(|c| i32::from(c.code()) == code).ok_or_else(|| {
            let hint = if (4..=6).contains(&code) {
                "codes 4 to 6 (SDT, PAA, PLA) were never implemented by any writer"
            } else {
                "supported are 0 to 3 and 7 to 9; the file may come from a newer writer"
            };
            Error::corrupt(format!("compressor {code} is not known")).class("unsupported_codec").hint(hint)
        })
    }

    /// The name in the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uncompressed => "UNCOMPRESSED",
            Self::Snappy => "SNAPPY",
            Self::Gzip => "GZIP",
            Self::Lz4 => "LZ4",
            Self::Zstd => "ZSTD",
            Self::Lzma2 => "LZMA2",
            Self::Lzo => "LZO",
        }
    }

    /// The compressor of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.name() == name)
    }

    /// The codec kernel.
    pub(crate) fn compressor(self) -> Compressor {
        match self {
            Self::Uncompressed => Compressor::None,
            Self::Snappy => Compressor::Snappy,
            Self::Gzip => Compressor::Gzip,
            Self::Lz4 => Compressor::Lz4Block,
            Self::Zstd => Compressor::Zstd,
            Self::Lzma2 => Compressor::Xz,
            Self::Lzo => Compressor::Lzo,
        }
    }
}
