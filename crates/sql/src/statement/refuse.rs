//! Clauses that the parser reads and the planner would drop.

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArguments, GroupByExpr, GroupByWithModifier, Join, JoinConstraint, JoinOperator,
    LimitClause, OrderByExpr, OrderByKind, Query, Select, SelectItem, SetExpr, SetOperator, SetQuantifier,
    Statement, TableAlias, TableFactor, TableWithJoins,
};
use tesselle::{Error, Result};

/// What `clause` would have to do is not done: refused, with another way where there is one.
fn unsupported(clause: &str, hint: &str) -> Error {
    let error = Error::invalid(format!("{clause} is not supported"));
    if hint.is_empty() { error } else { error.hint(hint.to_owned()) }
}

/// Refuses the first of these clauses that is there.
fn none_of(clauses: &[(bool, &str, &str)]) -> Result<()> {
    match clauses.iter().find(|(given, ..)| *given) {
        Some((_, clause, hint)) => Err(unsupported(clause, hint)),
        None => Ok(()),
    }
}

pub(super) fn statement(statement: &Statement) -> Result<()> {
    match statement {
        Statement::StartTransaction { .. } | Statement::Commit { .. } | Statement::Rollback { .. } => {
            Err(unsupported("a transaction", "every statement takes effect by itself"))
        }
        _ => Ok(()),
    }
}

pub(super) fn query(query: &Query) -> Result<()> {
    none_of(&[
        (!query.locks.is_empty(), "FOR UPDATE or FOR SHARE", "files are not locked by a query"),
        (query.for_clause.is_some(), "FOR XML, FOR JSON or FOR BROWSE", ""),
        (query.settings.is_some(), "SETTINGS", "use SET name = value before the query"),
        (query.format_clause.is_some(), "FORMAT", "choose the form of the output of the whole call instead"),
    ])?;
    if let Some(LimitClause::LimitOffset { limit_by, .. }) = &query.limit_clause {
        none_of(&[(
            !limit_by.is_empty(),
            "LIMIT … BY",
            "use QUALIFY row_number() OVER (PARTITION BY …) <= n",
        )])?;
    }
    if let Some(order) = &query.order_by {
        match &order.kind {
            OrderByKind::Expressions(list) => sort_keys(list)?,
            OrderByKind::All(_) => {}
        }
    }
    if let Some(with) = &query.with {
        for cte in &with.cte_tables {
            none_of(&[(cte.from.is_some(), "FROM after a common table", "")])?;
            alias(Some(&cte.alias))?;
        }
    }
    set_operation(&query.body)
}

/// The planner reads `ALL` of `INTERSECT` and `EXCEPT` as a semi join and an anti join, which do not count equal rows.
fn set_operation(mut body: &SetExpr) -> Result<()> {
    const HINT: &str =
        "without ALL, equal rows count once; to count them, add row_number() OVER (PARTITION BY …)";
    while let SetExpr::SetOperation { left, op, set_quantifier, right } = body {
        let all = *set_quantifier == SetQuantifier::All;
        none_of(&[
            (all && *op == SetOperator::Intersect, "INTERSECT ALL", HINT),
            (all && *op == SetOperator::Except, "EXCEPT ALL", HINT),
        ])?;
        set_operation(right)?;
        body = left;
    }
    Ok(())
}

fn sort_keys(keys: &[OrderByExpr]) -> Result<()> {
    let fill = keys.iter().any(|key| key.with_fill.is_some());
    none_of(&[(fill, "WITH FILL", "join with generate_series, which makes the rows that are missing")])
}

