//! The memory that the operators of a session share.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};

/// Operators that can spill get equal parts, but not the last eighth. The merge behind a sort cannot spill, and starts when
/// sorts of all partitions have taken what they can: without a part of its own it would fail or not, depending on the order
/// in which threads run.
#[derive(Debug)]
pub(crate) struct OperatorMemory {
    size: usize,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    /// Consumers that can spill.
    spilling: usize,
    by_spilling: usize,
    by_others: usize,
}

impl OperatorMemory {
    pub(crate) fn new(size: usize) -> Self {
        Self { size, used: Mutex::default() }
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

impl MemoryPool for OperatorMemory {
    fn name(&self) -> &'static str {
        "operators"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.used().spilling += usize::from(consumer.can_spill());
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.used().spilling -= usize::from(consumer.can_spill());
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        *self.used().by(reservation) += additional;
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        *self.used().by(reservation) -= shrink;
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let mut used = self.used();
        let others = self.size.saturating_sub(used.by_others);
        let left = if reservation.consumer().can_spill() {
            let part = others.saturating_sub(self.size / 8) / used.spilling.max(1);
            part.saturating_sub(reservation.size())
        } else {
            others.saturating_sub(used.by_spilling)
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
        let pool: Arc<dyn MemoryPool> = Arc::new(OperatorMemory::new(1600));
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
}
