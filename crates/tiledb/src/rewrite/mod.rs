//! Copying of a whole array or group, preserving everything the source states.
//!
//! The files of live fragments are copied verbatim, so tiles, filters, statistics and encryption are preserved.
//! Superseded and uncommitted fragments and caches are not copied. An upgrade rewrites schemas and fragments of older
//! versions, each fragment by itself, so that times, deletions and filters are preserved as well.

mod upgrade;

use std::collections::BTreeSet;
use std::sync::Arc;

use tesselle_core::driver::{Order, scan};
use tesselle_core::storage::{EntryKind, StagedFolder};
use tesselle_core::{
    Context, Driver, Location, OpenOptions, RewriteRequest, Rewritten, Scan, Settings, Summary,
};

use crate::fragment::Fragment;
use crate::group::{Group, MARKER, leads_down};
use crate::meta::generic_tile::GenericTile;
use crate::meta::group::{Member, MemberKind};
use crate::meta::schema::ArraySchema;
use crate::open::Array;
use crate::table::ArrayTable;
use crate::vanished::entries;
use crate::write::{GroupWriter, WRITE_VERSION, make_folders, marker_path, put};
use crate::{Error, Result, copy, directory, is_group};

/// The settings that write the newest version.
pub(crate) fn newest() -> Settings {
    Settings::default().with("version", WRITE_VERSION)
}

/// Copies the array or group at `source`, in the newest version with the settings of [`newest`]. `None` if rows must be
/// rewritten: with other settings, or if the options select a part of the fragments' cells.
pub(crate) fn rewrite(request: RewriteRequest<'_>, driver: &Driver) -> Result<Option<Rewritten>> {
    let RewriteRequest { source, target, open, write } = request;
    let upgrade = write.settings == newest();
    if !(upgrade || write.settings == Settings::default())
        || open.raw
        || open.text_as_binary
        || open.full_domain
    {
        return Ok(None);
    }
    refuse_foreign(target)?;
    let staged = StagedFolder::try_new(target)?;
    let mut job = Job { open, driver, upgrade, out: Rewritten::default() };
    let done = if is_group(source)? {
        job.group(source, staged.location(), open.limits.depth)?;
        true
    } else {
        job.array(source, staged.location())?
    };
    if !done {
        return Ok(None);
    }
    staged.commit()?;
    Ok(Some(job.out))
}

/// Fails if `target` is a folder that is neither an array nor a group.
pub(crate) fn refuse_foreign(target: &Location) -> Result<()> {
    let mut marks = ["__schema", directory::OLD_SCHEMA, MARKER, "__group"].into_iter();
    let ours = marks.try_fold(false, |found, mark| Ok::<_, Error>(found || target.join(mark).exists()?))?;
    if target.is_dir()? && !ours {
        return Err(Error::invalid(format!(
            "'{target}' is a folder, but neither an array nor a group, so it is not replaced"
        )));
    }
    Ok(())
}

struct Job<'a> {
    open: &'a OpenOptions,
    driver: &'a Driver,
    /// Whether older fragments and schemas are rewritten in the newest version.
    upgrade: bool,
    out: Rewritten,
}

