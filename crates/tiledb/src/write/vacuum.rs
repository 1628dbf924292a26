//! Vacuuming: removing what a consolidation has superseded. Reads as of an earlier time no longer find it.

use std::collections::BTreeSet;

use tesselle_core::{Limits, Location};

use super::array::ArrayWriter;
use super::commit::{marker_path, put_lines};
use super::name::{WRITE_VERSION, fresh_versioned};
use crate::Result;
use crate::directory::ArrayDirectory;
use crate::meta::commits::{parse_consolidated, parse_lines, stem};
use crate::meta::name::TimestampedName;
use crate::vanished::{entries, opened};

/// What to vacuum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vacuum {
    /// Fragments that were consolidated.
    Fragments,
    /// Commit files that a consolidated list holds.
    Commits,
    /// Copies of footers but the newest.
    FragmentMetadata,
    /// Metadata files that were consolidated.
    Metadata,
}

impl ArrayWriter {
    /// Removes what is superseded.
    pub fn vacuum(&self, what: Vacuum) -> Result<()> {
        match what {
            Vacuum::Fragments => self.vacuum_fragments(),
            Vacuum::Commits => self.vacuum_commits(),
            Vacuum::FragmentMetadata => self.vacuum_footers(),
            Vacuum::Metadata => self.vacuum_metadata(),
        }
    }

    fn entries(&self, folder: &str) -> Result<Vec<String>> {
        Ok(entries(&self.location.join(folder))?.into_iter().map(|entry| entry.name).collect())
    }

    fn remove(&self, path: &str) -> Result<()> {
        self.location.storage().remove(self.location.join(path).path())
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

    fn vacuum_fragments(&self) -> Result<()> {
        let limit = Limits::default().metadata_bytes;
        let load = || ArrayDirectory::load(&self.location, limit);
        let directory = opened(&self.location, limit, load)?;
        let listed = self.listed()?;
        let superseded: BTreeSet<&str> =
            directory.vacuums.iter().flat_map(|vacuum| vacuum.names.iter().map(String::as_str)).collect();
        // Commits in a list cannot be removed from it; they are named to be ignored instead.
        let in_list = |name: &&&str| listed.iter().any(|(_, paths)| paths.contains(&marker_path(name)));
        let ignored: Vec<&str> = superseded.iter().filter(in_list).copied().collect();
        if !ignored.is_empty() {
            let parsed: Vec<TimestampedName> =
                ignored.iter().filter_map(|name| TimestampedName::parse(name)).collect();
            let start = parsed.iter().map(|name| name.start).min().unwrap_or(0);
            let end = parsed.iter().map(|name| name.end).max().unwrap_or(0);
            let lines: Vec<String> = ignored.iter().map(|name| marker_path(name)).collect();
            let file = format!("{}.ign", fresh_versioned((start, end), WRITE_VERSION)?);
            put_lines(&self.location.join("__commits").join(&file), &lines)?;
        }
        // Markers first: a fragment without one is invisible, a marker without a fragment is damage.
        for name in &superseded {
            self.remove(&marker_path(name))?;
        }
        for entry in directory.fragments.iter().filter(|entry| superseded.contains(entry.name.name.as_str()))
        {
            self.remove(&entry.path)?;
        }
        for vacuum in &directory.vacuums {
            self.remove(&vacuum.path)?;
        }
        Ok(())
    }

    fn vacuum_commits(&self) -> Result<()> {
        let listed = self.listed()?;
        let all: BTreeSet<&String> = listed.iter().flat_map(|(_, paths)| paths).collect();
        for name in self.entries("__commits")? {
            let path = format!("__commits/{name}");
            if (has_suffix(&name, "wrt") || has_suffix(&name, "del")) && all.contains(&path) {
                self.remove(&path)?;
            }
        }
        // A list whose every line is in another one is not needed; of equal ones the last stays.
        let mut kept: Vec<&(String, BTreeSet<String>)> = Vec::new();
        for (i, list) in listed.iter().enumerate() {
            let others = kept.iter().copied().chain(listed.iter().skip(i + 1));
            if others.into_iter().any(|other| list.1.is_subset(&other.1)) {
                self.remove(&format!("__commits/{}", list.0))?;
            } else {
                kept.push(list);
            }
        }
        for name in self.entries("__commits")?.into_iter().filter(|name| has_suffix(name, "ign")) {
            let path = format!("__commits/{name}");
            let lines = parse_lines(&read(&self.location.join(&path))?);
            if !lines.iter().any(|line| kept.iter().any(|(_, paths)| paths.contains(line))) {
                self.remove(&path)?;
            }
        }
        Ok(())
    }

    fn vacuum_footers(&self) -> Result<()> {
        let mut names: Vec<TimestampedName> = self
            .entries("__fragment_meta")?
            .iter()
            .filter(|name| has_suffix(name, "meta"))
            .filter_map(|name| TimestampedName::parse(name))
            .collect();
        names.sort_by(|a, b| a.end.cmp(&b.end).then_with(|| a.name.cmp(&b.name)));
        names.pop();
        names.iter().try_for_each(|name| self.remove(&format!("__fragment_meta/{}.meta", name.name)))
    }

    fn vacuum_metadata(&self) -> Result<()> {
        let lists = self.entries("__meta")?.into_iter().filter(|name| has_suffix(name, "vac"));
        for list in lists {
            let path = format!("__meta/{list}");
            // A line may say anything; only what has the name of such a file is one.
            for name in parse_lines(&read(&self.location.join(&path))?).iter().map(|line| stem(line)) {
                if TimestampedName::parse(name).is_some() {
                    self.remove(&format!("__meta/{name}"))?;
                }
            }
            self.remove(&path)?;
        }
        Ok(())
    }
}

fn has_suffix(name: &str, suffix: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, end)| end == suffix)
}

fn read(file: &Location) -> Result<bytes::Bytes> {
    file.read_all(Limits::default().metadata_bytes)
}
