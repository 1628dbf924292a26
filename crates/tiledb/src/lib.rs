//! TileDB arrays and groups: the directory of tiles, fragments and schemas of the TileDB engine, format versions 1 to 23.
//!
//! The crate knows the bytes of the format and nothing of queries, runtimes or the command line. `FORMAT.md` beside this
//! crate maps the words of the format to those of the shared model.

#![forbid(unsafe_code)]

mod array;
mod directory;
pub mod filter;
mod fragment;
pub mod meta;
pub mod order;
mod read;
pub mod write;

use tesselle_core::{Cursor, Error, Result};

pub use meta::attribute::Attribute;
pub use meta::datatype::{Datatype, Physical};
pub use meta::dimension::{Dimension, VAR};
pub use meta::enumeration::Enumeration;
pub use meta::group::{Member, MemberKind};
pub use meta::key_value::MetadataValue;
pub use meta::layout::Layout;
pub use meta::value::Range;
