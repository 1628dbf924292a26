//! The part of `info` about a segment.

use serde_json::{Value, json};
use tesselle_core::Result;

use super::meta::LiveDocs;
use super::segment::read_live;
use crate::meta::header::flags;
use crate::open::File;

/// The object `search` of `info --json`; `None` for files that are not segments.
pub(crate) fn describe(file: &File) -> Result<Option<Value>> {
    let Some(inverted) = file.footer().inverted.filter(|_| file.header().has(flags::SEARCH)) else {
        return Ok(None);
    };
    let live = match (read_live(file, &inverted)?, u32::try_from(inverted.documents)) {
        (Some(run), Ok(docs)) => u64::from(LiveDocs::parse(&run, docs)?.count()),
        _ => inverted.documents,
    };
    let dictionary = if file.header().has(flags::BLOCK_TREE) { "block_tree" } else { "flat" };
    let mut search = json!({
        "docs": inverted.documents, "live_docs": live, "terms": inverted.term_count, "dictionary": dictionary,
        "dictionary_bytes": inverted.terms.len, "postings_bytes": inverted.postings.len,
        "skips_bytes": inverted.skips.len,
    });
    if let Some(positions) = file.footer().positions {
        search["positions_bytes"] = positions.len.into();
    }
    Ok(Some(search))
}
