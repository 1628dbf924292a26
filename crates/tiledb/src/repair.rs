//! Repair: a copy of the array with all that is intact and nothing else.
//!
//! A fragment is kept when every tile decodes; where only its statistics are wrong, they are rebuilt. Schemas, metadata
//! and conditions are kept when they parse. Caches (consolidated footers and commits) are not copied: each kept
//! fragment gets a marker of its own. What a dropped fragment superseded comes back to light.

mod rebuild;

use std::collections::BTreeSet;
use std::sync::Arc;

use tesselle_core::storage::EntryKind;
use tesselle_core::{Driver, Location, OpenOptions, Repaired, Report, Severity};

use crate::array::{Array, Loader, key_of};
use crate::container::stored_fields;
use crate::directory::{ConditionEntry, FileEntry};
use crate::fragment::Fragment;
use crate::group::leads_down;
use crate::meta::condition::Condition;
use crate::meta::enumeration::Enumeration;
use crate::meta::generic_tile::GenericTile;
use crate::meta::key_value;
use crate::write::make_folders;
use crate::{Error, Result};

/// Findings about statistics alone: the data is fine, and they can be made anew.
const REBUILT: [&str; 4] = ["tile_statistics", "fragment_statistics", "rtree", "mbr"];

/// Writes what is intact of the array at `source` to `target`.
pub(crate) fn repair(
    source: &Location,
    target: &Location,
    options: &OpenOptions,
    driver: &Driver,
) -> Result<Repaired> {
    let (array, damage) = Array::salvage(source, options)?;
    let array = Arc::new(array);
    let mut job = Job { array: &array, target, repaired: Repaired::default() };
    job.repaired.notes.extend(damage.iter().map(|error| format!("dropped: {error}")));
    let result = job.run(options, driver);
    if let Err(error) = result {
        // A half-made copy helps nobody.
        target.storage().remove(target.path())?;
        return Err(error);
    }
    let mut repaired = job.repaired;
    repaired.dropped_bytes = total_bytes(source, options.limits.depth)?.saturating_sub(repaired.kept_bytes);
    Ok(repaired)
}

struct Job<'a> {
    array: &'a Arc<Array>,
    target: &'a Location,
    repaired: Repaired,
}

