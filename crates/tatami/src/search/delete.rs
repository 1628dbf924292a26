//! Deleting documents for good: the segment is written anew with a live-docs run.
//!
//! Everything between header and footer stays where it is, byte for byte, so all offsets keep their meaning. Behind
//! it comes the new run, then a footer that names it. Scores do not change: statistics count deleted documents, as
//! in the original engine, until a merge drops them.

use std::collections::HashSet;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use tesselle_codec::varint;
use tesselle_core::driver::Order;
use tesselle_core::storage::Staged;
use tesselle_core::{Context, Driver, Error, Location, OpenOptions, Predicate, Result, Scan, Table};

use super::filter;
use super::meta::LiveDocs;
use super::segment::{Segment, columns, descriptor};
use crate::meta::footer::tags;
use crate::meta::header::HEADER_LEN;
use crate::meta::inverted::{Inverted, Run};
use crate::meta::record::{RECORD_LEN, Record};
use crate::meta::trailer::Trailer;
use crate::meta::types::{Codec, RecordKind};
use crate::read::file::File;
use crate::read::table::FileTable;

/// Which documents to delete.
#[derive(Debug, Clone, PartialEq)]
pub enum Deletion {
    /// Those with these numbers.
    Docs(Vec<u32>),
    /// Those with these `doc_id`s.
    Ids(Vec<Vec<u8>>),
    /// Those whose stored columns fulfil this.
    Where(Predicate),
}

/// What a deletion did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deleted {
    /// Documents that were live before and are not now.
    pub deleted: u32,
    /// Documents that still are.
    pub live: u32,
}

/// Writes the segment at `source` without the given documents to `target`, which may be the same place.
pub fn delete(
    source: &Location,
    target: &Location,
    deletion: &Deletion,
    overwrite: bool,
    driver: &Driver,
) -> Result<Deleted> {
    let segment = Segment::open(source, &OpenOptions::default())?;
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
        Deletion::Ids(ids) => delete_ids(&segment, ids, &mut live, driver)?,
        Deletion::Where(predicate) => {
            for doc in filter::allowed(&segment, predicate, driver)?.iter() {
                live.delete(doc);
            }
        }
    }
    let deleted = Deleted { deleted: before - live.count(), live: live.count() };
    let same = source.path() == target.path();
    rewrite(segment.file(), &live, target.create(overwrite || same)?).in_file(source.path())?;
    Ok(deleted)
}

fn delete_ids(segment: &Segment, ids: &[Vec<u8>], live: &mut LiveDocs, driver: &Driver) -> Result<()> {
    let wanted: HashSet<&[u8]> = ids.iter().map(Vec::as_slice).collect();
    let table = FileTable::new(segment.file().clone());
    let schema = table.schema();
    let name = schema.fields().get(columns::DOC_ID).map(|field| field.name().clone());
    let plan = table.plan(&Scan::all().columns(name))?;
    let mut doc = 0;
    for batch in driver.for_run().batches(table.storage(), plan, Order::Plan) {
        let batch = batch?;
        let Some(ids) = batch.columns().first().and_then(|ids| ids.as_binary_opt::<i32>()) else { continue };
        for row in 0..ids.len() {
            if ids.is_valid(row) && wanted.contains(ids.value(row)) {
                live.delete(doc);
            }
            doc += 1;
        }
    }
    Ok(())
}

/// How much is copied at once.
const COPY: u64 = 4 << 20;

fn rewrite(file: &File, live: &LiveDocs, mut out: Box<dyn Staged>) -> Result<()> {
    let inverted = descriptor(file)?;
    let end = data_end(file, &inverted);
    let mut header = file.header().clone();
    out.write(&[0; HEADER_LEN as usize])?;
    let mut at = HEADER_LEN;
    while at < end {
        let len = COPY.min(end - at);
        out.write(&file.read(at, len)?)?;
        at += len;
    }
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
    out.commit()
}

/// Where the bytes that stay end: before the footer, and before a live-docs run that lies right in front of it.
fn data_end(file: &File, inverted: &Inverted) -> u64 {
    let footer = file.header().footer_offset;
    let live_end = inverted.live.offset.saturating_add(RECORD_LEN).saturating_add(inverted.live.len);
    if inverted.live.len > 0 && live_end == footer { inverted.live.offset } else { footer }
}

/// The footer with another descriptor; all other sections, known or not, as they are.
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