impl Job<'_> {
    /// Copies an array; returns whether that is possible.
    fn array(&mut self, source: &Location, target: &Location) -> Result<bool> {
        // How values are shown does not matter here, but every value must be readable.
        let open = self.open.clone().with_raw(true).with_text_as_binary(true);
        let array = Arc::new(Array::open(source, &open)?);
        let unused_key = self.open.key.is_some() && array.key.is_none();
        let partly = array.fragments.iter().any(|fragment| !fragment.name.is_within(&array.range));
        if unused_key || partly {
            return Ok(false);
        }
        make_folders(target)?;
        if self.upgrade && !upgrade::upgrade(&array, target, self.driver, &mut self.out.summary)? {
            return Ok(false);
        }
        let newest = |fragment: &Fragment| !self.upgrade || upgrade::is_current(fragment);
        let kept: Vec<&Arc<Fragment>> = array.fragments.iter().filter(|fragment| newest(fragment)).collect();
        let driver = self.driver;
        let advance = |bytes: u64| {
            driver.progress().advance(bytes);
            driver.check_canceled()
        };
        let mut data = Vec::new();
        for fragment in &kept {
            for entry in entries(&source.join(&fragment.path))? {
                if entry.kind == EntryKind::File {
                    let path = format!("{}/{}", fragment.path, entry.name);
                    driver.progress().expect(source.join(&path).size()?);
                    data.push(path);
                }
            }
        }
        let summary = &mut self.out.summary;
        for path in &data {
            driver.check_canceled()?;
            summary.bytes += copy::file(&source.join(path), &target.join(path), advance).in_file(path)?;
        }
        let mut copied = |path: &str| -> Result<()> {
            driver.check_canceled()?;
            let size = copy::file(&source.join(path), &target.join(path), |_| Ok(())).in_file(path)?;
            summary.bytes += size;
            Ok(())
        };
        for file in array.directory.visible_metadata(&array.range) {
            copied(&file.path)?;
        }
        let own = (!self.upgrade || array.schema.version >= WRITE_VERSION).then_some(&array.schema_path);
        for path in schemas(&array, own, &kept)? {
            copied(&path)?;
        }
        for fragment in &kept {
            // Before version 5 a fragment is committed by its existence.
            if fragment.name.version >= 5 {
                let in_folder = fragment.path.starts_with("__fragments/");
                let name = &fragment.name.name;
                put(&target.join(&if in_folder { marker_path(name) } else { format!("{name}.ok") }), &[])?;
            }
        }
        for delete in array.directory.visible_deletes(&array.range) {
            match &delete.image {
                Some(image) => put(&target.join(&delete.path), image)?,
                None => copied(&delete.path)?,
            }
        }
        summary.pieces += array.fragments.iter().map(|fragment| fragment.tiles).sum::<u64>();
        self.out.kept.extend(array.metadata.keys().map(|key| String::from_utf8_lossy(key).into_owned()));
        self.out.summary.rows += self.rows(&array)?;
        self.labels(&array, target)?;
        Ok(true)
    }

    /// The number of rows; where overlapping fragments hide cells, they are counted by reading.
    fn rows(&self, array: &Arc<Array>) -> Result<u64> {
        if let Some(rows) = array.rows() {
            return Ok(rows);
        }
        let table = ArrayTable::new(Arc::clone(array));
        let first = array.columns.first().map(|column| column.name.clone());
        let request = Scan::all().columns(first.iter().map(String::as_str));
        let mut rows = 0;
        for batch in scan(&table, &request, self.driver, Order::Plan)? {
            rows += batch?.num_rows() as u64;
        }
        Ok(rows)
    }

    /// Copies the arrays of dimension labels.
    fn labels(&mut self, array: &Array, target: &Location) -> Result<()> {
        let mut seen = BTreeSet::new();
        for label in &array.schema.labels {
            if !label.relative || !leads_down(&label.uri) {
                let text = format!("the values of label '{}' stay where they are: {}", label.name, label.uri);
                self.out.summary.lost.push(text);
                continue;
            }
            if !seen.insert(label.uri.as_str()) {
                continue;
            }
            let open = self.open.clone().with_between(None);
            let mut inner =
                Job { open: &open, driver: self.driver, upgrade: self.upgrade, out: Rewritten::default() };
            if !inner.array(&array.root.join(&label.uri), &target.join(&label.uri))? {
                return Err(Error::internal("the array of a label cannot be copied"));
            }
            self.out.summary.bytes += inner.out.summary.bytes;
            self.out.summary.lost.append(&mut inner.out.summary.lost);
        }
        Ok(())
    }

    /// Copies a group with the members inside its folder.
    fn group(&mut self, source: &Location, target: &Location, depth: usize) -> Result<()> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Error::limit("the groups are nested too deeply"));
        };
        let group = Group::open(source, self.open)?;
        let key = self.open.key.as_ref().map(|secret| crate::open::key_of(secret.expose())).transpose()?;
        // Members use the key of the group or none; the group's files determine which.
        let writer = GroupWriter::create(target, key.filter(|_| group.is_encrypted()))?;
        for file in group.visible_metadata() {
            self.out.summary.bytes +=
                copy::file(&source.join(&file.path), &target.join(&file.path), |_| Ok(()))?;
        }
        self.out.kept.extend(group.metadata_keys());
        let mut members = Vec::new();
        for member in group.members() {
            let member = inside(source, member);
            let place = source.join(&member.uri);
            if !member.relative || !leads_down(&member.uri) {
                let text = format!("the member '{}' stays where it is: {}", member.key(), member.uri);
                self.out.summary.lost.push(text);
            } else if !place.exists()? {
                self.out.summary.lost.push(format!("the member '{}' does not exist", member.key()));
            } else {
                self.member(&member, &place, &target.join(&member.uri), depth)
                    .in_piece(|| format!("member '{}'", member.key()))?;
            }
            members.push(member);
        }
        let old = self.upgrade && !group.is_newest();
        if members == group.members() && !old {
            for file in group.detail_files() {
                self.out.summary.bytes +=
                    copy::file(&source.join(&file.path), &target.join(&file.path), |_| Ok(()))?;
            }
            return Ok(());
        }
        let last = group.detail_files().last().map(|file| file.name.end);
        writer.change(&members, &[], last)
    }

    fn member(&mut self, member: &Member, source: &Location, target: &Location, depth: usize) -> Result<()> {
        match member.kind {
            MemberKind::Group => self.group(source, target, depth),
            MemberKind::Array => {
                // A member without encryption needs no key.
                let plain = self.open.clone().with_key(None);
                let open = if is_encrypted(source, self.open)? { self.open } else { &plain };
                let mut inner =
                    Job { open, driver: self.driver, upgrade: self.upgrade, out: Rewritten::default() };
                if !inner.array(source, target)? {
                    return Err(Error::unsupported("the time range covers a fragment only partly")
                        .hint("convert the members of the group one by one"));
                }
                let Summary { rows, bytes, pieces, mut lost } = inner.out.summary;
                let summary = &mut self.out.summary;
                (summary.rows, summary.bytes) = (summary.rows + rows, summary.bytes + bytes);
                summary.pieces += pieces;
                summary.lost.append(&mut lost);
                Ok(())
            }
        }
    }
}

