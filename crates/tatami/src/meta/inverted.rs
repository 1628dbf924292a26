//! The descriptor of an inverted index: the location of its runs. `search` reads the runs themselves.

use tesselle_codec::varint;
use tesselle_core::{Cursor, Result};

/// A record of the index region: header offset and payload length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Run {
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

/// The location of the inverted index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Inverted {
    pub(crate) terms: Run,
    pub(crate) postings: Run,
    pub(crate) skips: Run,
    pub(crate) term_count: u64,
    pub(crate) documents: u64,
    /// Length 0 means that every document is live.
    pub(crate) live: Run,
}

impl Inverted {
    /// Parses the section; early files end before the live documents.
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        let mut run = || -> Result<Run> { Ok(Run { offset: cursor.uvarint()?, len: cursor.uvarint()? }) };
        let (terms, postings, skips) = (run()?, run()?, run()?);
        let (term_count, documents) = (cursor.uvarint()?, cursor.uvarint()?);
        let live = if cursor.is_empty() {
            Run::default()
        } else {
            Run { offset: cursor.uvarint()?, len: cursor.uvarint()? }
        };
        Ok(Self { terms, postings, skips, term_count, documents, live })
    }

    /// Appends the section body.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for run in [self.terms, self.postings, self.skips] {
            varint::write(run.offset, out);
            varint::write(run.len, out);
        }
        for n in [self.term_count, self.documents, self.live.offset, self.live.len] {
            varint::write(n, out);
        }
    }
}
