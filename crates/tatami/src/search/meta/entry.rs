//! The dictionary entry of one term (spec §21.1).
//!
//! `uv document frequency`, then a byte: 1 and `uv document, uv frequency`, or 0 and `uv list number`.

use tesselle_codec::{Error, Result, varint};

use super::number;

const WHAT: &str = "term entry";

/// The location of the documents of a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TermEntry {
    /// In the entry itself: one document.
    Singleton {
        /// The stored document frequency; 1 in a valid file.
        df: u32,
        doc: u32,
        freq: u32,
    },
    /// In a posting list.
    List { df: u32, list: u32 },
}

impl TermEntry {
    pub(crate) fn parse(run: &[u8], pos: &mut usize) -> Result<Self> {
        let df = number(varint::take(run, pos)?, WHAT)?;
        let Some(&kind) = run.get(*pos) else {
            return Err(Error::truncated(WHAT, 1, 0));
        };
        *pos += 1;
        match kind {
            1 => {
                let doc = number(varint::take(run, pos)?, WHAT)?;
                let freq = number(varint::take(run, pos)?, WHAT)?;
                Ok(Self::Singleton { df, doc, freq })
            }
            0 => Ok(Self::List { df, list: number(varint::take(run, pos)?, WHAT)? }),
            other => Err(Error::corrupt(WHAT, format!("kind {other}; supported are 0 and 1"))),
        }
    }

    pub(crate) fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Singleton { df, doc, freq } => {
                varint::write(df.into(), out);
                out.push(1);
                varint::write(doc.into(), out);
                varint::write(freq.into(), out);
            }
            Self::List { df, list } => {
                varint::write(df.into(), out);
                out.push(0);
                varint::write(list.into(), out);
            }
        }
    }

    /// Number of documents that contain the term, including deleted ones.
    pub(crate) fn df(self) -> u32 {
        match self {
            Self::Singleton { df, .. } | Self::List { df, .. } => df,
        }
    }
}
