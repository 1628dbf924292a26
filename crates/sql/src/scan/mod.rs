//! A scan as a physical plan: its partitions are runs of tasks.

mod current;
mod partition;
mod pushed;
mod work;

use std::fmt;
use std::sync::{Arc, OnceLock};

use arrow_schema::{SchemaRef, SortOptions};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{
    Boundedness, EmissionType, ReplaceChildrenOptions, apply_expression_roots,
};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterDescription, FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr, all_alias_free_columns};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use partition::{BatchSize, Counts, Partition};
use pushed::Pushed;
use tesselle::core::{Plan, Pushdown};
use tesselle::{Driver, Predicate, RunStats, Scan, Table};
use work::Work;

use crate::error::external;
use crate::parts::Part;
use crate::statistics::{filtered, statistics, value_count};

/// A batch above this part of the memory of all operators is not shared between them.
const SHARES: usize = 64;

/// The same of the part of one operator, where many have to share the memory.
const SHARES_OF_PART: usize = 8;

/// A scan, and the work left to do on its batches.
#[derive(Clone)]
pub(crate) struct Request {
    /// The scan of the table; its columns start with those of `schema`.
    pub(crate) scan: Scan,
    /// The output columns.
    pub(crate) schema: SchemaRef,
    /// The part of the predicate that the table may not have applied.
    pub(crate) residual: Option<Predicate>,
    /// Maximum useful rows of each partition.
    pub(crate) limit: Option<u64>,
    /// Whether filters of the plan may become conditions of the scan.
    pub(crate) takes_filters: bool,
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
    /// Filters of the plan that the table applies; part of the predicate.
    filters: Vec<Pushed>,
    work: Arc<Work>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl ScanExec {
    /// Plans the scan for at most this many partitions.
    pub(crate) fn try_new(
        table: Arc<dyn Table>,
        driver: Driver,
        request: Request,
        statistics: Statistics,
        partitions: usize,
    ) -> tesselle::Result<Self> {
        let plan = table.plan(&request.scan)?;
        let planned = plan.stats();
        let groups = plan.runs(affordable(&plan, partitions, driver.budget().total()));
        let properties = Arc::new(PlanProperties::new(
            equivalence(&*table, &request.schema),
            Partitioning::UnknownPartitioning(groups.len()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        ));
        let (request, statistics) = (Arc::new(request), Arc::new(statistics));
        let work = Arc::new(Work::new(Arc::clone(&table), Arc::clone(&request), plan, groups));
        Ok(Self {
            table,
            driver,
            request,
            statistics,
            values: Vec::new(),
            selected: OnceLock::new(),
            planned,
            filters: Vec::new(),
            work,
            properties,
            metrics: ExecutionPlanMetricsSet::new(),
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
        if !self.work.dynamic().is_empty() {
            return None;
        }
        if let Some(predicate) = &self.request.scan.predicate {
            let selected = self.selected.get_or_init(|| self.select(predicate));
            return selected.as_ref().map(|(statistics, values)| (statistics, values.as_slice()));
        }
        let whole = self.values.len() == self.request.schema.fields().len();
        whole.then_some((&*self.statistics, &*self.values))
    }

    fn select(&self, predicate: &Predicate) -> Option<Known> {
        let Request { schema, residual: None, limit: None, .. } = &*self.request else { return None };
        if !self.filters.is_empty() {
            return None;
        }
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let known = self.table.stats_where(&names, predicate)?;
        let values = names.iter().map(|name| value_count(&known, name)).collect();
        Some((statistics(&known, schema), values))
    }

    /// The same scan of another request.
    fn again(&self, request: Request, statistics: Statistics) -> tesselle::Result<Self> {
        let partitions = self.properties.output_partitioning().partition_count();
        let exec = Self::try_new(
            Arc::clone(&self.table),
            self.driver.clone(),
            request,
            statistics,
            partitions.max(1),
        )?;
        Ok(Self { filters: self.filters.clone(), ..exec })
    }

    /// Whether a filter may drop rows of the scan: not if only some of them are requested.
    fn takes_filters(&self) -> bool {
        self.request.takes_filters && self.request.limit.is_none()
    }

    /// The scan with those of the filters that the table applies to its rows, and which they are.
    fn absorb(&self, filters: &[Arc<dyn PhysicalExpr>]) -> Result<Option<(Self, Vec<PushedDown>)>> {
        let mut parts: Vec<Predicate> = self.request.scan.predicate.iter().cloned().collect();
        let (mut taken, mut answers) = (Vec::new(), Vec::with_capacity(filters.len()));
        for filter in filters {
            let pushed = Pushed::new(filter, &self.request.schema);
            let pushed = pushed.filter(|pushed| self.table.pushdown(&pushed.predicate()) == Pushdown::Exact);
            answers.push(if pushed.is_some() { PushedDown::Yes } else { PushedDown::No });
            taken.extend(pushed);
        }
        parts.extend(taken.iter().map(Pushed::predicate));
        let predicate = Predicate::And(parts);
        let usable = self.takes_filters() && self.request.residual.is_none();
        if !usable || taken.is_empty() || self.table.pushdown(&predicate) != Pushdown::Exact {
            return Ok(None);
        }
        let schema = &self.request.schema;
        let statistics =
            filtered(schema, &self.statistics, taken.iter().map(|filter| Arc::clone(filter.expr())));
        let mut request = (*self.request).clone();
        request.scan.predicate = Some(predicate);
        let mut exec = self.again(request, statistics).map_err(external)?;
        exec.filters.extend(taken);
        Ok(Some((exec, answers)))
    }

    /// The scan with filters that other operators learn while the plan runs.
    fn listen(&self, filters: &[Arc<dyn PhysicalExpr>]) -> Option<Self> {
        let mut dynamic = self.work.dynamic().to_vec();
        let schema = self.table.schema();
        let own = filters
            .iter()
            .filter_map(|filter| Pushed::dynamic(filter, &self.request.schema, Arc::clone(&schema)));
        dynamic.extend(own.take_while(|_| self.takes_filters()));
        (dynamic.len() > self.work.dynamic().len()).then(|| self.planned_later(dynamic))
    }

    /// The same scan, planned when its first partition starts, with these filters of other operators.
    fn planned_later(&self, dynamic: Vec<Pushed>) -> Self {
        Self {
            table: Arc::clone(&self.table),
            driver: self.driver.clone(),
            request: Arc::clone(&self.request),
            statistics: Arc::new(self.statistics.as_ref().clone().to_inexact()),
            values: Vec::new(),
            selected: OnceLock::new(),
            planned: self.planned,
            filters: self.filters.clone(),
            work: Arc::new(self.work.later(dynamic)),
            properties: Arc::clone(&self.properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// The scan of fewer columns, or of the same in another order.
    fn projected(&self, columns: &[usize]) -> Result<Option<Self>> {
        let repeats = (1..columns.len()).any(|at| columns[..at].contains(&columns[at]));
        if repeats || self.request.residual.is_some() || !self.work.dynamic().is_empty() {
            return Ok(None);
        }
        let schema = Arc::new(self.request.schema.project(columns)?);
        let names = schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
        let mut request = Request { schema, ..(*self.request).clone() };
        request.scan.columns = Some(names);
        let statistics = self.statistics.as_ref().clone().project(Some(&columns.to_vec()));
        let mut exec = self.again(request, statistics).map_err(external)?;
        if !self.values.is_empty() {
            exec.values = columns.iter().map(|at| self.values.get(*at).copied().flatten()).collect();
        }
        Ok(Some(exec))
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
            format!("partitions={}", self.properties.output_partitioning().partition_count()),
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
        for filter in self.work.dynamic() {
            facts.push(format!("learns={filter}"));
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
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        apply_expression_roots(self.filters.iter().chain(self.work.dynamic()).map(Pushed::expr), visit)
    }

    fn gather_filters_for_pushdown(
        &self,
        _phase: FilterPushdownPhase,
        _filters: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterDescription> {
        // There is nothing below a scan.
        Ok(FilterDescription::new())
    }

    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        found: ChildPushdownResult,
        _config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let filters: Vec<_> = found.parent_filters.iter().map(|found| Arc::clone(&found.filter)).collect();
        let refused =
            || FilterPushdownPropagation::with_parent_pushdown_result(vec![PushedDown::No; filters.len()]);
        match phase {
            FilterPushdownPhase::Pre => Ok(match self.absorb(&filters)? {
                Some((exec, answers)) => FilterPushdownPropagation::with_parent_pushdown_result(answers)
                    .with_updated_node(Arc::new(exec) as Arc<dyn ExecutionPlan>),
                None => refused(),
            }),
            // The operators that learn these filters still apply them.
            FilterPushdownPhase::Post => Ok(match self.listen(&filters) {
                Some(exec) => refused().with_updated_node(Arc::new(exec) as Arc<dyn ExecutionPlan>),
                None => refused(),
            }),
        }
    }

    fn try_swapping_with_projection(
        &self,
        projection: &ProjectionExec,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if !all_alias_free_columns(projection.expr()) {
            return Ok(None);
        }
        let index = |column: &ProjectionExpr| column.expr.downcast_ref::<Column>().map(Column::index);
        let Some(columns) = projection.expr().iter().map(index).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        Ok(self.projected(&columns)?.map(|exec| Arc::new(exec) as Arc<dyn ExecutionPlan>))
    }

    /// What operators learned in an earlier execution is not true of the next one.
    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        let dynamic = self.work.dynamic().to_vec();
        if dynamic.is_empty() {
            return Ok(self);
        }
        Ok(Arc::new(self.planned_later(dynamic)))
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

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let counts = Counts::new(&self.metrics, partition);
        let memory = match context.memory_pool().memory_limit() {
            MemoryLimit::Finite(memory) => memory,
            MemoryLimit::Infinite | MemoryLimit::Unknown => usize::MAX,
        };
        let config = context.session_config();
        let part = config.get_extension::<Part>().map_or(usize::MAX, |part| part.0 / SHARES_OF_PART);
        let size = BatchSize { rows: config.batch_size().max(1), shared: part.min(memory / SHARES) };
        let (work, request) = (Arc::clone(&self.work), Arc::clone(&self.request));
        let tasks = move || work.take(partition);
        Ok(Partition::new(&self.driver, self.table.storage(), request, Box::new(tasks), size, counts)
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
