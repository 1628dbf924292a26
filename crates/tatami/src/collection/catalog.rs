//! A collection: the manifest of a folder, read and edited.

use tesselle_core::{Context, Error, Location, OpenOptions, Result, Scalar};

use super::MANIFEST_NAME;
use super::manifest::{Edit, Manifest, append};
use super::member::{Member, check_path};
use crate::meta::types::LogicalType;
use crate::meta::zone::{compare, from_scalar};
use crate::read::file::File;

/// A folder of files with a manifest.
#[derive(Debug, Clone)]
pub struct Collection {
    root: Location,
    manifest_at: Location,
    options: OpenOptions,
    manifest: Manifest,
    members: Vec<Member>,
}

impl Collection {
    /// Opens the collection of a folder, or a manifest file by itself. A folder without a manifest is an empty
    /// collection.
    pub fn open(location: &Location, options: &OpenOptions) -> Result<Self> {
        let (root, manifest_at) = if location.is_file()? {
            let root = location.parent().unwrap_or_else(|| Location::new(location.storage().clone(), ""));
            (root, location.clone())
        } else {
            (location.clone(), location.join(MANIFEST_NAME))
        };
        let bytes = if manifest_at.exists()? {
            manifest_at.read_all(options.limits.metadata_bytes)?.to_vec()
        } else {
            Vec::new()
        };
        let manifest = Manifest::parse(&bytes).in_file(manifest_at.path())?;
        let members = manifest.members();
        Ok(Self { root, manifest_at, options: options.clone(), manifest, members })
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

    /// Adds files by their paths inside the folder; a file that is a member already is summed up anew.
    pub fn add(&mut self, paths: &[&str]) -> Result<Vec<Member>> {
        let mut added = Vec::with_capacity(paths.len());
        for path in paths {
            check_path(path)?;
            let file = File::open(&self.root.join(path), &self.options)?;
            added.push(Member::of(&file, path));
        }
        self.commit(&added.iter().cloned().map(Edit::Add).collect::<Vec<_>>())?;
        Ok(added)
    }

    /// Takes files out of the collection; they stay on disk.
    pub fn remove(&mut self, paths: &[&str]) -> Result<()> {
        let edits =
            paths.iter().map(|path| Ok(Edit::Remove(self.find(path)?.uuid))).collect::<Result<Vec<_>>>()?;
        self.commit(&edits)
    }

    /// Moves a file to another tier.
    pub fn set_tier(&mut self, path: &str, tier: u8) -> Result<()> {
        let uuid = self.find(path)?.uuid;
        self.commit(&[Edit::SetTier(uuid, tier)])
    }

    /// Rewrites the log as one addition per live member.
    pub fn compact(&mut self) -> Result<()> {
        let edits: Vec<Edit> = self.members.iter().cloned().map(Edit::Add).collect();
        self.replace(&append(&[], 0, &edits))
    }

    pub(super) fn find(&self, path: &str) -> Result<&Member> {
        let known = || self.members.iter().map(|m| m.path.as_str());
        self.members
            .iter()
            .find(|m| m.path == path)
            .ok_or_else(|| Error::unknown_name("member", path, known()))
    }

    /// Appends edits as one write: readers see all of them or none.
    pub(super) fn commit(&mut self, edits: &[Edit]) -> Result<()> {
        let log = if self.manifest_at.exists()? {
            self.manifest_at.read_all(self.options.limits.metadata_bytes)?.to_vec()
        } else {
            Vec::new()
        };
        // Another process may have appended since: what is there now is what counts.
        let current = Manifest::parse(&log).in_file(self.manifest_at.path())?;
        self.replace(&append(&log, current.valid, edits))
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

    /// Finds a key in the sorted members, in path order: the member's path and the row inside it. Only members
    /// whose key range holds the key are opened.
    pub fn lookup(&self, key: &Scalar) -> Result<Option<(String, u64)>> {
        for member in self.members.iter().filter(|m| may_hold(m, key)) {
            if let Some(row) = self.open_member(member)?.lookup(key)? {
                return Ok(Some((member.path.clone(), row)));
            }
        }
        Ok(None)
    }
}

fn may_hold(member: &Member, key: &Scalar) -> bool {
    if member.sort_column.is_empty() {
        return false;
    }
    let Some(logical) = LogicalType::from_id(member.sort_type) else { return false };
    let Some(key) = from_scalar(logical, key) else { return false };
    !compare(logical, &member.key_min, &key).is_gt() && !compare(logical, &member.key_max, &key).is_lt()
}
