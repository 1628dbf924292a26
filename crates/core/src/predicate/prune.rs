//! Pruning: whether a chunk, page or tile can contain a matching row, from its bounds.

use std::cmp::Ordering;

use super::{Comparison, Predicate};
use crate::scalar::Scalar;

/// The known bounds of one column in one piece.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ColumnBounds {
    /// No value is below this.
    pub min: Option<Scalar>,
    /// No value is above this.
    pub max: Option<Scalar>,
    /// How many rows are null; `None` when unknown.
    pub nulls: Option<u64>,
    /// How many rows the piece has; `None` when unknown.
    pub rows: Option<u64>,
}

impl ColumnBounds {
    /// Bounds of a column without nulls.
    pub fn range(min: impl Into<Scalar>, max: impl Into<Scalar>) -> Self {
        Self { min: Some(min.into()), max: Some(max.into()), nulls: Some(0), rows: None }
    }
}

/// The conclusion from bounds about a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// No row matches: the piece can be skipped.
    Never,
    /// Some rows may match.
    Maybe,
    /// Every row matches: the piece needs no filter.
    Always,
}

impl Verdict {
    fn negated(self) -> Self {
        match self {
            Self::Never => Self::Always,
            Self::Maybe => Self::Maybe,
            Self::Always => Self::Never,
        }
    }
}

/// A condition on one column, free of `NOT`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Leaf<'a> {
    /// A comparison of the values with a literal.
    Compare(Comparison, &'a Scalar),
    /// There is no value.
    IsNull,
}

impl ColumnBounds {
    /// The conclusion from these bounds about a condition on their column.
    pub fn verdict(&self, leaf: Leaf<'_>) -> Verdict {
        match (leaf, self.nulls, self.rows) {
            (Leaf::Compare(op, value), ..) => of_comparison(op, value, self),
            (Leaf::IsNull, Some(0), _) => Verdict::Never,
            (Leaf::IsNull, Some(n), Some(rows)) if n >= rows => Verdict::Always,
            (Leaf::IsNull, ..) => Verdict::Maybe,
        }
    }
}

impl Predicate {
    /// The conclusion from `bounds` (of each column by name; `None` if unknown) about the rows of a piece.
    pub fn verdict(&self, bounds: &dyn Fn(&str) -> Option<ColumnBounds>) -> Verdict {
        self.verdict_by(&|column, leaf| bounds(column).map_or(Verdict::Maybe, |b| b.verdict(leaf)))
    }

