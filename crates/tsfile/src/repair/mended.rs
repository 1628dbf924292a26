//! The data section of a repaired file: what is copied or rebuilt, and where everything stands afterwards.

use std::ops::Range;

use super::Groups;
use super::salvage::Salvaged;
use super::scan::Recovered;
use crate::meta::{DeviceId, Version};
use crate::write::tail::GroupRecord;

/// Bytes of a repaired file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    /// A part of the source.
    Copy(Range<u64>),
    /// Bytes that were rebuilt.
    Bytes(Vec<u8>),
}

impl Segment {
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Copy(range) => range.end.saturating_sub(range.start),
            Self::Bytes(bytes) => bytes.len() as u64,
        }
    }
}

/// Where a group of the repaired file comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// The group of this number among those that a scan found of the device.
    Whole(DeviceId, usize),
    /// The salvaged group of this number.
    Salvaged(usize),
}

/// What a repaired file is made from.
#[derive(Debug)]
pub(super) struct Mended {
    /// The bytes behind the head, one segment behind the other.
    pub(super) segments: Vec<Segment>,
    /// The groups with their places in the repaired file.
    pub(super) found: Recovered,
    /// Where the groups stand in the repaired file.
    pub(super) origins: Vec<(Range<u64>, Origin)>,
}

/// A group or a record between groups, before it has its place.
struct Piece<'a> {
    /// Its place in the source, which is its rank.
    start: u64,
    segments: Vec<Segment>,
    group: Option<(&'a DeviceId, GroupRecord, Origin)>,
    version: Option<i64>,
}

impl Mended {
    /// Leaves out what is not whole or salvaged, and moves the rest together.
    pub(super) fn new(
        version: Version,
        found: &Recovered,
        groups: &Groups,
        salvaged: &[Option<Salvaged>],
    ) -> Self {
        let head = version.head().len() as u64;
        let is_all = !found.broken && groups.values().flatten().all(Option::is_some);
        let mut pieces = whole_groups(version, found, groups);
        for (number, one) in salvaged.iter().enumerate() {
            let Some(one) = one else { continue };
            pieces.push(Piece {
                start: one.start,
                segments: one.segments.clone(),
                group: Some((&one.device, one.record.clone(), Origin::Salvaged(number))),
                version: None,
            });
        }
        let mut mended = Self { segments: Vec::new(), found: found.clone(), origins: Vec::new() };
        mended.found.devices.clear();
        if is_all {
            // As the original's recovery: all up to the end of the last group, including what lies between them.
            let end = found.end.max(head);
            mended.segments.push(Segment::Copy(head..end));
            for piece in pieces {
                let start = piece.start;
                mended.add_group(piece, start);
            }
            return mended;
        }
        for between in &found.between {
            let version =
                found.versions.iter().find(|(at, _)| *at == between.start).map(|(_, number)| *number);
            let segments = vec![Segment::Copy(between.clone())];
            pieces.push(Piece { start: between.start, segments, group: None, version });
        }
        pieces.sort_by_key(|piece| piece.start);
        mended.found.versions.clear();
        let mut at = head;
        for mut piece in pieces {
            let start = at;
            at += piece.segments.iter().map(Segment::len).sum::<u64>();
            mended.segments.append(&mut piece.segments);
            mended.found.versions.extend(piece.version.map(|number| (start, number)));
            mended.add_group(piece, start);
        }
        mended.found.end = at;
        mended
    }

    /// Adds the group of a piece that starts here. One of which the tail lists no chunk has no place in it.
    fn add_group(&mut self, piece: Piece<'_>, start: u64) {
        let Some((device, mut group, origin)) = piece.group else { return };
        if group.chunks.is_empty() {
            return;
        }
        group.end = start + (group.end - group.start);
        for chunk in &mut group.chunks {
            chunk.offset = start + (chunk.offset - group.start);
        }
        group.start = start;
        self.origins.push((group.start..group.end, origin));
        self.found.devices.entry(device.clone()).or_default().groups.push(group);
    }
}

fn whole_groups<'a>(version: Version, found: &'a Recovered, groups: &Groups) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    for (device, record) in &found.devices {
        let Some(list) = groups.get(device) else { continue };
        for (number, (group, judged)) in record.groups.iter().zip(list).enumerate() {
            let Some(judged) = judged else { continue };
            let mut group = group.clone();
            group.chunks.clone_from(&judged.chunks);
            group.version = judged.version.filter(|_| version.is_flat()).unwrap_or(group.version);
            pieces.push(Piece {
                start: group.start,
                segments: vec![Segment::Copy(group.start..group.end)],
                group: Some((device, group, Origin::Whole(device.clone(), number))),
                version: None,
            });
        }
    }
    // The groups of a device stay in file order.
    pieces.sort_by_key(|piece| piece.start);
    pieces
}
