//! Encodes the values of one page.

use tesselle_codec::decimal::{self, Integers, Overflow};
use tesselle_codec::plain::{self, ByteOrder, LengthPrefix};
use tesselle_codec::rlbe::{self, Difference};
use tesselle_codec::sprintz::{self, Prediction, Product};
use tesselle_codec::word::{Float, Int, Word};
use tesselle_codec::{camel, chimp, delta_binary, dictionary, gorilla, regular, rle_hybrid, zigzag};
use tesselle_core::{Action, At, Error, Result};

use super::values::{Slice, StringSlices};
use crate::meta::{Compression, DataType, Encoding, Physical, Version};

/// The encoding parameters of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Coding {
    /// The encoding.
    pub(crate) encoding: Encoding,
    /// The decimals that RLE and TS_2DIFF preserve of floats.
    pub(crate) decimals: Decimals,
    /// The version of the file.
    pub(crate) version: Version,
    /// Whether values that would not round-trip are refused; fixed decimals always round.
    pub(crate) exact: bool,
}

/// The decimals that RLE and TS_2DIFF preserve of floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decimals {
    /// As many decimals as needed to preserve the values of a page.
    Fitting,
    /// This many: other values are rounded.
    Fixed(u32),
}

/// The original's default number of decimals.
pub(crate) const USUAL_DECIMALS: u32 = 2;
/// The error class if an encoding would change values.
pub(crate) const LOSSY: &str = "lossy_encoding";
/// The hint if an encoding would change values.
const OTHER_ENCODING: &str = "choose another encoding for this column, e.g. PLAIN";

impl Encoding {
    /// Whether writers of `version` may use this encoding for values of this type.
    pub fn is_writable(self, data_type: DataType, version: Version) -> bool {
        let Some(physical) = data_type.physical() else { return false };
        let new = version >= Version::V3;
        match (physical, self) {
            (Physical::Binary, Self::Dictionary) => new && data_type.is_string(),
            (_, Self::Plain) => true,
            (Physical::Boolean, Self::Rle) => true,
            (Physical::Boolean | Physical::Binary, _) => false,
            (_, Self::Rle | Self::Ts2Diff) => true,
            (Physical::Int32 | Physical::Int64, Self::Regular) => true,
            (Physical::Float | Physical::Double, Self::GorillaV1) => true,
            (_, Self::Gorilla) => version >= Version::V2,
            (Physical::Int32 | Physical::Int64, Self::Zigzag) => new,
            (_, Self::Chimp | Self::Sprintz | Self::Rlbe) => new,
            (Physical::Double, Self::Camel) => version == Version::V4,
            _ => false,
        }
    }

    /// The default encoding of a writer of `version` for values of this type.
    pub fn default_for(data_type: DataType, version: Version) -> Self {
        match data_type.physical() {
            // The C++ readers of version 4 support no other encoding of BOOLEAN.
            Some(Physical::Boolean) if version == Version::V4 => Self::Plain,
            Some(Physical::Boolean) => Self::Rle,
            Some(Physical::Int32 | Physical::Int64) | None => Self::Ts2Diff,
            // The first GORILLA cannot store a NaN that its own reader can decode.
            Some(Physical::Float | Physical::Double) if version >= Version::V2 => Self::Gorilla,
            _ => Self::Plain,
        }
    }
}

impl DataType {
    /// Whether files of `version` have this type.
    pub fn is_writable(self, version: Version) -> bool {
        self.physical().is_some() && (self.code() <= 5 || version == Version::V4)
    }
}

impl Compression {
    /// Whether the readers of `version` support this compressor.
    pub fn is_writable(self, version: Version) -> bool {
        match self {
            Self::Uncompressed | Self::Snappy => true,
            Self::Lz4 => version >= Version::V2,
            Self::Gzip | Self::Zstd | Self::Lzma2 => version >= Version::V3,
            Self::Lzo => false,
        }
    }

