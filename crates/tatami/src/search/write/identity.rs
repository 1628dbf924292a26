//! The stable id of a document.

use arrow_array::{Array, BinaryArray};
use sha2::{Digest, Sha256};
use tesselle_core::hex;

use super::builder::value;
use super::roles::Documents;

/// The ids of a batch whose first document has number `first`. Documents without an id get the SHA-256 of
/// their URL, by convention, or their number.
pub(super) fn doc_ids(documents: &Documents, first: u32) -> BinaryArray {
    let ids = (0..documents.rows).map(|row| {
        if let Some(given) = documents.id.as_ref().filter(|ids| row < ids.len() && ids.is_valid(row)) {
            return given.value(row).to_vec();
        }
        let stored = value(documents.stored_url.as_ref(), row);
        let url = if stored.is_empty() { value(documents.url.as_ref(), row) } else { stored };
        if url.is_empty() {
            return format!("{:010}", u64::from(first) + row as u64).into_bytes();
        }
        hex(&Sha256::digest(url)).into_bytes()
    });
    BinaryArray::from_iter_values(ids)
}
