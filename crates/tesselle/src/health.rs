//! Verifying and repairing any container.

use tesselle_core::storage::{LocalStorage, StagedFolder};
use tesselle_core::{
    Action, Depth, Driver, Error, ErrorKind, Location, OpenOptions, Repaired, Report, Result, Severity,
};

use crate::name::Uri;
use crate::open::Opener;
use crate::registry;

/// Checks the container at `uri`. One that does not open gives a report with the class it is refused with; an `Err`
/// means that the call or the storage is at fault, not the data.
pub fn verify(
    uri: &str,
    format: Option<&str>,
    options: &OpenOptions,
    depth: Depth,
    driver: &Driver,
) -> Result<Report> {
    let opener = Opener::new().format(format.map(str::to_owned)).options(options.clone());
    let dataset = match driver.install(|| opener.open(uri)) {
        Ok(dataset) => dataset,
        Err(error) if is_about_the_data(&error) => return Ok(Report::refused(depth, &error)),
        Err(error) => return Err(error),
    };
    let mut report = Report::new(depth);
    match dataset.container().verify(depth, driver, &mut report) {
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

/// Writes what can be saved of the container at `uri` to `target`; the source is not touched. The result is staged next to
/// the target and verified deeply before it takes its name, so a repair gives an intact container or an error.
pub fn repair(
    uri: &str,
    target: &str,
    format: Option<&str>,
    options: &OpenOptions,
    overwrite: bool,
    driver: &Driver,
) -> Result<Repaired> {
    let source = Uri::parse(uri)?.location;
    let target = Uri::target(target)?;
    refuse_overlap(&source, &target)?;
    target.refuse_existing(overwrite)?;
    let staged = Staged::repair(&source, &target, format, options, driver)?;
    staged.folder.commit_inner(&staged.inner)?;
    Ok(staged.repaired)
}

/// Repairs the container at `uri` in its place. The original is kept next to it under the name that is returned.
///
/// The repaired container is staged and verified first. Then it takes the name of the original in one step, where the
/// system can do that: a crash leaves the original or the repaired container under that name.
pub fn repair_in_place(
    uri: &str,
    format: Option<&str>,
    options: &OpenOptions,
    driver: &Driver,
) -> Result<(Repaired, String)> {
    let source = Uri::parse(uri)?.location;
    let storage = source.storage();
    let place = Location::new(storage.clone(), storage.resolve(source.path().trim_end_matches('/'))?);
    if !std::path::Path::new(place.path()).exists() {
        return Err(Error::invalid(format!("'{source}' is not on this machine and cannot be replaced"))
            .hint("name another place for the result"));
    }
    let staged = Staged::repair(&source, &place, format, options, driver)?;
    let backup = free_name(&place)?;
    LocalStorage::new().put_aside(staged.inner.path(), place.path(), &backup)?;
    Ok((staged.repaired, backup))
}

/// The first of `PATH.damaged`, `PATH.damaged.1`, … that nothing has.
fn free_name(place: &Location) -> Result<String> {
    let path = place.path();
    for number in 0_u32..u32::MAX {
        let name = if number == 0 { format!("{path}.damaged") } else { format!("{path}.damaged.{number}") };
        if !place.storage().is_taken(&name)? {
            return Ok(name);
        }
    }
    Err(Error::invalid(format!("all names for a backup of '{path}' are taken")))
}

/// A repaired container in a folder next to its target.
struct Staged {
    folder: StagedFolder,
    inner: Location,
    repaired: Repaired,
}

impl Staged {
    fn repair(
        source: &Location,
        target: &Location,
        format: Option<&str>,
        options: &OpenOptions,
        driver: &Driver,
    ) -> Result<Self> {
        let format = match format {
            Some(name) => registry::format_by_name(name)?,
            None => registry::detect(source)?,
        };
        if options.fill.is_some() && !format.capabilities().fills_lost {
            let text = format!("a repair of {} drops what is lost and fills nothing", format.title());
            return Err(Error::invalid(text));
        }
        let folder = StagedFolder::new(target)?;
        // The name matters to some formats.
        let inner = folder.join(target.name())?;
        let repaired = format.repair(source, &inner, options, driver)?;
        let mut report = Report::new(Depth::Deep);
        let checked = format
            .open(&inner, options)
            .and_then(|container| container.verify(Depth::Deep, &driver.for_run(), &mut report));
        match checked {
            Err(error) if is_about_the_data(&error) => report.error(error.class_name(), &error),
            checked => checked?,
        }
        match report.findings().iter().find(|finding| finding.severity == Severity::Error) {
            None => Ok(Self { folder, inner, repaired }),
            Some(finding) => Err(Error::corrupt(format!(
                "the repaired container does not pass verification ({}: {}), so it is not kept",
                finding.kind, finding.message
            ))
            .class("repair_failed")
            .file(source.path())),
        }
    }
}

/// Refuses a target that is the source, or inside it.
fn refuse_overlap(source: &Location, target: &Location) -> Result<()> {
    let storage = target.storage();
    let identity = source.storage().identity(source.path())?;
    let mut place = Location::new(storage.clone(), storage.resolve(target.path())?);
    let mut is_target = true;
    loop {
        let same = identity.is_some() && storage.identity(place.path())? == identity;
        if same || place.path() == source.path() {
            let text = if is_target {
                "the result of a repair must not be its source"
            } else {
                "the result of a repair must not be inside its source"
            };
            return Err(Error::invalid(text).suggest("name another place, or use {}", [Action::InPlace]));
        }
        is_target = false;
        place = match place.parent() {
            Some(parent) if parent.path() != place.path() => parent,
            // A relative path starts in the working folder.
            None if place.path() != "." => Location::new(storage.clone(), "."),
            _ => return Ok(()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_of_a_repair_is_not_in_its_source() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| Location::local(folder.path().join(path)).unwrap();
        std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
        for (source, target, fine) in [
            ("a", "a", false),
            ("a", "a/x", false),
            ("a", "a/b/x", false),
            ("a", "ab", true),
            ("a/b", "a/x", true),
        ] {
            assert_eq!(refuse_overlap(&at(source), &at(target)).is_ok(), fine, "{source} -> {target}");
        }
    }
}
