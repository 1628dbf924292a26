//! A Tesselle table as a DataFusion table provider.

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DFSchema, Result, Statistics};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use tesselle::core::Pushdown;
use tesselle::{Driver, Opener, Predicate, Scan, Table};

use crate::error::external;
use crate::filter::{Translated, translate};
use crate::scan::{Request, ScanExec};
use crate::statistics::{filtered, statistics, value_count};

/// Scans limited to this many rows are read by one partition: the first rows of the file, and no others.
const FEW_ROWS: usize = 100_000;

/// The file that a table is in, and how it was opened.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    pub(crate) uri: String,
    pub(crate) opener: Opener,
}

/// A [`Table`] that DataFusion can query.
pub struct TesselleTable {
    table: Arc<dyn Table>,
    origin: Option<Origin>,
    driver: Driver,
    pushdown: bool,
}

impl std::fmt::Debug for TesselleTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TesselleTable").field("table", &self.table.name()).finish_non_exhaustive()
    }
}

impl TesselleTable {
    /// Queries `table` with the budget of `driver`.
    pub fn new(table: Arc<dyn Table>, driver: Driver) -> Self {
        Self { table, origin: None, driver, pushdown: true }
    }

    /// Reads everything and lets DataFusion filter, limit and count: the reference for results with pushdown.
    #[must_use]
    pub fn without_pushdown(mut self) -> Self {
        self.pushdown = false;
        self
    }

    /// With the file that the table is in.
    pub(crate) fn in_file(mut self, origin: Option<Origin>) -> Self {
        self.origin = origin;
        self
    }

    /// The file that the table is in, where it is one, and answers may rely on its metadata.
    pub(crate) fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref().filter(|_| self.pushdown)
    }

    pub(crate) fn table(&self) -> &Arc<dyn Table> {
        &self.table
    }

    /// How well the table answers one filter by itself.
    fn support(&self, filter: &Expr) -> TableProviderFilterPushDown {
        let Some(Translated { predicate, exact }) = self.translate(filter) else {
            return TableProviderFilterPushDown::Unsupported;
        };
        match self.table.pushdown(&predicate) {
            Pushdown::Exact if exact => TableProviderFilterPushDown::Exact,
            Pushdown::Exact | Pushdown::Inexact => TableProviderFilterPushDown::Inexact,
            Pushdown::None => TableProviderFilterPushDown::Unsupported,
        }
    }

    fn translate(&self, filter: &Expr) -> Option<Translated> {
        self.pushdown.then(|| translate(filter, &self.table.schema())).flatten()
    }

    /// The statistics of all columns, with an estimate of the rows that the filters select as far as the table applies them
    /// all by itself: the planner estimates the others.
    fn estimate(&self, state: &dyn Session, filters: &[Expr], output: &Schema) -> Result<Statistics> {
        let schema = self.table.schema();
        let mut names: Vec<&str> = output.fields().iter().map(|field| field.name().as_str()).collect();
        let tested = filters.iter().flat_map(Expr::column_refs);
        names.extend(tested.map(|column| column.name.as_str()).filter(|name| output.index_of(name).is_err()));
        let known = statistics(&self.table.stats_of(&names), &schema).to_inexact();
        let columns = DFSchema::try_from(Arc::clone(&schema))?;
        let exact =
            filters.iter().filter(|filter| self.support(filter) == TableProviderFilterPushDown::Exact);
        // A filter that cannot be planned here has no estimate.
        let exact = exact.filter_map(|filter| state.create_physical_expr(filter.clone(), &columns).ok());
        Ok(filtered(&schema, &known, exact))
    }

    fn request(&self, schema: SchemaRef, filters: &[Expr], limit: Option<usize>) -> Request {
        let mut promised = Vec::new();
        let mut conditions = Vec::new();
        for filter in filters {
            let Some(Translated { predicate, .. }) = self.translate(filter) else { continue };
            if self.support(filter) == TableProviderFilterPushDown::Exact {
                promised.push(predicate.clone());
            }
            conditions.push(predicate);
        }
        let whole = promised.len() == filters.len();
        let predicate = conjunction(conditions);
        // A filter that the table applies exactly may become inexact in combination with others.
        let kept = predicate.as_ref().is_none_or(|p| self.table.pushdown(p) == Pushdown::Exact);
        let residual = if kept { None } else { conjunction(promised) };
        let mut columns: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        for name in residual.iter().flat_map(Predicate::columns) {
            if !columns.iter().any(|column| column == name) {
                columns.push(name.to_owned());
            }
        }
        // Rows that are still filtered must not be counted.
        let limit = limit.filter(|_| whole && self.pushdown).map(|n| n as u64);
        let scan = Scan::default()
            .with_columns(columns)
            .with_predicate(predicate)
            .with_limit(limit.filter(|_| residual.is_none()));
        Request { scan, schema, residual, limit, takes_filters: self.pushdown }
    }
}

fn conjunction(mut parts: Vec<Predicate>) -> Option<Predicate> {
    if parts.len() > 1 { Some(Predicate::And(parts)) } else { parts.pop() }
}

#[async_trait]
impl TableProvider for TesselleTable {
    fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = self.table.schema();
        let schema = match projection {
            Some(indices) => Arc::new(schema.project(indices)?),
            None => schema,
        };
        let mut values = Vec::new();
        let stats = if !self.pushdown {
            Statistics::new_unknown(&schema)
        } else if filters.is_empty() && limit.is_none() {
            let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            let known = self.table.stats_of(&names);
            values = names.iter().map(|name| value_count(&known, name)).collect();
            statistics(&known, &schema)
        } else {
            let all = self.estimate(state, filters, &schema)?;
            all.project(projection)
        };
        let few = limit.is_some_and(|rows| rows <= FEW_ROWS) && filters.is_empty();
        let partitions = if few { 1 } else { state.config().target_partitions() };
        let request = self.request(schema, filters, limit);
        let exec =
            ScanExec::try_new(Arc::clone(&self.table), self.driver.clone(), request, stats, partitions);
        Ok(Arc::new(exec.map_err(external)?.with_values(values)))
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(filters.iter().map(|filter| self.support(filter)).collect())
    }

    fn statistics(&self) -> Option<Statistics> {
        Some(statistics(&self.table.stats(), &self.table.schema()))
    }
}