impl Job<'_> {
    fn run(&mut self, options: &OpenOptions, driver: &Driver) -> Result<()> {
        make_folders(self.target)?;
        let mut kept = BTreeSet::new();
        for fragment in &self.array.fragments {
            if self.keep_fragment(fragment, driver)? {
                kept.insert(fragment.name.name.clone());
            }
        }
        for path in &self.array.directory.uncommitted {
            self.note(format!("dropped: {path} has no commit"));
        }
        for name in &self.array.directory.missing {
            self.note(format!("dropped: the commit of {name}, which is not there"));
        }
        self.keep_vacuums(&kept)?;
        let key = options.key.as_ref().map(|secret| key_of(secret.expose())).transpose()?;
        let loader =
            Loader { root: &self.array.root, key: key.as_ref(), limit: options.limits.metadata_bytes };
        self.keep_metadata(&loader)?;
        let depth = options.limits.depth;
        for entry in self.array.directory.deletes.iter().chain(&self.array.directory.updates) {
            self.keep_condition(entry, &loader, depth)?;
        }
        self.keep_labels(options, driver);
        // With its schema the array exists.
        for path in self.array.directory.enumerations.clone() {
            match loader.payload(&path).and_then(|payload| Enumeration::parse(&payload)) {
                Ok(_) => self.copy(&path)?,
                Err(error) => self.note(format!("dropped: {error}")),
            }
        }
        self.array.directory.schemas.clone().iter().try_for_each(|path| self.copy(path))
    }

    fn note(&mut self, text: String) {
        self.repaired.notes.push(text);
    }

    /// Copies a file of the array.
    fn copy(&mut self, path: &str) -> Result<()> {
        let source = self.array.root.join(path);
        let size = source.size()?;
        let mut staged = self.target.join(path).create(true)?;
        const STEP: u64 = 8 << 20;
        let mut at = 0;
        while at < size {
            let end = at.saturating_add(STEP).min(size);
            staged.write(&source.read_range(at..end)?)?;
            at = end;
        }
        staged.commit()?;
        self.repaired.kept_bytes += size;
        Ok(())
    }

    fn put(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
        let mut staged = self.target.join(path).create(true)?;
        staged.write(bytes)?;
        staged.commit()
    }

    /// Copies a fragment whose tiles all decode; says whether it did.
    fn keep_fragment(&mut self, fragment: &Fragment, driver: &Driver) -> Result<bool> {
        let report = crate::verify::verify_fragment(self.array, fragment, driver)?;
        let errors = || report.findings().iter().filter(|finding| finding.severity == Severity::Error);
        if let Some(fatal) = errors().find(|finding| !REBUILT.contains(&finding.kind)) {
            let place = fatal.file.as_deref().unwrap_or(&fragment.path);
            self.note(format!("dropped: {} ({}: {place})", fragment.path, fatal.message));
            return Ok(false);
        }
        let folder = self.target.join(&fragment.path);
        folder.storage().create_dir(folder.path())?;
        for field in stored_fields(fragment) {
            let (is_var, nullable) = fragment.shape_of(field);
            for (ending, wanted) in [("", true), ("_var", is_var), ("_validity", nullable)] {
                if wanted && fragment.tiles > 0 {
                    self.copy(&fragment.file_of(field, ending))?;
                }
            }
        }
        self.keep_fragment_metadata(fragment, &report)?;
        let name = &fragment.name.name;
        if fragment.path.starts_with("__fragments/") {
            self.put(&format!("__commits/{name}.wrt"), &[])?;
        } else if fragment.name.version >= 5 {
            self.put(&format!("{name}.ok"), &[])?;
        }
        Ok(true)
    }

    fn keep_fragment_metadata(&mut self, fragment: &Fragment, report: &Report) -> Result<()> {
        let stale = report.findings().iter().any(|finding| REBUILT.contains(&finding.kind));
        if stale && fragment.version() >= rebuild::OLDEST {
            let bytes = rebuild::metadata(self.array, fragment)?;
            self.repaired.kept_bytes += fragment.metadata().len() as u64;
            self.note(format!("rebuilt: the statistics of {}", fragment.path));
            return self.put(fragment.metadata_path(), &bytes);
        }
        self.copy(fragment.metadata_path())
    }

    /// Keeps the lists of what kept fragments and metadata files supersede.
    fn keep_vacuums(&mut self, kept: &BTreeSet<String>) -> Result<()> {
        let vacuums = self.array.directory.vacuums.iter().filter(|vacuum| kept.contains(&vacuum.name.name));
        vacuums
            .map(|vacuum| vacuum.path.clone())
            .collect::<Vec<_>>()
            .iter()
            .try_for_each(|path| self.copy(path))
    }

    fn keep_metadata(&mut self, loader: &Loader<'_>) -> Result<()> {
        let mut kept = BTreeSet::new();
        let files: Vec<FileEntry> = self.array.directory.metadata.clone();
        for file in files {
            match loader.payload(&file.path).and_then(|payload| key_value::parse(&payload)) {
                Ok(_) => {
                    self.copy(&file.path)?;
                    kept.insert(file.name.name);
                }
                Err(error) => self.note(format!("dropped: {error}")),
            }
        }
        let vacuums =
            self.array.directory.metadata_vacuums.iter().filter(|vacuum| kept.contains(&vacuum.name.name));
        vacuums
            .map(|vacuum| vacuum.path.clone())
            .collect::<Vec<_>>()
            .iter()
            .try_for_each(|path| self.copy(path))
    }

    fn keep_condition(&mut self, entry: &ConditionEntry, loader: &Loader<'_>, depth: usize) -> Result<()> {
        let bytes = match &entry.image {
            Some(image) => image.clone(),
            None => self.array.root.join(&entry.path).read_all(loader.limit)?.to_vec(),
        };
        let parsed = GenericTile::parse(&bytes, 0, loader.key, loader.limit);
        // Update conditions have more behind the tree; they are copied if the tile is whole.
        let is_delete = self.array.directory.deletes.contains(entry);
        match parsed.and_then(|tile| {
            if is_delete { Condition::parse(&tile.payload, depth).map(drop) } else { Ok(()) }
        }) {
            Ok(()) => {
                self.repaired.kept_bytes += bytes.len() as u64;
                self.put(&entry.path, &bytes)
            }
            Err(error) => {
                self.note(format!("dropped: {error} ({})", entry.path));
                Ok(())
            }
        }
    }

    /// Repairs the arrays of dimension labels that lie inside of this one.
    fn keep_labels(&mut self, options: &OpenOptions, driver: &Driver) {
        let mut seen = BTreeSet::new();
        for label in self.array.schema.labels.iter().filter(|label| label.relative && !label.external) {
            if !leads_down(&label.uri) || !seen.insert(&label.uri) {
                continue;
            }
            match repair(&self.array.root.join(&label.uri), &self.target.join(&label.uri), options, driver) {
                Ok(inner) => {
                    self.repaired.kept_bytes += inner.kept_bytes;
                    self.repaired.notes.extend(inner.notes);
                }
                Err(error) => self.repaired.notes.push(format!("dropped: label '{}': {error}", label.name)),
            }
        }
    }
}

/// The bytes of all files below a folder.
fn total_bytes(folder: &Location, depth: usize) -> Result<u64> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(Error::limit("the folders of the array are nested too deeply"));
    };
    folder.list()?.iter().try_fold(0_u64, |sum, entry| {
        let size = match entry.kind {
            EntryKind::File => entry.size,
            EntryKind::Folder => total_bytes(&folder.join(&entry.name), depth)?,
        };
        Ok(sum.saturating_add(size))
    })
}
