//! `IN` lists that the optimizer would combine wrongly.
//!
//! DataFusion combines two lists of one expression by what is written in them: it takes `a IN (b) AND a IN (c)` for false, though
//! the columns may be equal, ignores that a list with NULL never excludes a value, and that an empty list is NULL for NULL.
//! Here lists contain constants only, everything else is a comparison of its own, and two lists without a common value have the
//! answer of SQL.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, binary_expr, lit};

use crate::decimals::is_constant;

/// Leaves lists that can be combined by what is written in them.
#[derive(Debug)]
pub(crate) struct ListsOfConstants;

impl FunctionRewrite for ListsOfConstants {
    fn name(&self) -> &'static str {
        "lists_of_constants"
    }

    fn rewrite(&self, expr: Expr, _: &DFSchema, _: &ConfigOptions) -> Result<Transformed<Expr>> {
        Ok(match expr {
            Expr::InList(list) if !list.list.iter().all(is_plain) => Transformed::yes(split(list)),
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => match without_common_value(&left, op, &right)
            {
                Some(answer) => Transformed::yes(answer),
                None => Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })),
            },
            other => Transformed::no(other),
        })
    }
}

fn is_plain(item: &Expr) -> bool {
    is_constant(item) && !matches!(item, Expr::Literal(value, _) if value.is_null())
}

/// `a IN (1, b)` as `a IN (1) OR a = b`, and `a NOT IN (1, b)` as `a NOT IN (1) AND a <> b`.
fn split(InList { expr, list, negated }: InList) -> Expr {
    let (compare, join) =
        if negated { (Operator::NotEq, Operator::And) } else { (Operator::Eq, Operator::Or) };
    let (plain, others): (Vec<Expr>, Vec<Expr>) = list.into_iter().partition(is_plain);
    let listed =
        (!plain.is_empty()).then(|| Expr::InList(InList { expr: expr.clone(), list: plain, negated }));
    let others = others.into_iter().map(|other| match other {
        // Compared with NULL, nothing is true or false.
        Expr::Literal(value, _) if value.is_null() => lit(ScalarValue::Boolean(None)),
        other => binary_expr((*expr).clone(), compare, other),
    });
    let parts = listed.into_iter().chain(others);
    parts.reduce(|all, part| binary_expr(all, join, part)).unwrap_or_else(|| lit(negated))
}

/// The answer for two lists of one expression where no value is in both, or no value remains: false or true for every value, NULL
/// for NULL.
fn without_common_value(left: &Expr, op: Operator, right: &Expr) -> Option<Expr> {
    let (Expr::InList(a), Expr::InList(b)) = (left, right) else { return None };
    if a.expr != b.expr || a.expr.is_volatile() || !are_comparable(a.list.iter().chain(&b.list)) {
        return None;
    }
    let has = |list: &InList, item: &Expr| list.list.contains(item);
    let is_empty = match (op, a.negated, b.negated) {
        (Operator::And, false, false) | (Operator::Or, true, true) => !a.list.iter().any(|item| has(b, item)),
        (Operator::And, false, true) => a.list.iter().all(|item| has(b, item)),
        (Operator::And, true, false) => b.list.iter().all(|item| has(a, item)),
        _ => false,
    };
    let null = || lit(ScalarValue::Boolean(None));
    let expr = || (*a.expr).clone();
    is_empty.then(|| match op {
        Operator::Or => binary_expr(expr().is_not_null(), Operator::Or, null()),
        _ => binary_expr(expr().is_null(), Operator::And, null()),
    })
}

/// Whether these are literals of one type, which are equal only if they are the same.
fn are_comparable<'a>(mut items: impl Iterator<Item = &'a Expr>) -> bool {
    let literal = |item: &'a Expr| match item {
        Expr::Literal(value, _) if !value.data_type().is_floating() => Some(value.data_type()),
        _ => None,
    };
    let Some(first) = items.next().and_then(literal) else { return false };
    items.all(|item| literal(item).as_ref() == Some(&first))
}
