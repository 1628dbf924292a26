//! The current state of a filter that changes while a plan runs, as a predicate that prunes.

use std::sync::Arc;

use arrow_schema::Schema;
use datafusion::common::Column;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions as physical;
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;
use tesselle::Predicate;

use crate::filter::translate;

/// The most values of a list that are compared with the bounds of each chunk. A longer list comes with bounds of its own that
/// prune, and the filter itself looks its values up.
const LONGEST: usize = 16;

/// A predicate that is true for every row for which the filter is true now; `None` if it has no condition on single columns.
pub(super) fn current(filter: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Predicate> {
    let now = snapshot_physical_expr(Arc::clone(filter)).ok()?;
    Some(translate(&implied(&now)?, schema)?.predicate)
}

/// An expression that is true wherever `expr` is true.
fn implied(expr: &Arc<dyn PhysicalExpr>) -> Option<Expr> {
    if let Some(binary) = expr.downcast_ref::<physical::BinaryExpr>() {
        let (left, right) = (binary.left(), binary.right());
        return match binary.op() {
            Operator::And => match (implied(left), implied(right)) {
                (Some(left), Some(right)) => Some(left.and(right)),
                (one, other) => one.or(other),
            },
            Operator::Or => Some(implied(left)?.or(implied(right)?)),
            op if op.supports_propagation() => {
                let (left, right) = (Box::new(plain(left)?), Box::new(plain(right)?));
                Some(Expr::BinaryExpr(BinaryExpr { left, op: *op, right }))
            }
            _ => None,
        };
    }
    if let Some(list) = expr.downcast_ref::<physical::InListExpr>() {
        if list.list().len() > LONGEST {
            return None;
        }
        let (tested, negated) = (Box::new(plain(list.expr())?), list.negated());
        let list = list.list().iter().map(plain).collect::<Option<Vec<Expr>>>()?;
        return Some(Expr::InList(InList { expr: tested, list, negated }));
    }
    if let Some(case) = expr.downcast_ref::<physical::CaseExpr>() {
        // One of the branches is its value.
        let branches = case.when_then_expr().iter().map(|(_, then)| then).chain(case.else_expr());
        let branches = branches.map(implied).collect::<Option<Vec<Expr>>>()?;
        return branches.into_iter().reduce(Expr::or);
    }
    if let Some(inner) = expr.downcast_ref::<physical::IsNullExpr>() {
        return Some(plain(inner.arg())?.is_null());
    }
    plain(expr)
}

/// A column or a literal.
fn plain(expr: &Arc<dyn PhysicalExpr>) -> Option<Expr> {
    if let Some(column) = expr.downcast_ref::<physical::Column>() {
        return Some(Expr::Column(Column::new_unqualified(column.name())));
    }
    let literal = expr.downcast_ref::<physical::Literal>()?;
    Some(Expr::Literal(literal.value().clone(), None))
}
