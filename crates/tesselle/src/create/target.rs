//! The target of a write: the part shared by all write builders.

use tesselle_core::{Attribute, Format, Location, Result, WriteOptions};

use crate::name::Uri;
use crate::registry;

/// A target and the options of its format.
#[derive(Debug, Clone, Default)]
pub(crate) struct Target {
    pub(crate) uri: String,
    pub(crate) format: Option<String>,
    pub(crate) options: WriteOptions,
    pub(crate) attributes: Vec<Attribute>,
}

impl Target {
    pub(crate) fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), ..Self::default() }
    }

    /// The location and the format of the target. Fails if it exists and must not be replaced.
    pub(crate) fn resolve(&self) -> Result<(Location, &'static dyn Format)> {
        let location = Uri::target(&self.uri)?;
        let format = registry::target_format(self.format.as_deref(), location.name())?;
        location.refuse_existing(self.options.overwrite)?;
        Ok((location, format))
    }
}

/// The methods of every builder with a field `target`.
macro_rules! target_methods {
    () => {
        /// Writes this format `[default: derived from the target's file name]`.
        pub fn format(mut self, name: impl Into<String>) -> Self {
            self.target.format = Some(name.into());
            self
        }

        /// Sets the table name in the target, if the format has named tables.
        pub fn table(mut self, name: impl Into<String>) -> Self {
            self.target.options.table = Some(name.into());
            self
        }

        /// Adds options of the format: its typed options, or [`Settings`](tesselle_core::Settings) by name.
        pub fn options(mut self, options: impl Into<tesselle_core::Settings>) -> Self {
            self.target.options.settings.extend(options.into());
            self
        }

        /// Sets one option of the format by its name on the command line.
        pub fn set(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
            self.target.options.settings.set(name, value);
            self
        }

        /// Adds an attribute, if the format has attributes.
        pub fn attribute(mut self, attribute: tesselle_core::Attribute) -> Self {
            self.target.attributes.push(attribute);
            self
        }

        /// Adds attributes, if the format has attributes.
        pub fn attributes(mut self, attributes: impl IntoIterator<Item = tesselle_core::Attribute>) -> Self {
            self.target.attributes.extend(attributes);
            self
        }

        /// Whether an existing target is replaced `[default: no, it is an error]`.
        pub fn overwrite(mut self, overwrite: bool) -> Self {
            self.target.options.overwrite = overwrite;
            self
        }
    };
}
pub(crate) use target_methods;
