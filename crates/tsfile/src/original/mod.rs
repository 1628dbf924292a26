//! The output of the command-line tools of IoTDB, line by line: sketch, resource printer, directory overview.
//!
//! For files of version 000001 the lines equal those of IoTDB 0.9, byte for byte. Each function passes its
//! lines, without line feeds, to `line`; it prints nothing itself and takes the time zone as an argument.

mod java;
mod overview;
mod resource;
mod sketch;
mod zone;

pub use overview::overview;
pub use resource::print_resources;
pub use sketch::sketch;
use tesselle_core::Result;
pub use zone::Zone;

/// Receives the lines of a tool.
pub type Line<'a> = dyn FnMut(&str) -> Result<()> + 'a;
