//! The parts of the memory that the operators of one plan get.
//!
//! A merge join of five tables has sorts, queues between partitions and merges of spilled rows that share the memory at the same
//! time, forty of them with two threads. Batches and reservations that fit an operator that is alone would fill its part with
//! the first batch, and an operator without spilled rows cannot make room for a second one.

use std::sync::Arc;

use arrow_schema::{DataType, Schema};
use datafusion::common::Result;
use datafusion::common::config::ConfigNonZeroUsize;
use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::execution::session_state::SessionState;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::joins::SortMergeJoinExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties as _, execute_stream};

use crate::{compact, pool};

/// The fewest rows of a batch, regardless of the memory.
pub(crate) const FEWEST_ROWS: usize = 256;

/// Batches that fit the part of an operator. A sort counts each twice, and needs two of every run that it merges.
const BATCHES: usize = 8;

/// What a value of variable length takes, where nothing is known about it.
const VALUE: usize = 64;

/// The part of each operator, which scans learn from the configuration of a running plan.
pub(crate) struct Part(pub(crate) usize);

/// The operators of a plan that hold memory at the same time, in all partitions.
#[derive(Debug, Default, PartialEq, Eq)]
struct Operators {
    /// Those that spill.
    spilling: usize,
    /// Merges of what they have spilled.
    merging: usize,
    /// The bytes of the widest row that is sorted.
    row: usize,
}

impl Operators {
    fn of(plan: &Arc<dyn ExecutionPlan>) -> Result<Self> {
        let mut all = Self::default();
        plan.apply(|node| {
            all.add(&**node);
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(all)
    }

    fn add(&mut self, node: &dyn ExecutionPlan) {
        let partitions = node.output_partitioning().partition_count();
        if let Some(sort) = node.downcast_ref::<SortExec>() {
            // With a limit it keeps that many rows, and never spills.
            if sort.fetch().is_none() {
                let sorts = sort.input().output_partitioning().partition_count();
                self.spilling += sorts;
                self.merging += sorts;
                self.row = self.row.max(row(&node.schema()));
            }
        } else if node.is::<SortMergeJoinExec>() {
            self.merging += partitions;
        } else if node.is::<RepartitionExec>() || node.is::<AggregateExec>() {
            self.spilling += partitions;
        }
    }

    /// Whether sorts compete with each other, and not only with the other partitions of the same one.
    fn is_crowded(&self, threads: usize) -> bool {
        self.merging > threads
    }
}

/// The bytes of a row with these columns, roughly.
fn row(schema: &Schema) -> usize {
    fn value(data_type: &DataType) -> usize {
        match data_type {
            DataType::Struct(fields) => fields.iter().map(|field| value(field.data_type())).sum(),
            DataType::Boolean | DataType::Null => 1,
            DataType::FixedSizeBinary(width) => usize::try_from(*width).unwrap_or(VALUE),
            other => other.primitive_width().unwrap_or(VALUE),
        }
    }
    schema.fields().iter().map(|field| value(field.data_type())).sum()
}

/// Starts a plan. Where `memory` is bounded, its batches and what its sorts reserve fit the number of its operators.
pub(crate) async fn start(
    mut state: SessionState,
    plan: &LogicalPlan,
    memory: Option<usize>,
) -> Result<SendableRecordBatchStream> {
    let mut physical = state.create_physical_plan(plan).await?;
    if let Some(memory) = memory {
        let operators = Operators::of(&physical)?;
        if operators.is_crowded(state.config().target_partitions()) {
            let part = pool::part(memory, operators.spilling, operators.merging);
            let config = state.config_mut();
            config.set_extension(Arc::new(Part(part)));
            let options = &mut config.options_mut().execution;
            options.sort_spill_reservation_bytes = options.sort_spill_reservation_bytes.min(part);
            // Sorted in place, rows may take more than their batches did; merged, they never do.
            options.sort_in_place_threshold_bytes = options.sort_in_place_threshold_bytes.min(part / 4);
            let most = options.batch_size.get();
            let rows = (part / (BATCHES * operators.row.max(1))).clamp(FEWEST_ROWS.min(most), most);
            if rows < most {
                options.batch_size = ConfigNonZeroUsize::try_new(rows)?;
                // Some operators take the size of their batches from the planner.
                physical = state.create_physical_plan(plan).await?;
            }
            physical = compact::below_sorts(physical)?;
        }
    }
    execute_stream(physical, Arc::new(TaskContext::from(&state)))
}
