//! Repair: a copy of the array with everything intact and nothing else.
//!
//! A fragment is kept if every tile decodes; statistics that disagree with its cells are rebuilt. Of a damaged
//! fragment, the tiles that decode are kept. Schemas, metadata and conditions are kept if they parse. Caches
//! (consolidated footers and commits) are not copied: each kept fragment gets its own marker. Fragments superseded by a
//! dropped fragment become visible again.

mod partial;
mod rebuild;

use std::collections::BTreeSet;
use std::sync::Arc;

use tesselle_core::{Depth, Driver, Location, OpenOptions, Outcome, RepairRequest, Repaired, Report};

use crate::container::stored_fields;
use crate::directory::{ConditionEntry, FileEntry};
use crate::fragment::Fragment;
use crate::group::leads_down;
use crate::meta::condition::Condition;
use crate::meta::enumeration::Enumeration;
use crate::meta::generic_tile::GenericTile;
use crate::meta::key_value;
use crate::meta::schema::ArraySchema;
use crate::open::{Array, Loader, key_of};
use crate::vanished::damage;
use crate::write::make_folders;
use crate::{Error, Result, copy};

/// Findings about statistics only: the data is intact, and statistics can be rebuilt.
const REBUILT: [&str; 4] = ["tile_statistics", "fragment_statistics", "rtree", "mbr"];

/// Writes the intact parts of the array at `source` to `target`.
pub(crate) fn repair(request: RepairRequest<'_>, driver: &Driver) -> Result<Repaired> {
    let RepairRequest { source, target, options } = request;
    let mut repaired = match save(source, target, options, driver) {
        Ok(repaired) => repaired,
        Err(error) => {
            // A partial copy is removed.
            target.storage().remove(target.path())?;
            return Err(error);
        }
    };
    repaired.dropped_bytes = copy::size_of(source)?.saturating_sub(repaired.kept_bytes);
    Ok(repaired)
}

