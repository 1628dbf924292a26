//! The common `Format` parts of text formats.

use std::sync::Arc;

use tesselle_core::{Container, Fitted, Format, Location, OpenOptions, Result, TableFacts};

use super::{Syntax, TextTable};
use crate::foreign::container::FileContainer;

/// Opens one file.
pub(in crate::foreign) fn open<S: Syntax>(
    format: &dyn Format,
    syntax: S,
    location: &Location,
    options: &OpenOptions,
) -> Result<Arc<dyn Container>> {
    let table = TextTable::open(std::slice::from_ref(location), syntax, &options.types)?;
    Ok(Arc::new(FileContainer::new(format.name(), "1", location, Arc::new(table))))
}

/// What text records cannot keep.
pub(in crate::foreign) fn fitted(facts: &TableFacts) -> Fitted {
    let mut fitted = Fitted::losing(facts);
    fitted.lost.push("the types of the columns: a reader has to infer them".to_owned());
    fitted
}
