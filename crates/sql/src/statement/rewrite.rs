//! Rewriting of clauses into equivalents that the planner supports.

use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, ExactNumberInfo, Expr, Fetch, LimitClause, Query, Select,
    SelectFlavor, SelectItem, Statement as SqlStatement, UnaryOperator, Value, WildcardAdditionalOptions,
};
use tesselle::{Error, Result};

use crate::error::ours;

/// The tables of the session, without those that describe the session itself.
const TABLES: &str =
    "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' ORDER BY 1";

/// `SHOW TABLES` lists the tables that were registered or created.
pub(super) fn show_tables(statement: &mut SqlStatement) -> Result<()> {
    let SqlStatement::ShowTables { extended: false, full: false, show_options, .. } = &*statement else {
        return Ok(());
    };
    if show_options.show_in.is_some() || show_options.filter_position.is_some() {
        return Ok(());
    }
    *statement = parsed(TABLES)?;
    Ok(())
}

/// `SHOW COLUMNS FROM t` is `DESCRIBE t`: the tables that describe the session do not list files.
pub(super) fn show_columns(statement: &mut SqlStatement) -> Result<()> {
    let SqlStatement::ShowColumns { extended: false, full: false, show_options } = &*statement else {
        return Ok(());
    };
    if show_options.filter_position.is_some() {
        return Ok(());
    }
    let table = show_options.show_in.as_ref().and_then(|place| place.parent_name.as_ref());
    let Some(table) = table else { return Ok(()) };
    *statement = parsed(&format!("DESCRIBE {table}"))?;
    Ok(())
}

fn parsed(sql: &str) -> Result<SqlStatement> {
    match DFParser::parse_sql(sql).map_err(ours)?.pop_front() {
        Some(Statement::Statement(statement)) => Ok(*statement),
        _ => Err(Error::internal(format!("'{sql}' is not a statement of SQL"))),
    }
}

/// `FROM t` without `SELECT` selects all columns.
pub(super) fn from_first(select: &mut Select) {
    if select.flavor == SelectFlavor::FromFirstNoSelect && select.projection.is_empty() {
        select.projection.push(SelectItem::Wildcard(WildcardAdditionalOptions::default()));
        select.flavor = SelectFlavor::Standard;
    }
}

/// `FETCH FIRST n ROWS ONLY` is `LIMIT n`.
pub(super) fn fetch(query: &mut Query) -> Result<()> {
    let Some(Fetch { with_ties, percent, quantity }) = query.fetch.take() else { return Ok(()) };
    if with_ties || percent {
        return Err(Error::invalid("FETCH … WITH TIES and PERCENT are not supported").hint("use LIMIT n"));
    }
    let one = || Expr::value(Value::Number("1".to_owned(), false));
    let limit = Some(quantity.unwrap_or_else(one));
    query.limit_clause = match query.limit_clause.take() {
        None => Some(LimitClause::LimitOffset { limit, offset: None, limit_by: Vec::new() }),
        Some(LimitClause::LimitOffset { limit: None, offset, limit_by }) => {
            Some(LimitClause::LimitOffset { limit, offset, limit_by })
        }
        Some(_) => return Err(Error::invalid("a query has either LIMIT or FETCH, not both")),
    };
    Ok(())
}

/// A number with an exponent is a double, as in standard SQL: `1e300` has no decimal form.
pub(super) fn exponent(expr: &mut Expr) {
    let Expr::Value(value) = &*expr else { return };
    let Value::Number(digits, _) = &value.value else { return };
    if !digits.contains(['e', 'E']) || digits.parse::<f64>().is_err() {
        return;
    }
    *expr = Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(Expr::value(Value::SingleQuotedString(digits.clone()))),
        data_type: DataType::Double(ExactNumberInfo::None),
        array: false,
        format: None,
    };
}

/// The parser takes everything that follows `IS DISTINCT FROM` for its right side: `a IS DISTINCT FROM b AND c` for
/// `a IS DISTINCT FROM (b AND c)`. Here `AND` and `OR` bind less, as everywhere else.
pub(super) fn distinct(expr: &mut Expr) {
    if !takes_too_much(expr) {
        return;
    }
    let (mut operands, mut operators) = (Vec::new(), Vec::new());
    flatten(std::mem::replace(expr, Expr::value(Value::Null)), &mut operands, &mut operators);
    let mut operands = operands.into_iter();
    let mut either: Option<Expr> = None;
    let mut both = operands.next();
    for (operator, operand) in operators.into_iter().zip(operands) {
        let is_or = operator == BinaryOperator::Or;
        if is_or {
            either = joined(either, BinaryOperator::Or, both.take());
        }
        both = joined(both, operator, Some(operand));
    }
    if let Some(whole) = joined(either, BinaryOperator::Or, both) {
        *expr = whole;
    }
}

