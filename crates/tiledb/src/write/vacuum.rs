//! Vacuuming: removal of files superseded by a consolidation. Reads as of an earlier time no longer find them.

use std::collections::BTreeSet;

use tesselle_core::{Limits, Location};

use super::array::ArrayWriter;
use super::commit::{fragment_path, marker_path, put_lines};
use super::name::{WRITE_VERSION, fresh_versioned};
use crate::directory::ArrayDirectory;
use crate::meta::commits::{parse_consolidated, parse_lines, stem};
use crate::meta::name::TimestampedName;
use crate::vanished::{entries, opened};
use crate::{Error, Result, copy};

/// The kind of files to vacuum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vacuum {
    /// Fragments that were consolidated.
    Fragments,
    /// Commit files listed in a consolidated commits file.
    Commits,
    /// Copies of footers but the newest.
    FragmentMetadata,
    /// Metadata files that were consolidated.
    Metadata,
}

/// Files and folders to remove.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removal {
    /// Their paths, relative to the array, in order of removal.
    pub paths: Vec<String>,
    /// Their bytes.
    pub bytes: u64,
    /// Commits in a list that are ignored from then on.
    ignored: Vec<String>,
}

impl ArrayWriter {
    /// Removes superseded files; returns what it removed.
    pub fn vacuum(&self, what: Vacuum) -> Result<Removal> {
        let removal = self.plan_vacuum(what)?;
        self.remove(&removal)?;
        Ok(removal)
    }

    /// What [`ArrayWriter::vacuum`] would remove.
    pub fn plan_vacuum(&self, what: Vacuum) -> Result<Removal> {
        let mut removal = match what {
            Vacuum::Fragments => self.superseded_fragments()?,
            Vacuum::Commits => Removal { paths: self.superseded_commits()?, ..Removal::default() },
            Vacuum::FragmentMetadata => Removal { paths: self.superseded_footers()?, ..Removal::default() },
            Vacuum::Metadata => Removal { paths: self.superseded_metadata()?, ..Removal::default() },
        };
        self.measure(&mut removal)?;
        Ok(removal)
    }

    /// Permanently removes the fragments written in this time range, both ends included; returns what it removed.
    pub fn delete_fragments(&self, between: (u64, u64)) -> Result<Removal> {
        let removal = self.plan_delete_fragments(between)?;
        self.remove(&removal)?;
        Ok(removal)
    }

    /// What [`ArrayWriter::delete_fragments`] would remove.
    pub fn plan_delete_fragments(&self, between: (u64, u64)) -> Result<Removal> {
        if between.0 > between.1 {
            return Err(Error::invalid(format!("the time range {},{} is empty", between.0, between.1)));
        }
        let directory = self.directory()?;
        let range = between.0..=between.1;
        let inside: BTreeSet<&str> = directory
            .fragments
            .iter()
            .filter(|entry| entry.name.is_within(&range))
            .map(|entry| entry.name.name.as_str())
            .collect();
        let mut removal = self.removal_of(&directory, &inside)?;
        // A fragment superseded by a removed fragment remains superseded: its list is removed only with the fragments
        // it names.
        let gone = |names: &BTreeSet<String>| names.iter().all(|name| inside.contains(name.as_str()));
        let lists = directory.vacuums.iter().filter(|vacuum| gone(&vacuum.names));
        removal.paths.extend(lists.map(|vacuum| vacuum.path.clone()));
        self.measure(&mut removal)?;
        Ok(removal)
    }

    fn directory(&self) -> Result<ArrayDirectory> {
        let limit = Limits::default().metadata_bytes;
        opened(&self.location, limit, || ArrayDirectory::load(&self.location, limit))
    }

    fn entries(&self, folder: &str) -> Result<Vec<String>> {
        Ok(entries(&self.location.join(folder))?.into_iter().map(|entry| entry.name).collect())
    }

    /// Keeps what exists, and counts its bytes.
    fn measure(&self, removal: &mut Removal) -> Result<()> {
        let mut found = Vec::new();
        for path in std::mem::take(&mut removal.paths) {
            let place = self.location.join(&path);
            if !place.exists()? {
                continue;
            }
            match copy::size_of(&place) {
                Ok(bytes) => {
                    removal.bytes = removal.bytes.saturating_add(bytes);
                    found.push(path);
                }
                // Another process has removed it.
                Err(error) if error.is_missing() => {}
                Err(error) => return Err(error),
            }
        }
        removal.paths = found;
        Ok(())
    }

    fn remove(&self, removal: &Removal) -> Result<()> {
        if !removal.ignored.is_empty() {
            let parsed: Vec<TimestampedName> =
                removal.ignored.iter().filter_map(|path| TimestampedName::parse(path)).collect();
            let start = parsed.iter().map(|name| name.start).min().unwrap_or(0);
            let end = parsed.iter().map(|name| name.end).max().unwrap_or(0);
            let file = format!("{}.ign", fresh_versioned((start, end), WRITE_VERSION)?);
            put_lines(&self.location.join("__commits").join(&file), &removal.ignored)?;
        }
        removal.paths.iter().try_for_each(|path| {
            let place = self.location.join(path);
            place.storage().remove(place.path())
        })
    }

