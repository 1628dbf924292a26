//! Calls over whole files: convert, verify, repair, diff, index, search. Each returns its report as JSON.

use pyo3::prelude::*;
use tesselle::search::{IndexOptions, SearchOptions, Syntax};
use tesselle::{Conversion, Depth, DiffOptions, OpenOptions, Predicate, Scan, Uri, WriteOptions};

use crate::error::raise;
use crate::options::{Opening, opener, settings};
use crate::run::long;
use crate::write::attributes;

/// What to convert: what `tesselle.convert` makes of its keywords.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ConvertRequest {
    to: Option<String>,
    table: Option<String>,
    into: Option<String>,
    columns: Option<Vec<String>>,
    r#where: Option<String>,
    limit: Option<u64>,
    cast: Option<String>,
    types: Option<String>,
    overwrite: bool,
    settings: Vec<(String, String)>,
    /// Names, and values as JSON.
    metadata: Vec<(String, String)>,
}

impl ConvertRequest {
    fn conversion(self, from: Option<&str>, open: OpenOptions) -> PyResult<Conversion> {
        let fail = |error: tesselle::Error| raise(&error);
        let types = |text: Option<String>| text.map_or(Ok(Vec::new()), |text| tesselle::parse_types(&text));
        let predicate = self.r#where.map(|text| text.parse::<Predicate>()).transpose().map_err(fail)?;
        Ok(Conversion {
            from: from.map(str::to_owned),
            to: self.to,
            table: self.table,
            scan: Scan { columns: self.columns, predicate, limit: self.limit, ..Scan::default() },
            casts: types(self.cast).map_err(fail)?,
            types: types(self.types).map_err(fail)?,
            attributes: attributes(self.metadata)?,
            open,
            write: WriteOptions {
                overwrite: self.overwrite,
                table: self.into,
                settings: settings(self.settings),
            },
        })
    }
}

/// Converts one file into another.
#[pyfunction]
pub(crate) fn convert(
    py: Python<'_>,
    source: &str,
    target: &str,
    opening: Opening,
    request: ConvertRequest,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let conversion = request.conversion(opening.format(), opening.options()?)?;
    long(py, move |driver| {
        let driver = match progress {
            Some(callback) => driver.with_progress(crate::progress::reporter(callback)),
            None => driver.clone(),
        };
        Ok(tesselle::convert(source, target, &conversion, &driver)?.to_json().to_string())
    })
}

/// Checks a container.
#[pyfunction]
pub(crate) fn verify(py: Python<'_>, uri: &str, opening: Opening, depth: &str) -> PyResult<String> {
    let depth = match depth {
        "quick" => Depth::Quick,
        "pieces" => Depth::Pieces,
        "deep" => Depth::Deep,
        other => {
            let known = ["quick", "pieces", "deep"];
            return Err(raise(&tesselle::Error::unknown_name("depth", other, known)));
        }
    };
    let options = opening.options()?;
    let report = long(py, |driver| tesselle::verify(uri, opening.format(), &options, depth, driver))?;
    Ok(report.to_json().to_string())
}

/// Writes what can be saved of a container to another place.
#[pyfunction]
pub(crate) fn repair(
    py: Python<'_>,
    source: &str,
    target: &str,
    opening: Opening,
    overwrite: bool,
) -> PyResult<String> {
    let options = opening.options()?;
    let repaired =
        long(py, |driver| tesselle::repair(source, target, opening.format(), &options, overwrite, driver))?;
    let mut report = repaired.to_json();
    report["whole"] = repaired.outcome.is_whole().into();
    Ok(report.to_string())
}

/// Compares two tables.
#[pyfunction]
pub(crate) fn diff(
    py: Python<'_>,
    left: &str,
    right: &str,
    opening: Opening,
    key: Option<Vec<String>>,
    columns: Option<Vec<String>>,
) -> PyResult<String> {
    let options = opening.options()?;
    let difference = long(py, |driver| {
        let wanted = DiffOptions { key, columns, shown: 20, memory: driver.budget().total() };
        tesselle::diff(left, right, &options, &wanted, driver)
    })?;
    Ok(difference.to_json().to_string())
}

/// Builds a search segment from the rows of a table.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the keywords of the Python call")]
pub(crate) fn index(
    py: Python<'_>,
    source: &str,
    target: &str,
    opening: Opening,
    text: Vec<String>,
    stored: Option<Vec<String>>,
    id: Option<String>,
    overwrite: bool,
) -> PyResult<String> {
    let options = opening.options()?;
    let summary = long(py, move |driver| {
        let table = driver.install(|| opener(opening.format(), None, &options).open_table(source))?;
        let rows = table.rows(&Scan::all(), driver)?;
        let wanted = IndexOptions { text, stored, id, overwrite, ..IndexOptions::default() };
        tesselle::search::index(rows, &table.schema(), &Uri::target(target)?, &wanted, driver)
    })?;
    Ok(serde_json::json!({ "documents": summary.rows, "bytes": summary.bytes }).to_string())
}

/// Searches a segment, or a folder of segments.
#[pyfunction]
#[pyo3(signature = (uri, query, k, condition, plain, opening))]
pub(crate) fn search(
    py: Python<'_>,
    uri: &str,
    query: &str,
    k: usize,
    condition: Option<&str>,
    plain: bool,
    opening: Opening,
) -> PyResult<String> {
    let filter = condition.map(str::parse).transpose().map_err(|error| raise(&error))?;
    let options = opening.options()?;
    let hits = long(py, |driver| {
        let location = Uri::parse(uri)?.location;
        let syntax = if plain { Syntax::Plain } else { Syntax::Boolean };
        let wanted = SearchOptions { k, syntax, filter, highlight: None };
        tesselle::search::search(&location, query, &wanted, &options, driver)
    })?;
    Ok(hits.to_json().to_string())
}
