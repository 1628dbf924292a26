//! A collection: reads and edits the manifest of a folder.

use std::time::Duration;

use tesselle_core::storage::Lock;
use tesselle_core::{Context, Error, Location, OpenOptions, Result, Scalar};

use super::MANIFEST_NAME;
use super::columns::difference;
use super::manifest::{Edit, Manifest, append};
use super::member::{Member, check_path};
use crate::meta::types::LogicalType;
use crate::meta::zone::{compare, from_scalar};
use crate::open::File;

/// How long a change waits for another process that changes the same container.
pub(crate) const LOCK_WAIT: Duration = Duration::from_mins(1);

/// A folder of files with a manifest.
///
/// Changes take the lock of the manifest and start from its current contents, so changes of several processes
/// are applied one after the other and none is lost. Reading needs no lock, because the manifest and its
/// files are replaced atomically.
#[derive(Debug, Clone)]
pub struct Collection {
    root: Location,
    manifest_at: Location,
    options: OpenOptions,
    manifest: Manifest,
    members: Vec<Member>,
}

impl Collection {
    /// Opens the collection of a folder, or a manifest file on its own. A folder without a manifest is an
    /// empty collection.
    pub fn open(location: &Location, options: &OpenOptions) -> Result<Self> {
        let (root, manifest_at) = if location.is_file()? {
            let root = location.parent().unwrap_or_else(|| Location::new(location.storage().clone(), ""));
            (root, location.clone())
        } else {
            (location.clone(), location.join(MANIFEST_NAME))
        };
        let manifest = Manifest::default();
        let mut collection =
            Self { root, manifest_at, options: options.clone(), manifest, members: Vec::new() };
        collection.reload()?;
        Ok(collection)
    }

    /// The current log.
    fn log(&self) -> Result<Vec<u8>> {
        if self.manifest_at.exists()? {
            Ok(self.manifest_at.read_all(self.options.limits.metadata_bytes)?.to_vec())
        } else {
            Ok(Vec::new())
        }
    }

    fn reload(&mut self) -> Result<()> {
        self.manifest = Manifest::parse(&self.log()?).in_file(self.manifest_at.path())?;
        self.members = self.manifest.members();
        Ok(())
    }

    /// Locks out other writers and reads the current log.
    pub(crate) fn lock(&mut self) -> Result<Lock> {
        let lock = self.manifest_at.lock(LOCK_WAIT)?;
        self.reload()?;
        Ok(lock)
    }