    /// The paths in each consolidated commits file, by the file's name.
    fn listed(&self) -> Result<Vec<(String, BTreeSet<String>)>> {
        let names = self.entries("__commits")?.into_iter().filter(|name| has_suffix(name, "con"));
        names
            .map(|name| {
                let bytes = read(&self.location.join("__commits").join(&name))?;
                let paths = parse_consolidated(&bytes)?.into_iter().map(|commit| commit.path).collect();
                Ok((name, paths))
            })
            .collect()
    }

    /// The markers and folders of fragments. Markers go first: a fragment without one is invisible, a marker without a
    /// fragment is damage.
    fn removal_of(&self, directory: &ArrayDirectory, names: &BTreeSet<&str>) -> Result<Removal> {
        let listed = self.listed()?;
        // Commits in a list cannot be removed from it; they are added to an ignore file instead.
        let in_list = |path: &String| listed.iter().any(|(_, paths)| paths.contains(path));
        let ignored = names.iter().map(|name| marker_path(name)).filter(in_list).collect();
        let mut paths: Vec<String> = names.iter().map(|name| marker_path(name)).collect();
        let known = directory.fragments.iter().filter(|entry| names.contains(entry.name.name.as_str()));
        paths.extend(known.map(|entry| entry.path.clone()));
        // A half-vacuumed fragment has already lost its marker.
        let left = directory.uncommitted.iter();
        paths.extend(
            left.filter(|path| names.contains(stem(path)) && fragment_path(stem(path)) == **path).cloned(),
        );
        Ok(Removal { paths, bytes: 0, ignored })
    }

    fn superseded_fragments(&self) -> Result<Removal> {
        let directory = self.directory()?;
        let superseded: BTreeSet<&str> =
            directory.vacuums.iter().flat_map(|vacuum| vacuum.names.iter().map(String::as_str)).collect();
        // A line may contain anything; only names of fragments count.
        let superseded =
            superseded.into_iter().filter(|name| TimestampedName::parse(name).is_some()).collect();
        let mut removal = self.removal_of(&directory, &superseded)?;
        removal.paths.extend(directory.vacuums.iter().map(|vacuum| vacuum.path.clone()));
        Ok(removal)
    }

    fn superseded_commits(&self) -> Result<Vec<String>> {
        let mut out = Vec::new();
        let listed = self.listed()?;
        let all: BTreeSet<&String> = listed.iter().flat_map(|(_, paths)| paths).collect();
        let commits = self.entries("__commits")?;
        for name in &commits {
            let path = format!("__commits/{name}");
            if (has_suffix(name, "wrt") || has_suffix(name, "del")) && all.contains(&path) {
                out.push(path);
            }
        }
        // A list whose every line is in another one is not needed; of equal lists the last is kept.
        let mut kept: Vec<&(String, BTreeSet<String>)> = Vec::new();
        for (i, list) in listed.iter().enumerate() {
            let others = kept.iter().copied().chain(listed.iter().skip(i + 1));
            if others.into_iter().any(|other| list.1.is_subset(&other.1)) {
                out.push(format!("__commits/{}", list.0));
            } else {
                kept.push(list);
            }
        }
        for name in commits.iter().filter(|name| has_suffix(name, "ign")) {
            let path = format!("__commits/{name}");
            let lines = parse_lines(&read(&self.location.join(&path))?);
            if !lines.iter().any(|line| kept.iter().any(|(_, paths)| paths.contains(line))) {
                out.push(path);
            }
        }
        Ok(out)
    }

    fn superseded_footers(&self) -> Result<Vec<String>> {
        let mut names: Vec<TimestampedName> = self
            .entries("__fragment_meta")?
            .iter()
            .filter(|name| has_suffix(name, "meta"))
            .filter_map(|name| TimestampedName::parse(name))
            .collect();
        names.sort_by(|a, b| a.end.cmp(&b.end).then_with(|| a.name.cmp(&b.name)));
        names.pop();
        Ok(names.iter().map(|name| format!("__fragment_meta/{}.meta", name.name)).collect())
    }

    fn superseded_metadata(&self) -> Result<Vec<String>> {
        let mut out = Vec::new();
        for list in self.entries("__meta")?.into_iter().filter(|name| has_suffix(name, "vac")) {
            let path = format!("__meta/{list}");
            // A line may contain anything; only names of metadata files count.
            for name in parse_lines(&read(&self.location.join(&path))?).iter().map(|line| stem(line)) {
                if TimestampedName::parse(name).is_some() {
                    out.push(format!("__meta/{name}"));
                }
            }
            out.push(path);
        }
        Ok(out)
    }
}

fn has_suffix(name: &str, suffix: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, end)| end == suffix)
}

fn read(file: &Location) -> Result<bytes::Bytes> {
    file.read_all(Limits::default().metadata_bytes)
}
