//! The memory that the operators of a session share.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};

/// Operators that can spill get equal parts, but not the last eighth. The merge behind a sort cannot spill, and starts when
/// sorts of all partitions have taken what they can: without a part of its own it would fail or not, depending on the order
/// in which threads run.
///
/// A merge of spilled rows inside a sort takes as much as it can get, and does with less. It gets two parts: one that its sort
/// reserves before it takes anything else, and one that its sort gives up when it spills.
#[derive(Debug)]
pub(crate) struct OperatorMemory {
    size: usize,
    /// What a sort reserves for its merge.
    reserve: usize,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    /// Consumers that can spill.
    spilling: usize,
    /// Consumers that merge what was spilled.
    merging: usize,
    by_spilling: usize,
    by_others: usize,
}

impl OperatorMemory {
    pub(crate) fn new(size: usize, reserve: usize) -> Self {
        Self { size, reserve, used: Mutex::default() }
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Used {
    fn by(&mut self, reservation: &MemoryReservation) -> &mut usize {
        if reservation.consumer().can_spill() { &mut self.by_spilling } else { &mut self.by_others }
    }
}

/// All that operators get that do with less.
const fn most(size: usize) -> usize {
    size - size / 8
}

/// The part of each operator.
pub(crate) fn part(size: usize, spilling: usize, merging: usize) -> usize {
    most(size) / (spilling + merging).max(1)
}

/// Whether this is a merge of spilled rows, or of two sorted inputs whose equal rows can be spilled. Neither says that it does
/// with less.
fn is_merge(consumer: &MemoryConsumer) -> bool {
    ["ExternalSorterMerge[", "SMJStream["].iter().any(|name| consumer.name().starts_with(name))
}

impl MemoryPool for OperatorMemory {
    fn name(&self) -> &'static str {
        "operators"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        let mut used = self.used();
        used.spilling += usize::from(consumer.can_spill());
        used.merging += usize::from(is_merge(consumer));
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        let mut used = self.used();
        used.spilling -= usize::from(consumer.can_spill());
        used.merging -= usize::from(is_merge(consumer));
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        *self.used().by(reservation) += additional;
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        *self.used().by(reservation) -= shrink;
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let mut used = self.used();
        let part = part(self.size, used.spilling, used.merging);
        let left = if reservation.consumer().can_spill() {
            let others = used.by_others.max(used.merging * part.min(self.reserve));
            let rest = most(self.size).saturating_sub(others) / used.spilling.max(1);
            rest.saturating_sub(reservation.size())
        } else {
            let left = self.size.saturating_sub(used.by_others).saturating_sub(used.by_spilling);
            let is_merge = is_merge(reservation.consumer());
            if is_merge { left.min((2 * part).saturating_sub(reservation.size())) } else { left }
        };
        if additional > left {
            let name = reservation.consumer().name();
            return Err(DataFusionError::ResourcesExhausted(format!(
                "no {additional} bytes for {name} that holds {}, {left} are left",
                reservation.size()
            )));
        }
        *used.by(reservation) += additional;
        Ok(())
    }

    fn reserved(&self) -> usize {
        let used = self.used();
        used.by_spilling + used.by_others
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.size)
    }
}

impl fmt::Display for OperatorMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operators({} of {} bytes)", self.reserved(), self.size)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn operators_that_cannot_spill_find_memory_behind_those_that_can() {
        let pool: Arc<dyn MemoryPool> = Arc::new(OperatorMemory::new(1600, 0));
        let sort = || MemoryConsumer::new("Sort").with_can_spill(true).register(&pool);
        let (one, other) = (sort(), sort());
        assert!(one.try_grow(701).is_err());
        one.try_grow(700).unwrap();
        other.try_grow(700).unwrap();
        assert!(other.try_grow(1).is_err());
        let merge = MemoryConsumer::new("Merge").register(&pool);
        merge.try_grow(200).unwrap();
        let error = merge.try_grow(1).unwrap_err();
        assert!(crate::error::ours(error).to_string().contains("Merge"));
        // What others hold is taken from both.
        one.shrink(700);
        merge.try_grow(200).unwrap();
        assert!(one.try_grow(501).is_err());
        one.try_grow(500).unwrap();
        drop((one, other));
        assert_eq!(pool.reserved(), 400);
        let last = sort();
        last.try_grow(1000).unwrap();
        assert!(last.try_grow(1).is_err());
    }

    #[test]
    fn a_merge_of_spilled_rows_leaves_memory_to_other_sorts() {
        let pool: Arc<dyn MemoryPool> = Arc::new(OperatorMemory::new(1600, 1000));
        let sort = || {
            let merge = MemoryConsumer::new("ExternalSorterMerge[0]").register(&pool);
            (MemoryConsumer::new("ExternalSorter[0]").with_can_spill(true).register(&pool), merge)
        };
        let ((one, one_merge), (other, other_merge)) = (sort(), sort());
        assert_eq!(part(1600, 2, 2), 350);
        // What the merges have not reserved yet is left to them.
        assert!(one.try_grow(351).is_err());
        one.try_grow(350).unwrap();
        one.shrink(350);
        assert!(one_merge.try_grow(701).is_err());
        one_merge.try_grow(700).unwrap();
        other_merge.try_grow(350).unwrap();
        // Both still find memory for rows.
        one.try_grow(175).unwrap();
        other.try_grow(175).unwrap();
    }
}
