//! Copies of many short ranges of one file, out of a mapping whose missing pages are an error.
//!
//! A system call per range takes longer than the copy. A mapping needs none, but the system sends a signal (`SIGBUS`) to
//! a thread that reads a page of it that has no bytes any more, because another program has truncated the file. The
//! handler in [`fault`] puts zeros in the place of such pages and marks the mapping, which is then never used again. Only
//! copies leave this module, and only if the mapping had all bytes of them.

#[cfg_attr(not(target_os = "linux"), path = "absent.rs")]
mod fault;
#[cfg(test)]
mod tests;

use std::fs::File;

use fault::Slot;
use memmap2::{MmapOptions, MmapRaw};

use super::scatter::Part;

/// A mapped file. Dropping it frees its slot and unmaps it.
#[derive(Debug)]
pub(super) struct Guarded {
    /// Dropped first: pages that another mapping gets at this address are not ours.
    slot: Slot,
    mapping: MmapRaw,
}

impl Guarded {
    /// Maps a file; `None` if the system refuses, or if all slots are taken.
    pub(super) fn try_new(file: &File) -> Option<Self> {
        let mapping = MmapOptions::new().map_raw_read_only(file).ok()?;
        Some(Self { slot: Slot::take(mapping.as_ptr() as usize, mapping.len())?, mapping })
    }

    /// Fills each part with the bytes at its offset. Returns false if some of them are not in the file, which may have
    /// become shorter, or if a signal would not reach the handler: the content of the parts is then arbitrary.
    pub(super) fn copy(&self, file: &File, parts: &mut [Part<'_>]) -> bool {
        if self.slot.has_faulted() || !fault::is_caught_here() {
            return false;
        }
        let mut end = 0;
        for (offset, part) in parts {
            let Ok(start) = usize::try_from(*offset) else { return false };
            let after = start.checked_add(part.len()).filter(|after| *after <= self.mapping.len());
            let Some(after) = after else { return false };
            end = end.max(after);
            self.copy_part(start, part);
        }
        // The last page of a file that became shorter is still there; its bytes after the end are zeros.
        !self.slot.has_faulted() && file.metadata().is_ok_and(|found| found.len() >= end as u64)
    }

    #[expect(unsafe_code, reason = "a slice of the mapping would promise bytes that nobody changes")]
    fn copy_part(&self, offset: usize, part: &mut [u8]) {
        // SAFETY: `copy` has checked that the range is inside the mapping, which lives as long as `self` and which nothing
        // in this process writes to. A page without bytes is replaced by one of zeros before the copy continues. Another
        // process may change the bytes meanwhile, as it may while they are read by position.
        unsafe { self.mapping.as_ptr().add(offset).copy_to_nonoverlapping(part.as_mut_ptr(), part.len()) };
    }
}
