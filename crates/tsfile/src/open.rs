//! An archive: the files that are opened as one container, either a single file or a data directory.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use tesselle_core::storage::EntryKind;
use tesselle_core::{Action, Context as _, Error, Limits, Location, OpenOptions, Result};

use crate::meta::schema::{Category, MeasurementSchema};
use crate::meta::{Deletion, Version, mods, mods2};
use crate::read::device_data::DeviceData;
use crate::read::file::{Device, File};
use crate::read::loaded::FileFacts;
use crate::read::schema::Show;

/// Maximum size of a deletion file.
const MAX_MODS_BYTES: u64 = 1 << 28;
/// Maximum folder depth of a data directory.
const MAX_FOLDER_DEPTH: usize = 8;

/// A file, or the files of a data directory.
#[derive(Debug)]
pub(crate) struct Archive {
    /// The opened location.
    pub(crate) location: Location,
    /// The files; of two points at the same time that of the later file wins.
    pub(crate) files: Vec<ArchiveFile>,
    /// Paths and properties of the files, shared by tasks.
    pub(crate) facts: Arc<[(Arc<str>, FileFacts)]>,
    /// All devices by name (the path): file, and device in that file.
    pub(crate) devices: BTreeMap<String, Vec<(usize, usize)>>,
    /// The tables of the table model, by name.
    pub(crate) tables: BTreeMap<String, ModelTable>,
    /// How values map to Arrow.
    pub(crate) show: Show,
}

/// A file of an archive.
#[derive(Debug)]
pub(crate) struct ArchiveFile {
    /// The file.
    pub(crate) file: File,
    /// Its location.
    pub(crate) location: Location,
    /// Its name in reports: relative to the data directory, or the last part of the path.
    pub(crate) label: String,
    /// The deletions stored next to it.
    pub(crate) deletions: Vec<Deletion>,
    /// Offset at which the deletion file is cut off; the incomplete deletion is ignored.
    pub(crate) torn_deletion: Option<u64>,
}

/// A table of the table model.
#[derive(Debug, Default)]
pub(crate) struct ModelTable {
    /// Its columns as declared; columns of later files are appended.
    pub(crate) columns: Vec<(MeasurementSchema, Category)>,
    /// The names of its devices.
    pub(crate) devices: Vec<String>,
}

impl ArchiveFile {
    /// The properties of a file that decoding needs.
    pub(crate) fn facts(&self) -> FileFacts {
        FileFacts { version: self.file.version, data_end: self.file.data_end }
    }

    fn open(location: Location, size: u64, limits: &Limits) -> Result<Self> {
        let file = File::open(&location, size, limits)?;
        let label = location.name().to_string();
        Self::try_new(file, location, label)
    }

    /// Opens one file. The directory of a running database has files that are still being written: their
    /// complete chunk groups are read.
    fn open_in_directory(location: Location, label: String, limits: &Limits) -> Result<Self> {
        let file = match File::open(&location, location.size()?, limits) {
            Err(error) if error.class_name() == "incomplete" => File::recover(&location)?,
            other => other?,
        };
        Self::try_new(file, location, label)
    }

    fn try_new(file: File, location: Location, label: String) -> Result<Self> {
        let (deletions, torn_deletion) = read_deletions(&location, file.version)?;
        Ok(Self { file, location, label, deletions, torn_deletion })
    }
}

impl Archive {
    /// Opens a file or a data directory.
    pub(crate) fn open(location: &Location, options: &OpenOptions) -> Result<Self> {
        let limits = &options.limits;
        let mut files = Vec::with_capacity(1);
        // A path with a size is a file: asking for its kind first would cost one more storage request.
        match location.size() {
            Ok(size) => files.push(ArchiveFile::open(location.clone(), size, limits)?),
            Err(_) if location.is_dir()? => {
                for (relative, _) in data_files(location)? {
                    files.push(ArchiveFile::open_in_directory(location.join(&relative), relative, limits)?);
                }
            }
            Err(error) => return Err(error),
        }
        let facts = files.iter().map(|f| (Arc::clone(&f.file.path), f.facts())).collect();
        let mut archive = Self {
            location: location.clone(),
            files,
            facts,
            devices: BTreeMap::new(),
            tables: BTreeMap::new(),
            show: Show::new(options),
        };
        archive.gather();
        Ok(archive)
    }

