//! Encodings and their codes. Code 6 is GORILLA in the first two versions and `GORILLA_V1` later.

use tesselle_core::{Error, Result};

use super::{DataType, Version};

/// The encoding of the values of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Encoding {
    /// Unencoded.
    Plain,
    /// Distinct values, then indexes. Before 0.13 only a name (`PLAIN_DICTIONARY`).
    Dictionary,
    /// Runs and bit-packed groups.
    Rle,
    /// A name without an implementation.
    Diff,
    /// Differences relative to the smallest difference, bit-packed.
    Ts2Diff,
    /// Implemented in the original, but never selected.
    Bitmap,
    /// The first form of the XOR encoding.
    GorillaV1,
    /// Arithmetic progressions with gaps.
    Regular,
    /// The second form of the XOR encoding.
    Gorilla,
    /// Zigzag varints.
    Zigzag,
    /// Coefficients of a cosine transform; lossy.
    Freq,
    /// XOR against one of the last values.
    Chimp,
    /// Prediction errors, bit-packed in blocks of eight.
    Sprintz,
    /// Differences with run lengths of their bit widths.
    Rlbe,
    /// Integer and decimal parts, stored separately.
    Camel,
}

impl Encoding {
    /// All encodings, by code.
    pub const ALL: [Self; 15] = [
        Self::Plain,
        Self::Dictionary,
        Self::Rle,
        Self::Diff,
        Self::Ts2Diff,
        Self::Bitmap,
        Self::GorillaV1,
        Self::Regular,
        Self::Gorilla,
        Self::Zigzag,
        Self::Freq,
        Self::Chimp,
        Self::Sprintz,
        Self::Rlbe,
        Self::Camel,
    ];

    /// The code in files: the position in [`Encoding::ALL`].
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    /// The encoding of a code.
    pub(crate) fn from_code(code: i32) -> Result<Self> {
        usize::try_from(code).ok().and_then(|i| Self::ALL.get(i)).copied().ok_or_else(|| {
            Error::corrupt(format!("encoding {code} is not known"))
                .class("unsupported_encoding")
                .hint("supported are 0 to 14; the file may come from a newer writer")
        })
    }

    /// The name in files of `version`.
    pub fn name(self, version: Version) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::Dictionary if version <= Version::V2 => "PLAIN_DICTIONARY",
            Self::Dictionary => "DICTIONARY",
            Self::Rle => "RLE",
            Self::Diff => "DIFF",
            Self::Ts2Diff => "TS_2DIFF",
            Self::Bitmap => "BITMAP",
            Self::GorillaV1 if version <= Version::V1 => "GORILLA",
            Self::GorillaV1 => "GORILLA_V1",
            Self::Regular => "REGULAR",
            Self::Gorilla => "GORILLA",
            Self::Zigzag => "ZIGZAG",
            Self::Freq => "FREQ",
            Self::Chimp => "CHIMP",
            Self::Sprintz => "SPRINTZ",
            Self::Rlbe => "RLBE",
            Self::Camel => "CAMEL",
        }
    }

    /// The encoding called `name` in files of `version`.
    pub fn from_name(name: &str, version: Version) -> Option<Self> {
        Self::ALL.into_iter().find(|e| e.name(version) == name)
    }

    /// Whether the first values of a page can be decoded without the later ones.
    pub(crate) fn is_sequential(self, data_type: DataType) -> bool {
        let float = matches!(data_type, DataType::Float | DataType::Double);
        match self {
            Self::Plain | Self::Gorilla | Self::GorillaV1 | Self::Chimp => true,
            Self::Rle | Self::Ts2Diff => !float,
            _ => false,
        }
    }

    /// Whether the encoding may change values of this type. Statistics, computed from the writer's input,
    /// then do not describe the decoded data exactly.
    pub fn is_lossy(self, data_type: DataType) -> bool {
        let float = matches!(data_type, DataType::Float | DataType::Double);
        match self {
            Self::Rle | Self::Ts2Diff | Self::Camel => float,
            Self::Sprintz | Self::Rlbe | Self::Freq | Self::Regular => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_six_has_two_names() {
        assert_eq!(Encoding::from_code(6).unwrap().name(Version::V1), "GORILLA");
        assert_eq!(Encoding::from_code(6).unwrap().name(Version::V3), "GORILLA_V1");
        assert_eq!(Encoding::from_name("GORILLA", Version::V1), Some(Encoding::GorillaV1));
        assert_eq!(Encoding::from_name("GORILLA", Version::V4), Some(Encoding::Gorilla));
        assert!(Encoding::from_code(15).is_err());
    }

    #[test]
    fn codes_round_trip() {
        for e in Encoding::ALL {
            assert_eq!(Encoding::from_code(i32::from(e.code())).unwrap(), e);
        }
    }
}
