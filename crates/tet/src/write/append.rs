//! An array for a dataset that exists, through the seam of the facade.

use tesselle_core::{Action, AppendRequest, Driver, Error, OpenOptions, Result, Summary};

use super::edit::extend;
use crate::container::File;

/// Extends a dataset along an axis by an array. Its other extents and its type are those of the dataset.
pub(crate) fn append(request: &AppendRequest<'_>, driver: &Driver) -> Result<Summary> {
    request.settings.expect_only(&[])?;
    let file = File::open(&request.location, &OpenOptions::default())?;
    let names: Vec<String> =
        file.opened.catalog.datasets.iter().map(|dataset| dataset.name.clone()).collect();
    let name = match (&request.table, names.as_slice()) {
        (Some(name), _) => name.clone(),
        (None, [only]) => only.clone(),
        (None, many) => {
            let message = format!("there are {} datasets in it; name the one that grows", many.len());
            return Err(Error::invalid(message).suggest("add {}", [Action::Table(many.to_vec())]));
        }
    };
    let known = names.iter().position(|known| *known == name);
    let id = known.ok_or_else(|| {
        Error::unknown_name("dataset", &name, names.iter().map(String::as_str)).file(request.location.path())
    })?;
    let Some(array) = &request.array else {
        return Err(Error::invalid("a tensor grows by arrays, and the input is not one")
            .hint("convert the rows into a tensor first, and append that"));
    };
    let old = file.array(id)?;
    let axes: Vec<&str> = old.axis_names().iter().map(String::as_str).collect();
    let axis = request.axis_of(&axes)?;
    let cells = array.shape().iter().product();
    Ok(Summary { rows: cells, ..extend(&request.location, &name, axis, &**array, driver)? })
}
