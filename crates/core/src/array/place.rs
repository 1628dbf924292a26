//! Where the cells of a tile are, and what must be known to find them.

use std::sync::Arc;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::task::ByteRange;

/// Where a tile is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In memory: the clipped box in row-major order, little-endian.
    Held(Bytes),
    /// Stored as it comes out: the clipped box in row-major order, little-endian. Any part of it can be fetched.
    Raw(ByteRange),
    /// Stored in these ranges, which [`ArrayView::decode`](super::ArrayView::decode) takes.
    Encoded(Vec<ByteRange>),
    /// Nowhere: every cell is [`ArrayView::fill`](super::ArrayView::fill).
    Fill,
    /// Found by the answer to this, which [`ArrayView::locate_with`](super::ArrayView::locate_with) takes.
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
    /// The size of the file; `None` where there is none.
    Size(Option<u64>),
    /// The bytes.
    Bytes(Bytes),
}

impl Answer {
    /// The size that was asked for.
    pub fn size(&self) -> Result<Option<u64>> {
        match self {
            Self::Size(size) => Ok(*size),
            Self::Bytes(_) => Err(Error::internal("bytes answer the question for a size")),
        }
    }

    /// The bytes that were asked for.
    pub fn bytes(&self) -> Result<&Bytes> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Size(_) => Err(Error::internal("a size answers the question for bytes")),
        }
    }
}