fn is_encrypted(array: &Location, open: &OpenOptions) -> Result<bool> {
    Ok(Array::open(array, open)?.key.is_some())
}

/// A member inside the group's folder, by its relative path.
fn inside(group: &Location, member: &Member) -> Member {
    let folder = format!("{}/", group.path().trim_end_matches('/'));
    let local = member.uri.strip_prefix("file://").unwrap_or(&member.uri);
    match local.strip_prefix(&folder) {
        Some(rest) if !member.relative => {
            let name = member.name.clone().or_else(|| Some(member.uri.clone()));
            Member { relative: true, uri: rest.trim_end_matches('/').to_owned(), name, ..member.clone() }
        }
        _ => member.clone(),
    }
}

/// The files of the schema `own` and of those of the fragments `kept`, with their enumerations.
fn schemas(array: &Array, own: Option<&String>, kept: &[&Arc<Fragment>]) -> Result<Vec<String>> {
    let mut paths: BTreeSet<String> = own.into_iter().cloned().collect();
    for fragment in kept {
        match fragment.footer.schema_name.as_deref() {
            Some(name) if name != directory::OLD_SCHEMA => drop(paths.insert(format!("__schema/{name}"))),
            _ => paths
                .extend(array.directory.schemas.iter().find(|path| *path == directory::OLD_SCHEMA).cloned()),
        }
    }
    let mut files = BTreeSet::new();
    for path in &paths {
        let bytes = array.root.join(path).read_all(array.limits.metadata_bytes)?;
        let tile =
            GenericTile::parse(&bytes, 0, array.key.as_ref(), array.limits.metadata_bytes).in_file(path)?;
        let schema = ArraySchema::parse(&tile.payload).in_file(path)?;
        files.extend(
            schema.enumerations.into_iter().map(|(_, file)| format!("__schema/__enumerations/{file}")),
        );
    }
    files.retain(|file| array.directory.enumerations.contains(file));
    Ok(files.into_iter().chain(paths).collect())
}
