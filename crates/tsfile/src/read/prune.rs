//! What statistics tell about a predicate: which stretches of time can hold no matching row.
//!
//! Rows of a device are joined over its series. A piece (chunk or page) of column X whose bounds rule the predicate
//! out rules it out for every row in its stretch of time, because X is there either one of its values or null; but
//! only if no other piece of X reaches into that stretch. Such stretches are left out for all columns.

use std::collections::BTreeMap;

use tesselle_core::{ColumnBounds, Comparison, Predicate, Scalar, Verdict};

use crate::meta::{DataType, Statistics, Sum, Value};

/// The predicate of a scan with what is known beforehand about some columns (tags, the device).
#[derive(Debug, Clone, Default)]
pub(crate) struct Pruner {
    predicate: Option<Predicate>,
    constants: BTreeMap<String, ColumnBounds>,
    /// The first and last wanted time, where the predicate is about nothing else; the first may be behind the last.
    interval: Option<(i128, i128)>,
}

/// The first and last time of the rows that match, where the predicate asks for one stretch of time and nothing else.
pub(crate) fn interval_of(predicate: &Predicate) -> Option<(i128, i128)> {
    let all = (i128::from(i64::MIN), i128::from(i64::MAX));
    match predicate {
        Predicate::Compare { column, op, value: Scalar::Int(value) } if column == super::TIME => match op {
            Comparison::Eq => Some((*value, *value)),
            Comparison::Lt => Some((all.0, value.saturating_sub(1))),
            Comparison::Le => Some((all.0, *value)),
            Comparison::Gt => Some((value.saturating_add(1), all.1)),
            Comparison::Ge => Some((*value, all.1)),
            Comparison::Ne => None,
        },
        Predicate::And(parts) => {
            let both = |a: (i128, i128), b: (i128, i128)| (a.0.max(b.0), a.1.min(b.1));
            parts.iter().try_fold(all, |sum, part| Some(both(sum, interval_of(part)?)))
        }
        _ => None,
    }
}

/// A piece of a column: its stretch of time and what is known of its values.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    pub(crate) lo: i64,
    pub(crate) hi: i64,
    pub(crate) bounds: Option<ColumnBounds>,
}

/// Stretches of time, disjoint and ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Stretches(Vec<(i64, i64)>);

impl Stretches {
    /// Joins what touches.
    pub(crate) fn new(mut parts: Vec<(i64, i64)>) -> Self {
        parts.sort_unstable();
        let mut joined: Vec<(i64, i64)> = Vec::with_capacity(parts.len());
        for (lo, hi) in parts {
            match joined.last_mut() {
                Some((_, end)) if lo <= end.saturating_add(1) => *end = (*end).max(hi),
                _ => joined.push((lo, hi)),
            }
        }
        Self(joined)
    }

    /// Whether all of `[lo, hi]` lies in one stretch.
    pub(crate) fn covers(&self, lo: i64, hi: i64) -> bool {
        let at = self.0.partition_point(|(_, end)| *end < lo);
        self.0.get(at).is_some_and(|(from, to)| *from <= lo && hi <= *to)
    }

    /// The stretches.
    pub(crate) fn parts(&self) -> &[(i64, i64)] {
        &self.0
    }

    /// What lies in both.
    pub(crate) fn intersect(&self, other: &Self) -> Self {
        let pairs = self.0.iter().flat_map(|a| other.0.iter().map(move |b| (a.0.max(b.0), a.1.min(b.1))));
        Self::new(pairs.filter(|(lo, hi)| lo <= hi).collect())
    }

    /// Everything else.
    fn complement(&self) -> Vec<(i64, i64)> {
        let mut parts = Vec::with_capacity(self.0.len() + 1);
        let mut next = Some(i64::MIN);
        for (lo, hi) in &self.0 {
            if let Some(from) = next
                && from < *lo
            {
                parts.push((from, lo.saturating_sub(1)));
            }
            next = hi.checked_add(1);
        }
        parts.extend(next.map(|from| (from, i64::MAX)));
        parts
    }
}

