//! What a tool was given: a tatami file or folder, or something else that is named in the refusal.

use tesselle::foreign::Foreign;
use tesselle::{Confidence, Error, Location, Probe, Result, Uri, formats};

/// The location of a file or folder that may be tatami. A file of another format is refused with what it is; one that
/// is nothing known is left to the reader, which says what is wrong with it.
pub(crate) fn location(uri: &str) -> Result<Location> {
    let location = Uri::parse(uri)?.location;
    if let Some(format) = other_format(&location)? {
        let hint = format!(
            "'tess index {uri} OUT.tatami --text COLUMNS' builds a search segment, 'tess convert' a file"
        );
        return Err(Error::invalid(format!("'{uri}' is {format}, not tatami"))
            .class("wrong_format")
            .hint(hint));
    }
    Ok(location)
}

/// The format of a location, where that is certain and not tatami.
fn other_format(location: &Location) -> Result<Option<&'static str>> {
    if !location.exists()? {
        return Ok(None);
    }
    let probe = Probe::of(location)?;
    let sure =
        |name: &str| formats().iter().any(|f| f.name() == name && f.sniff(&probe) == Confidence::Content);
    if sure("tatami") {
        return Ok(None);
    }
    let own = formats().iter().find(|format| sure(format.name())).map(|format| format.name());
    let foreign = if location.is_dir()? {
        Foreign::detect(location)?
    } else {
        Foreign::sniff(&probe.head).or_else(|| Foreign::from_extension(location.name()))
    };
    Ok(own.or(foreign.map(Foreign::name)).map(display_name))
}

/// The name of a format in a sentence.
fn display_name(name: &'static str) -> &'static str {
    match name {
        "parquet" => "Parquet",
        "arrow" => "Arrow IPC",
        "csv" => "CSV",
        "jsonl" => "JSON Lines",
        "npy" => "NumPy",
        "zarr" => "Zarr",
        "tiledb" => "TileDB",
        "tsfile" => "TsFile",
        other => other,
    }
}
