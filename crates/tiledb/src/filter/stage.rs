//! A filter at its position in a pipeline: its effect depends on the datatype it sees (spec §5.2).

use tesselle_codec::IntKind;

use super::Filter;
use crate::{Datatype, Error, Physical, Result};

/// The effect of a filter on the tiles of one field.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Stage {
    /// Bytes pass unchanged.
    Pass,
    /// Each part compressed separately.
    Compress(PartCodec),
    /// Strings together with their offsets.
    Strings(StringCodec),
    /// Byte planes of values of this width.
    Byteshuffle(usize),
    /// Bit planes of values of this width.
    Bitshuffle(usize),
    Xor(usize),
    BitWidth(IntKind, usize),
    PositiveDelta(IntKind, usize),
    FloatScale(usize, tesselle_codec::scale::Scale),
    Webp(tesselle_codec::webp::Layout),
    Checksum(tesselle_codec::digest::Digest),
    Aes256Gcm,
}

/// Codecs of independent parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartCodec {
    General(tesselle_codec::compress::Compressor, Option<i32>),
    /// Runs of cells of this size.
    Rle(usize),
    Delta(IntKind),
    DoubleDelta(IntKind),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StringCodec {
    Rle,
    Dictionary,
}

impl Stage {
    /// Whether the stage leaves the data where it is.
    pub(super) fn keeps_data(&self) -> bool {
        matches!(self, Self::Pass | Self::Checksum(_))
    }
}

/// Properties shared by the stages of one field.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    pub(super) cell_size: usize,
    pub(super) var_data: bool,
    pub(super) version: u32,
}

/// The version from which strings have their own run lengths and dictionaries.
const STRING_FILTERS: u32 = 12;
/// The version from which window filters take datetimes and times.
pub(crate) const WINDOWS_TAKE_TIMES: u32 = 20;

/// The stage of `filter` on values of `datatype`, and the datatype of its output.
pub(super) fn place(
    filter: &Filter,
    datatype: Datatype,
    field: Field,
    first: bool,
) -> Result<(Stage, Datatype)> {
    let text = matches!(datatype, Datatype::StringAscii | Datatype::StringUtf8);
    let strings = field.var_data && text && field.version >= STRING_FILTERS;
    let width = datatype.size();
    let stage = match filter {
        Filter::None => Stage::Pass,
        Filter::Compress { compressor, level } => {
            Stage::Compress(PartCodec::General(*compressor, usable_level(*compressor, *level)))
        }
        Filter::Rle { .. } if strings && first => Stage::Strings(StringCodec::Rle),
        Filter::Rle { .. } if strings => return Err(not_first("rle")),
        Filter::Rle { .. } => Stage::Compress(PartCodec::Rle(field.cell_size)),
        Filter::Dictionary { .. } if strings && first => Stage::Strings(StringCodec::Dictionary),
        Filter::Dictionary { .. } if strings => return Err(not_first("dictionary")),
        Filter::Dictionary { .. } => {
            return Err(Error::unsupported(format!(
                "the dictionary filter takes ASCII or UTF-8 strings of variable length, not {}",
                datatype.name()
            )));
        }
        Filter::Delta { reinterpret, .. } => {
            let datatype = reinterpret.unwrap_or(datatype);
            return Ok((Stage::Compress(PartCodec::Delta(difference(datatype, "delta")?)), datatype));
        }
        Filter::DoubleDelta { reinterpret, .. } => {
            let datatype = reinterpret.unwrap_or(datatype);
            return Ok((
                Stage::Compress(PartCodec::DoubleDelta(difference(datatype, "double delta")?)),
                datatype,
            ));
        }
        Filter::BitWidthReduction { max_window } => {
            let takes = (datatype.is_integer() && width > 1) || takes_times(datatype, field);
            if takes {
                Stage::BitWidth(integer(datatype, "bit width")?, *max_window as usize)
            } else {
                Stage::Pass
            }
        }
        Filter::PositiveDelta { max_window } => {
            let bytes =
                matches!(datatype, Datatype::Bool | Datatype::Blob | Datatype::GeomWkb | Datatype::GeomWkt);
            let takes = datatype.is_integer() || bytes || takes_times(datatype, field);
            if takes {
                Stage::PositiveDelta(integer(datatype, "positive delta")?, *max_window as usize)
            } else {
                Stage::Pass
            }
        }
        Filter::Bitshuffle => Stage::Bitshuffle(width),
        Filter::Byteshuffle => Stage::Byteshuffle(width),
        Filter::Xor => {
            let signed = match width {
                1 => Datatype::Int8,
                2 => Datatype::Int16,
                4 => Datatype::Int32,
                _ => Datatype::Int64,
            };
            return Ok((Stage::Xor(width), signed));
        }
        Filter::Checksum(digest) => Stage::Checksum(*digest),
        Filter::Aes256Gcm => return Ok((Stage::Aes256Gcm, Datatype::Blob)),
        Filter::FloatScale { scale, offset, byte_width } => {
            let integer = match byte_width {
                1 => Datatype::Int8,
                2 => Datatype::Int16,
                4 => Datatype::Int32,
                8 => Datatype::Int64,
                _ => return Err(Error::unsupported(format!("scaled floats of {byte_width} bytes"))),
            };
            let scale =
                tesselle_codec::scale::Scale { scale: *scale, offset: *offset, byte_width: integer.size() };
            return Ok((Stage::FloatScale(width, scale), integer));
        }
        Filter::Webp { format, y_extent, x_extent, .. } => {
            if !first || datatype != Datatype::Uint8 {
                return Err(Error::unsupported("the webp filter takes UINT8 values and comes first"));
            }
            Stage::Webp(tesselle_codec::webp::Layout {
                pixels: format.pixels()?,
                height: usize::from(*y_extent),
                stride: usize::from(*x_extent),
            })
        }
    };
    Ok((stage, datatype))
}

fn takes_times(datatype: Datatype, field: Field) -> bool {
    datatype.is_time() && field.version >= WINDOWS_TAKE_TIMES
}

fn not_first(name: &str) -> Error {
    Error::unsupported(format!("the {name} filter on strings must be the first of its pipeline"))
}

/// The level as the kernel takes it; `None` is the kernel's default.
fn usable_level(compressor: tesselle_codec::compress::Compressor, level: i32) -> Option<i32> {
    use tesselle_codec::compress::Compressor;
    match compressor {
        // Level -1 is valid here; only levels below -7 fall back to the default.
        Compressor::Zstd => (level >= -7).then_some(level),
        Compressor::Bzip2 => Some(level.max(1)),
        _ => (level >= 0).then_some(level),
    }
}

/// The integers between which delta and double delta take differences: all strings are bytes to them (spec §5.3).
fn difference(datatype: Datatype, filter: &str) -> Result<IntKind> {
    if datatype.is_string() { Ok(IntKind::U8) } else { integer(datatype, filter) }
}

fn integer(datatype: Datatype, filter: &str) -> Result<IntKind> {
    Ok(match datatype.physical() {
        Physical::I8 => IntKind::I8,
        Physical::I16 => IntKind::I16,
        Physical::I32 => IntKind::I32,
        Physical::I64 => IntKind::I64,
        Physical::U8 => IntKind::U8,
        Physical::U16 => IntKind::U16,
        Physical::U32 => IntKind::U32,
        Physical::U64 => IntKind::U64,
        Physical::F32 | Physical::F64 => {
            return Err(Error::unsupported(format!("the {filter} filter does not take {}", datatype.name())));
        }
    })
}