impl Pruner {
    /// A pruner for `predicate`.
    pub(crate) fn new(predicate: Option<Predicate>, constants: BTreeMap<String, ColumnBounds>) -> Self {
        let interval = predicate.as_ref().and_then(interval_of);
        Self { predicate, constants, interval }
    }

    /// Whether every row in `[lo, hi]` is wanted, as far as can be told at no cost.
    pub(crate) fn wants_all(&self, lo: i64, hi: i64) -> bool {
        let inside = |(from, to): (i128, i128)| from <= i128::from(lo) && i128::from(hi) <= to;
        self.predicate.is_none() || self.interval.is_some_and(inside)
    }

    fn is_never(&self, time: Option<(i64, i64)>, column: Option<(&str, &ColumnBounds)>) -> bool {
        let Some(predicate) = &self.predicate else { return false };
        let bounds = |name: &str| match (column, time) {
            (Some((column, bounds)), _) if name == column => Some(bounds.clone()),
            (_, Some((lo, hi))) if name == super::TIME => Some(ColumnBounds::range(lo, hi)),
            _ => self.constants.get(name).cloned(),
        };
        predicate.verdict(&bounds) == Verdict::Never
    }

    /// Whether no row can match at all.
    pub(crate) fn rules_out_all(&self) -> bool {
        self.is_never(None, None)
    }

    /// Whether no row in `[lo, hi]` can match.
    pub(crate) fn rules_out_time(&self, lo: i64, hi: i64) -> bool {
        if let Some((from, to)) = self.interval {
            return i128::from(hi) < from || i128::from(lo) > to || from > to;
        }
        self.is_never(Some((lo, hi)), None)
    }

    /// Whether no row of a piece can match in which column `name` is as `bounds` says.
    pub(crate) fn rules_out(&self, name: &str, lo: i64, hi: i64, bounds: &ColumnBounds) -> bool {
        self.is_never(Some((lo, hi)), Some((name, bounds)))
    }

    /// Whether a row where column `name` is null can never match.
    pub(crate) fn rejects_null(&self, name: &str) -> bool {
        self.is_never(None, Some((name, &all_null())))
    }

    /// The columns the predicate mentions.
    pub(crate) fn columns(&self) -> Vec<&str> {
        self.predicate.as_ref().map(|p| p.columns().into_iter().collect()).unwrap_or_default()
    }

    /// The stretches in which no row can match, judged by the pieces of the columns it mentions.
    pub(crate) fn excluded<'a>(&self, columns: impl Iterator<Item = (&'a str, Vec<Piece>)>) -> Stretches {
        let mut out = Vec::new();
        for (name, mut pieces) in columns {
            pieces.sort_by_key(|p| (p.lo, p.hi));
            let disjoint = pieces.windows(2).all(|pair| pair[0].hi < pair[1].lo);
            if self.rejects_null(name) {
                let there = Stretches::new(pieces.iter().map(|p| (p.lo, p.hi)).collect());
                out.extend(there.complement());
            }
            if disjoint {
                let hopeless = pieces.iter().filter(|p| {
                    p.bounds.as_ref().is_some_and(|bounds| self.rules_out(name, p.lo, p.hi, bounds))
                });
                out.extend(hopeless.map(|p| (p.lo, p.hi)));
            }
        }
        Stretches::new(out)
    }
}

/// Bounds of a column that is null in every row.
pub(crate) fn all_null() -> ColumnBounds {
    ColumnBounds { nulls: Some(1), rows: Some(1), ..ColumnBounds::default() }
}

