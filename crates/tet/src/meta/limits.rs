//! The limits of footers: writers obey them, `open` checks them for spilled metadata, `verify` for all metadata.

use tesselle_core::{Error, Result};

use super::footer::HistoryRow;
use super::metadata::{DatasetMetadata, Metadata};

/// Above this size, the metadata of footer JSON is spilled.
pub(crate) const INLINE_FOOTER: usize = 65_536;
/// The largest spilled metadata document.
pub(crate) const METADATA_SPILL: u64 = 16 << 20;

const DATASETS: usize = 256;
const ATTRS: usize = 64;
const STRING: usize = 1024;
const AXES: usize = 8;
const LABELS: usize = 64;
const HISTORY: usize = 4096;
const PARENTS: usize = 16;
const PARAMS: usize = 32;

fn refuse(what: &str, found: impl std::fmt::Display, most: usize) -> Error {
    Error::corrupt(format!("{what}: {found}, at most {most} are allowed"))
        .class("metadata_invalid")
        .piece("footer")
}

fn count(what: &str, found: usize, most: usize) -> Result<()> {
    if found <= most { Ok(()) } else { Err(refuse(what, found, most)) }
}

fn text(what: &str, text: &str) -> Result<()> {
    if text.is_empty() {
        return Err(Error::corrupt(format!("{what} is empty")).class("metadata_invalid").piece("footer"));
    }
    if text.len() <= STRING { Ok(()) } else { Err(refuse(what, format!("{} bytes", text.len()), STRING)) }
}

/// Checks a metadata object.
pub(crate) fn check_metadata(metadata: &Metadata) -> Result<()> {
    if let Some(file) = &metadata.file {
        for (what, value) in [
            ("tool", &file.tool),
            ("library_version", &file.library_version),
            ("created_at", &file.created_at),
        ] {
            value.as_deref().map_or(Ok(()), |value| text(what, value))?;
        }
    }
    count("datasets in metadata", metadata.datasets.len(), DATASETS)?;
    metadata.datasets.iter().try_for_each(|(name, dataset)| {
        text("a dataset name in metadata", name)?;
        check_dataset(dataset)
    })
}

fn check_dataset(dataset: &DatasetMetadata) -> Result<()> {
    count("attributes of a dataset", dataset.attrs.len(), ATTRS)?;
    for (key, value) in &dataset.attrs {
        text("an attribute key", key)?;
        text("an attribute value", value)?;
    }
    let names = dataset.dim_names.as_deref().unwrap_or_default();
    count("dimension names", names.len(), AXES)?;
    names.iter().try_for_each(|name| text("a dimension name", name))?;
    let Some(coords) = &dataset.coords else { return Ok(()) };
    count("axes with coordinates", coords.len(), AXES)?;
    for (axis, labels) in coords {
        text("a coordinate axis", axis)?;
        count("labels of an axis", labels.labels.len(), LABELS)?;
        labels.labels.iter().try_for_each(|label| text("a label", label))?;
    }
    Ok(())
}

/// Checks the history.
pub(crate) fn check_history(history: &[HistoryRow]) -> Result<()> {
    count("history rows", history.len(), HISTORY)?;
    for row in history {
        for (what, value) in [("op", &row.op), ("source", &row.source), ("at", &row.at)] {
            text(what, value)?;
        }
        for (what, value) in [("agent", &row.agent), ("activity", &row.activity), ("entity", &row.entity)] {
            value.as_deref().map_or(Ok(()), |value| text(what, value))?;
        }
        count("parents of a history row", row.parents.len(), PARENTS)?;
        row.parents.iter().try_for_each(|parent| text("a parent", parent))?;
        count("parameters of a history row", row.params.len(), PARAMS)?;
        for (key, value) in &row.params {
            text("a parameter key", key)?;
            text("a parameter value", value)?;
        }
    }
    Ok(())
}
