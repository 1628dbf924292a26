//! Verifying and repairing any container.

use tesselle_core::storage::{LocalStorage, StagedFolder};
use tesselle_core::{
    Action, Container, Depth, Driver, Error, ErrorKind, Location, RepairRequest, Repaired, Report, Result,
};

use crate::name::Uri;
use crate::open::Opener;
use crate::run::{RunOn, run_methods};

/// Builds a verification of the container at `uri`.
///
/// ```no_run
/// use tesselle::Depth;
///
/// let report = tesselle::verify("plant.tsfile").depth(Depth::Deep).run()?;
/// assert!(report.ok());
/// # Ok::<(), tesselle::Error>(())
/// ```
pub fn verify(uri: impl Into<String>) -> Verify {
    Verify { uri: uri.into(), opener: Opener::new(), depth: Depth::Pieces, run: RunOn::default() }
}

/// A builder for a verification. See [`verify`].
#[derive(Debug, Clone)]
#[must_use = "nothing is checked before `run`"]
pub struct Verify {
    uri: String,
    opener: Opener,
    depth: Depth,
    run: RunOn,
}

impl Verify {
    run_methods!();

    /// Sets how the container is opened.
    pub fn opener(mut self, opener: Opener) -> Self {
        self.opener = opener;
        self
    }

    /// Sets the depth of the checks `[default: structure and checksums]`.
    pub fn depth(mut self, depth: Depth) -> Self {
        self.depth = depth;
        self
    }

    /// Checks the container. One that does not open gives a report with the class it is refused with; an `Err` means that the
    /// call or the storage is at fault, not the data.
    pub fn run(self) -> Result<Report> {
        let driver = self.run.driver()?;
        match self.opener.on(&driver).open(&self.uri) {
            Ok(dataset) => check(&**dataset.container(), self.depth, &driver),
            Err(error) if is_about_the_data(&error) => Ok(Report::refused(self.depth, &error)),
            Err(error) => Err(error),
        }
    }
}

/// Checks an opened container.
pub(crate) fn check(container: &dyn Container, depth: Depth, driver: &Driver) -> Result<Report> {
    let mut report = Report::new(depth);
    match container.verify(depth, driver, &mut report) {
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

/// Builds a repair of the container at `uri`.
///
/// ```no_run
/// let repaired = tesselle::repair("broken.tet").to("repaired.tet")?;
/// println!("{} bytes kept, {} dropped", repaired.kept_bytes, repaired.dropped_bytes);
/// # Ok::<(), tesselle::Error>(())
/// ```
pub fn repair(uri: impl Into<String>) -> Repair {
    Repair { uri: uri.into(), opener: Opener::new(), overwrite: false, run: RunOn::default() }
}

/// A builder for a repair. See [`repair`].
#[derive(Debug, Clone)]
#[must_use = "nothing is repaired before `to` or `in_place`"]
pub struct Repair {
    uri: String,
    opener: Opener,
    overwrite: bool,
    run: RunOn,
}

/// The result of [`Repair::in_place`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairedInPlace {
    /// What the repair kept and dropped.
    pub repaired: Repaired,
    /// The path under which the original is kept.
    pub backup: String,
}

impl Repair {
    run_methods!();

    /// Sets how the container is opened.
    pub fn opener(mut self, opener: Opener) -> Self {
        self.opener = opener;
        self
    }

    /// Whether an existing target is replaced `[default: no, it is an error]`.
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Writes everything recoverable to `target`; the source is not modified. The result is staged next to the target and verified deeply
    /// before it takes its name, so a repair gives an intact container or an error.
    pub fn to(self, target: &str) -> Result<Repaired> {
        let source = Uri::parse(&self.uri)?.location;
        let target = Uri::target(target)?;
        refuse_overlap(&source, &target)?;
        target.refuse_existing(self.overwrite)?;
        let staged = StagedRepair::repair(&source, &target, &self.opener, &self.run.driver()?)?;
        staged.folder.commit_inner(&staged.inner)?;
        Ok(staged.repaired)
    }

    /// Repairs the container in its place. The original is kept next to it under another name.
    ///
    /// The repaired container is staged and verified first. Then it takes the name of the original in one step, where the
    /// system can do that: a crash leaves the original or the repaired container under that name.
    pub fn in_place(self) -> Result<RepairedInPlace> {
        let source = Uri::parse(&self.uri)?.location;
        let storage = source.storage();
        let place = Location::new(storage.clone(), storage.resolve(source.path().trim_end_matches('/'))?);
        if !std::path::Path::new(place.path()).exists() {
            return Err(Error::invalid(format!("'{source}' is not on this machine and cannot be replaced"))
                .hint("name another place for the result"));
        }
        let staged = StagedRepair::repair(&source, &place, &self.opener, &self.run.driver()?)?;
        let backup = free_name(&place)?;
        LocalStorage::new().put_aside(staged.inner.path(), place.path(), &backup)?;
        Ok(RepairedInPlace { repaired: staged.repaired, backup })
    }
}

/// The first unused name of `PATH.damaged`, `PATH.damaged.1`, ….
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
struct StagedRepair {
    folder: StagedFolder,
    inner: Location,
    repaired: Repaired,
}

impl StagedRepair {
    fn repair(source: &Location, target: &Location, opener: &Opener, driver: &Driver) -> Result<Self> {
        let (format, options) = (opener.format_of(source)?, opener.open_options());
        if options.fill.is_some() && !format.capabilities().fills_lost {
            let text = format!("a repair of {} drops lost data and fills nothing", format.title());
            return Err(Error::invalid(text));
        }
        let folder = StagedFolder::try_new(target)?;
        // The name matters to some formats.
        let inner = folder.join(target.name())?;
        let repaired = format.repair(RepairRequest::new(source, &inner, options), driver)?;
        let opened = format.open(&inner, options);
        let report = match opened.and_then(|container| check(&*container, Depth::Deep, &driver.for_run())) {
            Err(error) if is_about_the_data(&error) => Report::refused(Depth::Deep, &error),
            checked => checked?,
        };
        match report.errors().next() {
            None => Ok(Self { folder, inner, repaired }),
            Some(finding) => Err(Error::corrupt(format!(
                "the repaired container failed verification ({}: {}) and was discarded",
                finding.kind, finding.message
            ))
            .class("repair_failed")
            .file(source.path())),
        }
    }
}

/// Fails if the target is the source, or inside it.
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
            return Err(Error::invalid(text).suggest("use another place, or {}", [Action::InPlace]));
        }
        is_target = false;
        place = match place.parent() {
            Some(parent) if parent.path() != place.path() => parent,
            // A relative path starts in the working directory.
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
