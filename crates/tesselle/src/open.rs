//! Opening any container.

use std::sync::Arc;

use tesselle_core::{Container, Context, Format, Location, OpenOptions, Result, Table};

use crate::registry;
use crate::uri::Uri;

/// An opened container and what its uri named in it.
pub struct Opened {
    /// The format that opened it.
    pub format: &'static dyn Format,
    /// The container.
    pub container: Arc<dyn Container>,
    /// Where it is.
    pub location: Location,
    /// The table the uri named.
    pub table: Option<String>,
}

/// Opens `uri`; `format` overrides the look at its content.
pub fn open(uri: &str, format: Option<&str>, options: &OpenOptions) -> Result<Opened> {
    let Uri { location, table } = Uri::parse(uri)?;
    let format = match format {
        Some(name) => registry::format_by_name(name)?,
        None => registry::detect(&location)?,
    };
    let container = format.open(&location, options).in_file(location.path())?;
    Ok(Opened { format, container, location, table })
}

impl Opened {
    /// The table the uri named, else the only one.
    pub fn table(&self) -> Result<Arc<dyn Table>> {
        let table = match &self.table {
            Some(name) => self.container.table(name),
            None => self.container.default_table(),
        };
        table.in_file(self.location.path())
    }
}
