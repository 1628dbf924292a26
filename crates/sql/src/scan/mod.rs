//! A scan as a physical plan: its partitions are runs of tasks.

mod partition;

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow_schema::{SchemaRef, SortOptions};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, ReplaceChildrenOptions};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use partition::{Counts, Partition};
use tesselle::core::{Plan, Task};
use tesselle::{Driver, Predicate, RunStats, Scan, Table};

use crate::error::external;
use crate::statistics::{statistics, value_count};

/// A scan, and the work left to do on its batches.
pub(crate) struct Request {
    /// The scan of the table; its columns start with those of `schema`.
    pub(crate) scan: Scan,
    /// The output columns.
    pub(crate) schema: SchemaRef,
    /// The part of the predicate that the table may not have applied.
    pub(crate) residual: Option<Predicate>,
    /// Maximum useful rows of each partition.
    pub(crate) limit: Option<u64>,
}

/// The statistics of columns, and the number of values of each.
type Known = (Statistics, Vec<Option<usize>>);

/// Reads the tasks of one plan.
pub(crate) struct ScanExec {
    table: Arc<dyn Table>,
    driver: Driver,
    request: Arc<Request>,
    statistics: Arc<Statistics>,
    /// The number of values of each column, if known; empty if rows are skipped.
    values: Vec<Option<usize>>,
    /// The same of the rows that the predicate selects, when asked for.
    selected: OnceLock<Option<Known>>,
    planned: RunStats,
    groups: Vec<Range<usize>>,
    /// The tasks of the plan, each taken once; another execution plans again.
    tasks: Mutex<Vec<Option<Box<dyn Task>>>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl ScanExec {
    /// Plans the scan for at most this many partitions.
    pub(crate) fn new(
        table: Arc<dyn Table>,
        driver: Driver,
        request: Request,
        statistics: Statistics,
        partitions: usize,
    ) -> tesselle::Result<Self> {
        let plan = table.plan(&request.scan)?;
        let planned = plan.stats();
        let groups = plan.runs(affordable(&plan, partitions, driver.budget().total()));
        let tasks = Mutex::new(plan.tasks.into_iter().map(Some).collect());
        let properties = Arc::new(PlanProperties::new(
            equivalence(&*table, &request.schema),
            Partitioning::UnknownPartitioning(groups.len()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        ));
        let metrics = ExecutionPlanMetricsSet::new();
        let (request, statistics) = (Arc::new(request), Arc::new(statistics));
        Ok(Self {
            table,
            driver,
            request,
            statistics,
            values: Vec::new(),
            selected: OnceLock::new(),
            planned,
            groups,
            tasks,
            properties,
            metrics,
        })
    }

    /// Sets the number of values of the columns of the whole table.
    pub(crate) fn with_values(mut self, values: Vec<Option<usize>>) -> Self {
        self.values = values;
        self
    }

    /// The statistics of the columns and the number of values of each, if metadata has them for exactly the rows of the
    /// scan.
    pub(crate) fn known(&self) -> Option<(&Statistics, &[Option<usize>])> {
        if let Some(predicate) = &self.request.scan.predicate {
            let selected = self.selected.get_or_init(|| self.select(predicate));
            return selected.as_ref().map(|(statistics, values)| (statistics, values.as_slice()));
        }
        let whole = self.values.len() == self.request.schema.fields().len();
        whole.then_some((&*self.statistics, &*self.values))
    }

    fn select(&self, predicate: &Predicate) -> Option<Known> {
        let Request { schema, residual: None, limit: None, .. } = &*self.request else { return None };
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let known = self.table.stats_where(&names, predicate)?;
        let values = names.iter().map(|name| value_count(&known, name)).collect();
        Some((statistics(&known, schema), values))
    }

    /// The tasks of one partition: those of the first plan, or of a new one if they have already run.
    fn take(&self, partition: usize) -> tesselle::Result<Vec<Box<dyn Task>>> {
        let range = self.groups.get(partition).cloned().unwrap_or_default();
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let slots = tasks.get_mut(range.clone()).unwrap_or_default();
        let taken: Vec<_> = slots.iter_mut().filter_map(Option::take).collect();
        if taken.len() == range.len() {
            return Ok(taken);
        }
        drop(tasks);
        let plan = self.table.plan(&self.request.scan)?;
        Ok(plan.tasks.into_iter().skip(range.start).take(range.len()).collect())
    }
}

/// How many partitions may be in progress at once within `memory`.
fn affordable(plan: &Plan, partitions: usize, memory: u64) -> usize {
    let largest = plan.tasks.iter().map(|task| task.cost().memory).max().unwrap_or(0).max(1);
    partitions.min(usize::try_from(memory / largest).unwrap_or(usize::MAX)).max(1)
}

/// The order guaranteed by the table, as far as its columns are read.
fn equivalence(table: &dyn Table, schema: &SchemaRef) -> EquivalenceProperties {
    let mut properties = EquivalenceProperties::new(Arc::clone(schema));
    let options = SortOptions { descending: false, nulls_first: false };
    let ordering: Vec<PhysicalSortExpr> = table
        .sort_columns()
        .iter()
        .map_while(|name| schema.index_of(name).ok().map(|index| (name, index)))
        .map(|(name, index)| PhysicalSortExpr::new(Arc::new(Column::new(name, index)), options))
        .collect();
    if !ordering.is_empty() {
        properties.add_ordering(ordering);
    }
    properties
}

impl fmt::Debug for ScanExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScanExec")
            .field("table", &self.table.name())
            .field("scan", &self.request.scan)
            .finish_non_exhaustive()
    }
}

impl DisplayAs for ScanExec {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RunStats { pieces, pruned, .. } = self.planned;
        let names: Vec<&str> =
            self.request.schema.fields().iter().map(|field| field.name().as_str()).collect();
        let mut facts = vec![
            format!("chunks={pieces}"),
            format!("pruned={pruned}"),
            format!("read={}", pieces.saturating_sub(pruned)),
            format!("partitions={}", self.groups.len()),
            format!("columns=[{}]", names.join(", ")),
        ];
        if !self.table.name().is_empty() {
            facts.insert(0, format!("table={}", self.table.name()));
        }
        if let Some(predicate) = &self.request.scan.predicate {
            facts.push(format!("predicate={predicate}"));
        }
        if let Some(residual) = &self.request.residual {
            facts.push(format!("filter={residual}"));
        }
        if let Some(limit) = self.request.limit {
            facts.push(format!("limit={limit}"));
        }
        match kind {
            DisplayFormatType::TreeRender => f.write_str(&facts.join("\n")),
            _ => write!(f, "TesselleScan: {}", facts.join(", ")),
        }
    }
}

impl ExecutionPlan for ScanExec {
    fn name(&self) -> &'static str {
        "TesselleScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, partition: usize, _context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let tasks = self.take(partition).map_err(external)?;
        let counts = Counts::new(&self.metrics, partition);
        Ok(Partition::new(&self.driver, self.table.storage(), Arc::clone(&self.request), tasks, counts)
            .stream())
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        _inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        Ok(match args.partition() {
            None => Arc::clone(&self.statistics),
            Some(_) => Arc::new(Statistics::new_unknown(&self.request.schema)),
        })
    }
}
