//! Translation of DataFusion expressions to predicates of tables.

mod column;
mod literal;
#[cfg(test)]
mod tests;

use arrow_schema::{DataType, Schema};
use column::{Operand, operand};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Like, Operator};
use tesselle::core::Comparison;
use tesselle::{Predicate, Scalar};

/// A predicate and whether it is equivalent to the expression. An inexact predicate is true for every row for which the
/// expression is true, so it may prune, but not replace the filter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Translated {
    pub(crate) predicate: Predicate,
    pub(crate) exact: bool,
}

impl Translated {
    fn exact(predicate: Predicate) -> Self {
        Self { predicate, exact: true }
    }

    fn join(parts: Vec<Self>, how: fn(Vec<Predicate>) -> Predicate) -> Self {
        let exact = parts.iter().all(|part| part.exact);
        Self { predicate: how(parts.into_iter().map(|part| part.predicate).collect()), exact }
    }

    /// The negation; that of a superset would lose rows.
    fn negated(self) -> Option<Self> {
        self.exact.then(|| Self::exact(Predicate::Not(Box::new(self.predicate))))
    }
}

/// Translates the part of `expr` that a table can use; `None` if there is none.
pub(crate) fn translate(expr: &Expr, schema: &Schema) -> Option<Translated> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            match (translate(left, schema), translate(right, schema)) {
                (Some(a), Some(b)) => Some(Translated::join(vec![a, b], Predicate::And)),
                // Half of a conjunction still prunes.
                (Some(one), None) | (None, Some(one)) => Some(Translated { exact: false, ..one }),
                (None, None) => None,
            }
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            Some(Translated::join(vec![translate(left, schema)?, translate(right, schema)?], Predicate::Or))
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let op = comparison(*op)?;
            match (&**left, &**right) {
                (column, Expr::Literal(value, _)) => compare(column, op, value, schema),
                (Expr::Literal(value, _), column) => compare(column, op.flipped(), value, schema),
                _ => None,
            }
        }
        Expr::Between(Between { expr, negated, low, high }) => {
            let (Expr::Literal(low, _), Expr::Literal(high, _)) = (&**low, &**high) else { return None };
            let low = compare(expr, Comparison::Ge, low, schema)?;
            let high = compare(expr, Comparison::Le, high, schema)?;
            let both = Translated::join(vec![low, high], Predicate::And);
            if *negated { both.negated() } else { Some(both) }
        }
        Expr::InList(list) => in_list(list, schema),
        Expr::Like(like) => prefix(like, schema),
        Expr::Not(inner) => translate(inner, schema)?.negated(),
        Expr::IsNull(inner) => match &**inner {
            Expr::Column(column) => {
                Some(Translated::exact(Predicate::IsNull { column: column.name.clone() }))
            }
            _ => None,
        },
        Expr::IsNotNull(inner) => match &**inner {
            Expr::Column(column) => {
                Translated::exact(Predicate::IsNull { column: column.name.clone() }).negated()
            }
            _ => None,
        },
        Expr::Column(column) if is_boolean(schema, &column.name) => {
            Some(Translated::exact(Predicate::compare(column.name.clone(), Comparison::Eq, true)))
        }
        Expr::Literal(ScalarValue::Boolean(Some(value)), _) => {
            Some(Translated::exact(Predicate::Always(*value)))
        }
        // NULL is never true, but its negation is no more.
        Expr::Literal(ScalarValue::Boolean(None), _) => {
            Some(Translated { predicate: Predicate::Always(false), exact: false })
        }
        _ => None,
    }
}

fn is_boolean(schema: &Schema, name: &str) -> bool {
    schema.field_with_name(name).is_ok_and(|field| *field.data_type() == DataType::Boolean)
}

fn comparison(op: Operator) -> Option<Comparison> {
    match op {
        Operator::Eq => Some(Comparison::Eq),
        Operator::NotEq => Some(Comparison::Ne),
        Operator::Lt => Some(Comparison::Lt),
        Operator::LtEq => Some(Comparison::Le),
        Operator::Gt => Some(Comparison::Gt),
        Operator::GtEq => Some(Comparison::Ge),
        _ => None,
    }
}

