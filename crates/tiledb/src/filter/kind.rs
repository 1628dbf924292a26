//! One filter and its options (spec §5.1).

use tesselle_codec::compress::Compressor;
use tesselle_codec::digest::Digest;
use tesselle_codec::webp::Pixels;
use tesselle_core::{Cursor, Within, json_float};

use crate::{Datatype, Error, Result};

/// A filter with its options.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// No operation.
    None,
    /// A general-purpose compressor.
    Compress {
        /// Zlib (stored as gzip), Zstd, Lz4Block or Bzip2.
        compressor: Compressor,
        /// The level in the compressor's own scale; -1 is its default.
        level: i32,
    },
    /// Run-length encoding of cells or strings.
    Rle {
        /// Stored but unused.
        level: i32,
    },
    /// Strings as indexes into a dictionary.
    Dictionary {
        /// Stored but unused.
        level: i32,
    },
    /// Differences of adjacent values.
    Delta {
        /// Stored but unused.
        level: i32,
        /// The datatype to interpret the values as.
        reinterpret: Option<Datatype>,
    },
    /// Differences of differences.
    DoubleDelta {
        /// Stored but unused.
        level: i32,
        /// The datatype to interpret the values as.
        reinterpret: Option<Datatype>,
    },
    /// Integers of a window in the fewest bytes that hold them.
    BitWidthReduction {
        /// Bytes of a window.
        max_window: u32,
    },
    /// Non-decreasing integers as differences.
    PositiveDelta {
        /// Bytes of a window.
        max_window: u32,
    },
    /// Bit-plane transposition.
    Bitshuffle,
    /// Byte-plane transposition.
    Byteshuffle,
    /// Exclusive or of adjacent values.
    Xor,
    /// A digest that is checked on reading.
    Checksum(Digest),
    /// Encryption. Stored in generic tiles only; other tiles get it from the key.
    Aes256Gcm,
    /// Floats as scaled integers.
    FloatScale {
        /// The step.
        scale: f64,
        /// The value stored as 0.
        offset: f64,
        /// Bytes of the integers.
        byte_width: u64,
    },
    /// The tile as an image.
    Webp {
        /// From 0 to 100, for lossy images.
        quality: f32,
        /// The order of the colors.
        format: ImageFormat,
        /// Whether the encoding is lossless. Images are always written losslessly.
        lossless: bool,
        /// The tile extent of the first dimension: rows.
        y_extent: u16,
        /// The tile extent of the second dimension: bytes of a row.
        x_extent: u16,
    },
}

/// The order of the colors in an image tile, numbered as on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are self-explanatory")]
pub enum ImageFormat {
    None = 0,
    Rgb = 1,
    Bgr = 2,
    Rgba = 3,
    Bgra = 4,
}

impl ImageFormat {
    /// The name in reports and settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Rgb => "rgb",
            Self::Bgr => "bgr",
            Self::Rgba => "rgba",
            Self::Bgra => "bgra",
        }
    }

    /// The format with this name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        [Self::Rgb, Self::Bgr, Self::Rgba, Self::Bgra].into_iter().find(|format| format.name() == name)
    }

    fn from_id(id: u8) -> Option<Self> {
        [Self::None, Self::Rgb, Self::Bgr, Self::Rgba, Self::Bgra].get(usize::from(id)).copied()
    }

    pub(super) fn pixels(self) -> Result<Pixels> {
        match self {
            Self::Rgb => Ok(Pixels::Rgb),
            Self::Bgr => Ok(Pixels::Bgr),
            Self::Rgba => Ok(Pixels::Rgba),
            Self::Bgra => Ok(Pixels::Bgra),
            Self::None => Err(Error::invalid("a webp filter needs an order of colors")),
        }
    }
}

/// Schemas from this version on store the reinterpreted datatype of a delta filter.
const DELTA_REINTERPRETS: u32 = 19;
/// And of a double delta filter.
const DOUBLE_DELTA_REINTERPRETS: u32 = 20;

impl Filter {
    /// gzip at a level from 0 to 9, or -1.
    pub fn gzip(level: i32) -> Self {
        Self::Compress { compressor: Compressor::Zlib, level }
    }