/// Writes the intact parts to the folder `target`.
fn save(source: &Location, target: &Location, options: &OpenOptions, driver: &Driver) -> Result<Repaired> {
    let (array, damage) = Array::salvage(source, options)?;
    let array = Arc::new(array);
    let mut job = Job { array: &array, target, repaired: Repaired::default() };
    for error in &damage {
        job.dropped(error);
    }
    job.run(options, driver)?;
    let mut repaired = job.repaired;
    if repaired.outcome == Outcome::Healthy {
        let mut report = Report::new(Depth::Deep);
        crate::verify::verify(&array, Depth::Deep, driver, &mut report)?;
        let error = report.errors().next();
        match error {
            None => repaired.note(Outcome::Healthy, "the array is healthy and was copied"),
            Some(error) => repaired.note(Outcome::Repaired, format!("not copied: {}", error.message)),
        }
    }
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
            self.note(Outcome::Partial, format!("dropped: {path} has no commit"));
        }
        for name in &self.array.directory.missing {
            self.note(Outcome::Partial, format!("dropped: the commit of {name}, whose folder is missing"));
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
        let mut lost = self.keep_labels(options, driver)?;
        // With its schema the array exists.
        for path in self.array.directory.enumerations.clone() {
            match loader.payload(&path).and_then(|payload| Enumeration::parse(&payload)) {
                Ok(_) => self.copy(&path)?,
                Err(error) => {
                    self.dropped(&damage(error)?);
                    lost.insert(path.rsplit('/').next().unwrap_or(&path).to_owned());
                }
            }
        }
        let schemas = self.array.directory.schemas.clone();
        schemas.iter().try_for_each(|path| self.keep_schema(path, &lost, &loader))
    }

    /// Copies a schema, or writes it without its lost labels and enumerations.
    fn keep_schema(&mut self, path: &str, lost: &BTreeSet<String>, loader: &Loader<'_>) -> Result<()> {
        if lost.is_empty() {
            return self.copy(path);
        }
        let mut schema = ArraySchema::parse(&loader.payload(path)?)?;
        let before = schema.clone();
        schema.labels.retain(|label| !lost.contains(&label.uri));
        schema.enumerations.retain(|(_, file)| !lost.contains(file));
        for attribute in &mut schema.attributes {
            let known = |name: &String| schema.enumerations.iter().any(|(known, _)| known == name);
            attribute.enumeration = attribute.enumeration.take().filter(known);
        }
        if schema == before {
            return self.copy(path);
        }
        let bytes = GenericTile::write(&schema.write()?, schema.version, loader.key)?;
        self.put(path, &bytes)
    }

    fn note(&mut self, outcome: Outcome, text: String) {
        self.repaired.note(outcome, text);
    }

    fn dropped(&mut self, error: &Error) {
        self.note(Outcome::Partial, format!("dropped: {}", error.without_hint()));
    }

    /// Copies a file of the array.
    fn copy(&mut self, path: &str) -> Result<()> {
        self.repaired.kept_bytes +=
            copy::file(&self.array.root.join(path), &self.target.join(path), |_| Ok(()))?;
        Ok(())
    }

    fn put(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
        let mut staged = self.target.join(path).create(true)?;
        staged.write(bytes)?;
        staged.commit().map(drop)
    }

    /// Copies a fragment whose tiles all decode; returns whether it did.
    fn keep_fragment(&mut self, fragment: &Fragment, driver: &Driver) -> Result<bool> {
        let report = crate::verify::verify_fragment(self.array, fragment, driver)?;
        let errors = || report.errors();
        // The metadata of old fragments cannot be rebuilt.
        let is_rebuilt = |kind: &str| fragment.version() >= rebuild::OLDEST && REBUILT.contains(&kind);
        if let Some(fatal) = errors().find(|finding| !is_rebuilt(finding.kind)) {
            let place = fatal.file.as_deref().unwrap_or(&fragment.path);
            let why = format!("{}: {place}", fatal.message);
            return self.keep_tiles(fragment, &why);
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
        self.commit(fragment)?;
        Ok(true)
    }

    fn commit(&mut self, fragment: &Fragment) -> Result<()> {
        let name = &fragment.name.name;
        if fragment.path.starts_with("__fragments/") {
            self.put(&format!("__commits/{name}.wrt"), &[])
        } else if fragment.name.version >= 5 {
            self.put(&format!("{name}.ok"), &[])
        } else {
            Ok(())
        }
    }

    /// Keeps the tiles of a damaged fragment that decode; returns whether there are any.
    fn keep_tiles(&mut self, fragment: &Fragment, why: &str) -> Result<bool> {
        let Some(saved) = partial::save(self.array, fragment, self.target)? else {
            self.note(Outcome::Partial, format!("dropped: {} ({why})", fragment.path));
            return Ok(false);
        };
        let (kept, all) = (saved.tiles, fragment.tiles);
        let others = if fragment.footer.dense {
            "the cells of the others are fill values"
        } else {
            "the others are dropped"
        };
        // If every tile is intact, only the data around the tiles was damaged.
        let (outcome, text) = if kept == all {
            (Outcome::Doubtful, format!("rewritten from its {all} tiles: {} ({why})", fragment.path))
        } else {
            let text = format!("kept: {kept} of {all} tiles of {}; {others} ({})", fragment.path, saved.why);
            (Outcome::Partial, text)
        };
        self.note(outcome, text);
        self.repaired.kept_bytes += saved.bytes;
        self.commit(fragment)?;
        Ok(true)
    }

    fn keep_fragment_metadata(&mut self, fragment: &Fragment, report: &Report) -> Result<()> {
        let stale = report.findings().iter().any(|finding| REBUILT.contains(&finding.kind));
        if stale && fragment.version() >= rebuild::OLDEST {
            let bytes = rebuild::metadata(self.array, fragment)?;
            self.repaired.kept_bytes += fragment.metadata().len() as u64;
            let wrong = report.errors().next();
            match wrong {
                Some(finding) => {
                    let text = format!(
                        "rebuilt: the statistics of {}: they disagreed with the cells, which may be damaged ({})",
                        fragment.path, finding.message
                    );
                    self.note(Outcome::Doubtful, text);
                }
                None => self.note(Outcome::Repaired, format!("rebuilt: the statistics of {}", fragment.path)),
            }
            return self.put(fragment.metadata_path(), &bytes);
        }
        self.copy(fragment.metadata_path())
    }

    /// Keeps the lists of files superseded by kept fragments and metadata files.
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
                Err(error) => self.dropped(&damage(error)?),
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
        // Update conditions have more data after the tree; they are copied if the tile is intact.
        let is_delete = self.array.directory.deletes.contains(entry);
        match parsed.and_then(|tile| {
            if is_delete { Condition::parse(&tile.payload, depth).map(drop) } else { Ok(()) }
        }) {
            Ok(()) => {
                self.repaired.kept_bytes += bytes.len() as u64;
                self.put(&entry.path, &bytes)
            }
            Err(error) => {
                self.dropped(&error.file(entry.path.clone()));
                Ok(())
            }
        }
    }

    /// Repairs the arrays of dimension labels inside this one; returns the paths of the lost ones.
    fn keep_labels(&mut self, options: &OpenOptions, driver: &Driver) -> Result<BTreeSet<String>> {
        let mut lost = BTreeSet::new();
        let mut seen = BTreeSet::new();
        for label in self.array.schema.labels.iter().filter(|label| label.relative && !label.external) {
            if !leads_down(&label.uri) || !seen.insert(&label.uri) {
                continue;
            }
            match save(&self.array.root.join(&label.uri), &self.target.join(&label.uri), options, driver) {
                Ok(inner) => {
                    self.repaired.kept_bytes += inner.kept_bytes;
                    if inner.outcome > Outcome::Healthy {
                        self.repaired.outcome = self.repaired.outcome.max(inner.outcome);
                        self.repaired.notes.extend(inner.notes);
                    }
                }
                Err(error) => {
                    let error = damage(error)?;
                    self.target.storage().remove(self.target.join(&label.uri).path())?;
                    let text = format!("dropped: label '{}': {}", label.name, error.without_hint());
                    self.repaired.note(Outcome::Partial, text);
                    lost.insert(label.uri.clone());
                }
            }
        }
        Ok(lost)
    }
}
