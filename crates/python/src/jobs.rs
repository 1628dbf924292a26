//! Calls over whole files: convert, verify, repair, diff, index, search. Each returns its report as JSON.

use pyo3::prelude::*;
use tesselle::search::{IndexOptions, SearchOptions, Syntax};
use tesselle::{Convert, Depth, Scan, Uri};

use crate::error::raise;
use crate::options::{Opening, opener, settings};
use crate::run::{complete, complete_with_progress};
use crate::words::{word_in_conversion, worded};
use crate::write::{attributes, casts};

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
    fn conversion(self, source: &str, target: &str, opening: &Opening) -> PyResult<Convert> {
        let fail = |error: tesselle::Error| raise(&error);
        let types = |text: Option<String>| text.map_or(Ok(Vec::new()), |text| tesselle::parse_types(&text));
        let predicate = self.r#where.as_deref().map(tesselle_sql::condition).transpose().map_err(fail)?;
        let opener = opener(opening.format(), self.table.as_deref(), &opening.options()?);
        let (auto_cast, cast) = casts(self.cast.as_deref())?;
        let mut conversion = tesselle::convert(source, target)
            .opener(opener.types(types(self.types).map_err(fail)?))
            .scan(Scan::default().with_columns(self.columns).with_predicate(predicate).with_limit(self.limit))
            .casts(cast)
            .auto_cast(auto_cast)
            .attributes(attributes(self.metadata)?)
            .options(settings(self.settings))
            .overwrite(self.overwrite);
        if let Some(format) = self.to {
            conversion = conversion.format(format);
        }
        if let Some(table) = self.into {
            conversion = conversion.table(table);
        }
        Ok(conversion)
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
    let conversion = request.conversion(source, target, &opening)?;
    complete_with_progress(py, progress, |driver| {
        let converted = conversion.on(driver).run().map_err(|error| worded(error, word_in_conversion))?;
        Ok(converted.to_json().to_string())
    })
}

/// Checks a container.
#[pyfunction]
#[pyo3(signature = (uri, opening, depth, progress))]
pub(crate) fn verify(
    py: Python<'_>,
    uri: &str,
    opening: Opening,
    depth: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let depth = match depth {
        "quick" => Depth::Quick,
        "pieces" => Depth::Pieces,
        "deep" => Depth::Deep,
        other => {
            let known = ["quick", "pieces", "deep"];
            return Err(raise(&tesselle::Error::unknown_name("depth", other, known)));
        }
    };
    let verify =
        tesselle::verify(uri).opener(opener(opening.format(), None, &opening.options()?)).depth(depth);
    let report = complete_with_progress(py, progress, |driver| {
        // What this build cannot reach is no finding about it.
        if Uri::is_remote(uri) {
            Uri::parse(uri)?;
        }
        verify.on(driver).run()
    })?;
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
    let repair = tesselle::repair(source).opener(opener(opening.format(), None, &opening.options()?));
    let repaired = complete(py, |driver| repair.overwrite(overwrite).on(driver).to(target))?;
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
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let opener = opener(opening.format(), None, &opening.options()?);
    let mut diff = tesselle::diff(left, right).opener(opener);
    if let Some(key) = key {
        diff = diff.key(key);
    }
    if let Some(columns) = columns {
        diff = diff.columns(columns);
    }
    let difference = complete_with_progress(py, progress, |driver| diff.on(driver).run())?;
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
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let wanted = IndexOptions::text(text).with_stored(stored).with_id(id).with_overwrite(overwrite);
    let index = tesselle::index(source, target).with(wanted);
    let index = index.opener(opener(opening.format(), None, &opening.options()?));
    let summary = complete_with_progress(py, progress, |driver| index.on(driver).run())?;
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
    let filter = condition.map(tesselle_sql::condition).transpose().map_err(|error| raise(&error))?;
    let syntax = if plain { Syntax::Plain } else { Syntax::Boolean };
    let wanted = SearchOptions::default().with_k(k).with_syntax(syntax).with_filter(filter);
    let opener = opener(opening.format(), None, &opening.options()?);
    let search = tesselle::search(uri, query).with(wanted).opener(opener);
    let hits = complete(py, |driver| search.on(driver).run())?;
    Ok(hits.to_json().to_string())
}
