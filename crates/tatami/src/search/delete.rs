//! Permanent deletion of documents: rewrites the segment with a live-docs run.
//!
//! Everything between header and footer stays in place, byte for byte, so all offsets remain valid. The new
//! run and a footer that refers to it follow. Scores do not change: statistics count deleted documents, as in
//! the original engine, until a merge drops them.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use tesselle_codec::varint;
use tesselle_core::driver::Order;
use tesselle_core::storage::{Lock, Staged};
use tesselle_core::{Context, Driver, Error, Location, OpenOptions, Predicate, Result, Scan, Table, driver};

use super::filter;
use super::meta::LiveDocs;
use super::segment::{Segment, columns, descriptor};
use crate::collection::{Collection, LOCK_WAIT, MANIFEST_NAME};
use crate::meta::footer::tags;
use crate::meta::header::HEADER_LEN;
use crate::meta::inverted::{Inverted, Run};
use crate::meta::record::{RECORD_LEN, Record};
use crate::meta::trailer::Trailer;
use crate::meta::types::{Codec, RecordKind};
use crate::open::File;
use crate::table::FileTable;

/// The documents to delete.
#[derive(Debug, Clone, PartialEq)]
pub enum Deletion {
    /// Those with these numbers.
    Docs(Vec<u32>),
    /// Those with these `doc_id`s.
    Ids(Vec<Vec<u8>>),
    /// Those whose stored columns match this predicate.
    Where(Predicate),
}

/// The result of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deleted {
    /// Number of newly deleted documents.
    pub deleted: u32,
    /// Number of remaining live documents.
    pub live: u32,
}

/// Writes the segment at `source` without the given documents to `target`.
///
/// If `target` is the same location the segment is changed in place, one process at a time: deletions of
/// several processes are applied one after the other and none is lost. If the segment is a member of a
/// collection in its folder, the manifest is updated. For a collection, a folder with a manifest, all
/// segments are changed.
pub fn delete(
    source: &Location,
    target: &Location,
    deletion: &Deletion,
    overwrite: bool,
    driver: &Driver,
) -> Result<Deleted> {
    if source.path() != target.path() {
        let segment = Segment::open(source, &OpenOptions::default())?;
        let (deleted, live) = remaining(&segment, deletion, driver)?;
        rewrite(segment.file(), &live, target.create(overwrite)?, driver).in_file(source.path())?;
        return Ok(deleted);
    }
    if source.is_dir()? {
        return delete_in_collection(source, deletion, driver);
    }
    let folder = source.parent().unwrap_or_else(|| Location::new(Arc::clone(source.storage()), ""));
    if !folder.join(MANIFEST_NAME).exists()? {
        return delete_in_place(source, deletion, driver);
    }
    let mut collection = Collection::open(&folder, &OpenOptions::default())?;
    let lock = collection.lock()?;
    let deleted = delete_in_place(source, deletion, driver)?;
    if deleted.deleted > 0 && collection.members().iter().any(|member| member.path == source.name()) {
        collection.refresh(&lock, source.name())?;
    }
    Ok(deleted)
}

fn delete_in_collection(folder: &Location, deletion: &Deletion, driver: &Driver) -> Result<Deleted> {
    if matches!(deletion, Deletion::Docs(_)) {
        return Err(Error::invalid("documents of a collection have no numbers").hint("specify them by id"));
    }
    if !folder.join(MANIFEST_NAME).exists()? {
        return Err(Error::invalid(format!("'{}' is not a collection", folder.path()))
            .hint("specify a segment, or a folder with tatami.manifest"));
    }
    let mut collection = Collection::open(folder, &OpenOptions::default())?;
    let lock = collection.lock()?;
    let paths: Vec<String> = collection.members().iter().map(|member| member.path.clone()).collect();
    let mut sum = Deleted { deleted: 0, live: 0 };
    for path in paths {
        let deleted = delete_member(&mut collection, &lock, folder, &path, deletion, driver)?;
        sum.deleted += deleted.deleted;
        sum.live += deleted.live;
    }
    Ok(sum)
}

/// Changes one segment of a collection, and its entry in the manifest.
pub(super) fn delete_member(
    collection: &mut Collection,
    lock: &Lock,
    folder: &Location,
    path: &str,
    deletion: &Deletion,
    driver: &Driver,
) -> Result<Deleted> {
    let deleted = delete_in_place(&folder.join(path), deletion, driver)?;
    if deleted.deleted > 0 {
        collection.refresh(lock, path)?;
    }
    Ok(deleted)
}

