//! Options of Python calls as those of the facade.

use pyo3::prelude::*;
use tesselle::{OpenOptions, Opener, Secret, Settings};

use crate::error::raise;

/// How to open: what `tesselle._options.opening` makes of the keywords.
#[derive(FromPyObject, Clone, Default)]
#[pyo3(from_item_all)]
pub(crate) struct Opening {
    format: Option<String>,
    between: Option<(u64, u64)>,
    key: Option<Vec<u8>>,
    raw: bool,
    text_as_binary: bool,
    full_domain: bool,
    deleted: bool,
    mapped: bool,
}

impl Opening {
    /// The options of the facade.
    pub(crate) fn options(&self) -> PyResult<OpenOptions> {
        Ok(OpenOptions::default()
            .with_between(self.between)
            .with_key(secret(self.key.as_deref())?)
            .with_raw(self.raw)
            .with_text_as_binary(self.text_as_binary)
            .with_full_domain(self.full_domain)
            .with_deleted(self.deleted)
            .with_mapped(self.mapped))
    }

    /// The format, where it is given.
    pub(crate) fn format(&self) -> Option<&str> {
        self.format.as_deref()
    }
}

/// What opens a table.
pub(crate) fn opener(format: Option<&str>, table: Option<&str>, options: &OpenOptions) -> Opener {
    Opener::new().format(format.map(str::to_owned)).table(table.map(str::to_owned)).options(options.clone())
}

/// The key of an encrypted container, as bytes or in its text form.
pub(crate) fn secret(key: Option<&[u8]>) -> PyResult<Option<Secret>> {
    key.map(Secret::parse).transpose().map_err(|error| raise(&error))
}

/// Settings of a format, as strings.
pub(crate) fn settings(pairs: Vec<(String, String)>) -> Settings {
    let mut settings = Settings::default();
    for (name, value) in pairs {
        settings.set(name, value);
    }
    settings
}
