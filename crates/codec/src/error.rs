//! The error type of this crate. Callers add the file, the offset and the location in it.

use std::borrow::Cow;

/// Shorthand for results of kernels.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a kernel refused its input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input ended before the stream was complete.
    #[error("{what} ends early: {needed} bytes needed, {available} available")]
    Truncated {
        /// The stream or field that was being read.
        what: &'static str,
        /// Bytes needed from this position on.
        needed: usize,
        /// Bytes available.
        available: usize,
    },
    /// The bytes violate the encoding.
    #[error("{what} is damaged: {why}")]
    Corrupt {
        /// The stream that was being decoded.
        what: &'static str,
        /// What was found.
        why: Cow<'static, str>,
    },
    /// The decoded size or count differs from the one the container states.
    #[error("{what} decodes to {found}, expected {expected}")]
    Length {
        /// The stream that was being decoded.
        what: &'static str,
        /// The size or count the container states.
        expected: u64,
        /// The decoded size or count (a lower bound when decoding stopped early).
        found: u64,
    },
    /// The encoding or its parameters are not supported.
    #[error("{what} is not supported: {why}")]
    Unsupported {
        /// The encoding.
        what: &'static str,
        /// The variant and the reason.
        why: Cow<'static, str>,
    },
    /// The encoding cannot represent these values.
    #[error("{what} cannot hold these values: {why}")]
    Unencodable {
        /// The encoding.
        what: &'static str,
        /// The value and the reason.
        why: Cow<'static, str>,
    },
    /// The system refused the memory that a compressor needs.
    #[error("not enough memory for {what}")]
    OutOfMemory {
        /// The stream that was being decoded or encoded.
        what: &'static str,
    },
}

impl Error {
    /// Reports that the bytes of `what` violate the encoding.
    pub fn corrupt(what: &'static str, why: impl Into<Cow<'static, str>>) -> Self {
        Self::Corrupt { what, why: why.into() }
    }

    /// Reports that the variant `why` of `what` is not supported.
    pub fn unsupported(what: &'static str, why: impl Into<Cow<'static, str>>) -> Self {
        Self::Unsupported { what, why: why.into() }
    }

    /// Reports that `what` cannot represent the values.
    pub fn unencodable(what: &'static str, why: impl Into<Cow<'static, str>>) -> Self {
        Self::Unencodable { what, why: why.into() }
    }

    /// Reports that `what` ended early.
    pub fn truncated(what: &'static str, needed: usize, available: usize) -> Self {
        Self::Truncated { what, needed, available }
    }
}
