//! The place of a tile's cells, and the questions needed to find it.

use std::sync::Arc;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::task::ByteRange;

/// Where a tile is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In memory: the clipped box in row-major order, little-endian.
    Held(Bytes),
    /// In memory like [`Place::Held`], in slices that follow each other.
    HeldParts(Vec<Bytes>),
    /// Stored uncompressed: the clipped box in row-major order, little-endian. Any part of it can be fetched.
    Raw(ByteRange),
    /// Stored in these ranges, which are passed to [`ArrayView::decode`](super::ArrayView::decode).
    Encoded(Vec<ByteRange>),
    /// Not stored: every cell is [`ArrayView::fill`](super::ArrayView::fill).
    Fill,
    /// Requires the answer to this question, which is passed to
    /// [`ArrayView::locate_with`](super::ArrayView::locate_with).
    Ask(Ask),
}

/// A question about the storage.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Ask {
    /// Whether there is a file, and its size.
    Size(Arc<str>),
    /// The bytes of an index.
    Bytes(ByteRange),
}

/// The answer to an [`Ask`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The size of the file; `None` if it does not exist.
    Size(Option<u64>),
    /// The bytes.
    Bytes(Bytes),
}

impl Answer {
    /// The requested size.
    pub fn size(&self) -> Result<Option<u64>> {
        match self {
            Self::Size(size) => Ok(*size),
            Self::Bytes(_) => Err(Error::internal("a question for a size was answered with bytes")),
        }
    }

    /// The requested bytes.
    pub fn bytes(&self) -> Result<&Bytes> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Size(_) => Err(Error::internal("a question for bytes was answered with a size")),
        }
    }
}
