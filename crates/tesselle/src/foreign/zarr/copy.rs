//! Copies of whole hierarchies: metadata and chunks as they are.

use std::io::Write as _;

use tesselle_core::storage::EntryKind;
use tesselle_core::{
    ArrayView as _, Driver, Error, Location, Result, RewriteRequest, Rewritten, Settings, Summary,
};

use super::meta::{FILE, Node};
use super::write::{StagedStore, failed};
use super::{Hierarchy, MAX_DEPTH};

/// Bytes of a file that are copied at once: shards may be large.
const STEP: u64 = 8 << 20;

/// Copies the hierarchy at `source` without decoding its chunks. `None` with settings: they need decoded values.
pub(super) fn rewrite(request: RewriteRequest<'_>, driver: &Driver) -> Result<Option<Rewritten>> {
    let RewriteRequest { source, target, write, .. } = request;
    if write.settings != Settings::default() {
        return Ok(None);
    }
    let hierarchy = Hierarchy::open(source)?;
    let staged = StagedStore::try_new(target, write.overwrite)?;
    let mut copy = HierarchyCopy { staged: None, driver, summary: Summary::default() };
    copy.node(source, "", 0)?;
    driver.progress().expect(copy.summary.bytes);
    let mut copy = HierarchyCopy { staged: Some(&staged), driver, summary: Summary::default() };
    copy.node(source, "", 0)?;
    let mut summary = copy.summary;
    for (_, array) in hierarchy.readable() {
        let rows = array.shape().iter().fold(1_u64, |rows, extent| rows.saturating_mul(*extent));
        summary.rows = summary.rows.saturating_add(rows);
    }
    staged.commit()?;
    Ok(Some(Rewritten { summary, kept: hierarchy.attributes.into_iter().map(|(name, _)| name).collect() }))
}

struct HierarchyCopy<'a> {
    /// The target; without it the bytes are only counted.
    staged: Option<&'a StagedStore>,
    driver: &'a Driver,
    summary: Summary,
}

impl HierarchyCopy<'_> {
    /// Copies an array with its chunks, or a group with its members.
    fn node(&mut self, folder: &Location, path: &str, depth: usize) -> Result<()> {
        self.file(&folder.join(FILE), &below(path, FILE))?;
        match Node::read(folder)? {
            Node::Array(_) => self.chunks(folder, path, 0),
            Node::Group(_) => {
                for entry in folder.list()?.into_iter().filter(|entry| entry.kind == EntryKind::Folder) {
                    let inner = folder.join(&entry.name);
                    if inner.join(FILE).is_file()? {
                        deeper(depth, folder)?;
                        self.node(&inner, &below(path, &entry.name), depth + 1)?;
                    }
                }
                Ok(())
            }
        }
    }

    fn chunks(&mut self, folder: &Location, path: &str, depth: usize) -> Result<()> {
        deeper(depth, folder)?;
        for entry in folder.list()? {
            let (inner, key) = (folder.join(&entry.name), below(path, &entry.name));
            match entry.kind {
                EntryKind::Folder => self.chunks(&inner, &key, depth + 1)?,
                EntryKind::File if entry.name != FILE && !entry.name.starts_with('.') => {
                    self.file(&inner, &key)?;
                    self.summary.pieces += 1;
                }
                EntryKind::File | EntryKind::Other => {}
            }
        }
        Ok(())
    }

    fn file(&mut self, source: &Location, key: &str) -> Result<()> {
        self.driver.check_canceled()?;
        let size = source.size()?;
        self.summary.bytes = self.summary.bytes.saturating_add(size);
        let Some(staged) = self.staged else { return Ok(()) };
        let path = staged.place(key)?;
        let mut file = std::fs::File::create(&path).map_err(|e| failed(&path, e))?;
        let mut at = 0;
        while at < size {
            self.driver.check_canceled()?;
            let end = at.saturating_add(STEP).min(size);
            file.write_all(&source.read_range(at..end)?).map_err(|e| failed(&path, e))?;
            self.driver.progress().advance(end - at);
            at = end;
        }
        Ok(())
    }
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
}

/// Folders of chunks are one per axis, groups no deeper than readers follow them.
fn deeper(depth: usize, folder: &Location) -> Result<()> {
    if depth > MAX_DEPTH.max(64) {
        return Err(Error::limit("the folders are nested too deeply").file(folder.path()));
    }
    Ok(())
}
