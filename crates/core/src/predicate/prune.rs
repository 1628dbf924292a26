//! Deciding from bounds alone whether a piece can hold a matching row.

use std::cmp::Ordering;

use super::{Comparison, Predicate};
use crate::scalar::Scalar;

/// What is known of one column in one piece.
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

/// What bounds tell about a piece.
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

impl Predicate {
    /// What `bounds` (of each column by name; `None` when nothing is known) tell about the rows of a piece.
    pub fn verdict(&self, bounds: &dyn Fn(&str) -> Option<ColumnBounds>) -> Verdict {
        match self {
            Self::Always(true) => Verdict::Always,
            Self::Always(false) => Verdict::Never,
            Self::Compare { column, op, value } => {
                bounds(column).map_or(Verdict::Maybe, |b| of_comparison(*op, value, &b))
            }
            Self::In { column, values } => {
                let Some(b) = bounds(column) else { return Verdict::Maybe };
                any(values.iter().map(|value| of_comparison(Comparison::Eq, value, &b)))
            }
            Self::IsNull { column } => match bounds(column) {
                Some(ColumnBounds { nulls: Some(0), .. }) => Verdict::Never,
                Some(ColumnBounds { nulls: Some(n), rows: Some(rows), .. }) if n >= rows => Verdict::Always,
                _ => Verdict::Maybe,
            },
            Self::And(parts) => all(parts.iter().map(|p| p.verdict(bounds))),
            Self::Or(parts) => any(parts.iter().map(|p| p.verdict(bounds))),
            Self::Not(inner) => inner.negated_verdict(bounds),
        }
    }

    /// The verdict on `NOT self`. A row where the inner condition is unknown passes neither it nor its negation, so
    /// an inner *never* becomes *always* only when no null is in play; every `Never` about a comparison that came
    /// from nulls alone must stay `Never`.
    fn negated_verdict(&self, bounds: &dyn Fn(&str) -> Option<ColumnBounds>) -> Verdict {
        match self {
            Self::Always(value) => Self::Always(!value).verdict(bounds),
            Self::IsNull { .. } => self.verdict(bounds).negated(),
            Self::Not(inner) => inner.verdict(bounds),
            Self::And(parts) => any(parts.iter().map(|p| p.negated_verdict(bounds))),
            Self::Or(parts) => all(parts.iter().map(|p| p.negated_verdict(bounds))),
            Self::Compare { column, op, value } => {
                let op = match op {
                    Comparison::Eq => Comparison::Ne,
                    Comparison::Ne => Comparison::Eq,
                    Comparison::Lt => Comparison::Ge,
                    Comparison::Le => Comparison::Gt,
                    Comparison::Gt => Comparison::Le,
                    Comparison::Ge => Comparison::Lt,
                };
                bounds(column).map_or(Verdict::Maybe, |b| of_comparison(op, value, &b))
            }
            Self::In { column, values } => {
                let Some(b) = bounds(column) else { return Verdict::Maybe };
                all(values.iter().map(|value| of_comparison(Comparison::Ne, value, &b)))
            }
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
    fn nulls_keep_a_piece_from_matching_whole() {
        let b = ColumnBounds { nulls: Some(1), rows: Some(4), ..ColumnBounds::range(1_i64, 1_i64) };
        assert_eq!(verdict("x = 1", &b), Verdict::Maybe);
        assert_eq!(verdict("NOT x = 1", &b), Verdict::Never);
        let b = ColumnBounds { nulls: Some(4), rows: Some(4), ..ColumnBounds::default() };
        assert_eq!(verdict("x = 1", &b), Verdict::Never);
        assert_eq!(verdict("NOT x = 1", &b), Verdict::Never);
        assert_eq!(verdict("x IS NULL", &b), Verdict::Always);
    }
}
