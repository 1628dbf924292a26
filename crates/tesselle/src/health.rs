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
    refuse_nested(source.path(), target.path())?;
    let format = match format {
        Some(name) => registry::format_by_name(name)?,
        None => registry::detect(&source)?,
    };
    target.refuse_existing(overwrite)?;
    format.repair(&source, &target, options, driver)
}

/// A result inside of its source would be a part of it, and one around it would replace it.
fn refuse_nested(source: &str, target: &str) -> Result<()> {
    let Ok(source) = std::fs::canonicalize(source) else { return Ok(()) };
    let parent = std::path::Path::new(target).parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = std::fs::canonicalize(parent.unwrap_or(std::path::Path::new(".")));
    let inside = parent.is_ok_and(|parent| parent.starts_with(&source));
    let around = std::fs::canonicalize(target).is_ok_and(|target| source.starts_with(target));
    if inside || around {
        return Err(Error::invalid(
            "the result of a repair must not lie in its source, nor the source in the result",
        )
        .hint("name another place"));
    }
    Ok(())
}

/// Repairs the container at `uri` in its place. The original is kept beside it under the name that is given back.
///
/// The mended container is made first, under a name of its own; then the original takes the name of the backup and
/// the mended one takes its place. A crash in between leaves both, each whole.
pub fn repair_in_place(
    uri: &str,
    format: Option<&str>,
    options: &OpenOptions,
    driver: &Driver,
) -> Result<(Repaired, String)> {
    let source = Uri::parse(uri)?.location;
    let path = source.path().trim_end_matches('/').to_owned();
    let free = |ending: &str| {
        let names = (0_u32..)
            .map(|n| if n == 0 { format!("{path}.{ending}") } else { format!("{path}.{ending}.{n}") });
        names.into_iter().find(|name| !std::path::Path::new(name).exists()).unwrap_or_default()
    };
    // The ending tells some formats, so the temporary name keeps it.
    let (folder, name) = path.rsplit_once('/').map_or(("", path.as_str()), |(folder, name)| (folder, name));
    let beside = if folder.is_empty() && !path.starts_with('/') {
        format!(".mended-{}-{name}", std::process::id())
    } else {
        format!("{folder}/.mended-{}-{name}", std::process::id())
    };
    let backup = free("damaged");
    let repaired = repair(&path, &beside, format, options, false, driver)?;
    let failed = |what: &str, error| Error::io(format!("cannot {what}"), error);
    if let Err(error) = std::fs::rename(&path, &backup) {
        // Nothing has happened to the original; what was made beside it goes.
        let _ = source.storage().remove(&beside);
        return Err(failed(&format!("move '{path}' to '{backup}'"), error));
    }
    if let Err(error) = std::fs::rename(&beside, &path) {
        let undone = std::fs::rename(&backup, &path).is_ok();
        let error = failed(&format!("put the mended container in the place of '{path}'"), error);
        let place = if undone {
            "the original is untouched"
        } else {
            "the original is the file that ends in .damaged"
        };
        return Err(error.hint(format!("{place}; the mended one is '{beside}'")));
    }
    Ok((repaired, backup))
}

#[cfg(test)]
mod tests {
    use super::refuse_nested;

    #[test]
    fn a_result_inside_of_its_source_or_around_it_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let array = folder.path().join("array");
        std::fs::create_dir(&array).unwrap();
        let path = |path: std::path::PathBuf| path.to_str().unwrap().to_owned();
        let source = path(array.clone());
        assert!(refuse_nested(&source, &path(array.join("x"))).is_err());
        assert!(refuse_nested(&source, &path(folder.path().to_owned())).is_err());
        assert!(refuse_nested(&source, &path(folder.path().join("other"))).is_ok());
    }
}