    fn gather(&mut self) {
        for (index, entry) in self.files.iter().enumerate() {
            for table in &entry.file.metadata.tables {
                let known = self.tables.entry(table.name.clone()).or_default();
                for column in &table.columns {
                    if !known.columns.iter().any(|(c, _)| c.name == column.0.name) {
                        known.columns.push(column.clone());
                    }
                }
            }
            for (at, device) in entry.file.devices.iter().enumerate() {
                let name = name_of(device, &self.devices, &self.files);
                let places = self.devices.entry(name);
                let table = device.table.and_then(|t| entry.file.metadata.tables.get(t));
                let table = table.and_then(|t| self.tables.get_mut(&t.name));
                if let (Some(table), Entry::Vacant(new)) = (table, &places) {
                    table.devices.push(new.key().clone());
                }
                places.or_default().push((index, at));
            }
        }
    }

    /// The table of the table model that a device belongs to.
    pub(crate) fn table_of(&self, places: &[(usize, usize)]) -> Option<&str> {
        places.iter().find_map(|(file, device)| {
            let file = &self.files.get(*file)?.file;
            let table = file.devices.get(*device)?.table?;
            file.metadata.tables.get(table).map(|t| t.name.as_str())
        })
    }

    /// The paths of devices that are tables of their own.
    pub(crate) fn tree_devices(&self) -> impl Iterator<Item = &String> {
        self.devices.iter().filter(|(_, places)| self.table_of(places).is_none()).map(|(path, _)| path)
    }

    /// Returns a device over all files.
    pub(crate) fn device(&self, path: &str) -> Result<DeviceData> {
        let Some(places) = self.devices.get(path) else {
            let known = self.tree_devices().map(String::as_str).chain(self.tables.keys().map(String::as_str));
            return Err(Error::unknown_name("table", path, known).file(self.location.path()));
        };
        DeviceData::assemble(self, path, places)
    }

    /// Refuses to read encrypted data; its metadata can still be shown.
    pub(crate) fn refuse_unreadable(&self) -> Result<()> {
        if let Some(entry) = self.files.iter().find(|f| f.file.is_encrypted()) {
            let cipher = entry.file.property("encryptType").unwrap_or("an unnamed cipher");
            let message = format!("the pages of this file are encrypted with {}", cipher.escape_debug());
            return Err(Error::unsupported(message)
                .class("encrypted")
                .file(&*entry.file.path)
                .suggest("its metadata can be shown with {}", [Action::Info]));
        }
        Ok(())
    }

    /// The version as reports print it; the versions of several files are joined.
    pub(crate) fn version(&self) -> String {
        let mut names: Vec<&str> = self.files.iter().map(|f| f.file.version.name()).collect();
        names.sort_unstable();
        names.dedup();
        names.join(", ")
    }

    /// The archive as a shared pointer, which plans need.
    pub(crate) fn shared(self) -> Arc<Self> {
        Arc::new(self)
    }
}

/// The name of a device: its path, unless another device of a table has that name. Tags may contain dots, or
/// the word that represents null.
fn name_of(
    device: &Device,
    devices: &BTreeMap<String, Vec<(usize, usize)>>,
    files: &[ArchiveFile],
) -> String {
    let mut name = device.path.clone();
    if device.table.is_none() {
        return name;
    }
    let is_taken = |name: &String| {
        let first = devices.get(name).and_then(|places| places.first());
        let first = first.and_then(|(file, at)| files.get(*file)?.file.devices.get(*at));
        first.is_some_and(|first| first.table.is_some() && first.id != device.id)
    };
    if is_taken(&name) {
        name = device.id.quoted_path();
    }
    while is_taken(&name) {
        name.push('`');
    }
    name
}

