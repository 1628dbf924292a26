//! DataFusion's reader of Parquet, which is not told of conditions on floats.
//!
//! It leaves out files, row groups and pages by their bounds, from which Parquet leaves out NaNs; and where the bounds
//! say that all rows of a group match, it stops at a limit without looking. Rows of NaNs would be missed.

use std::fmt;
use std::sync::Arc;

use arrow_schema::{DataType, Schema};
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::config::ConfigOptions;
use datafusion::datasource::listing::PartitionedFile;

use datafusion::datasource::physical_plan::{FileOpener, FileScanConfig, FileSource};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::object_store::ObjectStore;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{DisplayFormatType, SortOrderPushdownResult};
use datafusion_datasource::morsel::Morselizer;

/// A reader that hears nothing of floats.
pub(super) struct CautiousSource(pub(super) Arc<dyn FileSource>);

impl CautiousSource {
    fn wrap(inner: Arc<dyn FileSource>) -> Arc<dyn FileSource> {
        Arc::new(Self(inner))
    }

    /// Whether an expression depends on floats.
    fn looks_at_floats(&self, expression: &Arc<dyn PhysicalExpr>) -> bool {
        let schema: &Schema = self.table_schema().table_schema();
        collect_columns(expression).iter().any(|column| {
            schema.fields().get(column.index()).is_none_or(|field| holds_floats(field.data_type()))
        })
    }
}

fn holds_floats(kind: &DataType) -> bool {
    match kind {
        DataType::Struct(fields) => fields.iter().any(|field| holds_floats(field.data_type())),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => holds_floats(item.data_type()),
        DataType::Dictionary(_, values) => holds_floats(values),
        other => other.is_floating(),
    }
}

impl FileSource for CautiousSource {
    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        let kept: Vec<bool> = filters.iter().map(|filter| !self.looks_at_floats(filter)).collect();
        let told = filters.into_iter().zip(&kept).filter(|(_, kept)| **kept).map(|(filter, _)| filter);
        let told: Vec<_> = told.collect();
        if told.is_empty() {
            return Ok(FilterPushdownPropagation::with_parent_pushdown_result(vec![
                PushedDown::No;
                kept.len()
            ]));
        }
        let answer = self.0.try_pushdown_filters(told, config)?;
        let mut answers = answer.filters.into_iter();
        let all = kept.iter().map(|kept| if *kept { answers.next() } else { None });
        Ok(FilterPushdownPropagation {
            filters: all.map(|answer| answer.unwrap_or(PushedDown::No)).collect(),
            updated_node: answer.updated_node.map(Self::wrap),
        })
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
        properties: &EquivalenceProperties,
    ) -> Result<SortOrderPushdownResult<Arc<dyn FileSource>>> {
        if order.iter().any(|sort| self.looks_at_floats(&sort.expr)) {
            return Ok(SortOrderPushdownResult::Unsupported);
        }
        Ok(self.0.try_pushdown_sort(order, properties)?.map(Self::wrap))
    }

    fn try_pushdown_projection(&self, projection: &ProjectionExprs) -> Result<Option<Arc<dyn FileSource>>> {
        Ok(self.0.try_pushdown_projection(projection)?.map(Self::wrap))
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        Self::wrap(self.0.with_batch_size(batch_size))
    }

    fn create_file_opener(
        &self,
        store: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        self.0.create_file_opener(store, config, partition)
    }

    fn create_morselizer(
        &self,
        store: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> Result<Box<dyn Morselizer>> {
        self.0.create_morselizer(store, config, partition)
    }

    fn table_schema(&self) -> &TableSchema {
        self.0.table_schema()
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        self.0.filter()
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        self.0.projection()
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        self.0.metrics()
    }

    fn file_type(&self) -> &str {
        self.0.file_type()
    }

    fn fmt_extra(&self, kind: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.fmt_extra(kind, f)
    }

    fn supports_repartitioning(&self) -> bool {
        self.0.supports_repartitioning()
    }

    fn repartitioned(
        &self,
        partitions: usize,
        min_size: usize,
        order: Option<LexOrdering>,
        config: &FileScanConfig,
    ) -> Result<Option<FileScanConfig>> {
        self.0.repartitioned(partitions, min_size, order, config)
    }

    fn reorder_files(&self, files: Vec<PartitionedFile>) -> Vec<PartitionedFile> {
        self.0.reorder_files(files)
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.0.apply_expressions(visit)
    }
}
