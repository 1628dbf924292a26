//! Repair: a new array of what is whole in a damaged one.
//!
//! Fragments are the unit: one whose every tile decodes is copied as it is, any other is left out. Where a consolidated
//! fragment is damaged, those it was made from are used again if they are still there.

use std::sync::Arc;

use tesselle_core::{Depth, Driver, Location, OpenOptions, Repaired, Report};

use crate::array::{Array, Loader, key_of};
use crate::directory::{ArrayDirectory, FragmentEntry, OLD_SCHEMA};
use crate::meta::condition::Condition;
use crate::meta::enumeration::Enumeration;
use crate::meta::generic_tile::GenericTile;
use crate::meta::key_value;
use crate::verify::verify;
use crate::write::make_folders;
use crate::{Error, Result};

/// Copies what is whole in the array at `source` to `target`, where nothing is yet.
pub(crate) fn repair(
    source: &Location,
    target: &Location,
    options: &OpenOptions,
    driver: &Driver,
) -> Result<Repaired> {
    target.refuse_existing(false)?;
    let directory = ArrayDirectory::load(source, options.limits.metadata_bytes)?;
    let key = options.key.as_ref().map(|secret| key_of(secret.expose())).transpose()?;
    let loader = Loader { root: source, key: key.as_ref(), limit: options.limits.metadata_bytes };
    let mut copy = Copy { source, target, outcome: Repaired::default() };
    make_folders(target)?;
    let mut schemas = 0;
    for path in &directory.schemas {
        schemas += usize::from(copy.file_if(path, loader.schema(path).map(drop))?);
    }
    if schemas == 0 {
        return Err(
            Error::corrupt("no schema of the array can be read, so nothing can be saved").class("no_schema")
        );
    }
    for path in &directory.enumerations {
        let whole = loader.payload(path).and_then(|payload| Enumeration::parse(&payload));
        copy.file_if(path, whole.map(drop))?;
    }
    for file in &directory.metadata {
        let whole = loader.payload(&file.path).and_then(|payload| key_value::parse(&payload));
        copy.file_if(&file.path, whole.map(drop))?;
    }
    for list in &directory.metadata_vacuums {
        let superseding = format!("__meta/{}", list.name.name);
        if target.join(&superseding).exists()? {
            copy.file(&list.path)?;
        }
    }
    let labels = source.join("__labels");
    if labels.is_dir()? {
        copy.folder("__labels")?;
    }
    for entry in &directory.deletes {
        let image = match &entry.image {
            Some(image) => image.clone(),
            None => source.join(&entry.path).read_all(options.limits.metadata_bytes)?.to_vec(),
        };
        let whole = GenericTile::parse(&image, 0, key.as_ref(), options.limits.metadata_bytes)
            .and_then(|tile| Condition::parse(&tile.payload, options.limits.depth));
        let path = format!("__commits/{}.del", entry.name.name);
        match whole {
            Ok(_) => copy.bytes(&path, &image)?,
            Err(error) => copy.drop_file(&path, image.len() as u64, &error),
        }
    }
    for entry in &directory.fragments {
        driver.check_canceled()?;
        match check(source, &directory, entry, options, driver) {
            Ok(()) => {
                copy.folder(&entry.path)?;
                let name = &entry.name.name;
                match entry.name.version {
                    12.. => copy.bytes(&format!("__commits/{name}.wrt"), &[])?,
                    5..12 => copy.bytes(&format!("{name}.ok"), &[])?,
                    _ => {}
                }
            }
            Err(error) => {
                let size = size_of(&source.join(&entry.path))?;
                copy.drop_file(&entry.path, size, &error);
            }
        }
    }
    for list in &directory.vacuums {
        // A list counts only if what supersedes its fragments was saved.
        let saved = directory.fragments.iter().find(|entry| entry.name.name == list.name.name);
        if let Some(entry) = saved
            && target.join(&entry.path).exists()?
        {
            copy.file(&list.path)?;
        }
    }
    Ok(copy.outcome)
}

/// Decodes every tile of one fragment.
fn check(
    source: &Location,
    directory: &ArrayDirectory,
    entry: &FragmentEntry,
    options: &OpenOptions,
    driver: &Driver,
) -> Result<()> {
    let alone = ArrayDirectory {
        schemas: directory.schemas.clone(),
        enumerations: directory.enumerations.clone(),
        fragments: vec![entry.clone()],
        ..ArrayDirectory::default()
    };
    let options = OpenOptions { between: None, ..options.clone() };
    let array = Arc::new(Array::of_directory(source, alone, &options)?);
    let mut report = Report::new(Depth::Deep);
    verify(&array, Depth::Deep, driver, &mut report)?;
    if report.ok() {
        return Ok(());
    }
    let first = report.findings().iter().find(|finding| finding.severity == tesselle_core::Severity::Error);
    Err(Error::corrupt(first.map_or_else(|| "it is damaged".to_owned(), |finding| finding.message.clone())))
}

/// Copies files and keeps count.
struct Copy<'a> {
    source: &'a Location,
    target: &'a Location,
    outcome: Repaired,
}

impl Copy<'_> {
    fn file(&mut self, path: &str) -> Result<()> {
        let from = self.source.join(path);
        let size = from.size()?;
        let mut file = self.target.join(path).create(false)?;
        const STEP: u64 = 8 << 20;
        let mut at = 0;
        while at < size {
            let end = at.saturating_add(STEP).min(size);
            file.write(&from.read_range(at..end)?)?;
            at = end;
        }
        file.commit()?;
        self.outcome.kept_bytes += size;
        Ok(())
    }

    fn bytes(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
        let mut file = self.target.join(path).create(true)?;
        file.write(bytes)?;
        self.outcome.kept_bytes += bytes.len() as u64;
        file.commit()
    }

    /// Copies a file that was found whole; says so where it was not. Gives whether it was.
    fn file_if(&mut self, path: &str, whole: Result<()>) -> Result<bool> {
        match whole {
            Ok(()) => {
                // The old schema may be named by a path of its own.
                let path = if path.ends_with(OLD_SCHEMA) { OLD_SCHEMA } else { path };
                self.file(path).map(|()| true)
            }
            Err(error) => {
                let size = self.source.join(path).size().unwrap_or(0);
                self.drop_file(path, size, &error);
                Ok(false)
            }
        }
    }

    fn drop_file(&mut self, path: &str, size: u64, error: &Error) {
        self.outcome.dropped_bytes += size;
        self.outcome.notes.push(format!("left out {path}: {}", error.message()));
    }

    fn folder(&mut self, path: &str) -> Result<()> {
        let folder = self.target.join(path);
        folder.storage().create_dir(folder.path())?;
        for entry in self.source.join(path).list()? {
            let inner = format!("{path}/{}", entry.name);
            match entry.kind {
                tesselle_core::storage::EntryKind::File => self.file(&inner)?,
                tesselle_core::storage::EntryKind::Folder => self.folder(&inner)?,
            }
        }
        Ok(())
    }
}

/// The bytes of a file, or of all files in a folder.
fn size_of(location: &Location) -> Result<u64> {
    if !location.is_dir()? {
        return Ok(if location.exists()? { location.size()? } else { 0 });
    }
    location
        .list()?
        .iter()
        .try_fold(0_u64, |sum, entry| Ok(sum.saturating_add(size_of(&location.join(&entry.name))?)))
}
