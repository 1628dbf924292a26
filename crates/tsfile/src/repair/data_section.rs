//! The data section of a repaired file: copied and rebuilt segments, and the new positions of the groups.

use std::ops::Range;

use super::Groups;
use super::salvage::Salvaged;
use super::scan::Recovered;
use crate::meta::{DeviceId, Version};
use crate::write::tail::GroupRecord;

/// A segment of a repaired file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    /// A byte range of the source.
    Copy(Range<u64>),
    /// Rebuilt bytes.
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

/// The origin of a group of the repaired file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GroupOrigin {
    /// The group with this index among those that a scan found for the device.
    Whole(DeviceId, usize),
    /// The salvaged group with this index.
    Salvaged(usize),
}

/// The data section of a repaired file.
#[derive(Debug)]
pub(super) struct DataSection {
    /// The bytes after the header, in order.
    pub(super) segments: Vec<Segment>,
    /// The groups with their positions in the repaired file.
    pub(super) found: Recovered,
    /// The origins of the groups of the repaired file.
    pub(super) origins: Vec<(Range<u64>, GroupOrigin)>,
}

/// A group, or a record between groups, before it has its new position.
struct NewSection<'a> {
    /// Its position in the source, which defines the order.
    start: u64,
    segments: Vec<Segment>,
    group: Option<(&'a DeviceId, GroupRecord, GroupOrigin)>,
    version: Option<i64>,
}

impl DataSection {
    /// Drops groups that are not intact or salvaged, and moves the rest together.
    pub(super) fn new(
        version: Version,
        found: &Recovered,
        groups: &Groups,
        salvaged: &[Option<Salvaged>],
    ) -> Self {
        let head = version.head().len() as u64;
        let is_all = !found.broken && groups.values().flatten().all(Option::is_some);
        let mut parts = whole_groups(version, found, groups);
        for (number, one) in salvaged.iter().enumerate() {
            let Some(one) = one else { continue };
            parts.push(NewSection {
                start: one.start,
                segments: one.segments.clone(),
                group: Some((&one.device, one.record.clone(), GroupOrigin::Salvaged(number))),
                version: None,
            });
        }
        let mut section = Self { segments: Vec::new(), found: found.clone(), origins: Vec::new() };
        section.found.devices.clear();
        if is_all {
            // Like the original's recovery: everything up to the end of the last group, including the records
            // between groups.
            let end = found.end.max(head);
            section.segments.push(Segment::Copy(head..end));
            for part in parts {
                let start = part.start;
                section.add_group(part, start);
            }
            return section;
        }
        for between in &found.between {
            let version =
                found.versions.iter().find(|(at, _)| *at == between.start).map(|(_, number)| *number);
            let segments = vec![Segment::Copy(between.clone())];
            parts.push(NewSection { start: between.start, segments, group: None, version });
        }
        parts.sort_by_key(|part| part.start);
        section.found.versions.clear();
        let mut at = head;
        for mut part in parts {
            let start = at;
            at += part.segments.iter().map(Segment::len).sum::<u64>();
            section.segments.append(&mut part.segments);
            section.found.versions.extend(part.version.map(|number| (start, number)));
            section.add_group(part, start);
        }
        section.found.end = at;
        section
    }

    /// Adds the group of a part that starts here. A group without listed chunks gets no metadata entry.
    fn add_group(&mut self, part: NewSection<'_>, start: u64) {
        let Some((device, mut group, origin)) = part.group else { return };
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

fn whole_groups<'a>(version: Version, found: &'a Recovered, groups: &Groups) -> Vec<NewSection<'a>> {
    let mut parts = Vec::new();
    for (device, record) in &found.devices {
        let Some(list) = groups.get(device) else { continue };
        for (number, (group, judged)) in record.groups.iter().zip(list).enumerate() {
            let Some(judged) = judged else { continue };
            let mut group = group.clone();
            group.chunks.clone_from(&judged.chunks);
            group.version = judged.version.filter(|_| version.is_flat()).unwrap_or(group.version);
            parts.push(NewSection {
                start: group.start,
                segments: vec![Segment::Copy(group.start..group.end)],
                group: Some((device, group, GroupOrigin::Whole(device.clone(), number))),
                version: None,
            });
        }
    }
    // The groups of a device stay in file order.
    parts.sort_by_key(|part| part.start);
    parts
}
