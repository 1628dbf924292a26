//! A table that is read with other types than it is stored in.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use bytes::Bytes;
use tesselle_core::{
    ArrayView, Cost, Known, Label, Plan, Predicate, Pushdown, Result, Scan, Step, Storage, Table, TableFacts,
    TableStats, Task,
};

use super::{Logical, is_note};

/// Restores the columns of an inner table.
pub(super) struct LogicalTable {
    inner: Arc<dyn Table>,
    logical: Arc<Logical>,
    schema: SchemaRef,
}

impl LogicalTable {
    pub(super) fn new(inner: Arc<dyn Table>, logical: Logical) -> Self {
        let schema = logical.schema(&inner.schema());
        Self { inner, logical: Arc::new(logical), schema }
    }

    fn is_stored(&self, column: &str) -> bool {
        self.logical.types.contains_key(column)
    }

    fn touches(&self, predicate: &Predicate) -> bool {
        predicate.columns().into_iter().any(|column| self.is_stored(column))
    }

    /// The part of a predicate that the inner table can judge: it holds for every row the whole one holds for.
    fn inner_part(&self, predicate: &Predicate) -> Option<Predicate> {
        if !self.touches(predicate) {
            return Some(predicate.clone());
        }
        let parts: Vec<Predicate> =
            predicate.conjuncts().into_iter().filter(|part| !self.touches(part)).cloned().collect();
        (!parts.is_empty()).then_some(Predicate::And(parts))
    }

    /// Bounds of the stored values are not those of the restored ones.
    fn known(&self, mut stats: TableStats) -> TableStats {
        for (_, column) in stats.columns.iter_mut().filter(|(name, _)| self.is_stored(name)) {
            column.min = Known::Absent;
            column.max = Known::Absent;
            column.sum = Known::Absent;
        }
        stats
    }
}

impl Table for LogicalTable {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn stats(&self) -> TableStats {
        self.known(self.inner.stats())
    }

    fn stats_of(&self, columns: &[&str]) -> TableStats {
        self.known(self.inner.stats_of(columns))
    }

    fn facts(&self) -> Result<TableFacts> {
        let mut facts = self.inner.facts()?;
        facts.attributes.retain(|attribute| !is_note(&attribute.name));
        Ok(facts)
    }

    fn pushdown(&self, predicate: &Predicate) -> Pushdown {
        match self.inner_part(predicate) {
            None => Pushdown::None,
            Some(_) if self.touches(predicate) => Pushdown::Inexact,
            Some(part) => self.inner.pushdown(&part),
        }
    }

    fn plan(&self, scan: &Scan) -> Result<Plan> {
        let mut inner = scan.clone();
        inner.predicate = scan.predicate.as_ref().and_then(|predicate| self.inner_part(predicate));
        if inner.predicate != scan.predicate {
            inner.limit = None;
        }
        let mut plan = self.inner.plan(&inner)?;
        let tasks = plan.tasks.into_iter();
        plan.tasks = tasks
            .map(|inner| -> Box<dyn Task> { Box::new(Restore { inner, logical: Arc::clone(&self.logical) }) })
            .collect();
        Ok(plan)
    }

    fn storage(&self) -> Arc<dyn Storage> {
        self.inner.storage()
    }

    fn sort_columns(&self) -> Vec<String> {
        // Strings of digits do not sort as the numbers they are.
        self.inner.sort_columns().into_iter().take_while(|column| !self.is_stored(column)).collect()
    }

    fn array(&self, column: &str) -> Option<Arc<dyn ArrayView>> {
        if self.is_stored(column) { None } else { self.inner.array(column) }
    }

    fn domain_array(&self, column: &str) -> Option<Arc<dyn ArrayView>> {
        if self.is_stored(column) { None } else { self.inner.domain_array(column) }
    }

    fn labels(&self) -> Vec<String> {
        self.inner.labels()
    }

    fn label(&self, name: &str) -> Result<Label> {
        self.inner.label(name)
    }

    fn array_columns(&self) -> Vec<String> {
        self.inner.array_columns().into_iter().filter(|column| !self.is_stored(column)).collect()
    }
}

/// Restores the batches of a task.
struct Restore {
    inner: Box<dyn Task>,
    logical: Arc<Logical>,
}

impl Task for Restore {
    fn cost(&self) -> Cost {
        self.inner.cost()
    }

    fn largest_piece(&self) -> u64 {
        self.inner.largest_piece()
    }

    fn step(&mut self, fetched: Vec<Bytes>) -> Result<Step> {
        match self.inner.step(fetched)? {
            Step::Batch(batch) => Ok(Step::Batch(self.logical.restore(&batch)?)),
            other => Ok(other),
        }
    }
}