    /// The default compressor of a writer of `version`.
    pub fn default_for(version: Version) -> Self {
        if version >= Version::V2 { Self::Lz4 } else { Self::Snappy }
    }
}

impl Coding {
    /// Appends the encoded form of `values`.
    pub(crate) fn encode(self, values: Slice<'_>, out: &mut Vec<u8>) -> Result<()> {
        match values {
            Slice::Boolean(values) => self.booleans(values, out),
            Slice::Int32(values) => self.int32(values, out),
            Slice::Int64(values) => self.int64(values, out),
            Slice::Float(values) => self.floats(values, out),
            Slice::Double(values) if self.encoding == Encoding::Camel => Ok(camel::encode(values, out)?),
            Slice::Double(values) => self.floats(values, out),
            Slice::Binary(values) => self.strings(values, out),
        }
    }

    fn unsupported(self, what: &str) -> Error {
        let name = self.encoding.name(self.version);
        Error::invalid(format!("{name} cannot encode {what} values in version {}", self.version.name()))
    }

    fn lossy(self, why: &str) -> Error {
        let name = self.encoding.name(self.version);
        Error::invalid(format!("{name} cannot store these values: {why}")).class(LOSSY)
    }

    fn byte_order(self) -> ByteOrder {
        if self.version == Version::V08 { ByteOrder::Little } else { ByteOrder::Big }
    }

    fn booleans(self, values: &[bool], out: &mut Vec<u8>) -> Result<()> {
        match self.encoding {
            Encoding::Plain => plain::encode_bool(values, out),
            Encoding::Rle => rle_hybrid::encode_bool(values, out),
            _ => return Err(self.unsupported("BOOLEAN")),
        }
        Ok(())
    }

    fn int32(self, values: &[i32], out: &mut Vec<u8>) -> Result<()> {
        if self.encoding == Encoding::Plain && self.version.is_compact() {
            plain::encode_varint(values, out);
            return Ok(());
        }
        self.integers(values, out)
    }

    fn int64(self, values: &[i64], out: &mut Vec<u8>) -> Result<()> {
        self.integers(values, out)
    }

    fn integers<T: Int + sprintz::Column + rlbe::Column>(
        self,
        values: &[T],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match self.encoding {
            Encoding::Plain => plain::encode_fixed(values, self.byte_order(), out),
            Encoding::Rle => rle_hybrid::encode(values, out),
            Encoding::Ts2Diff => delta_binary::encode(values, out),
            Encoding::Regular => regular::encode(values, out)
                .map_err(|e| self.lossy("their steps are not equal").hint(OTHER_ENCODING).source(e))?,
            Encoding::Zigzag => zigzag::encode(values, out)?,
            _ => self.words(values, out)?,
        }
        Ok(())
    }

    fn floats<T: Float + sprintz::Column + rlbe::Column>(
        self,
        values: &[T],
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match self.encoding {
            Encoding::Plain => plain::encode_fixed(values, self.byte_order(), out),
            Encoding::Rle => self.decimals(values, Integers::Runs, out)?,
            Encoding::Ts2Diff => self.decimals(values, Integers::Deltas, out)?,
            Encoding::GorillaV1 => {
                if self.exact && values.iter().any(|v| v.to_f64().is_nan()) {
                    return Err(self.lossy("the original readers stop at a NaN").hint(OTHER_ENCODING));
                }
                gorilla::legacy::encode(values, out);
            }
            // Readers distinguish the two forms of this encoding by the statistics, whose sum is of no use then.
            Encoding::Rlbe if self.exact && values.iter().any(|v| !v.to_f64().is_finite()) => {
                return Err(self
                    .lossy("infinities and NaN are ambiguous in this encoding")
                    .hint(OTHER_ENCODING));
            }
            _ => self.words(values, out)?,
        }
        Ok(())
    }

