//! The input of a tatami tool: a tatami file or folder; other formats are reported.

use tesselle::core::{Confidence, Probe};
use tesselle::tatami::Tatami;
use tesselle::{Error, Format, Location, Result, Uri, formats};

/// The location of a file or folder that may be tatami. A file of another known format is an error that names the
/// format; an unknown one is left to the reader, which reports what is wrong.
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

/// The format of a location, if it is certain and not tatami.
fn other_format(location: &Location) -> Result<Option<&'static str>> {
    if !location.exists()? {
        return Ok(None);
    }
    let probe = Probe::of(location)?;
    let by_content = formats().iter().find(|format| format.sniff(&probe) == Confidence::Content);
    // Text files are recognized only by name.
    let by_name = || {
        let text = formats().iter().filter(|format| format.capabilities().infers_types);
        text.into_iter().find(|format| format.sniff(&probe) == Confidence::Name)
    };
    let format = by_content.or_else(by_name).filter(|format| format.name() != Tatami.name());
    Ok(format.map(|format| format.title()))
}