    /// zstd at a level from -7 to 22.
    pub fn zstd(level: i32) -> Self {
        Self::Compress { compressor: Compressor::Zstd, level }
    }

    /// LZ4 blocks.
    pub fn lz4() -> Self {
        Self::Compress { compressor: Compressor::Lz4Block, level: -1 }
    }

    /// bzip2 with blocks of `level` times 100 kB.
    pub fn bzip2(level: i32) -> Self {
        Self::Compress { compressor: Compressor::Bzip2, level }
    }

    /// The number on disk.
    pub(crate) fn id(&self) -> u8 {
        match self {
            Self::None => 0,
            Self::Compress { compressor, .. } => match compressor {
                Compressor::Zstd => 2,
                Compressor::Lz4Block => 3,
                Compressor::Bzip2 => 5,
                _ => 1,
            },
            Self::Rle { .. } => 4,
            Self::DoubleDelta { .. } => 6,
            Self::BitWidthReduction { .. } => 7,
            Self::Bitshuffle => 8,
            Self::Byteshuffle => 9,
            Self::PositiveDelta { .. } => 10,
            Self::Aes256Gcm => 11,
            Self::Checksum(Digest::Md5) => 12,
            Self::Checksum(Digest::Sha256) => 13,
            Self::Dictionary { .. } => 14,
            Self::FloatScale { .. } => 15,
            Self::Xor => 16,
            Self::Webp { .. } => 18,
            Self::Delta { .. } => 19,
        }
    }

