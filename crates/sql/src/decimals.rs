//! Decimal literals where they meet floats.
//!
//! Numbers with a point are exact decimals: `0.06 + 0.01` is `0.07`. Compared or combined with floats, DataFusion would
//! turn the floats of a column into decimals of fifteen digits, which has no place for NaN, very large and very small
//! values, and hides the column from pruning. Here the decimal becomes a float instead, once, after the exact
//! arithmetic of constants. Arithmetic of integer columns with them gives doubles.

use arrow_schema::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::{AggregateFunction, InList, ScalarFunction, WindowFunction};
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{Between, BinaryExpr, Case, Expr, ExprSchemable, Operator, cast};

/// Functions that return a decimal for a decimal, or its type.
const EXACT: [&str; 14] = [
    "abs",
    "arrow_cast",
    "arrow_typeof",
    "ceil",
    "coalesce",
    "floor",
    "greatest",
    "least",
    "make_array",
    "nullif",
    "nvl",
    "nvl2",
    "round",
    "trunc",
];

/// Casts decimals to floats where an expression has both.
#[derive(Debug)]
pub(crate) struct DecimalsAmongFloats;

impl FunctionRewrite for DecimalsAmongFloats {
    fn name(&self) -> &'static str {
        "decimals_among_floats"
    }

    fn rewrite(&self, expr: Expr, schema: &DFSchema, _: &ConfigOptions) -> Result<Transformed<Expr>> {
        let changed = Changed { schema, any: false };
        Ok(match expr {
            Expr::BinaryExpr(expr) => changed.binary(expr),
            Expr::Between(expr) => changed.between(expr),
            Expr::InList(expr) => changed.in_list(expr),
            Expr::Case(expr) => changed.case(expr),
            Expr::ScalarFunction(expr) => changed.scalar(expr),
            Expr::AggregateFunction(expr) => changed.aggregate(expr),
            Expr::WindowFunction(expr) => changed.window(*expr),
            other => Transformed::no(other),
        })
    }
}

/// A rewrite in progress.
struct Changed<'a> {
    schema: &'a DFSchema,
    any: bool,
}

