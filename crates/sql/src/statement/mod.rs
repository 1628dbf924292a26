//! Statements as they are parsed, before they are planned.
//!
//! The planner drops clauses that it has no plan for. Here they are refused by name, so that no statement returns
//! an answer to another question; a few that have an exact equivalent are rewritten into it.

mod numbers;
mod refuse;
mod rewrite;
mod titles;

use std::ops::ControlFlow;

use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{
    Expr, Query, Select, Statement as SqlStatement, TableFactor, TableObject, VisitMut, VisitorMut,
};
use tesselle::{Error, Result};

pub(crate) use self::numbers::tokens;

/// Checks a statement and rewrites clauses of other dialects. `is_scalar` distinguishes functions of one row from
/// aggregates.
pub(crate) fn prepare(statement: &mut Statement, is_scalar: &dyn Fn(&str) -> bool) -> Result<()> {
    match statement {
        Statement::Statement(inner) => {
            if let SqlStatement::Query(query) = &mut **inner {
                titles::name_columns(query);
            }
        }
        Statement::CopyTo(copy) => {
            if let CopyToSource::Query(query) = &mut copy.source {
                titles::name_columns(query);
            }
        }
        _ => {}
    }
    check_statement(statement, is_scalar)
}

fn check_statement(statement: &mut Statement, is_scalar: &dyn Fn(&str) -> bool) -> Result<()> {
    let mut pass = Pass { is_scalar };
    let flow = match statement {
        Statement::Statement(inner) => {
            rewrite::show_tables(inner)?;
            rewrite::show_columns(inner)?;
            inner.visit(&mut pass)
        }
        Statement::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => query.visit(&mut pass),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        Statement::Explain(explain) => return check_statement(&mut explain.statement, is_scalar),
        Statement::CreateExternalTable(_) | Statement::Reset(_) => ControlFlow::Continue(()),
    };
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// The name of the table that a statement creates.
pub(crate) fn created(statement: &Statement) -> Option<String> {
    let Statement::Statement(statement) = statement else { return None };
    let name = match &**statement {
        SqlStatement::CreateTable(table) => &table.name,
        SqlStatement::CreateView(view) => &view.name,
        _ => return None,
    };
    let ident = name.0.last()?.as_ident()?;
    Some(if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_ascii_lowercase() })
}

/// An INSERT of the rows of a query.
pub(crate) struct Inserted {
    pub(crate) table: String,
    /// How many columns it names; 0 for all.
    pub(crate) columns: usize,
    pub(crate) rows: Statement,
}

/// The rows that a statement inserts.
pub(crate) fn inserted(statement: &Statement) -> Option<Inserted> {
    let Statement::Statement(statement) = statement else { return None };
    let SqlStatement::Insert(insert) = &**statement else { return None };
    let TableObject::TableName(table) = &insert.table else { return None };
    let rows = SqlStatement::Query(insert.source.clone()?);
    let (table, columns) = (table.to_string(), insert.columns.len());
    Some(Inserted { table, columns, rows: Statement::Statement(Box::new(rows)) })
}

/// Groups the parts of a condition as SQL does.
pub(crate) fn regroup(expr: &mut Expr) {
    rewrite::distinct(expr);
}

/// Checks and rewrites a single expression.
pub(crate) fn check(expr: &mut Expr, is_scalar: &dyn Fn(&str) -> bool) -> Result<()> {
    match expr.visit(&mut Pass { is_scalar }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// One walk over a statement.
struct Pass<'a> {
    is_scalar: &'a dyn Fn(&str) -> bool,
}

impl VisitorMut for Pass<'_> {
    type Break = Error;

    fn pre_visit_statement(&mut self, statement: &mut SqlStatement) -> ControlFlow<Error> {
        flow(refuse::statement(statement))
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        flow(refuse::query(query).and_then(|()| rewrite::fetch(query)))
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        rewrite::from_first(select);
        flow(refuse::select(select))
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        flow(refuse::table_factor(factor))
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        rewrite::exponent(expr);
        rewrite::distinct(expr);
        flow(refuse::expression(expr, self.is_scalar))
    }
}

fn flow(result: Result<()>) -> ControlFlow<Error> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    }
}
