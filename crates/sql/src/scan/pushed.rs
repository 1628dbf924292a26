//! Filters of a plan as conditions of a scan, so that a table decodes the columns of a filter first, and of the others only the
//! rows that pass.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{Schema, SchemaRef};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_expr_common::physical_expr::snapshot_generation;
use tesselle::core::{Condition, Custom};
use tesselle::{Error, Predicate, Result};

use super::current::current;
use crate::error::ours;

/// Rows after which an optional filter is judged.
const TRIAL: u64 = 1 << 16;

/// A filter over columns of a scan.
#[derive(Clone)]
pub(super) struct Pushed {
    expr: Arc<dyn PhysicalExpr>,
    /// The same over a batch of its columns only.
    own: Arc<dyn PhysicalExpr>,
    columns: Vec<String>,
    /// For a filter that another operator applies as well, and that changes.
    learning: Option<Arc<Learning>>,
}

/// A filter that changes while the plan runs.
struct Learning {
    /// The columns of the table.
    schema: SchemaRef,
    /// Whether the filter is worth its time.
    trial: Mutex<Trial>,
    /// What it implied in a generation.
    implied: Mutex<Option<(u64, Option<Predicate>)>>,
}

/// How many rows a filter lets pass.
#[derive(Default)]
struct Trial {
    generation: u64,
    seen: u64,
    passed: u64,
}

impl Pushed {
    /// A filter that nothing else applies; `None` if it is not about columns of `schema`.
    pub(super) fn new(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Self> {
        let mut columns: Vec<_> = collect_columns(expr).into_iter().collect();
        columns.sort_by_key(Column::index);
        let known = |name: &str, index: usize| {
            let same = schema.fields().iter().filter(|field| field.name() == name).count();
            same == 1 && schema.index_of(name).is_ok_and(|at| at == index)
        };
        if columns.is_empty() || !columns.iter().all(|column| known(column.name(), column.index())) {
            return None;
        }
        let indices: Vec<usize> = columns.iter().map(Column::index).collect();
        let own = reassign_expr_columns(Arc::clone(expr), &schema.project(&indices).ok()?).ok()?;
        let columns = columns.iter().map(|column| column.name().to_owned()).collect();
        Some(Self { expr: Arc::clone(expr), own, columns, learning: None })
    }

    /// A filter that changes while the plan runs, and that another operator applies as well; `table` is the schema of the
    /// whole table.
    pub(super) fn dynamic(expr: &Arc<dyn PhysicalExpr>, schema: &Schema, table: SchemaRef) -> Option<Self> {
        let learning = Learning { schema: table, trial: Mutex::default(), implied: Mutex::default() };
        Some(Self { learning: Some(Arc::new(learning)), ..Self::new(expr, schema)? })
    }

    /// The filter, over the columns of the scan.
    pub(super) fn expr(&self) -> &Arc<dyn PhysicalExpr> {
        &self.expr
    }

    /// The filter as a condition that a table evaluates.
    pub(super) fn predicate(&self) -> Predicate {
        Predicate::Custom(Custom::new(self.clone()))
    }

    fn value(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let schema = batch.schema_ref();
        let at = |name: &String| schema.index_of(name).map_err(Error::from);
        let columns = self.columns.iter().map(at).collect::<Result<Vec<usize>>>()?;
        let rows = batch.num_rows();
        match self.own.evaluate(&batch.project(&columns)?).map_err(ours)? {
            ColumnarValue::Scalar(ScalarValue::Boolean(Some(value))) => Ok(constant(value, rows)),
            value => {
                let array = value.into_array(rows).map_err(ours)?;
                Ok(array.as_boolean_opt().map_or_else(|| BooleanArray::new_null(rows), Clone::clone))
            }
        }
    }
}

fn constant(value: bool, rows: usize) -> BooleanArray {
    let bits = if value { BooleanBuffer::new_set(rows) } else { BooleanBuffer::new_unset(rows) };
    BooleanArray::new(bits, None)
}

impl Trial {
    /// Most rows pass: it costs more to test them than to pass them on.
    fn is_lost(&self) -> bool {
        self.seen >= TRIAL && self.passed > self.seen / 2
    }
}

impl Condition for Pushed {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let Some(Learning { trial, .. }) = self.learning.as_deref() else { return self.value(batch) };
        let generation = snapshot_generation(&self.own);
        {
            let mut trial = trial.lock().unwrap_or_else(PoisonError::into_inner);
            if trial.generation != generation {
                *trial = Trial { generation, ..Trial::default() };
            }
            if trial.is_lost() {
                return Ok(constant(true, batch.num_rows()));
            }
        }
        let passed = self.value(batch)?;
        let mut trial = trial.lock().unwrap_or_else(PoisonError::into_inner);
        trial.seen += passed.len() as u64;
        trial.passed += passed.true_count() as u64;
        Ok(passed)
    }

    fn implied(&self) -> Option<Predicate> {
        let Learning { schema, implied, .. } = self.learning.as_deref()?;
        let generation = snapshot_generation(&self.own);
        let mut implied = implied.lock().unwrap_or_else(PoisonError::into_inner);
        match &*implied {
            Some((known, predicate)) if *known == generation => predicate.clone(),
            _ => {
                let now = current(&self.expr, schema);
                *implied = Some((generation, now.clone()));
                now
            }
        }
    }
}

impl fmt::Display for Pushed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)
    }
}

impl fmt::Debug for Pushed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pushed").field(&self.expr).finish()
    }
}