impl Changed<'_> {
    fn done(self, expr: Expr) -> Transformed<Expr> {
        if self.any { Transformed::yes(expr) } else { Transformed::no(expr) }
    }

    fn binary(mut self, BinaryExpr { left, op, right }: BinaryExpr) -> Transformed<Expr> {
        let float = self.float_among([&*left, &*right]);
        let float = float.or_else(|| self.is_inexact(&left, op, &right).then_some(DataType::Float64));
        let left = Box::new(self.as_float(*left, float.as_ref()));
        let right = Box::new(self.as_float(*right, float.as_ref()));
        self.done(Expr::BinaryExpr(BinaryExpr { left, op, right }))
    }

    /// Whether arithmetic with a decimal literal is done with doubles: that of an integer column, whose result has no
    /// scale of its own, and a division of constants, which decimals would cut after a few digits.
    fn is_inexact(&self, left: &Expr, op: Operator, right: &Expr) -> bool {
        let of = |expr: &Expr| (expr.get_type(self.schema).unwrap_or(DataType::Null), is_constant(expr));
        let ((left, left_constant), (right, right_constant)) = (of(left), of(right));
        let decimals = left.is_decimal() || right.is_decimal();
        let numbers = |a: &DataType| a.is_decimal() || a.is_integer();
        match op {
            Operator::Divide if left_constant && right_constant => {
                decimals && numbers(&left) && numbers(&right)
            }
            Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo => {
                (left.is_decimal() && left_constant && right.is_integer() && !right_constant)
                    || (right.is_decimal() && right_constant && left.is_integer() && !left_constant)
            }
            _ => false,
        }
    }

    fn between(mut self, Between { expr, negated, low, high }: Between) -> Transformed<Expr> {
        let float = self.float_among([&*expr, &*low, &*high]);
        let expr = Box::new(self.as_float(*expr, float.as_ref()));
        let low = Box::new(self.as_float(*low, float.as_ref()));
        let high = Box::new(self.as_float(*high, float.as_ref()));
        self.done(Expr::Between(Between { expr, negated, low, high }))
    }

    fn in_list(mut self, InList { expr, list, negated }: InList) -> Transformed<Expr> {
        let float = self.float_among(list.iter().chain([&*expr]));
        let expr = Box::new(self.as_float(*expr, float.as_ref()));
        let list = self.all_as_float(list, float.as_ref());
        self.done(Expr::InList(InList { expr, list, negated }))
    }

    /// The conditions are compared with the operand, and the results with each other.
    fn case(mut self, Case { expr, when_then_expr, else_expr }: Case) -> Transformed<Expr> {
        let whens = || when_then_expr.iter().map(|(when, _)| &**when);
        let compared = expr.as_deref().and_then(|expr| self.float_among(whens().chain([expr])));
        let thens = when_then_expr.iter().map(|(_, then)| &**then);
        let result = self.float_among(thens.chain(else_expr.as_deref()));
        let expr = expr.map(|expr| Box::new(self.as_float(*expr, compared.as_ref())));
        let when_then_expr = when_then_expr
            .into_iter()
            .map(|(when, then)| {
                let when = Box::new(self.as_float(*when, compared.as_ref()));
                (when, Box::new(self.as_float(*then, result.as_ref())))
            })
            .collect();
        let else_expr = else_expr.map(|expr| Box::new(self.as_float(*expr, result.as_ref())));
        self.done(Expr::Case(Case { expr, when_then_expr, else_expr }))
    }

    /// Functions with a decimal form keep decimals among themselves; all others compute with doubles.
    fn scalar(mut self, ScalarFunction { func, args }: ScalarFunction) -> Transformed<Expr> {
        let float = self.float_among(&args);
        let float = float.or_else(|| (!EXACT.contains(&func.name())).then_some(DataType::Float64));
        let constants_only = !EXACT.contains(&func.name());
        let args = args.into_iter().map(|arg| {
            if constants_only && !is_constant(&arg) { arg } else { self.as_float(arg, float.as_ref()) }
        });
        let args = args.collect();
        self.done(Expr::ScalarFunction(ScalarFunction { func, args }))
    }

    /// Parameters after the first argument, such as the fraction of a percentile, are doubles.
    fn aggregate(mut self, mut expr: AggregateFunction) -> Transformed<Expr> {
        self.parameters(&mut expr.params.args);
        self.done(Expr::AggregateFunction(expr))
    }

    fn window(mut self, mut expr: WindowFunction) -> Transformed<Expr> {
        let float = self.float_among(&expr.params.args).unwrap_or(DataType::Float64);
        let first = expr.params.args.first().and_then(|arg| arg.get_type(self.schema).ok());
        // The default of lag and lead has the type of the column.
        if first.is_some_and(|first| !first.is_decimal()) {
            for arg in expr.params.args.iter_mut().skip(1) {
                *arg = self.as_float(std::mem::take(arg), Some(&float));
            }
        }
        self.done(Expr::WindowFunction(Box::new(expr)))
    }

    fn parameters(&mut self, args: &mut [Expr]) {
        for arg in args.iter_mut().skip(1).filter(|arg| is_constant(arg)) {
            *arg = self.as_float(std::mem::take(arg), Some(&DataType::Float64));
        }
    }

    /// The widest float among these; an expression whose type is not known yet counts for nothing.
    fn float_among<'e>(&self, all: impl IntoIterator<Item = &'e Expr>) -> Option<DataType> {
        let mut widest: Option<DataType> = None;
        let mut decimal = false;
        for expr in all {
            let data_type = expr.get_type(self.schema).unwrap_or(DataType::Null);
            let plain = match &data_type {
                DataType::Dictionary(_, values) => values,
                other => other,
            };
            decimal |= plain.is_decimal();
            if plain.is_floating() && widest.as_ref().is_none_or(|widest| width(plain) > width(widest)) {
                widest = Some(plain.clone());
            }
        }
        widest.filter(|_| decimal)
    }

    fn all_as_float(&mut self, all: Vec<Expr>, float: Option<&DataType>) -> Vec<Expr> {
        all.into_iter().map(|expr| self.as_float(expr, float)).collect()
    }

    /// `expr` as this float, where it is a decimal.
    fn as_float(&mut self, expr: Expr, float: Option<&DataType>) -> Expr {
        match float {
            Some(float) if expr.get_type(self.schema).is_ok_and(|from| from.is_decimal()) => {
                self.any = true;
                cast(expr, float.clone())
            }
            _ => expr,
        }
    }
}

fn width(float: &DataType) -> usize {
    float.primitive_width().unwrap_or(0)
}

/// Whether an expression is made of literals only.
pub(crate) fn is_constant(expr: &Expr) -> bool {
    expr.column_refs().is_empty() && !expr.is_volatile()
}