pub(super) fn select(select: &Select) -> Result<()> {
    none_of(&[
        (select.top.is_some(), "TOP", "use LIMIT n at the end of the query"),
        (select.select_modifiers.is_some(), "a modifier of SELECT", ""),
        (select.exclude.is_some(), "EXCLUDE after the list of columns", "write SELECT * EXCLUDE (a, b)"),
        (!select.lateral_views.is_empty(), "LATERAL VIEW", "use unnest"),
        (select.prewhere.is_some(), "PREWHERE", "use WHERE"),
        (!select.connect_by.is_empty(), "CONNECT BY", "use WITH RECURSIVE"),
        (!select.cluster_by.is_empty(), "CLUSTER BY", "use ORDER BY"),
        (!select.sort_by.is_empty(), "SORT BY", "use ORDER BY"),
        (select.value_table_mode.is_some(), "SELECT AS STRUCT or AS VALUE", "use named_struct"),
    ])?;
    let (GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers)) = &select.group_by;
    if let Some(modifier) = modifiers.first() {
        let (clause, hint) = match modifier {
            GroupByWithModifier::Totals => ("WITH TOTALS", "use GROUP BY GROUPING SETS ((a), ())"),
            GroupByWithModifier::Rollup => ("WITH ROLLUP", "write GROUP BY ROLLUP (a, b)"),
            GroupByWithModifier::Cube => ("WITH CUBE", "write GROUP BY CUBE (a, b)"),
            GroupByWithModifier::GroupingSets(_) => {
                ("GROUPING SETS after a list of columns", "write GROUP BY GROUPING SETS ((a), (b))")
            }
        };
        return Err(unsupported(clause, hint));
    }
    for item in &select.projection {
        if let SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) = item {
            none_of(&[
                (options.opt_ilike.is_some(), "ILIKE after *", "name the columns"),
                (options.opt_rename.is_some(), "RENAME after *", "name the columns, with AS"),
                (options.opt_alias.is_some(), "AS after *", "name the columns, with AS"),
            ])?;
        }
    }
    select.from.iter().try_for_each(joins)
}

fn joins(tables: &TableWithJoins) -> Result<()> {
    tables.joins.iter().try_for_each(join)
}

fn join(join: &Join) -> Result<()> {
    use JoinOperator as J;
    none_of(&[
        (join.global, "GLOBAL JOIN", ""),
        (
            is_unconstrained(join),
            "JOIN without a condition",
            "add ON or USING, or write CROSS JOIN for every pair of rows",
        ),
    ])?;
    match &join.join_operator {
        J::Join(_)
        | J::Inner(_)
        | J::Left(_)
        | J::LeftOuter(_)
        | J::Right(_)
        | J::RightOuter(_)
        | J::FullOuter(_)
        | J::LeftSemi(_)
        | J::RightSemi(_)
        | J::LeftAnti(_)
        | J::RightAnti(_)
        | J::CrossJoin(JoinConstraint::None) => Ok(()),
        J::CrossJoin(_) => Err(unsupported("CROSS JOIN with a condition", "use JOIN … ON")),
        J::AsOf { .. } => {
            Err(unsupported("ASOF JOIN", "the SQL guide has a query with last_value that does the same"))
        }
        J::Semi(_) => Err(unsupported("SEMI JOIN", "write LEFT SEMI JOIN or RIGHT SEMI JOIN")),
        J::Anti(_) => Err(unsupported("ANTI JOIN", "write LEFT ANTI JOIN or RIGHT ANTI JOIN")),
        J::CrossApply | J::OuterApply => Err(unsupported("APPLY", "use JOIN LATERAL")),
        J::StraightJoin(_) => Err(unsupported("STRAIGHT_JOIN", "use JOIN")),
        J::ArrayJoin | J::LeftArrayJoin | J::InnerArrayJoin => Err(unsupported("ARRAY JOIN", "use unnest")),
    }
}

/// Whether a join that needs a condition has none: it would combine every row with every other. What is lateral has its condition
/// inside.
fn is_unconstrained(join: &Join) -> bool {
    use JoinOperator as J;
    let is_lateral = match &join.relation {
        TableFactor::Derived { lateral, .. } | TableFactor::Function { lateral, .. } => *lateral,
        TableFactor::UNNEST { .. } => true,
        _ => false,
    };
    let (J::Join(constraint)
    | J::Inner(constraint)
    | J::Left(constraint)
    | J::LeftOuter(constraint)
    | J::Right(constraint)
    | J::RightOuter(constraint)
    | J::FullOuter(constraint)
    | J::LeftSemi(constraint)
    | J::RightSemi(constraint)
    | J::LeftAnti(constraint)
    | J::RightAnti(constraint)) = &join.join_operator
    else {
        return false;
    };
    !is_lateral && matches!(constraint, JoinConstraint::None)
}