/// Changes one segment under its lock.
fn delete_in_place(location: &Location, deletion: &Deletion, driver: &Driver) -> Result<Deleted> {
    let _lock = location.lock(LOCK_WAIT)?;
    let segment = Segment::open(location, &OpenOptions::default())?;
    let (deleted, live) = remaining(&segment, deletion, driver)?;
    if deleted.deleted > 0 {
        rewrite(segment.file(), &live, location.create(true)?, driver).in_file(location.path())?;
    }
    Ok(deleted)
}

/// The documents of a segment that remain.
fn remaining(segment: &Segment, deletion: &Deletion, driver: &Driver) -> Result<(Deleted, LiveDocs)> {
    let mut live = segment.live().cloned().unwrap_or_else(|| LiveDocs::all(segment.docs()));
    let before = live.count();
    match deletion {
        Deletion::Docs(docs) => {
            if let Some(doc) = docs.iter().find(|doc| **doc >= segment.docs()) {
                return Err(Error::invalid(format!("document {doc} does not exist"))
                    .hint(format!("the segment has {} documents", segment.docs())));
            }
            for doc in docs {
                live.delete(*doc);
            }
        }
        Deletion::Ids(ids) => delete_ids(segment, ids, &mut live, driver)?,
        Deletion::Where(predicate) => {
            for doc in filter::allowed(segment, predicate, driver)?.iter() {
                live.delete(doc);
            }
        }
    }
    Ok((Deleted { deleted: before - live.count(), live: live.count() }, live))
}

fn delete_ids(segment: &Segment, ids: &[Vec<u8>], live: &mut LiveDocs, driver: &Driver) -> Result<()> {
    let wanted: HashSet<&[u8]> = ids.iter().map(Vec::as_slice).collect();
    let table = FileTable::try_new(segment.file().clone())?;
    let schema = table.schema();
    let name = schema.fields().get(columns::DOC_ID).map(|field| field.name().clone());
    let plan = table.plan(&Scan::all().columns(name))?;
    let mut doc = 0;
    for batch in driver.for_run().batches(table.storage(), plan, Order::Plan) {
        let batch = batch?;
        let ids = batch.columns().first().and_then(|ids| ids.as_binary_opt::<i32>());
        let ids = ids.ok_or_else(|| Error::internal("document ids are not read as bytes"))?;
        for row in 0..ids.len() {
            if ids.is_valid(row) && wanted.contains(ids.value(row)) {
                live.delete(doc);
            }
            doc += 1;
        }
    }
    Ok(())
}

fn rewrite(file: &File, live: &LiveDocs, mut out: Box<dyn Staged>, driver: &Driver) -> Result<()> {
    let inverted = descriptor(file)?;
    let end = data_end(file, &inverted);
    let mut header = file.header().clone();
    out.write(&[0; HEADER_LEN as usize])?;
    file.check_inside(0, end)?;
    driver::copy(file.location(), HEADER_LEN..end, &mut *out, driver)?;
    let mut descriptor = Inverted { live: Run::default(), ..inverted };
    if live.count() < live.docs() {
        let run = live.write();
        let len =
            u32::try_from(run.len()).map_err(|_| Error::limit("the set of live documents exceeds 4 GiB"))?;
        descriptor.live = Run { offset: out.position(), len: u64::from(len) };
        out.write(&Record::new(RecordKind::Index, Codec::None, 0, len, &run).to_bytes())?;
        out.write(&run)?;
    }
    header.footer_offset = out.position();
    let footer = footer(file, &descriptor)?;
    out.write(&footer)?;
    out.write(&Trailer::bytes_for(&footer))?;
    out.write_at(0, &header.to_bytes())?;
    out.commit().map(drop)
}

/// End of the bytes to keep: before the footer, and before a live-docs run directly in front of it.
fn data_end(file: &File, inverted: &Inverted) -> u64 {
    let footer = file.header().footer_offset;
    let live_end = inverted.live.offset.saturating_add(RECORD_LEN).saturating_add(inverted.live.len);
    if inverted.live.len > 0 && live_end == footer { inverted.live.offset } else { footer }
}

/// The footer with another descriptor; all other sections, known or not, unchanged.
fn footer(file: &File, inverted: &Inverted) -> Result<Vec<u8>> {
    let mut out = vec![0];
    for (tag, offset, len) in &file.footer().sections {
        let body = if *tag == tags::INVERTED {
            let mut body = Vec::new();
            inverted.write(&mut body);
            body
        } else {
            file.read(*offset, *len)?.to_vec()
        };
        varint::write(*tag, &mut out);
        varint::write(body.len() as u64, &mut out);
        out.extend_from_slice(&body);
    }
    Ok(out)
}
