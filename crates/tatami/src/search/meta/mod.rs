//! The runs of the inverted index, one file per structure, parse and write side by side (spec §21).
//!
//! Slices in, structures out: nothing here knows a file. Large runs are read by ranges ([`RunSource`]). The caller adds
//! the file name, the offset and the class to errors.

mod block;
mod block_tree;
mod dictionary;
mod entry;
mod flat;
mod live;
pub(crate) mod positions;
mod postings;
mod run;
mod skips;
#[cfg(test)]
mod tests;

pub(crate) use block::{decode_docs, decode_freqs, docs_len, encode_list};
pub(crate) use block_tree::{BLOCK_TERMS, BlockTree, BlockTreeWriter};
pub(crate) use dictionary::Dictionary;
pub use dictionary::DictionaryKind;
pub(crate) use entry::TermEntry;
pub(crate) use flat::{FlatDictionary, FlatWriter};
pub use live::LiveDocs;
pub(crate) use positions::{Positions, PositionsWriter};
pub(crate) use postings::Postings;
pub(crate) use run::{ReadRange, RunSource};
pub(crate) use skips::{SkipTable, Skips};

/// Documents in a full block of a posting list.
pub(crate) const BLOCK: usize = tesselle_codec::intblock::BLOCK;

/// Converts a length read from a run to an index into memory.
fn index(value: u64, what: &'static str) -> tesselle_codec::Result<usize> {
    usize::try_from(value).map_err(|_| tesselle_codec::Error::corrupt(what, format!("a length of {value}")))
}

/// A document id, frequency or list number.
fn number(value: u64, what: &'static str) -> tesselle_codec::Result<u32> {
    u32::try_from(value).map_err(|_| tesselle_codec::Error::corrupt(what, format!("{value} exceeds 32 bits")))
}

/// The next `len` bytes of `run`.
fn slice<'a>(
    run: &'a [u8],
    pos: &mut usize,
    len: u64,
    what: &'static str,
) -> tesselle_codec::Result<&'a [u8]> {
    let len = index(len, what)?;
    let rest = run.get(*pos..).unwrap_or_default();
    let Some(bytes) = rest.get(..len) else {
        return Err(tesselle_codec::Error::truncated(what, len, rest.len()));
    };
    *pos += len;
    Ok(bytes)
}