pub(super) fn table_factor(factor: &TableFactor) -> Result<()> {
    const SAMPLE: &str = "use WHERE random() < 0.1 for about a tenth of the rows";
    match factor {
        TableFactor::Table {
            alias: name,
            args,
            with_hints,
            version,
            with_ordinality,
            partitions,
            json_path,
            sample,
            index_hints,
            ..
        } => {
            none_of(&[
                (sample.is_some(), "TABLESAMPLE", SAMPLE),
                (!with_hints.is_empty(), "WITH (…) after a table", ""),
                (version.is_some(), "a version of a table", "CREATE EXTERNAL TABLE … OPTIONS ('at' 'TIME')"),
                (*with_ordinality, "WITH ORDINALITY", "use row_number() OVER ()"),
                (!partitions.is_empty(), "PARTITION after a table", "use WHERE"),
                (json_path.is_some(), "a path after a table", ""),
                (!index_hints.is_empty(), "an index hint", ""),
            ])?;
            let settings = args.as_ref().is_some_and(|args| args.settings.is_some());
            none_of(&[(settings, "SETTINGS of a table function", "")])?;
            alias(name.as_ref())
        }
        TableFactor::Derived { alias: name, sample, .. } => {
            none_of(&[(sample.is_some(), "TABLESAMPLE", SAMPLE)])?;
            alias(name.as_ref())
        }
        TableFactor::Function { alias: name, with_ordinality, .. } => {
            none_of(&[(*with_ordinality, "WITH ORDINALITY", "use row_number() OVER ()")])?;
            alias(name.as_ref())
        }
        TableFactor::NestedJoin { table_with_joins, .. } => joins(table_with_joins),
        TableFactor::UNNEST { alias: name, .. } => alias(name.as_ref()),
        TableFactor::Pivot { .. } => {
            Err(unsupported("PIVOT", "use an aggregate with FILTER (WHERE …) for each column"))
        }
        TableFactor::Unpivot { .. } => Err(unsupported("UNPIVOT", "use UNION ALL of one query per column")),
        TableFactor::MatchRecognize { .. } => Err(unsupported("MATCH_RECOGNIZE", "")),
        TableFactor::JsonTable { .. } | TableFactor::OpenJsonTable { .. } => {
            Err(unsupported("JSON_TABLE", "read the file as JSON lines"))
        }
        TableFactor::XmlTable { .. } => Err(unsupported("XMLTABLE", "")),
        TableFactor::SemanticView { .. } => Err(unsupported("SEMANTIC_VIEW", "")),
        TableFactor::TableFunction { .. } => {
            Err(unsupported("TABLE (…) in FROM", "name the function itself, e.g. FROM range(10)"))
        }
    }
}

fn alias(alias: Option<&TableAlias>) -> Result<()> {
    let Some(alias) = alias else { return Ok(()) };
    let typed = alias.columns.iter().any(|column| column.data_type.is_some());
    none_of(&[
        (alias.at.is_some(), "AT after an alias", "use row_number() OVER ()"),
        (typed, "a type in the columns of an alias", "use CAST in the list of columns"),
    ])
}

/// Clauses of aggregates at a function of one row mean nothing, and would be dropped. The pattern of `SIMILAR TO` would be
/// taken for a regular expression, in which `%` and `_` are ordinary characters.
pub(super) fn expression(expr: &Expr, is_scalar: &dyn Fn(&str) -> bool) -> Result<()> {
    none_of(&[(
        matches!(expr, Expr::SimilarTo { .. }),
        "SIMILAR TO",
        "use LIKE, or ~ with a regular expression",
    )])?;
    let Expr::Function(Function {
        name, parameters, args, filter, null_treatment, over, within_group, ..
    }) = expr
    else {
        return Ok(());
    };
    let name = name.to_string();
    none_of(&[(*parameters != FunctionArguments::None, "a second list of arguments", "")])?;
    let list = match args {
        FunctionArguments::List(list) => Some(list),
        FunctionArguments::None | FunctionArguments::Subquery(_) => None,
    };
    if !is_scalar(&name.to_ascii_lowercase()) {
        return Ok(());
    }
    let clause = [
        (filter.is_some(), "FILTER"),
        (over.is_some(), "OVER"),
        (!within_group.is_empty(), "WITHIN GROUP"),
        (null_treatment.is_some(), "IGNORE NULLS or RESPECT NULLS"),
        (list.is_some_and(|list| list.duplicate_treatment.is_some()), "DISTINCT or ALL"),
        (list.is_some_and(|list| !list.clauses.is_empty()), "ORDER BY in the arguments"),
    ];
    match clause.iter().find(|(given, _)| *given) {
        Some((_, clause)) => {
            Err(Error::invalid(format!("{clause} does not apply to {name}, which works on one row")))
        }
        None => Ok(()),
    }
}
