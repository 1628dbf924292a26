//! Times in quotes where they meet columns of times.
//!
//! DataFusion converts both sides of such a comparison to nanoseconds, which end in the year 2262, and fails on
//! `9999-12-31`, which stands for no end in many tables; of a time that is compared with dates it takes the day. Here a
//! literal gets the unit of the column, if it is a whole number of it, and a date is the beginning of its day.

use std::sync::Arc;

use arrow_array::timezone::Tz;
use arrow_cast::parse::string_to_datetime;
use arrow_schema::{DataType, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{Between, BinaryExpr, Cast, Expr, ExprSchemable, cast, lit};
use tesselle::core::per_second;

use crate::decimals::is_constant;

const DAY: i64 = 86_400;
const SECOND: i128 = 1_000_000_000;

/// Gives times in quotes the unit of the column that they are compared with.
#[derive(Debug)]
pub(crate) struct TimesOfColumns;

impl FunctionRewrite for TimesOfColumns {
    fn name(&self) -> &'static str {
        "times_of_columns"
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema, _: &ConfigOptions) -> Result<Transformed<Expr>> {
        let changed = match &expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if op.supports_propagation() => {
                let ordered = pair(left, right, schema);
                let sides = ordered.or_else(|| pair(right, left, schema).map(|(right, left)| (left, right)));
                sides.map(|(left, right)| {
                    Expr::BinaryExpr(BinaryExpr { left: Box::new(left), op: *op, right: Box::new(right) })
                })
            }
            Expr::Between(Between { expr, negated, low, high }) => together(expr, &[&**low, &**high], schema)
                .and_then(|(expr, bounds)| {
                    let [low, high] = <[Expr; 2]>::try_from(bounds).ok()?.map(Box::new);
                    Some(Expr::Between(Between { expr: Box::new(expr), negated: *negated, low, high }))
                }),
            Expr::InList(InList { expr, list, negated }) => {
                let all: Vec<&Expr> = list.iter().collect();
                together(expr, &all, schema).map(|(expr, list)| {
                    Expr::InList(InList { expr: Box::new(expr), list, negated: *negated })
                })
            }
            _ => None,
        };
        Ok(changed.map_or_else(|| Transformed::no(expr), Transformed::yes))
    }
}

/// A column of times and what it is compared with, in one unit.
fn pair(column: &Expr, other: &Expr, schema: &DFSchema) -> Option<(Expr, Expr)> {
    if let Some((column, mut others)) = together(column, &[other], schema) {
        return Some((column, others.pop()?));
    }
    match (column.get_type(schema).ok()?, other.get_type(schema).ok()?) {
        (DataType::Timestamp(TimeUnit::Nanosecond, _), _) => None,
        (times @ DataType::Timestamp(_, None), DataType::Date32) => {
            Some((column.clone(), cast(other.clone(), times)))
        }
        _ => None,
    }
}

/// A column of times and literals in its unit; `None` where DataFusion's own conversion loses nothing, or is the only one.
fn together(column: &Expr, others: &[&Expr], schema: &DFSchema) -> Option<(Expr, Vec<Expr>)> {
    if is_constant(column) {
        return None;
    }
    let (column, unit, zone) = match column.get_type(schema).ok()? {
        DataType::Timestamp(unit, zone) if unit != TimeUnit::Nanosecond => (column.clone(), unit, zone),
        DataType::Date32 => {
            let is_day = |other: &&Expr| matches!(other, Expr::Literal(..)) && is_midnight(other);
            if others.iter().all(is_day) {
                return None;
            }
            let unit = TimeUnit::Millisecond;
            (cast(column.clone(), DataType::Timestamp(unit, None)), unit, None)
        }
        _ => return None,
    };
    let literals = others.iter().map(|other| Time::of(other, zone.as_ref())?.literal(unit, zone.as_ref()));
    Some((column, literals.collect::<Option<Vec<Expr>>>()?))
}

fn is_midnight(literal: &Expr) -> bool {
    Time::of(literal, None).is_some_and(|time| time.seconds.rem_euclid(DAY) == 0 && time.nanos == 0)
}

/// A point in time.
struct Time {
    seconds: i64,
    nanos: u32,
}

impl Time {
    /// The time that a string or `TIMESTAMP '…'` states; a string without a zone is in that of the column.
    fn of(literal: &Expr, zone: Option<&Arc<str>>) -> Option<Self> {
        let text = match literal {
            Expr::Literal(value, _) => value,
            Expr::Cast(Cast { expr, field })
                if zone.is_none()
                    && *field.data_type() == DataType::Timestamp(TimeUnit::Nanosecond, None) =>
            {
                expr.as_literal()?
            }
            _ => return None,
        };
        let text = text.try_as_str()??;
        let zone: Tz = zone.map_or("+00:00", |zone| zone).parse().ok()?;
        let time = string_to_datetime(&zone, text.trim()).ok()?;
        Some(Self { seconds: time.timestamp(), nanos: time.timestamp_subsec_nanos() })
    }

    /// The literal of this unit; `None` if the time is not a whole number of it.
    fn literal(&self, unit: TimeUnit, zone: Option<&Arc<str>>) -> Option<Expr> {
        let nanos = i128::from(self.seconds) * SECOND + i128::from(self.nanos);
        let factor = SECOND / i128::from(per_second(unit));
        let count = Some(i64::try_from(nanos / factor).ok().filter(|_| nanos % factor == 0)?);
        let zone = zone.cloned();
        Some(lit(match unit {
            TimeUnit::Second => ScalarValue::TimestampSecond(count, zone),
            TimeUnit::Millisecond => ScalarValue::TimestampMillisecond(count, zone),
            TimeUnit::Microsecond => ScalarValue::TimestampMicrosecond(count, zone),
            TimeUnit::Nanosecond => ScalarValue::TimestampNanosecond(count, zone),
        }))
    }
}
