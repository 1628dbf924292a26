//! The on-disk structures, one file each, parse and write side by side.
//!
//! No I/O and no Arrow: slices in, structs out, and back.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

pub(crate) mod bloom;
pub(crate) mod extension;
pub(crate) mod footer;
pub(crate) mod groups;
pub(crate) mod header;
pub(crate) mod inverted;
pub(crate) mod page_index;
pub(crate) mod record;
pub(crate) mod regions;
pub(crate) mod schema;
pub(crate) mod string_blobs;
pub(crate) mod trailer;
pub(crate) mod types;
pub(crate) mod zone;

use tesselle_core::Error;

/// Sets the error class of a structure, replacing that of the cursor.
pub(crate) fn reclass(error: &Error, class: &'static str) -> Error {
    let mut new = Error::new(error.kind(), error.message().to_owned()).class(class);
    if let Some(offset) = error.byte_offset() {
        new = new.offset(offset);
    }
    if let Some(piece) = error.piece_name() {
        new = new.piece(piece.to_owned());
    }
    new
}
