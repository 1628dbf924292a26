//! The common `Format` parts of text formats.

use std::sync::Arc;

use tesselle_core::storage::Staged;
use tesselle_core::{Container, Fitted, Format, Location, OpenOptions, Result, TableFacts, WriteTarget};

use super::{Syntax, TextTable};
use crate::compression::Compression;
use crate::foreign::container::FileContainer;

/// Opens one file.
pub(in crate::foreign) fn open<S: Syntax>(
    format: &dyn Format,
    syntax: S,
    location: &Location,
    options: &OpenOptions,
) -> Result<Arc<dyn Container>> {
    let table = TextTable::open(std::slice::from_ref(location), syntax, options)?;
    Ok(Arc::new(FileContainer::new(format.name(), "1", location, Arc::new(table))))
}

/// The file to write to, compressed if its name ends so.
pub(in crate::foreign) fn stage(target: WriteTarget, overwrite: bool) -> Result<Box<dyn Staged>> {
    let compression = match &target {
        WriteTarget::Location(location) => Compression::of(location.name()),
        WriteTarget::Stream(_) => None,
    };
    let staged = target.stage(overwrite)?;
    Ok(match compression {
        Some(compression) => compression.staged(staged),
        None => staged,
    })
}

/// What records of text cannot keep.
pub(in crate::foreign) fn fitted(facts: &TableFacts) -> Fitted {
    let mut fitted = Fitted::losing(facts);
    fitted.lost.push("the types of the columns: a reader has to infer them".to_owned());
    fitted
}
