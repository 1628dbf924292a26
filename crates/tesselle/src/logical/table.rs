//! A table that is read with other types than it is stored in.

use std::fmt;
use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::SchemaRef;
use bytes::Bytes;
use tesselle_core::{
    ArrayView, Comparison, Condition, Cost, Custom, Known, Label, Plan, Predicate, Pushdown, Result, Scalar,
    Scan, Step, Storage, Table, TableFacts, TableStats, Task,
};

use super::column::{own_bound, stored_condition};
use super::{Logical, is_note};

/// Rows that are restored at once: few, so that they are in the cache when they are used.
const PART_ROWS: usize = 8 << 10;

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

    /// The predicate for the stored columns, true for the same rows.
    fn stored(&self, predicate: &Predicate) -> Predicate {
        stored(&self.logical, &self.inner.schema(), predicate)
    }

    /// Bounds of the stored values are those of the restored ones only if both types have the same order.
    fn known(&self, mut stats: TableStats) -> TableStats {
        let schema = self.inner.schema();
        for (name, column) in &mut stats.columns {
            let Some(own) = self.logical.types.get(name) else { continue };
            let stored = schema.field_with_name(name).ok();
            let bound = |known: &Known<Scalar>| {
                let own = |value| own_bound(value, own, stored?.data_type());
                match known {
                    Known::Exact(value) => own(value).map_or(Known::Absent, Known::Exact),
                    Known::Bound(value) => own(value).map_or(Known::Absent, Known::Bound),
                    Known::Absent => Known::Absent,
                }
            };
            (column.min, column.max) = (bound(&column.min), bound(&column.max));
            column.sum = Known::Absent;
        }
        stats
    }
}

/// The predicate for the columns as `schema` stores them, true for the same rows.
fn stored(logical: &Arc<Logical>, schema: &SchemaRef, predicate: &Predicate) -> Predicate {
    if !predicate.columns().into_iter().any(|column| logical.types.contains_key(column)) {
        return predicate.clone();
    }
    let equal = |column: &str, op: Comparison, value: &Scalar| {
        let own = logical.types.get(column)?;
        stored_condition(column, op, value, own, schema.field_with_name(column).ok()?.data_type())
    };
    let all = |parts: &[Predicate]| parts.iter().map(|part| stored(logical, schema, part)).collect();
    let known = match predicate {
        Predicate::And(parts) => Some(Predicate::And(all(parts))),
        Predicate::Or(parts) => Some(Predicate::Or(all(parts))),
        Predicate::Not(inner) => Some(Predicate::Not(Box::new(stored(logical, schema, inner)))),
        Predicate::Always(_) | Predicate::IsNull { .. } => Some(predicate.clone()),
        Predicate::Compare { column, op, value } => equal(column, *op, value),
        Predicate::In { column, values } => {
            let each = values.iter().map(|value| equal(column, Comparison::Eq, value));
            each.collect::<Option<Vec<_>>>().map(|each| one_of(column, each))
        }
        Predicate::Custom(_) => None,
    };
    known.unwrap_or_else(|| {
        let columns = predicate.columns().into_iter().map(str::to_owned).collect();
        let (logical, schema) = (Arc::clone(logical), Arc::clone(schema));
        Predicate::Custom(Custom::new(OnRestored { predicate: predicate.clone(), columns, logical, schema }))
    })
}

/// One of these conditions on a column: a list of values, if all are equalities.
fn one_of(column: &str, conditions: Vec<Predicate>) -> Predicate {
    let value = |condition: &Predicate| match condition {
        Predicate::Compare { op: Comparison::Eq, value, .. } => Some(value.clone()),
        _ => None,
    };
    let values = conditions.iter().map(value).collect::<Option<Vec<_>>>();
    values.map_or(Predicate::Or(conditions), |values| Predicate::In { column: column.to_owned(), values })
}

/// A condition on columns as they are read, evaluated on stored ones.
#[derive(Debug)]
struct OnRestored {
    predicate: Predicate,
    columns: Vec<String>,
    logical: Arc<Logical>,
    /// The stored columns.
    schema: SchemaRef,
}

impl fmt::Display for OnRestored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.predicate.fmt(f)
    }
}

impl Condition for OnRestored {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let schema = batch.schema_ref();
        let tested = self.columns.iter().filter_map(|name| schema.index_of(name).ok());
        let tested = batch.project(&tested.collect::<Vec<_>>())?;
        self.predicate.evaluate(&self.logical.restore(&tested)?)
    }

    fn implied(&self) -> Option<Predicate> {
        let stored = stored(&self.logical, &self.schema, &self.predicate.learned()?);
        let plain = stored.conjuncts().into_iter().filter(|part| !part.has_custom()).cloned();
        let plain: Vec<Predicate> = plain.collect();
        (!plain.is_empty()).then_some(Predicate::And(plain))
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
        self.inner.pushdown(&self.stored(predicate))
    }

    fn plan(&self, scan: &Scan) -> Result<Plan> {
        let mut inner = scan.clone();
        inner.predicate = scan.predicate.as_ref().map(|predicate| self.stored(predicate));
        let mut plan = self.inner.plan(&inner)?;
        let rows = scan.batch_rows.unwrap_or(PART_ROWS).max(1);
        let restored = |inner| -> Box<dyn Task> {
            Box::new(Restore { inner, logical: Arc::clone(&self.logical), rows, stored: None })
        };
        plan.tasks = plan.tasks.into_iter().map(restored).collect();
        Ok(plan)
    }

    fn plans_in_parallel(&self) -> bool {
        self.inner.plans_in_parallel()
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

/// Restores the batches of a task, a part of one after the other.
struct Restore {
    inner: Box<dyn Task>,
    logical: Arc<Logical>,
    /// The rows of a part.
    rows: usize,
    /// What is left of a stored batch.
    stored: Option<RecordBatch>,
}

impl Restore {
    /// The next rows of a stored batch.
    fn part(&mut self, batch: &RecordBatch) -> Result<Step> {
        let rows = batch.num_rows().min(self.rows);
        self.stored = (rows < batch.num_rows()).then(|| batch.slice(rows, batch.num_rows() - rows));
        Ok(Step::Batch(self.logical.restore(&batch.slice(0, rows))?))
    }
}

impl Task for Restore {
    fn cost(&self) -> Cost {
        self.inner.cost()
    }

    fn largest_piece(&self) -> u64 {
        self.inner.largest_piece()
    }

    fn step(&mut self, fetched: Vec<Bytes>) -> Result<Step> {
        if let Some(stored) = self.stored.take() {
            return self.part(&stored);
        }
        match self.inner.step(fetched)? {
            Step::Batch(batch) => self.part(&batch),
            other => Ok(other),
        }
    }
}
