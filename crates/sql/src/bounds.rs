//! Minimums, maximums, sums and counts from metadata, even if the number of rows is unknown, and of the rows that a
//! condition selects.
//!
//! DataFusion answers aggregates from statistics only if these state the exact number of rows. The number of rows of a
//! TsFile device with several series is the number of their distinct timestamps, which requires reading them; the
//! bounds and counts of each series are exact nevertheless.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, ScalarValue, Statistics};
use datafusion::logical_expr::StatisticsArgs;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{CastExpr, Column, Literal, lit};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateOutputMode};
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};

use crate::scan::ScanExec;

/// Operators that pass on all rows and columns of their input.
const HANDS_ON: [&str; 4] =
    ["CoalescePartitionsExec", "RepartitionExec", "CoalesceBatchesExec", "CooperativeExec"];

/// Replaces aggregates by their values from metadata.
#[derive(Debug)]
pub(crate) struct AnswerFromBounds;

impl PhysicalOptimizerRule for AnswerFromBounds {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _options: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_down(|node| {
            Ok(match answered(&node)? {
                Some(answer) => Transformed::yes(answer),
                None => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "answer_from_bounds"
    }

    /// The result is not null, though the column may be.
    fn schema_check(&self) -> bool {
        false
    }
}

/// The values of an aggregate over a whole Tesselle table.
fn answered(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(last) = plan.downcast_ref::<AggregateExec>() else { return Ok(None) };
    if last.mode().output_mode() == AggregateOutputMode::Partial {
        return Ok(None);
    }
    let Some((first, scan)) = over_a_scan(last) else { return Ok(None) };
    let mut values = Vec::new();
    for aggregate in first.aggr_expr() {
        let Some(value) = value_of(aggregate, scan) else { return Ok(None) };
        values.push(ProjectionExpr { expr: lit(value), alias: aggregate.name().to_owned() });
    }
    if values.is_empty() {
        return Ok(None);
    }
    let row = Arc::new(PlaceholderRowExec::new(plan.schema()));
    Ok(Some(Arc::new(ProjectionExec::try_new(values, row)?)))
}

/// The aggregate over the rows of a scan, and the scan, below the final aggregate; no operator between them may remove
/// rows.
fn over_a_scan(last: &AggregateExec) -> Option<(&AggregateExec, &ScanExec)> {
    let plain =
        |node: &AggregateExec| node.group_expr().is_empty() && node.filter_expr().iter().all(Option::is_none);
    let mut first = last;
    let mut below = last.input();
    loop {
        if let Some(scan) = below.downcast_ref::<ScanExec>() {
            return (plain(first) && plain(last)).then_some((first, scan));
        }
        if let Some(partial) = below.downcast_ref::<AggregateExec>() {
            first = partial;
        } else if !HANDS_ON.contains(&below.name()) || below.fetch().is_some() {
            return None;
        }
        let [only] = below.children()[..] else { return None };
        below = only;
    }
}

/// The value of an aggregate over the rows of a scan.
fn value_of(aggregate: &AggregateFunctionExpr, scan: &ScanExec) -> Option<ScalarValue> {
    let name = aggregate.fun().name();
    if !matches!(name, "min" | "max" | "count" | "sum") {
        return None;
    }
    let arguments = aggregate.expressions();
    let [argument] = arguments.as_slice() else { return None };
    let literal = argument.downcast_ref::<Literal>().filter(|literal| !literal.value().is_null());
    if literal.is_some() && name == "count" && !aggregate.is_distinct() {
        // Every row counts.
        let Precision::Exact(rows) = scan.known()?.0.num_rows else { return None };
        return i64::try_from(rows).ok().map(ScalarValue::from);
    }
    // Sums of small integers are sums of large ones, to which the planner casts them.
    let plain =
        argument.downcast_ref::<CastExpr>().filter(|_| name == "sum").map_or(argument, CastExpr::expr);
    let column = plain.downcast_ref::<Column>()?;
    let (statistics, values) = scan.known()?;
    if name == "sum" {
        let sum = statistics.column_statistics.get(column.index())?.sum_value.get_value()?;
        let usable = !aggregate.is_distinct() && sum.data_type() == *aggregate.field().data_type();
        return usable.then(|| sum.clone());
    }
    let mut of_values: Statistics = statistics.clone();
    // These aggregates skip nulls: they see a table of only the values.
    let known = of_values.column_statistics.get_mut(column.index())?;
    known.null_count = Precision::Exact(0);
    of_values.num_rows = match values.get(column.index()).copied().flatten() {
        Some(values) => Precision::Exact(values),
        // There is at least one value, or there would be no bounds.
        None if name != "count" => Precision::Exact(1),
        None => return None,
    };
    aggregate.fun().value_from_stats(&StatisticsArgs {
        statistics: &of_values,
        return_type: aggregate.field().data_type(),
        is_distinct: aggregate.is_distinct(),
        exprs: &arguments,
    })
}
