//! The contents of an array folder (spec §2, §11): schemas, fragments, commits and metadata, in the old and the new
//! layout, which may be mixed.
//!
//! Missing folders count as empty: object stores and version control drop them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use tesselle_core::storage::{Entry, EntryKind};
use tesselle_core::{Context, Location};

use crate::Result;
use crate::meta::commits::{parse_consolidated, parse_lines, stem};
use crate::meta::name::TimestampedName;
use crate::vanished::entries;

/// The schema file of arrays before version 10.
pub(crate) const OLD_SCHEMA: &str = "__array_schema.tdb";
/// The metadata file of every fragment.
pub(crate) const FRAGMENT_METADATA: &str = "__fragment_metadata.tdb";

/// A fragment that is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FragmentEntry {
    /// Its name.
    pub(crate) name: TimestampedName,
    /// Its folder, relative to the array.
    pub(crate) path: String,
}

/// A delete or update condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConditionEntry {
    /// Its name.
    pub(crate) name: TimestampedName,
    /// Its file, relative to the array; fragments refer to processed conditions by this path.
    pub(crate) path: String,
    /// Its bytes, if they are stored in a consolidated file.
    pub(crate) image: Option<Vec<u8>>,
}

/// A list of superseded fragments or metadata files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VacuumEntry {
    /// The name of the superseding fragment or file.
    pub(crate) name: TimestampedName,
    /// The file, relative to the array.
    pub(crate) path: String,
    /// The superseded names.
    pub(crate) names: BTreeSet<String>,
}

/// A file with a timestamped name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileEntry {
    /// Its name.
    pub(crate) name: TimestampedName,
    /// Its path, relative to the array.
    pub(crate) path: String,
}

/// The contents of an array's folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ArrayDirectory {
    /// Schema files in the order of their names, the old one first.
    pub(crate) schemas: Vec<String>,
    /// Enumeration files.
    pub(crate) enumerations: Vec<String>,
    /// Committed fragments in order of application.
    pub(crate) fragments: Vec<FragmentEntry>,
    /// Delete conditions in order.
    pub(crate) deletes: Vec<ConditionEntry>,
    /// Update conditions in order.
    pub(crate) updates: Vec<ConditionEntry>,
    /// Lists of superseded fragments.
    pub(crate) vacuums: Vec<VacuumEntry>,
    /// Array metadata in order.
    pub(crate) metadata: Vec<FileEntry>,
    /// Lists of superseded metadata files.
    pub(crate) metadata_vacuums: Vec<VacuumEntry>,
    /// Consolidated footers.
    pub(crate) consolidated_footers: Vec<FileEntry>,
    /// Consolidated commits files and ignore files.
    pub(crate) commit_lists: Vec<String>,
    /// Fragment folders without a commit.
    pub(crate) uncommitted: Vec<String>,
    /// Commits whose fragment is missing.
    pub(crate) missing: Vec<String>,
    /// Commits of the old layout (`.ok`) whose fragment is missing. Engines ignore them.
    pub(crate) missing_old: Vec<String>,
    /// The names in the folder of commits.
    commit_files: Vec<String>,
}

/// How often a changing commits folder is listed again.
const LISTINGS: usize = 8;

/// The names of committed fragments.
#[derive(Debug, Default)]
struct Commits {
    /// Committed by `.wrt`, or by a line of a commit list.
    new: BTreeSet<String>,
    /// Committed by `.ok`, before version 12.
    old: BTreeSet<String>,
}

/// The folders of one array, each listed once.
struct Listing<'a> {
    root: &'a Location,
    entries: Vec<Entry>,
}

impl<'a> Listing<'a> {
    fn try_new(root: &'a Location) -> Result<Self> {
        let listed = entries(root)?;
        if listed.is_empty() {
            // The only place where a missing folder is an error.
            root.list()?;
        }
        Ok(Self { root, entries: listed })
    }

    fn folder(&self, name: &str) -> Result<Vec<Entry>> {
        let exists = self.entries.iter().any(|entry| entry.name == name && entry.kind == EntryKind::Folder);
        if exists { entries(&self.root.join(name)) } else { Ok(Vec::new()) }
    }

    fn read(&self, path: &str, limit: u64) -> Result<bytes::Bytes> {
        self.root.join(path).read_once(limit)
    }
}

impl ArrayDirectory {
    /// Lists the folder at `root`. Commit lists of more than `limit` bytes are an error.
    ///
    /// A folder that changes during listing may show neither a new commit nor those it supersedes, so the commits are
    /// listed again until two listings agree.
    pub(crate) fn load(root: &Location, limit: u64) -> Result<Self> {
        let mut out = Self::load_once(root, limit)?;
        for _ in 1..LISTINGS {
            let listed = entries(&root.join("__commits"))?;
            if listed.iter().map(|entry| &entry.name).eq(&out.commit_files) {
                break;
            }
            out = Self::load_once(root, limit)?;
        }
        Ok(out)
    }