    /// The live members, by path.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    pub(super) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    pub(super) fn manifest_location(&self) -> &Location {
        &self.manifest_at
    }

    pub(super) fn location(&self) -> &Location {
        &self.root
    }

    pub(super) fn options(&self) -> &OpenOptions {
        &self.options
    }

    /// Opens the file of a member.
    pub fn open_member(&self, member: &Member) -> Result<File> {
        member.check_path().in_file(self.manifest_at.path())?;
        File::open(&self.root.join(&member.path), &self.options)
    }

    /// Adds files by their paths inside the folder; if a file is a member already, its entry is updated. Fails if their
    /// columns differ from those of the other members, which are one table.
    pub fn add(&mut self, paths: &[&str]) -> Result<Vec<Member>> {
        let lock = self.lock()?;
        let (mut added, mut edits) = (Vec::with_capacity(paths.len()), Vec::new());
        // Whether a member can be read is not the subject here.
        let others = self.members.iter().filter(|member| !paths.contains(&member.path.as_str()));
        let mut first = others.map(|member| self.open_member(member)).find_map(Result::ok);
        for path in paths {
            check_path(path)?;
            let file = File::open(&self.root.join(path), &self.options)?;
            let first = first.get_or_insert_with(|| file.clone());
            if let Some(what) = difference(first, &file) {
                return Err(other_columns(path, &what));
            }
            let member = self.summary(&file, path);
            self.refuse_twin(&member, &added)?;
            edits.extend(self.update(&member));
            added.push(member);
        }
        self.commit(&lock, &edits)?;
        Ok(added)
    }

    /// The new entry of a file: a member keeps its tier and origin.
    fn summary(&self, file: &File, path: &str) -> Member {
        let fresh = Member::of(file, path);
        match self.members.iter().find(|m| m.path == path) {
            Some(old) => {
                Member { tier: old.tier, crawls: old.crawls.clone(), created_ms: old.created_ms, ..fresh }
            }
            None => fresh,
        }
    }

    /// The edits that replace the entry of a path by a member.
    fn update(&self, member: &Member) -> Vec<Edit> {
        let old = self.members.iter().filter(|m| m.path == member.path && m.uuid != member.uuid);
        old.map(|m| Edit::Remove(m.uuid)).chain([Edit::Add(member.clone())]).collect()
    }

    /// Refuses a copy of a member: the manifest identifies files by uuid, so the copy would replace the
    /// member.
    fn refuse_twin(&self, member: &Member, added: &[Member]) -> Result<()> {
        let mut known = self.members.iter().chain(added);
        let twin = known.find(|m| m.uuid == member.uuid && m.path != member.path);
        let Some(twin) = twin else { return Ok(()) };
        if !self.root.join(&twin.path).exists()? {
            return Ok(());
        }
        Err(Error::invalid(format!("'{}' has the uuid of '{}', which is a member", member.path, twin.path))
            .hint("rewrite it with its own uuid, or remove the other one first"))
    }

    /// Updates the entry of a member whose file has changed.
    pub(crate) fn refresh(&mut self, lock: &Lock, path: &str) -> Result<()> {
        let file = File::open(&self.root.join(path), &self.options)?;
        let edits = self.update(&self.summary(&file, path));
        self.commit(lock, &edits)
    }

    /// Removes files from the collection; they stay on disk.
    pub fn remove(&mut self, paths: &[&str]) -> Result<()> {
        let lock = self.lock()?;
        let edits =
            paths.iter().map(|path| Ok(Edit::Remove(self.find(path)?.uuid))).collect::<Result<Vec<_>>>()?;
        self.commit(&lock, &edits)
    }

    /// Moves files to another tier, all of them or none.
    pub fn set_tier(&mut self, paths: &[&str], tier: u8) -> Result<()> {
        let lock = self.lock()?;
        let edits = paths.iter().map(|path| Ok(Edit::SetTier(self.find(path)?.uuid, tier)));
        let edits = edits.collect::<Result<Vec<_>>>()?;
        self.commit(&lock, &edits)
    }

    /// Rewrites the log with one addition per live member.
    pub fn compact(&mut self) -> Result<()> {
        let _lock = self.lock()?;
        let edits: Vec<Edit> = self.members.iter().cloned().map(Edit::Add).collect();
        self.replace(&append(&[], 0, &edits))
    }

    /// The log of a collection with the same members, with files in `folder`.
    pub(crate) fn relocated(&self, folder: &Location) -> Result<Vec<u8>> {
        let edits = self.members.iter().map(|member| {
            let file = File::open(&folder.join(&member.path), &self.options)?;
            Ok(Edit::Add(self.summary(&file, &member.path)))
        });
        Ok(append(&[], 0, &edits.collect::<Result<Vec<_>>>()?))
    }

    pub(super) fn find(&self, path: &str) -> Result<&Member> {
        let known = || self.members.iter().map(|m| m.path.as_str());
        self.members
            .iter()
            .find(|m| m.path == path)
            .ok_or_else(|| Error::unknown_name("member", path, known()))
    }

    /// Appends edits in one write: readers see all of them or none. Requires the lock of the manifest.
    pub(super) fn commit(&mut self, _lock: &Lock, edits: &[Edit]) -> Result<()> {
        let log = append(&self.log()?, self.manifest.valid, edits);
        self.replace(&log)
    }

    fn replace(&mut self, log: &[u8]) -> Result<()> {
        let manifest = Manifest::parse(log)?;
        let mut staged = self.manifest_at.create(true)?;
        staged.write(log)?;
        staged.commit()?;
        self.members = manifest.members();
        self.manifest = manifest;
        Ok(())
    }

    /// Finds a key in the sorted members, in path order: returns the member's path and the row inside it.
    /// Opens only members whose key range contains the key.
    pub fn lookup(&self, key: &Scalar) -> Result<Option<(String, u64)>> {
        for member in self.members.iter().filter(|m| may_hold(m, key)) {
            if let Some(row) = self.open_member(member)?.lookup(key)? {
                return Ok(Some((member.path.clone(), row)));
            }
        }
        Ok(None)
    }
}

fn other_columns(path: &str, what: &str) -> Error {
    Error::invalid(format!("the columns of '{path}' differ from those of the collection: {what}"))
        .class("schema_mismatch")
        .hint("write it again with the columns of the collection, or add it to a collection of its own")
}

fn may_hold(member: &Member, key: &Scalar) -> bool {
    if member.sort_column.is_empty() {
        return false;
    }
    let Some(logical) = LogicalType::from_id(member.sort_type) else { return false };
    let Some(key) = from_scalar(logical, key) else { return false };
    !compare(logical, &member.key_min, &key).is_gt() && !compare(logical, &member.key_max, &key).is_lt()
}
