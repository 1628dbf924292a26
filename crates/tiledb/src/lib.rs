//! TileDB arrays and groups: the directory of tiles, fragments and schemas of the TileDB engine, format versions 1 to 23.
//!
//! The crate knows the bytes of the format and nothing of queries, runtimes or the command line. `docs/formats/tiledb.md` maps
//! the words of the format to those of the shared model.
//!
//! ```no_run
//! use tesselle_core::{Format, Location, OpenOptions};
//!
//! let array = tesselle_tiledb::TileDb.open(&Location::local("measurements")?, &OpenOptions::default())?;
//! println!("{}", array.describe()?.to_json());
//! # Ok::<(), tesselle_core::Error>(())
//! ```

#![forbid(unsafe_code)]

mod container;
mod copy;
mod describe;
mod directory;
mod domain;
mod facts;
pub mod filter;
mod format;
mod fragment;
mod group;
mod layout;
mod meta;
mod open;
mod order;
mod read;
mod repair;
mod rewrite;
mod stated;
mod table;
#[doc(hidden)]
pub mod testing;
mod vanished;
mod verify;
pub mod write;

pub use format::{NAME, TileDb};
pub use meta::attribute::{Attribute, DataOrder};
pub use meta::datatype::{Datatype, Physical};
pub use meta::dimension::{Dimension, VAR};
pub use meta::enumeration::Enumeration;
pub use meta::group::{Member, MemberKind};
pub use meta::key_value::MetadataValue;
pub use meta::label::DimensionLabel;
pub use meta::layout::Layout;
pub use meta::schema::{ArrayKind, ArraySchema};
pub use meta::value::Bounds;
pub use stated::{FragmentFacts, fragments, fragments_with_mbrs};
use tesselle_core::{Cursor, Error, Location, Result};
pub use write::WriteOptions;

/// Whether a folder is an array: it has a schema.
pub fn is_array(location: &Location) -> Result<bool> {
    Ok(location.join(directory::OLD_SCHEMA).is_file()? || location.join("__schema").is_dir()?)
}

/// Whether a folder is a group. Groups have a marker file; object stores may drop it because it is empty.
pub fn is_group(location: &Location) -> Result<bool> {
    Ok(!is_array(location)?
        && (location.join(group::MARKER).is_file()? || location.join("__group").is_dir()?))
}