    /// The name in reports.
    pub fn name(&self) -> &'static str {
        const NAMES: [&str; 20] = [
            "none",
            "gzip",
            "zstd",
            "lz4",
            "rle",
            "bzip2",
            "double-delta",
            "bit-width-reduction",
            "bitshuffle",
            "byteshuffle",
            "positive-delta",
            "aes-256-gcm",
            "md5",
            "sha256",
            "dictionary",
            "float-scale",
            "xor",
            "",
            "webp",
            "delta",
        ];
        NAMES.value(usize::from(self.id()))
    }

    /// The object of `info --json`: the name and the options that mean something.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        use serde_json::json;
        let name = self.name();
        match self {
            Self::Compress { level, .. } => json!({ "name": name, "level": level }),
            Self::Delta { reinterpret, .. } | Self::DoubleDelta { reinterpret, .. } => {
                json!({ "name": name, "reinterpret": reinterpret.map(Datatype::name) })
            }
            Self::BitWidthReduction { max_window } | Self::PositiveDelta { max_window } => {
                json!({ "name": name, "window": max_window })
            }
            Self::FloatScale { scale, offset, byte_width } => json!({
                "name": name, "factor": json_float(*scale), "offset": json_float(*offset), "byte_width": byte_width,
            }),
            Self::Webp { quality, format, lossless, .. } => json!({
                "name": name, "quality": quality, "format": format.name(), "lossless": lossless,
            }),
            _ => json!({ "name": name }),
        }
    }

    /// Reads one filter of a schema (or generic tile) of the given format version.
    pub(crate) fn parse(cursor: &mut Cursor<'_>, version: u32) -> Result<Self> {
        let at = cursor.offset();
        let id = cursor.u8()?;
        let len = cursor.u32_le()?;
        let mut options = cursor.sub(len.into(), "filter options")?;
        let filter = Self::parse_options(id, &mut options, version).map_err(|e| e.offset(at))?;
        options.expect_end()?;
        Ok(filter)
    }

    fn parse_options(id: u8, options: &mut Cursor<'_>, version: u32) -> Result<Self> {
        Ok(match id {
            0 => Self::None,
            1..=6 | 14 | 19 => {
                // The compressor's number repeats the filter type.
                options.u8()?;
                let level = options.i32_le()?;
                match id {
                    1 => Self::gzip(level),
                    2 => Self::zstd(level),
                    3 => Self::Compress { compressor: Compressor::Lz4Block, level },
                    4 => Self::Rle { level },
                    5 => Self::bzip2(level),
                    14 => Self::Dictionary { level },
                    6 => Self::DoubleDelta {
                        level,
                        reinterpret: reinterpret(options, version >= DOUBLE_DELTA_REINTERPRETS)?,
                    },
                    _ => Self::Delta {
                        level,
                        reinterpret: reinterpret(options, version >= DELTA_REINTERPRETS)?,
                    },
                }
            }
            7 => Self::BitWidthReduction { max_window: options.u32_le()? },
            8 => Self::Bitshuffle,
            9 => Self::Byteshuffle,
            10 => Self::PositiveDelta { max_window: options.u32_le()? },
            11 => Self::Aes256Gcm,
            12 => Self::Checksum(Digest::Md5),
            13 => Self::Checksum(Digest::Sha256),
            15 => Self::FloatScale {
                scale: options.f64_le()?,
                offset: options.f64_le()?,
                byte_width: options.u64_le()?,
            },
            16 => Self::Xor,
            18 => {
                let quality = options.f32_le()?;
                let format = options.u8()?;
                let format = ImageFormat::from_id(format)
                    .ok_or_else(|| Error::unsupported(format!("webp color format {format} is not known")))?;
                let lossless = options.u8()? != 0;
                let (y_extent, x_extent) = (options.u16_le()?, options.u16_le()?);
                options.skip(2)?;
                Self::Webp { quality, format, lossless, y_extent, x_extent }
            }
            _ => {
                return Err(Error::unsupported(format!(
                    "filter {id} is not known; known are 0 to 16, 18 and 19"
                ))
                .hint("the array may come from a newer writer"));
            }
        })
    }

    /// Appends the filter as a schema of the given format version stores it.
    pub(crate) fn write(&self, version: u32, out: &mut Vec<u8>) {
        let mut options = Vec::new();
        let leveled = |compressor: u8, level: i32, options: &mut Vec<u8>| {
            options.push(compressor);
            options.extend_from_slice(&level.to_le_bytes());
        };
        match self {
            Self::None
            | Self::Bitshuffle
            | Self::Byteshuffle
            | Self::Aes256Gcm
            | Self::Checksum(_)
            | Self::Xor => {}
            // The compressor's numbering equals the filter's up to bzip2, then differs.
            Self::Compress { level, .. } | Self::Rle { level } => leveled(self.id(), *level, &mut options),
            Self::Dictionary { level } => leveled(7, *level, &mut options),
            Self::DoubleDelta { level, reinterpret } => {
                leveled(6, *level, &mut options);
                if version >= DOUBLE_DELTA_REINTERPRETS {
                    options.push(reinterpret.unwrap_or(Datatype::Any).id());
                }
            }
            Self::Delta { level, reinterpret } => {
                leveled(8, *level, &mut options);
                if version >= DELTA_REINTERPRETS {
                    options.push(reinterpret.unwrap_or(Datatype::Any).id());
                }
            }
            Self::BitWidthReduction { max_window } | Self::PositiveDelta { max_window } => {
                options.extend_from_slice(&max_window.to_le_bytes());
            }
            Self::FloatScale { scale, offset, byte_width } => {
                options.extend_from_slice(&scale.to_le_bytes());
                options.extend_from_slice(&offset.to_le_bytes());
                options.extend_from_slice(&byte_width.to_le_bytes());
            }
            Self::Webp { quality, format, lossless, y_extent, x_extent } => {
                options.extend_from_slice(&quality.to_le_bytes());
                options.extend_from_slice(&[*format as u8, u8::from(*lossless)]);
                options.extend_from_slice(&y_extent.to_le_bytes());
                options.extend_from_slice(&x_extent.to_le_bytes());
                options.extend_from_slice(&[0; 2]);
            }
        }
        out.push(self.id());
        out.extend_from_slice(&(options.len() as u32).to_le_bytes());
        out.extend_from_slice(&options);
    }
}

fn reinterpret(options: &mut Cursor<'_>, stored: bool) -> Result<Option<Datatype>> {
    if !stored {
        return Ok(None);
    }
    let datatype = Datatype::from_id(options.u8()?)?;
    Ok((datatype != Datatype::Any).then_some(datatype))
}
