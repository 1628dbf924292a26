//! The text that the command-line tools of IoTDB print, line by line: sketch, resource printer, directory overview.
//!
//! For files of version 000001 the lines are those of IoTDB 0.9, byte for byte. Each function passes its lines, without
//! line feeds, to `line`; it prints nothing itself and knows the zone only from its argument.

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

/// Takes the lines of a tool.
pub type Line<'a> = dyn FnMut(&str) -> Result<()> + 'a;