    /// Floats as scaled integers. Version 4 can mark values that do not fit; earlier versions would change
    /// them.
    fn decimals<T: Float>(self, values: &[T], integers: Integers, out: &mut Vec<u8>) -> Result<()> {
        let marks = self.version == Version::V4 && integers == Integers::Deltas;
        let (digits, overflow) = match self.decimals {
            Decimals::Fixed(digits) => {
                if self.exact && !marks && !decimal::fits(values, digits) {
                    let why = format!("a value is not finite, or too large for {digits} decimals");
                    return Err(self.lossy(&why).hint(OTHER_ENCODING));
                }
                (digits, if marks { Overflow::Mark } else { Overflow::Cut })
            }
            Decimals::Fitting => match decimal::fitting(values, USUAL_DECIMALS) {
                Some(digits) => (digits, Overflow::Cut),
                None if marks => (USUAL_DECIMALS, Overflow::MarkInexact),
                None => {
                    let why = "no number of decimals preserves all of them";
                    return Err(self.lossy(why).suggest(
                        "choose another encoding for this column, e.g. GORILLA or PLAIN, or round it with {}",
                        [Action::setting("decimals", "N")],
                    ));
                }
            },
        };
        decimal::encode(values, digits, integers, overflow, out);
        Ok(())
    }

    /// Counts the values that [`Coding::encode`] rounds to the requested decimals.
    pub(crate) fn rounded(self, values: Slice<'_>) -> u64 {
        let Decimals::Fixed(digits) = self.decimals else { return 0 };
        if !matches!(self.encoding, Encoding::Rle | Encoding::Ts2Diff) {
            return 0;
        }
        let count = match values {
            Slice::Float(values) => decimal::inexact_count(values, digits),
            Slice::Double(values) => decimal::inexact_count(values, digits),
            _ => 0,
        };
        count as u64
    }

    fn words<T: Word + sprintz::Column + rlbe::Column>(self, values: &[T], out: &mut Vec<u8>) -> Result<()> {
        match self.encoding {
            Encoding::Gorilla => gorilla::encode(values, out),
            Encoding::Chimp => chimp::encode(values, out),
            Encoding::Sprintz => {
                let lossless = sprintz::encode(values, Prediction::Learned(Product::Wrapping), out);
                if self.exact && !lossless {
                    let why = "steps between values are too large for its predictor";
                    return Err(self.lossy(why).hint(OTHER_ENCODING));
                }
            }
            Encoding::Rlbe => self.grouped(values, out)?,
            _ => return Err(self.unsupported(std::any::type_name::<T>())),
        }
        Ok(())
    }

    /// The readers of version 3 add differences of floats as floats, which rounds; those of version 4 add
    /// bits.
    fn grouped<T: rlbe::Column>(self, values: &[T], out: &mut Vec<u8>) -> Result<()> {
        let difference = if self.version == Version::V4 { Difference::Bits } else { Difference::Value };
        let start = out.len();
        rlbe::encode(values, difference, out);
        if self.exact && difference == Difference::Value {
            let mut back = Vec::<T>::with_capacity(values.len());
            rlbe::decode(out.part(start..)?, difference, values.len(), &mut back)?;
            if back.iter().zip(values).any(|(a, b)| a.to_word() != b.to_word()) {
                return Err(self.lossy("differences of these floats are rounded").hint(OTHER_ENCODING));
            }
        }
        Ok(())
    }

    fn strings(self, strings: StringSlices<'_>, out: &mut Vec<u8>) -> Result<()> {
        let values = strings.iter();
        match self.encoding {
            Encoding::Plain => {
                let prefix = match self.version {
                    Version::V08 => LengthPrefix::Little32,
                    Version::V1 | Version::V2 => LengthPrefix::Big32,
                    Version::V3 | Version::V4 => LengthPrefix::Zigzag,
                };
                Ok(plain::encode_bytes(values, prefix, out)?)
            }
            Encoding::Dictionary => Ok(dictionary::encode(values, out)?),
            _ => Err(self.unsupported("string")),
        }
    }
}
