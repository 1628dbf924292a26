//! Consolidation of commits, footers and metadata files.

use std::collections::BTreeMap;

use tesselle_core::Limits;

use crate::Result;
use crate::directory::ArrayDirectory;
use crate::meta::commits::{ConsolidatedCommit, write_consolidated};
use crate::meta::footer::footer_by_length;
use crate::meta::generic_tile::GenericTile;
use crate::meta::key_value;
use crate::meta::name::TimestampedName;
use crate::meta::wire::put_bytes64;
use crate::open::Loader;
use crate::write::array::ArrayWriter;
use crate::write::commit::{marker_path, put, put_lines};
use crate::write::metadata::write_metadata;
use crate::write::name::{WRITE_VERSION, fresh_versioned};

/// The time range of a set of names; `None` for no names.
fn span<'a>(names: impl IntoIterator<Item = &'a TimestampedName>) -> Option<(u64, u64)> {
    let fold = |span: Option<(u64, u64)>, name: &TimestampedName| {
        let (start, end) = span.unwrap_or((name.start, name.end));
        Some((start.min(name.start), end.max(name.end)))
    };
    names.into_iter().fold(None, fold)
}

impl ArrayWriter {
    /// Lists all commits in one file, so that opening reads one file instead of many. Returns how many there are.
    pub fn consolidate_commits(&self) -> Result<usize> {
        let limit = Limits::default().metadata_bytes;
        let directory = ArrayDirectory::load(&self.location, limit)?;
        let fragments = directory.fragments.iter().map(|entry| &entry.name);
        let names = fragments.chain(directory.deletes.iter().map(|entry| &entry.name));
        let Some(times) = span(names) else { return Ok(0) };
        let mut commits: Vec<(&TimestampedName, ConsolidatedCommit)> = Vec::new();
        for entry in &directory.fragments {
            let path = marker_path(&entry.name.name);
            commits.push((&entry.name, ConsolidatedCommit { path, image: None }));
        }
        for entry in &directory.deletes {
            let image = match &entry.image {
                Some(image) => image.clone(),
                None => self.location.join(&entry.path).read_all(limit)?.to_vec(),
            };
            let path = format!("__commits/{}.del", entry.name.name);
            commits.push((&entry.name, ConsolidatedCommit { path, image: Some(image) }));
        }
        commits.sort_by(|a, b| a.0.cmp(b.0));
        let commits: Vec<ConsolidatedCommit> = commits.into_iter().map(|(_, commit)| commit).collect();
        let file =
            self.location.join("__commits").join(&format!("{}.con", fresh_versioned(times, WRITE_VERSION)?));
        put(&file, &write_consolidated(&commits))?;
        Ok(commits.len())
    }

    /// Copies the footers of all fragments into one file. Returns how many there are.
    pub fn consolidate_fragment_metadata(&self) -> Result<usize> {
        let limit = Limits::default().metadata_bytes;
        let directory = ArrayDirectory::load(&self.location, limit)?;
        let mut footers = Vec::new();
        for entry in directory.fragments.iter().filter(|entry| entry.name.version >= 10) {
            let file = self.location.join(&entry.path).join("__fragment_metadata.tdb").read_all(limit)?;
            footers.push((&entry.name, footer_by_length(&file)?.1));
        }
        let Some(times) = span(footers.iter().map(|(name, _)| *name)) else { return Ok(0) };
        let index: usize = footers.iter().map(|(name, _)| name.name.len() + 16).sum();
        let mut offset = (4 + index) as u64;
        let mut payload = (footers.len() as u32).to_le_bytes().to_vec();
        for (name, footer) in &footers {
            put_bytes64(&mut payload, name.name.as_bytes());
            payload.extend_from_slice(&offset.to_le_bytes());
            offset += footer.len() as u64;
        }
        for (_, footer) in &footers {
            payload.extend_from_slice(footer);
        }
        let file = self
            .location
            .join("__fragment_meta")
            .join(&format!("{}.meta", fresh_versioned(times, WRITE_VERSION)?));
        put(&file, &GenericTile::write(&payload, WRITE_VERSION, self.key.as_ref())?)?;
        Ok(footers.len())
    }

    /// Merges the metadata files into one. Returns how many there were, or 0 if there was nothing to merge.
    pub fn consolidate_metadata(&self) -> Result<usize> {
        let limit = Limits::default().metadata_bytes;
        let directory = ArrayDirectory::load(&self.location, limit)?;
        let files = directory.visible_metadata(&(0..=u64::MAX));
        if files.len() < 2 {
            return Ok(0);
        }
        let loader = Loader { root: &self.location, key: self.key.as_ref(), limit };
        let mut all = BTreeMap::new();
        for file in &files {
            key_value::apply(key_value::parse(&loader.payload(&file.path)?)?, &mut all);
        }
        let Some(times) = span(files.iter().map(|file| &file.name)) else { return Ok(0) };
        let entries = all.into_iter().map(|(key, value)| (key, Some(value))).collect();
        let name = write_metadata(&self.location, &entries, self.key.as_ref(), times)?;
        let lines: Vec<String> = files.iter().map(|file| format!("/__meta/{}", file.name.name)).collect();
        put_lines(&self.location.join("__meta").join(&format!("{name}.vac")), &lines)?;
        Ok(lines.len())
    }
}