    /// Like [`Predicate::verdict`], for a format that evaluates conditions on single columns itself.
    pub fn verdict_by(&self, judge: &dyn Fn(&str, Leaf<'_>) -> Verdict) -> Verdict {
        self.judged(judge, false)
    }

    /// The predicate for the rows of a piece with these `bounds`: true for the same rows, without the conditions that the
    /// bounds decide, so that the columns of the others are all that has to be read.
    #[must_use]
    pub fn within(&self, bounds: &dyn Fn(&str) -> Option<ColumnBounds>) -> Self {
        match self.verdict(bounds) {
            Verdict::Never => return Self::Always(false),
            Verdict::Always => return Self::Always(true),
            Verdict::Maybe => {}
        }
        let rest = |parts: &[Self], decided: bool| -> Vec<Self> {
            let parts = parts.iter().map(|part| part.within(bounds));
            parts.filter(|part| *part != Self::Always(decided)).collect()
        };
        match self {
            Self::And(parts) => Self::And(rest(parts, true)),
            Self::Or(parts) => Self::Or(rest(parts, false)),
            // A condition that is never true may be unknown, and so may its negation.
            other => other.clone(),
        }
    }

    /// The verdict on `self`, or on `NOT self`. The negation is pushed down to the leaves: a row where a comparison is
    /// unknown passes neither it nor its opposite, so verdicts on comparisons cannot be inverted.
    fn judged(&self, judge: &dyn Fn(&str, Leaf<'_>) -> Verdict, negated: bool) -> Verdict {
        match (self, negated) {
            (Self::Always(value), _) => {
                if *value == negated {
                    Verdict::Never
                } else {
                    Verdict::Always
                }
            }
            (Self::Not(inner), _) => inner.judged(judge, !negated),
            (Self::And(parts), false) | (Self::Or(parts), true) => {
                all(parts.iter().map(|part| part.judged(judge, negated)))
            }
            (Self::Or(parts), false) | (Self::And(parts), true) => {
                any(parts.iter().map(|part| part.judged(judge, negated)))
            }
            (Self::In { column, values }, false) => {
                any(values.iter().map(|value| judge(column, Leaf::Compare(Comparison::Eq, value))))
            }
            (Self::In { column, values }, true) => {
                all(values.iter().map(|value| judge(column, Leaf::Compare(Comparison::Ne, value))))
            }
            (Self::Compare { column, op, value }, _) => {
                judge(column, Leaf::Compare(if negated { op.opposite() } else { *op }, value))
            }
            (Self::IsNull { column }, false) => judge(column, Leaf::IsNull),
            (Self::IsNull { column }, true) => judge(column, Leaf::IsNull).negated(),
            (Self::Custom(_), _) => Verdict::Maybe,
        }
    }
}

fn all(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    verdicts.fold(Verdict::Always, |sum, v| match (sum, v) {
        (Verdict::Never, _) | (_, Verdict::Never) => Verdict::Never,
        (Verdict::Maybe, _) | (_, Verdict::Maybe) => Verdict::Maybe,
        _ => Verdict::Always,
    })
}

fn any(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    verdicts.fold(Verdict::Never, |sum, v| match (sum, v) {
        (Verdict::Always, _) | (_, Verdict::Always) => Verdict::Always,
        (Verdict::Maybe, _) | (_, Verdict::Maybe) => Verdict::Maybe,
        _ => Verdict::Never,
    })
}

fn of_comparison(op: Comparison, value: &Scalar, bounds: &ColumnBounds) -> Verdict {
    let all_null = matches!((bounds.nulls, bounds.rows), (Some(n), Some(rows)) if n >= rows);
    if *value == Scalar::Null || all_null {
        return Verdict::Never;
    }
    let low = bounds.min.as_ref().and_then(|min| min.compare(value));
    let high = bounds.max.as_ref().and_then(|max| max.compare(value));
    let (never, always) = match op {
        Comparison::Eq => (
            low == Some(Ordering::Greater) || high == Some(Ordering::Less),
            low == Some(Ordering::Equal) && high == Some(Ordering::Equal),
        ),
        Comparison::Ne => (
            low == Some(Ordering::Equal) && high == Some(Ordering::Equal),
            low == Some(Ordering::Greater) || high == Some(Ordering::Less),
        ),
        Comparison::Lt => (low.is_some_and(Ordering::is_ge), high == Some(Ordering::Less)),
        Comparison::Le => (low == Some(Ordering::Greater), high.is_some_and(Ordering::is_le)),
        Comparison::Gt => (high.is_some_and(Ordering::is_le), low == Some(Ordering::Greater)),
        Comparison::Ge => (high == Some(Ordering::Less), low.is_some_and(Ordering::is_ge)),
    };
    match (never, always) {
        (true, _) => Verdict::Never,
        (false, true) if bounds.nulls == Some(0) => Verdict::Always,
        _ => Verdict::Maybe,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(text: &str, bounds: &ColumnBounds) -> Verdict {
        text.parse::<Predicate>().unwrap().verdict(&|name| (name == "x").then(|| bounds.clone()))
    }

    #[test]
    fn bounds_decide_where_they_can() {
        let b = ColumnBounds::range(10_i64, 20_i64);
        for (text, want) in [
            ("x < 10", Verdict::Never),
            ("x <= 10", Verdict::Maybe),
            ("x <= 20", Verdict::Always),
            ("x = 21", Verdict::Never),
            ("x IN (1, 2)", Verdict::Never),
            ("x IN (1, 15)", Verdict::Maybe),
            ("NOT x < 10", Verdict::Always),
            ("x BETWEEN 12 AND 13", Verdict::Maybe),
            ("x IS NULL", Verdict::Never),
            ("y = 1", Verdict::Maybe),
            ("y = 1 AND x > 20", Verdict::Never),
            ("y = 1 OR x > 5", Verdict::Always),
            ("x = 'text'", Verdict::Maybe),
            ("x = NULL", Verdict::Never),
        ] {
            assert_eq!(verdict(text, &b), want, "{text}");
        }
    }

    #[test]
    fn within_bounds_only_the_open_conditions_remain() {
        let bounds = |name: &str| (name == "x").then(|| ColumnBounds::range(10_i64, 20_i64));
        for (text, want) in [
            ("y > 5 OR (y = 5 AND x < 10)", "(\"y\" > 5)"),
            ("y > 5 AND x < 21", "(\"y\" > 5)"),
            ("y > 5 AND x < 15", "(\"y\" > 5) AND (\"x\" < 15)"),
            ("y > 5 AND x < 10", "FALSE"),
            ("y > 5 OR x < 21", "TRUE"),
            ("NOT (y > 5 OR x = 9)", "NOT ((\"y\" > 5) OR (\"x\" = 9))"),
        ] {
            assert_eq!(text.parse::<Predicate>().unwrap().within(&bounds).to_string(), want, "{text}");
        }
    }

    #[test]
    fn nulls_prevent_a_piece_from_always_matching() {
        let b = ColumnBounds { nulls: Some(1), rows: Some(4), ..ColumnBounds::range(1_i64, 1_i64) };
        assert_eq!(verdict("x = 1", &b), Verdict::Maybe);
        assert_eq!(verdict("NOT x = 1", &b), Verdict::Never);
        let b = ColumnBounds { nulls: Some(4), rows: Some(4), ..ColumnBounds::default() };
        assert_eq!(verdict("x = 1", &b), Verdict::Never);
        assert_eq!(verdict("NOT x = 1", &b), Verdict::Never);
        assert_eq!(verdict("x IS NULL", &b), Verdict::Always);
    }
}
