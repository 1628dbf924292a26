//! Verifying and repairing any container.

use tesselle_core::{Depth, Driver, Error, ErrorKind, OpenOptions, Repaired, Report, Result};

use crate::registry;
use crate::uri::Uri;

/// Checks the container at `uri`. One that does not open gives a report with the class it is refused with; an `Err`
/// means that the call or the storage is at fault, not the data.
pub fn verify(
    uri: &str,
    format: Option<&str>,
    options: &OpenOptions,
    depth: Depth,
    driver: &Driver,
) -> Result<Report> {
    let opened = match crate::open(uri, format, options) {
        Ok(opened) => opened,
        Err(error) if is_about_the_data(&error) => return Ok(Report::refused(depth, &error)),
        Err(error) => return Err(error),
    };
    let mut report = Report::new(depth);
    match opened.container.verify(depth, driver, &mut report) {
        Ok(()) => Ok(report),
        Err(error) if is_about_the_data(&error) => {
            report.error(error.class_name(), &error);
            Ok(report)
        }
        Err(error) => Err(error),
    }
}

fn is_about_the_data(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported | ErrorKind::Limit)
}

/// Writes what can be saved of the container at `uri` to `target`; the source is not touched.
pub fn repair(
    uri: &str,
    target: &str,
    format: Option<&str>,
    options: &OpenOptions,
    overwrite: bool,
    driver: &Driver,
) -> Result<Repaired> {
    let source = Uri::parse(uri)?.location;
    let target = tesselle_core::Location::local(target)?;
    if source.path() == target.path() {
        return Err(Error::invalid("the result of a repair must not be its source")
            .hint("name another file; replace the source yourself when you are content"));
    }
    let format = match format {
        Some(name) => registry::format_by_name(name)?,
        None => registry::detect(&source)?,
    };
    target.refuse_existing(overwrite)?;
    format.repair(&source, &target, options, driver)
}