fn compare(expr: &Expr, op: Comparison, value: &ScalarValue, schema: &Schema) -> Option<Translated> {
    let operand = operand(expr, schema)?;
    let (op, scalar) = match (operand.scale, literal::scalar(value, &operand)?) {
        (1, scalar) => (op, scalar),
        (scale, Scalar::Int(value)) => scaled(op, value, scale)?,
        _ => return None,
    };
    if operand.data_type.is_floating() {
        return compare_floats(operand.column, op, &scalar);
    }
    Some(Translated::exact(Predicate::compare(operand.column, op, scalar)))
}

/// `column * scale op value` as a comparison with the column itself.
fn scaled(op: Comparison, value: i128, scale: i128) -> Option<(Comparison, Scalar)> {
    let floor = value.div_euclid(scale);
    let whole = value.rem_euclid(scale) == 0;
    let bound = match op {
        Comparison::Eq | Comparison::Ne if !whole => return None,
        Comparison::Lt | Comparison::Ge if !whole => floor + 1,
        _ => floor,
    };
    Some((op, Scalar::Int(bound)))
}

/// DataFusion compares floats by total order: -0.0 is less than 0.0, and a NaN is above or below all numbers depending
/// on its sign. Tables treat ±0.0 as equal and NaN as largest, so the pushed-down predicate is widened to cover
/// ambiguous zeros and NaNs, and DataFusion re-applies the exact filter.
fn compare_floats(column: &str, op: Comparison, value: &Scalar) -> Option<Translated> {
    let zero = match value {
        Scalar::Float(v) if v.is_nan() => return None,
        Scalar::Float(v) => *v == 0.0,
        Scalar::Int(v) => *v == 0,
        _ => return None,
    };
    let op = match op {
        Comparison::Ne if zero => return None,
        Comparison::Lt if zero => Comparison::Le,
        Comparison::Gt if zero => Comparison::Ge,
        op => op,
    };
    let plain = Predicate::compare(column, op, value.clone());
    let predicate = match op {
        Comparison::Lt | Comparison::Le => {
            Predicate::Or(vec![plain, Predicate::compare(column, Comparison::Eq, f64::NAN)])
        }
        _ => plain,
    };
    Some(Translated { predicate, exact: false })
}

fn in_list(InList { expr, list, negated }: &InList, schema: &Schema) -> Option<Translated> {
    let operand = operand(expr, schema).filter(|operand| operand.scale == 1)?;
    let mut values = Vec::with_capacity(list.len());
    for item in list {
        let Expr::Literal(value, _) = item else { return None };
        let scalar = if value.is_null() { Scalar::Null } else { literal::scalar(value, &operand)? };
        // For DataFusion NaNs of different signs are distinct, and it still filters.
        values.push(scalar);
    }
    let exact = !operand.data_type.is_floating();
    let column = operand.column.to_owned();
    let translated = Translated { predicate: Predicate::In { column, values }, exact };
    if *negated { translated.negated() } else { Some(translated) }
}

/// `column LIKE 'abc%'` is a range between two strings.
fn prefix(like: &Like, schema: &Schema) -> Option<Translated> {
    let Like { negated: false, case_insensitive: false, escape_char: None, expr, pattern } = like else {
        return None;
    };
    let Operand { column, data_type, .. } = operand(expr, schema)?;
    let Expr::Literal(ScalarValue::Utf8(Some(pattern)) | ScalarValue::Utf8View(Some(pattern)), _) =
        &**pattern
    else {
        return None;
    };
    if !matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) {
        return None;
    }
    let start: String = pattern.chars().take_while(|c| !matches!(c, '%' | '_' | '\\')).collect();
    let last = start.chars().last().filter(|c| *c < '\x7e')?;
    let mut end = start.clone();
    end.pop();
    end.push(char::from_u32(last as u32 + 1)?);
    let bounds = vec![
        Predicate::compare(column, Comparison::Ge, start.as_str()),
        Predicate::compare(column, Comparison::Lt, end.as_str()),
    ];
    Some(Translated { predicate: Predicate::And(bounds), exact: false })
}
