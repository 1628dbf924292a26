//! The data section of a mended file: what is copied, and where everything stands afterwards.

use super::Groups;
use super::scan::Recovered;
use crate::meta::Version;
use std::ops::Range;

/// What a mended file is made from.
#[derive(Debug)]
pub(super) struct Mended {
    /// The parts of the source that are copied, one behind the other.
    pub(super) pieces: Vec<Range<u64>>,
    /// The groups with their places in the mended file.
    pub(super) found: Recovered,
}

impl Mended {
    /// Leaves out what is not whole and moves the rest together.
    pub(super) fn new(version: Version, mut found: Recovered, groups: Groups) -> Self {
        let head = version.head().len() as u64;
        let mut is_all = !found.broken;
        for (device, judged) in groups {
            let Some(record) = found.devices.get_mut(&device) else { continue };
            let mut judged = judged.into_iter();
            record.groups.retain_mut(|group| {
                let Some(judged) = judged.next().flatten() else {
                    is_all = false;
                    return false;
                };
                group.chunks = judged.chunks;
                group.version = judged.version.filter(|_| version.is_flat()).unwrap_or(group.version);
                true
            });
        }
        if is_all {
            // As the original's recovery: all up to the end of the last group, whatever lies between them.
            let pieces = std::iter::once(head..found.end.max(head)).collect();
            drop_unlisted(&mut found);
            return Self { pieces, found };
        }
        let groups = found.devices.values().flat_map(|record| &record.groups);
        let mut pieces: Vec<Range<u64>> = groups.map(|group| group.start..group.end).collect();
        pieces.append(&mut found.between.clone());
        pieces.sort_by_key(|piece| piece.start);
        let mut mended = Self { pieces, found };
        mended.move_together(head);
        drop_unlisted(&mut mended.found);
        mended
    }

    fn move_together(&mut self, head: u64) {
        let mut starts = Vec::with_capacity(self.pieces.len());
        let mut at = head;
        for piece in &self.pieces {
            starts.push(at);
            at += piece.end - piece.start;
        }
        let moved = |offset: u64| {
            let i = self.pieces.partition_point(|piece| piece.start <= offset).checked_sub(1)?;
            let (piece, start) = (self.pieces.get(i)?, starts.get(i)?);
            piece.contains(&offset).then(|| start + (offset - piece.start))
        };
        for group in self.found.devices.values_mut().flat_map(|record| &mut record.groups) {
            let len = group.end - group.start;
            group.start = moved(group.start).unwrap_or(group.start);
            group.end = group.start + len;
            for chunk in &mut group.chunks {
                chunk.offset = moved(chunk.offset).unwrap_or(chunk.offset);
            }
        }
        self.found.versions =
            self.found.versions.iter().filter_map(|(at, version)| Some((moved(*at)?, *version))).collect();
        self.found.end = at;
    }
}

/// A group of which the tail lists no chunk has no place in it.
fn drop_unlisted(found: &mut Recovered) {
    for record in found.devices.values_mut() {
        record.groups.retain(|group| !group.chunks.is_empty());
    }
}
