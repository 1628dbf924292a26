//! Conditions of SQL for scans outside of SQL: `--where "name LIKE 'a%' AND date_part('hour', time) < 6"`.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use datafusion::common::DFSchema;
use datafusion::common::tree_node::TreeNode;
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::Expr as LogicalExpr;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_plan::PhysicalExpr;
use datafusion::prelude::SessionConfig;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, ExprWithAlias, Function, Ident, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use tesselle::core::{Condition, Custom};
use tesselle::{Error, Predicate, Result};

use crate::decimals::DecimalsAmongFloats;
use crate::error::ours;
use crate::lists::ListsOfConstants;
use crate::statement;
use crate::times::TimesOfColumns;

/// Parses a condition. The parts that a [`Predicate`] can express become one, which prunes; the rest is evaluated by
/// DataFusion.
/// Names of columns are taken as they are written, with quotes or without.
pub fn condition(text: &str) -> Result<Predicate> {
    if let Ok(predicate) = text.parse() {
        return Ok(predicate);
    }
    let wrong = |error: &dyn fmt::Display| {
        let message = error.to_string().replace("sql parser error: ", "");
        Error::invalid(format!("the condition '{text}' cannot be read: {message}"))
            .hint("write it as after WHERE in SQL, e.g. \"time\" >= '2025-02-10' AND name LIKE 'a%'")
    };
    let tokens = statement::tokens(text).map_err(|e| wrong(&e))?;
    let mut parser = Parser::new(&GenericDialect {}).with_tokens_with_locations(tokens);
    let expr = parser.parse_expr().map_err(|e| wrong(&e))?;
    if parser.peek_token().token != datafusion::sql::sqlparser::tokenizer::Token::EOF {
        return Err(wrong(&format!("'{}' is not expected", parser.peek_token())));
    }
    let state = state();
    let mut parts = Vec::new();
    split(expr, &state, &mut parts)?;
    Ok(if parts.len() == 1 { parts.swap_remove(0) } else { Predicate::And(parts) })
}

/// The parts of a conjunction, each as simple as it can be.
fn split(mut expr: Expr, state: &Arc<SessionState>, parts: &mut Vec<Predicate>) -> Result<()> {
    statement::regroup(&mut expr);
    match expr {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            split(*left, state, parts)?;
            split(*right, state, parts)
        }
        Expr::Nested(inner) if matches!(*inner, Expr::BinaryOp { op: BinaryOperator::And, .. }) => {
            split(*inner, state, parts)
        }
        expr => {
            let part = match expr.to_string().parse() {
                Ok(predicate) => predicate,
                Err(_) => Predicate::Custom(Custom::new(SqlCondition::try_new(expr, Arc::clone(state))?)),
            };
            parts.push(part);
            Ok(())
        }
    }
}

/// The functions and rules of a session, without its files.
fn state() -> Arc<SessionState> {
    let mut config = SessionConfig::new();
    config.options_mut().sql_parser.parse_float_as_decimal = true;
    Arc::new(SessionStateBuilder::new().with_config(config).with_default_features().build())
}

/// A condition that DataFusion evaluates.
struct SqlCondition {
    text: String,
    expr: Expr,
    columns: Vec<String>,
    state: Arc<SessionState>,
    /// The physical expression for batches of this schema.
    planned: Mutex<Option<(SchemaRef, Arc<dyn PhysicalExpr>)>>,
}

impl SqlCondition {
    fn try_new(mut expr: Expr, state: Arc<SessionState>) -> Result<Self> {
        let text = expr.to_string();
        let mut names = Names { columns: Vec::new(), state: &state };
        if let ControlFlow::Break(error) = expr.visit(&mut names) {
            return Err(error);
        }
        statement::check(&mut expr, &|name| state.scalar_functions().contains_key(name))?;
        let columns = names.columns;
        Ok(Self { text, expr, columns, state, planned: Mutex::default() })
    }

    fn plan(&self, schema: &SchemaRef) -> Result<Arc<dyn PhysicalExpr>> {
        let mut planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, expr)) = planned.as_ref().filter(|(known, _)| known == schema) {
            return Ok(Arc::clone(expr));
        }
        let columns = DFSchema::try_from(Arc::clone(schema)).map_err(ours)?;
        let expr = ExprWithAlias { expr: self.expr.clone(), alias: None };
        let expr = self.state.create_logical_expr_from_sql_expr(expr, &columns).map_err(ours)?;
        let config = self.state.config_options();
        let rewrites: [&dyn FunctionRewrite; 3] = [&DecimalsAmongFloats, &TimesOfColumns, &ListsOfConstants];
        let rewritten = rewrites.iter().try_fold(expr, |expr, rewrite| {
            expr.transform_up(|expr| rewrite.rewrite(expr, &columns, config)).map(|rewritten| rewritten.data)
        });
        let expr = self.simplified(rewritten.map_err(ours)?, &columns).map_err(ours)?;
        let expr = self.state.create_physical_expr(expr, &columns).map_err(ours)?;
        if !matches!(expr.data_type(schema).map_err(ours)?, DataType::Boolean | DataType::Null) {
            return Err(Error::invalid(format!("'{}' is neither true nor false", self.text)));
        }
        *planned = Some((Arc::clone(schema), Arc::clone(&expr)));
        Ok(expr)
    }

    /// The expression with its constants evaluated, and with functions that are only another form of an expression, such
    /// as `coalesce`, replaced by it.
    fn simplified(&self, expr: LogicalExpr, columns: &DFSchema) -> datafusion::common::Result<LogicalExpr> {
        let context = SimplifyContext::builder()
            .with_schema(Arc::new(columns.clone()))
            .with_config_options(Arc::clone(self.state.config_options()))
            .with_current_time()
            .build();
        let simplifier = ExprSimplifier::new(context);
        simplifier.simplify(simplifier.coerce(expr, columns)?)
    }
}

