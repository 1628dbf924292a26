//! Titles of columns: an expression without a name is called what was written, not what it became.

use datafusion::sql::sqlparser::ast::{Expr, Ident, OrderByKind, Query, Select, SelectItem, SetExpr};

/// Names the columns of a query that have no name.
pub(super) fn name_columns(query: &mut Query) {
    let Some(select) = first_select(&mut query.body) else { return };
    let mut named: Vec<Ident> = Vec::new();
    for item in &mut select.projection {
        let SelectItem::UnnamedExpr(expr) = item else { continue };
        if let Some(title) = title(expr) {
            let alias = Ident::with_quote('"', title);
            named.push(alias.clone());
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
        }
    }
    // With DISTINCT, what rows are sorted by must be one of the columns: under its name it is. A number is a position.
    let order = query.order_by.as_mut().map(|order| &mut order.kind);
    if let Some(OrderByKind::Expressions(keys)) = order {
        for key in keys.iter_mut().filter(|key| !matches!(key.expr, Expr::Value(_))) {
            let text = key.expr.to_string();
            if let Some(column) = named.iter().find(|column| column.value == text) {
                key.expr = Expr::Identifier(column.clone());
            }
        }
    }
}

/// The part of a query whose columns name those of the whole.
fn first_select(body: &mut SetExpr) -> Option<&mut Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::SetOperation { left, .. } => first_select(left),
        SetExpr::Query(query) => first_select(&mut query.body),
        _ => None,
    }
}

/// The text of an expression; `None` where the planner's own name is as good, or where one item becomes several columns.
fn title(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Nested(inner) => title(inner),
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Subquery(_) => None,
        Expr::Function(function) if function.name.to_string().eq_ignore_ascii_case("unnest") => None,
        other => Some(other.to_string()),
    }
}
