//! tatami column files: documents in typed columns, sorted or not, with zone maps, a sparse key index, bloom
//! filters, large values in a region of their own, and search segments on top.
//!
//! ```text
//! header │ row group 0: column chunks of pages │ row group 1 … │ blobs │ dictionaries │ indexes │ footer │ trailer
//! ```
//!
//! [`Tatami`] is the format for the rest of Tesselle; [`File`] adds operations specific to these files: key
//! lookup and reading single rows. The bytes are described in `docs/formats/tatami.md`.
//!
//! ```
//! use tesselle_core::{Format, Location, OpenOptions};
//!
//! # fn main() -> tesselle_core::Result<()> {
//! let missing = Location::local("no-such-file.tatami")?;
//! assert!(tesselle_tatami::Tatami.open(&missing, &OpenOptions::default()).is_err());
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod collection;
mod container;
mod describe;
mod format;
mod layout;
mod meta;
mod open;
mod read;
mod repair;
mod rewrite;
mod scalars;
pub mod search;
mod table;
mod verify;
mod write;

pub use collection::{Collection, MANIFEST_NAME, Member, MemberZone, Merged};
pub use format::Tatami;
pub use meta::types::{Codec, Encoding, LogicalType};
pub use open::File;
pub use write::options::{Profile, WriterOptions};
pub use write::typed::WriteOptions;
pub use write::writer::Writer;
