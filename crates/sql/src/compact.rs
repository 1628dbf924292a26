//! Strings in buffers of their own, below sorts that share the memory with others.
//!
//! Views of a few rows keep buffers that are far larger than these rows: those of the page that they were decoded from, or the
//! blocks of a mebibyte that operators collect strings in. A sort counts them for each batch.

use std::fmt;
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Schema};
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult as _, TreeNode as _, TreeNodeRecursion};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PhysicalExpr, PlanProperties};
use futures::StreamExt as _;

/// Puts a [`Compact`] below each sort of a plan that has views.
pub(crate) fn below_sorts(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| {
        let Some(sort) = node.downcast_ref::<SortExec>() else { return Ok(Transformed::no(node)) };
        if !has_views(&sort.input().schema()) {
            return Ok(Transformed::no(node));
        }
        let input = Arc::new(Compact(Arc::clone(sort.input())));
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        Ok(Transformed::yes(Arc::clone(&node).replace_children(vec![input], options)?))
    })
    .data()
}

fn has_views(schema: &Schema) -> bool {
    schema.fields().iter().any(|field| is_view(field.data_type()))
}

const fn is_view(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8View | DataType::BinaryView)
}

/// The same rows, with views of buffers of just their length.
pub(crate) fn compact(batch: &RecordBatch) -> Result<RecordBatch> {
    let columns = batch.columns().iter().map(|column| match column.data_type() {
        DataType::Utf8View => Arc::new(column.as_string_view().gc()) as ArrayRef,
        DataType::BinaryView => Arc::new(column.as_binary_view().gc()),
        _ => Arc::clone(column),
    });
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(batch.schema(), columns.collect(), &options)?)
}

/// The rows of an operator, each batch compacted.
#[derive(Debug)]
struct Compact(Arc<dyn ExecutionPlan>);

impl Compact {
    /// The same for other rows.
    fn over(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Arc<dyn ExecutionPlan> {
        match children.into_iter().next() {
            Some(child) => Arc::new(Self(child)),
            None => self,
        }
    }
}

impl DisplayAs for Compact {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CompactExec")
    }
}

impl ExecutionPlan for Compact {
    fn name(&self) -> &'static str {
        "CompactExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.0.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.0]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn apply_expressions(
        &self,
        _visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self.over(children))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self.over(children))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.0.execute(partition, context)?.map(|batch| compact(&batch?));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.0.schema(), rows)))
    }
}