impl Condition for SqlCondition {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let value = self.plan(&batch.schema())?.evaluate(batch).map_err(ours)?;
        let array = value.into_array(batch.num_rows()).map_err(ours)?;
        match array.as_boolean_opt() {
            Some(mask) => Ok(mask.clone()),
            None => Ok(BooleanArray::new_null(array.len())),
        }
    }
}

impl fmt::Display for SqlCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for SqlCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SqlCondition").field(&self.text).finish()
    }
}

/// Collects the columns, and quotes them so that they keep their case. Fails on what needs more than one row.
struct Names<'a> {
    columns: Vec<String>,
    state: &'a SessionState,
}

impl Names<'_> {
    fn needs_several_rows(&self, function: &Function) -> bool {
        let name = function.name.to_string().to_ascii_lowercase();
        let (aggregates, windows) = (self.state.aggregate_functions(), self.state.window_functions());
        function.over.is_some() || aggregates.contains_key(&name) || windows.contains_key(&name)
    }
}

impl VisitorMut for Names<'_> {
    type Break = Error;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        let name = match &*expr {
            Expr::Identifier(ident) => ident.value.clone(),
            Expr::CompoundIdentifier(parts) => {
                parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".")
            }
            Expr::Function(function) if self.needs_several_rows(function) => {
                let name = &function.name;
                let error =
                    Error::invalid(format!("a condition is about one row, but {name} is about several"));
                return ControlFlow::Break(error.hint("use SQL with GROUP BY and HAVING, or with QUALIFY"));
            }
            Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => {
                let error = Error::invalid("a condition cannot contain a query");
                return ControlFlow::Break(error.hint("use SQL with a WHERE of its own"));
            }
            _ => return ControlFlow::Continue(()),
        };
        *expr = Expr::Identifier(Ident::with_quote('"', name.clone()));
        if !self.columns.contains(&name) {
            self.columns.push(name);
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Float64Array, StringArray, TimestampMillisecondArray};

    use super::*;

    fn rows(text: &str) -> Result<Vec<Option<bool>>> {
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("Name", Arc::new(StringArray::from(vec![Some("River"), Some("stone"), None])) as ArrayRef, true),
            ("x", Arc::new(Float64Array::from(vec![0.07, f64::NAN, -1.0])) as ArrayRef, true),
            (
                "t",
                Arc::new(TimestampMillisecondArray::from(vec![0, 3_600_000, 90_000_000])) as ArrayRef,
                true,
            ),
        ])?;
        let predicate = condition(text)?.bind(&batch.schema())?;
        let tested: Vec<&str> = predicate.columns().into_iter().collect();
        let columns: Result<Vec<usize>> = tested
            .iter()
            .map(|name| batch.schema().index_of(name).map_err(|_| Error::not_found((*name).to_owned())))
            .collect();
        Ok(predicate.evaluate(&batch.project(&columns?)?)?.iter().collect())
    }

    #[test]
    fn functions_patterns_and_times_work_as_in_sql() {
        let (t, f, n) = (Some(true), Some(false), None);
        for (text, want) in [
            ("Name LIKE 'R%'", [t, f, n]),
            ("\"Name\" ILIKE '%S%' AND x > 0", [f, t, f]),
            ("upper(Name) = 'RIVER' OR x < 0.0", [t, f, t]),
            ("x BETWEEN 0.06 - 0.01 AND 0.06 + 0.01", [t, f, f]),
            ("date_part('hour', t) = 1", [f, t, t]),
            ("t >= '1970-01-01T01:00:00' AND Name NOT LIKE 'x%'", [f, t, n]),
            ("t < to_timestamp('1970-01-02')", [t, t, f]),
            ("length(Name) IN (5, 6)", [t, t, n]),
            ("coalesce(Name, 'none') = 'none'", [f, f, t]),
            ("nvl(Name, '') = '' OR x BETWEEN '0' AND '1e-1'", [t, f, t]),
        ] {
            assert_eq!(rows(text).unwrap(), want, "{text}");
        }
    }

    #[test]
    fn simple_parts_stay_predicates_that_prune() {
        let predicate = condition("x > 1 AND (t < '1970-01-02' AND Name LIKE 'a%')").unwrap();
        let Predicate::And(parts) = &predicate else { panic!("{predicate}") };
        let custom: Vec<bool> = parts.iter().map(Predicate::has_custom).collect();
        assert_eq!(custom, [false, false, true]);
    }

    #[test]
    fn what_is_no_condition_is_refused_in_one_line() {
        use tesselle::ErrorKind::{Invalid, NotFound};
        for (text, kind, what) in [
            ("Name LIKE", Invalid, "cannot be read"),
            ("x > 1 2", Invalid, "not expected"),
            ("upper(Name)", Invalid, "neither true nor false"),
            ("x IN (SELECT 1)", Invalid, "cannot contain a query"),
            ("count(*) > 1", Invalid, "count is about several"),
            ("x > 0 AND max(x) > 1", Invalid, "max is about several"),
            ("row_number() OVER (ORDER BY x) = 1", Invalid, "row_number is about several"),
            ("x", Invalid, "neither true nor false"),
            ("NOT t", Invalid, "neither true nor false"),
            ("x = true", Invalid, "neither true nor false"),
            ("x > 'much'", Invalid, "'much' is not a number"),
            ("nothing(x) > 1", NotFound, "nothing"),
        ] {
            let error = rows(text).unwrap_err();
            assert_eq!(error.kind(), kind, "{text}: {error}");
            assert!(
                error.to_string().contains(what) && error.to_string().lines().count() == 1,
                "{text}: {error}"
            );
        }
    }
}