fn joined(left: Option<Expr>, op: BinaryOperator, right: Option<Expr>) -> Option<Expr> {
    match (left, right) {
        (Some(left), Some(right)) => {
            Some(Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) })
        }
        (one, other) => one.or(other),
    }
}

/// Whether an `IS DISTINCT FROM` outside of parentheses has an `AND` or `OR` on its right.
fn takes_too_much(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => {
            takes_too_much(left) || takes_too_much(right)
        }
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => takes_too_much(expr),
        Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right) => {
            let is_logic = |op: &BinaryOperator| matches!(op, BinaryOperator::And | BinaryOperator::Or);
            matches!(&**right, Expr::BinaryOp { op, .. } if is_logic(op)) || takes_too_much(right)
        }
        _ => false,
    }
}

/// The operands of `AND` and `OR` as they follow each other in the text, and the operators between them.
fn flatten(expr: Expr, operands: &mut Vec<Expr>, operators: &mut Vec<BinaryOperator>) {
    let at = operands.len();
    let mut around_first = |inner: Expr, operands: &mut Vec<Expr>, around: &dyn Fn(Box<Expr>) -> Expr| {
        flatten(inner, operands, operators);
        if let Some(first) = operands.get_mut(at) {
            let inner = std::mem::replace(first, Expr::value(Value::Null));
            *first = around(Box::new(inner));
        }
    };
    match expr {
        Expr::BinaryOp { left, op: op @ (BinaryOperator::And | BinaryOperator::Or), right } => {
            flatten(*left, operands, operators);
            operators.push(op);
            flatten(*right, operands, operators);
        }
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => {
            around_first(*expr, operands, &|expr| Expr::UnaryOp { op: UnaryOperator::Not, expr });
        }
        Expr::IsDistinctFrom(left, right) => {
            around_first(*right, operands, &|right| Expr::IsDistinctFrom(left.clone(), right));
        }
        Expr::IsNotDistinctFrom(left, right) => {
            around_first(*right, operands, &|right| Expr::IsNotDistinctFrom(left.clone(), right));
        }
        other => operands.push(other),
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    #[test]
    fn and_and_or_end_what_follows_distinct_from() {
        for (text, want) in [
            ("a IS DISTINCT FROM b AND c", "((a IS DISTINCT FROM b) AND c)"),
            ("x AND a IS DISTINCT FROM b OR c", "((x AND (a IS DISTINCT FROM b)) OR c)"),
            (
                "NOT a IS NOT DISTINCT FROM 1 + 2 OR c AND d",
                "((NOT (a IS NOT DISTINCT FROM 1 + 2)) OR (c AND d))",
            ),
            (
                "x OR a IS DISTINCT FROM b AND c IS DISTINCT FROM d OR e",
                "((x OR ((a IS DISTINCT FROM b) AND (c IS DISTINCT FROM d))) OR e)",
            ),
            ("a IS DISTINCT FROM (b AND c) AND d", "((a IS DISTINCT FROM (b AND c)) AND d)"),
            ("NOT a AND b OR NOT c", "(((NOT a) AND b) OR (NOT c))"),
        ] {
            let mut expr = Parser::new(&GenericDialect {}).try_with_sql(text).unwrap().parse_expr().unwrap();
            distinct(&mut expr);
            assert_eq!(grouped(&expr), want, "{text}");
        }
    }

    /// The expression with every group in parentheses.
    fn grouped(expr: &Expr) -> String {
        match expr {
            Expr::BinaryOp { left, op: op @ (BinaryOperator::And | BinaryOperator::Or), right } => {
                format!("({} {op} {})", grouped(left), grouped(right))
            }
            Expr::UnaryOp { expr, .. } => format!("(NOT {})", grouped(expr)),
            Expr::IsDistinctFrom(left, right) => format!("({left} IS DISTINCT FROM {})", grouped(right)),
            Expr::IsNotDistinctFrom(left, right) => {
                format!("({left} IS NOT DISTINCT FROM {})", grouped(right))
            }
            other => other.to_string(),
        }
    }
}