/// What statistics say about the values of a piece; `None` when nothing that a predicate could use.
///
/// Text has none: the format orders it by signed bytes. Floats that may hold a NaN have none either, for bounds
/// leave NaN out while predicates place it above all numbers; a NaN always shows in the sum.
pub(crate) fn bounds_of(statistics: &Statistics, data_type: DataType) -> Option<ColumnBounds> {
    let scalar = |value: &Value| match value {
        Value::Boolean(v) => Some(Scalar::Bool(*v)),
        Value::Int32(v) if data_type == DataType::Date => super::date::days(*v).map(Scalar::from),
        Value::Int32(v) => Some(Scalar::from(*v)),
        Value::Int64(v) => Some(Scalar::from(*v)),
        Value::Float(v) if !v.is_nan() => Some(Scalar::from(*v)),
        Value::Double(v) if !v.is_nan() => Some(Scalar::from(*v)),
        _ => None,
    };
    if matches!(data_type, DataType::Float | DataType::Double)
        && !matches!(statistics.sum, Some(Sum::Float(sum)) if !sum.is_nan())
    {
        return None;
    }
    let (min, max) = (statistics.min.as_ref().and_then(scalar), statistics.max.as_ref().and_then(scalar));
    (min.is_some() && max.is_some()).then_some(ColumnBounds { min, max, nulls: None, rows: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pruner(text: &str) -> Pruner {
        Pruner::new(Some(text.parse().unwrap()), BTreeMap::new())
    }

    fn piece(lo: i64, hi: i64, min: i64, max: i64) -> Piece {
        let bounds = ColumnBounds { nulls: None, ..ColumnBounds::range(min, max) };
        Piece { lo, hi, bounds: Some(bounds) }
    }

    #[test]
    fn stretches_join_and_complement() {
        let s = Stretches::new(vec![(5, 9), (0, 3), (4, 4), (20, i64::MAX)]);
        assert_eq!(s.parts(), [(0, 9), (20, i64::MAX)]);
        assert_eq!(s.complement(), [(i64::MIN, -1), (10, 19)]);
        assert!(s.covers(2, 9) && !s.covers(2, 10) && s.covers(30, 40));
    }

    #[test]
    fn intervals_of_time_rule_out_what_the_predicate_rules_out() {
        let i64s = (i128::from(i64::MIN), i128::from(i64::MAX));
        let of = |text: &str| interval_of(&text.parse().unwrap());
        assert_eq!(of("time BETWEEN 3 AND 9 AND time > 4"), Some((5, 9)));
        assert_eq!(of("time < 7"), Some((i64s.0, 6)));
        assert_eq!(of("time = 7 AND time >= 9"), Some((9, 7)));
        for other in
            ["time <> 7", "time IN (7)", "time < 7 OR time > 9", "time < 7 AND x = 1", "NOT time < 7"]
        {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(of("time < 7.5"), None);
        for text in ["time BETWEEN 3 AND 9", "time > 5 AND time < 6", "time = 9223372036854775807"] {
            let quick = pruner(text);
            let slow = Pruner { interval: None, ..quick.clone() };
            let times = [i64::MIN, 2, 3, 5, 6, 9, 10, i64::MAX];
            for (i, lo) in times.into_iter().enumerate() {
                for hi in times.into_iter().skip(i) {
                    let out = quick.rules_out_time(lo, hi);
                    assert!(out || !slow.rules_out_time(lo, hi), "{text} {lo} {hi}");
                    assert!(!(out && quick.wants_all(lo, hi)), "{text} {lo} {hi}");
                }
            }
        }
    }

    #[test]
    fn a_hopeless_piece_excludes_its_time_for_every_column() {
        let pieces = vec![piece(0, 9, 1, 5), piece(10, 19, 50, 60)];
        let excluded = pruner("x > 40").excluded([("x", pieces.clone())].into_iter());
        assert!(excluded.covers(0, 9) && !excluded.covers(10, 11));
        // Rows outside the pieces have a null x and cannot match either.
        assert!(excluded.covers(20, 30));
        let excluded = pruner("x > 40 OR y = 1").excluded([("x", pieces)].into_iter());
        assert!(!excluded.covers(0, 9));
    }

    #[test]
    fn overlapping_pieces_exclude_nothing() {
        // The newer piece hides values of the older one: leaving it out would bring them back.
        let pieces = vec![piece(0, 9, 50, 60), piece(5, 9, 1, 2)];
        let excluded = pruner("x > 40").excluded([("x", pieces)].into_iter());
        assert!(!excluded.covers(5, 9));
    }
}
