//! Rewriting of clauses into equivalents that the planner supports.

use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, ExactNumberInfo, Expr, Fetch, LimitClause, Query, Select, SelectFlavor, SelectItem,
    Statement as SqlStatement, Value, WildcardAdditionalOptions,
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