/// The path of the side file with this ending.
pub(crate) fn side_file(location: &Location, ending: &str) -> Location {
    let path = location.path().trim_end_matches('/');
    Location::new(Arc::clone(location.storage()), [path, ".", ending].concat())
}

/// The deletions next to a file in either form, and the offset at which those of the second form are cut off.
/// A file has one form or the other; it has both while the database converts the first into the second, which
/// then includes the first.
pub(crate) fn read_deletions(location: &Location, version: Version) -> Result<(Vec<Deletion>, Option<u64>)> {
    let mods = side_file(location, "mods");
    let mut deletions = Vec::new();
    if mods.is_file()? {
        deletions = mods::parse_all(&mods.read_all(MAX_MODS_BYTES)?).in_file(mods.path())?;
    }
    let binary = side_file(location, "mods2");
    if !version.is_compact() || !binary.is_file()? {
        return Ok((deletions, None));
    }
    let (found, torn) =
        mods2::parse_all(&binary.read_all(MAX_MODS_BYTES)?).in_file(binary.path()).map_err(|error| {
            error.hint("to read the file including its deleted points, remove the deletion file")
        })?;
    deletions.extend(found);
    Ok((deletions, torn))
}

/// The files of a data directory, relative to it, in rank order, each with whether it is out of sequence.
pub(crate) fn data_files(location: &Location) -> Result<Vec<(String, bool)>> {
    let mut files = find(location, ".tsfile")?;
    files.sort_by_cached_key(|file| (is_unsequence(file), numbers(file), file.clone()));
    Ok(files
        .into_iter()
        .map(|file| {
            let late = is_unsequence(&file);
            (file, late)
        })
        .collect())
}

/// All files below a folder with this ending, relative to it, sorted.
pub(crate) fn find(location: &Location, ending: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![(String::new(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let here = if folder.is_empty() { location.clone() } else { location.join(&folder) };
        for entry in here.list()? {
            let path =
                if folder.is_empty() { entry.name.clone() } else { format!("{folder}/{}", entry.name) };
            match entry.kind {
                EntryKind::Folder if depth < MAX_FOLDER_DEPTH => folders.push((path, depth + 1)),
                EntryKind::File if entry.name.ends_with(ending) => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_unsequence(file: &str) -> bool {
    file.split('/').any(|part| part == "unsequence")
}

/// The numbers in a file name: creation time, version, merge counts.
fn numbers(file: &str) -> Vec<u64> {
    let name = file.rsplit('/').next().unwrap_or(file);
    let stem = name.strip_suffix(".tsfile").unwrap_or(name);
    stem.split('-').map_while(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use tesselle_core::storage::MemoryStorage;

    use super::*;

    #[test]
    fn side_files_of_files_without_a_folder_are_found() {
        let storage: Arc<dyn tesselle_core::Storage> = Arc::new(MemoryStorage::new());
        let path =
            |path: &str| side_file(&Location::new(Arc::clone(&storage), path), "mods").path().to_string();
        assert_eq!(path("a.tsfile"), "a.tsfile.mods");
        assert_eq!(path("d/a.tsfile"), "d/a.tsfile.mods");
    }

    #[test]
    fn unsequence_files_rank_last_and_numbers_compare_as_numbers() {
        let storage = MemoryStorage::new();
        for name in [
            "d/unsequence/g/3-1-0.tsfile",
            "d/sequence/g/20-1-0.tsfile",
            "d/sequence/g/9-2-0.tsfile",
            "d/sequence/x.mods",
        ] {
            storage.put(name, Vec::new());
        }
        let files = data_files(&Location::new(Arc::new(storage), "d")).unwrap();
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            ["sequence/g/9-2-0.tsfile", "sequence/g/20-1-0.tsfile", "unsequence/g/3-1-0.tsfile"]
        );
    }
}