    fn load_once(root: &Location, limit: u64) -> Result<Self> {
        let listing = Listing::try_new(root)?;
        let mut out = Self::default();
        out.load_schemas(&listing)?;
        out.load_commits(&listing, limit)?;
        out.load_metadata(&listing, limit)?;
        for entry in listing.folder("__fragment_meta")? {
            if let Some(name) = named_file(&entry, ".meta") {
                out.consolidated_footers
                    .push(FileEntry { name, path: format!("__fragment_meta/{}", entry.name) });
            }
        }
        Ok(out)
    }

    fn load_schemas(&mut self, listing: &Listing<'_>) -> Result<()> {
        if listing.entries.iter().any(|entry| entry.name == OLD_SCHEMA && entry.kind == EntryKind::File) {
            self.schemas.push(OLD_SCHEMA.to_owned());
        }
        for entry in listing.folder("__schema")? {
            match entry.kind {
                EntryKind::File
                    if TimestampedName::parse(&entry.name).is_some() && !entry.name.contains('.') =>
                {
                    self.schemas.push(format!("__schema/{}", entry.name));
                }
                EntryKind::Folder if entry.name == "__enumerations" => {
                    for file in entries(&listing.root.join("__schema/__enumerations"))? {
                        if file.kind == EntryKind::File && file.name.starts_with("__") {
                            self.enumerations.push(format!("__schema/__enumerations/{}", file.name));
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn load_commits(&mut self, listing: &Listing<'_>, limit: u64) -> Result<()> {
        let commits = listing.folder("__commits")?;
        self.commit_files = commits.iter().map(|entry| entry.name.clone()).collect();
        // Folders that look like fragments.
        let mut folders = fragment_folders("__fragments/", &listing.folder("__fragments")?);
        let old = fragment_folders("", &listing.entries);
        if !old.is_empty() {
            let known: BTreeSet<String> = folders.iter().map(|folder| folder.name.name.clone()).collect();
            folders.extend(old.into_iter().filter(|folder| !known.contains(&folder.name.name)));
        }
        let ignored = load_ignored(listing, &commits, limit)?;
        let mut committed = Commits::default();
        let mut conditions: BTreeMap<String, ConditionEntry> = BTreeMap::new();
        for entry in &commits {
            let path = format!("__commits/{}", entry.name);
            let Some(name) = TimestampedName::parse(&entry.name) else { continue };
            match suffix_of(&entry.name) {
                Some("wrt") => drop(committed.new.insert(name.name)),
                Some("del" | "upd") => {
                    conditions.insert(path.clone(), ConditionEntry { name, path, image: None });
                }
                Some("vac") => self.vacuums.push(vacuum(listing, name, path, limit)?),
                Some("con") => {
                    let file = listing.read(&path, limit)?;
                    for commit in parse_consolidated(&file).in_file(&path)? {
                        if ignored.contains(&commit.path) {
                            continue;
                        }
                        let Some(name) = TimestampedName::parse(&commit.path) else { continue };
                        if let Some(image) = commit.image {
                            let entry =
                                ConditionEntry { name, path: commit.path.clone(), image: Some(image) };
                            conditions.entry(commit.path).or_insert(entry);
                        } else if suffix_of(&commit.path) == Some("ok") {
                            committed.old.insert(name.name);
                        } else {
                            committed.new.insert(name.name);
                        }
                    }
                    self.commit_lists.push(path);
                }
                Some("ign") => self.commit_lists.push(path),
                _ => {}
            }
        }
        for entry in listing.entries.iter().filter(|entry| entry.kind == EntryKind::File) {
            let Some(name) = TimestampedName::parse(&entry.name) else { continue };
            match suffix_of(&entry.name) {
                Some("ok") => drop(committed.old.insert(name.name)),
                Some("vac") => self.vacuums.push(vacuum(listing, name, entry.name.clone(), limit)?),
                Some("meta") => self.consolidated_footers.push(FileEntry { name, path: entry.name.clone() }),
                _ => {}
            }
        }
        self.place_fragments(listing, folders, committed)?;
        for (path, entry) in conditions {
            if suffix_of(&path) == Some("upd") { self.updates.push(entry) } else { self.deletes.push(entry) }
        }
        self.deletes.sort_by(|a, b| a.name.cmp(&b.name));
        self.updates.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(())
    }

    fn place_fragments(
        &mut self,
        listing: &Listing<'_>,
        folders: Vec<FragmentEntry>,
        mut committed: Commits,
    ) -> Result<()> {
        for folder in folders {
            let FragmentEntry { name, path } = &folder;
            // Before version 5 there were no markers: a fragment is committed once its metadata exists.
            let is_committed = committed.new.remove(&name.name) | committed.old.remove(&name.name)
                || (name.version < 5 && listing.root.join(path).join(FRAGMENT_METADATA).is_file()?);
            if is_committed {
                self.fragments.push(folder);
            } else {
                self.uncommitted.push(folder.path);
            }
        }
        self.fragments.sort_by(|a, b| a.name.cmp(&b.name));
        self.uncommitted.sort();
        self.missing = committed.new.into_iter().collect();
        self.missing_old = committed.old.into_iter().collect();
        Ok(())
    }

    fn load_metadata(&mut self, listing: &Listing<'_>, limit: u64) -> Result<()> {
        for entry in listing.folder("__meta")?.into_iter().filter(|entry| entry.kind == EntryKind::File) {
            let path = format!("__meta/{}", entry.name);
            let Some(name) = TimestampedName::parse(&entry.name) else { continue };
            match suffix_of(&entry.name) {
                None => self.metadata.push(FileEntry { name, path }),
                Some("vac") => self.metadata_vacuums.push(vacuum(listing, name, path, limit)?),
                // Writers rename `.tmp` files into place; others are not ours.
                Some(_) => {}
            }
        }
        self.metadata.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(())
    }

    /// The schema that a read up to `end` uses: the last one not written later, else the first.
    pub(crate) fn schema_at(&self, end: u64) -> Option<&str> {
        let visible = self
            .schemas
            .iter()
            .rev()
            .find(|path| TimestampedName::parse(path).is_none_or(|name| name.end <= end));
        visible.or(self.schemas.first()).map(String::as_str)
    }

    /// The fragments that a read of `[start, end]` uses, in order of application.
    pub(crate) fn visible_fragments(&self, range: &RangeInclusive<u64>, dense: bool) -> Vec<&FragmentEntry> {
        let sees = |name: &TimestampedName| is_visible(name, range, dense);
        let gone: BTreeSet<&str> = self
            .vacuums
            .iter()
            .filter(|vacuum| sees(&vacuum.name))
            .flat_map(|vacuum| vacuum.names.iter().map(String::as_str))
            .collect();
        self.fragments.iter().filter(|f| sees(&f.name) && !gone.contains(f.name.name.as_str())).collect()
    }

    /// Commits without a fragment that a read of `[start, end]` would need.
    pub(crate) fn visible_missing(&self, range: &RangeInclusive<u64>, dense: bool) -> Vec<&str> {
        let vacuumed = |name: &str| self.vacuums.iter().any(|vacuum| vacuum.names.contains(name));
        let missing = self.missing.iter().filter(|name| !vacuumed(name));
        let parsed = missing.filter_map(|name| Some((name, TimestampedName::parse(name)?)));
        parsed.filter(|(_, parsed)| is_visible(parsed, range, dense)).map(|(name, _)| name.as_str()).collect()
    }

    /// The delete conditions that a read of `[start, end]` applies.
    pub(crate) fn visible_deletes(&self, range: &RangeInclusive<u64>) -> Vec<&ConditionEntry> {
        self.deletes.iter().filter(|entry| entry.name.is_within(range)).collect()
    }

    /// The metadata files that a read of `[start, end]` applies, in order.
    pub(crate) fn visible_metadata(&self, range: &RangeInclusive<u64>) -> Vec<&FileEntry> {
        let gone: BTreeSet<&str> = self
            .metadata_vacuums
            .iter()
            .filter(|vacuum| vacuum.name.is_within(range))
            .flat_map(|vacuum| vacuum.names.iter().map(String::as_str))
            .collect();
        let files = self.metadata.iter();
        files.filter(|file| file.name.is_within(range) && !gone.contains(file.name.name.as_str())).collect()
    }
}

/// Sparse fragments of version 15 and later carry timestamps per cell, so a part of them may be visible.
fn is_visible(name: &TimestampedName, range: &RangeInclusive<u64>, dense: bool) -> bool {
    if dense || name.version < 15 { name.is_within(range) } else { name.overlaps(range) }
}

/// The commits revoked by ignore files.
fn load_ignored(listing: &Listing<'_>, commits: &[Entry], limit: u64) -> Result<BTreeSet<String>> {
    let mut ignored = BTreeSet::new();
    for entry in commits.iter().filter(|entry| suffix_of(&entry.name) == Some("ign")) {
        ignored.extend(parse_lines(&listing.read(&format!("__commits/{}", entry.name), limit)?));
    }
    Ok(ignored)
}

/// The folders that are named like fragments.
fn fragment_folders(prefix: &str, entries: &[Entry]) -> Vec<FragmentEntry> {
    let folders = entries.iter().filter(|entry| entry.kind == EntryKind::Folder);
    let named = folders.filter_map(|entry| Some((TimestampedName::parse(&entry.name)?, &entry.name)));
    named.map(|(name, folder)| FragmentEntry { name, path: format!("{prefix}{folder}") }).collect()
}

fn suffix_of(name: &str) -> Option<&str> {
    name.rsplit_once('.').map(|(_, suffix)| suffix)
}

fn named_file(entry: &Entry, suffix: &str) -> Option<TimestampedName> {
    (entry.kind == EntryKind::File && entry.name.ends_with(suffix))
        .then(|| TimestampedName::parse(&entry.name))?
}

fn vacuum(listing: &Listing<'_>, name: TimestampedName, path: String, limit: u64) -> Result<VacuumEntry> {
    let lines = parse_lines(&listing.read(&path, limit)?);
    let names = lines.iter().map(|line| stem(line).to_owned()).collect();
    Ok(VacuumEntry { name, path, names })
}
