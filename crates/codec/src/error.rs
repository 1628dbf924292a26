//! The one error of this crate. Callers add the file, the offset and the piece.

use std::borrow::Cow;

/// Shorthand for results of kernels.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a kernel refused its input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input ended before the stream did.
    #[error("{what} ends early: {needed} bytes needed, {available} there")]
    Truncated {
        /// The stream or field that was being read.
        what: &'static str,
        /// Bytes that were needed from here on.
        needed: usize,
        /// Bytes that were there.
        available: usize,
    },
    /// The bytes contradict the encoding.
    #[error("{what} is damaged: {why}")]
    Corrupt {
        /// The stream that was being decoded.
        what: &'static str,
        /// What was found.
        why: Cow<'static, str>,
    },
    /// The stream decodes to another number of bytes or values than its container states.
    #[error("{what} decodes to {found}, expected {expected}")]
    Length {
        /// The stream that was being decoded.
        what: &'static str,
        /// What the container states.
        expected: u64,
        /// What came out (at least this much, where decoding stopped early).
        found: u64,
    },
    /// The encoding or its parameters are not known here.
    #[error("{what} is not supported: {why}")]
    Unsupported {
        /// The encoding.
        what: &'static str,
        /// Which variant, and why not.
        why: Cow<'static, str>,
    },
    /// The values cannot be written in this encoding.
    #[error("{what} cannot hold these values: {why}")]
    Unencodable {
        /// The encoding.
        what: &'static str,
        /// Which value, and why not.
        why: Cow<'static, str>,
    },
}

impl Error {
    /// The bytes of `what` contradict the encoding.
    pub fn corrupt(what: &'static str, why: impl Into<Cow<'static, str>>) -> Self {
        Self::Corrupt { what, why: why.into() }
    }

    /// The variant `why` of `what` is not known here.
    pub fn unsupported(what: &'static str, why: impl Into<Cow<'static, str>>) -> Self {
        Self::Unsupported { what, why: why.into() }
    }

    /// The values cannot be written as `what`.
    pub fn unencodable(what: &'static str, why: impl Into<Cow<'static, str>>) -> Self {
        Self::Unencodable { what, why: why.into() }
    }

    /// `what` ended early.
    pub fn truncated(what: &'static str, needed: usize, available: usize) -> Self {
        Self::Truncated { what, needed, available }
    }
}
