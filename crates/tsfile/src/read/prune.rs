//! Pruning: the time ranges in which, by statistics, no row can match a predicate.
//!
//! Rows of a device are joined over its series. If the bounds of a span (chunk or page) of column X rule the
//! predicate out, they rule it out for every row in its time range, because X is there either one of its
//! values or null; but only if no other span of X overlaps that time range. Such time ranges are skipped for
//! all columns.

use std::collections::BTreeMap;

use tesselle_core::{ColumnBounds, Comparison, Predicate, Scalar, Verdict};

use crate::meta::{DataType, Statistics, Sum, Value};

/// The predicate of a scan with what is known in advance about some columns (tags, the device).
#[derive(Debug, Clone, Default)]
pub(crate) struct Pruner {
    predicate: Option<Predicate>,
    constants: BTreeMap<String, ColumnBounds>,
    /// The first and last matching time, if the predicate is only about time; an empty range has first >
    /// last.
    interval: Option<(i128, i128)>,
}

/// The first and last time of the matching rows, if the predicate selects a single time range and nothing
/// else.
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

/// A chunk or page of a column: its time range and the bounds of its values.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) lo: i64,
    pub(crate) hi: i64,
    pub(crate) bounds: Option<ColumnBounds>,
}

/// Disjoint, ascending time ranges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TimeRanges(Vec<(i64, i64)>);

impl TimeRanges {
    /// Merges overlapping and adjacent ranges.
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

    /// Whether one range contains all of `[lo, hi]`.
    pub(crate) fn covers(&self, lo: i64, hi: i64) -> bool {
        let at = self.0.partition_point(|(_, end)| *end < lo);
        self.0.get(at).is_some_and(|(from, to)| *from <= lo && hi <= *to)
    }

    /// The ranges.
    pub(crate) fn parts(&self) -> &[(i64, i64)] {
        &self.0
    }

    /// The intersection.
    pub(crate) fn intersect(&self, other: &Self) -> Self {
        let pairs = self.0.iter().flat_map(|a| other.0.iter().map(move |b| (a.0.max(b.0), a.1.min(b.1))));
        Self::new(pairs.filter(|(lo, hi)| lo <= hi).collect())
    }

    /// The complement.
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

    /// The pruner that also knows what conditions have learned by now; `None` if they know nothing.
    pub(crate) fn learned(&self) -> Option<Self> {
        let predicate = self.predicate.as_ref()?;
        let learned = predicate.learned()?;
        let both = Predicate::And(vec![learned, predicate.clone()]);
        Some(Self { predicate: Some(both), constants: self.constants.clone(), interval: self.interval })
    }

    /// Whether every row in `[lo, hi]` matches, as far as can be determined cheaply.
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

    /// Whether no row of a span can match if column `name` has these `bounds`.
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

    /// The time ranges in which no row can match, by the spans of the columns that the predicate mentions.
    pub(crate) fn excluded<'a>(&self, columns: impl Iterator<Item = (&'a str, Vec<Span>)>) -> TimeRanges {
        let mut out = Vec::new();
        for (name, mut spans) in columns {
            spans.sort_by_key(|p| (p.lo, p.hi));
            let disjoint = spans.windows(2).all(|pair| pair[0].hi < pair[1].lo);
            if self.rejects_null(name) {
                let there = TimeRanges::new(spans.iter().map(|p| (p.lo, p.hi)).collect());
                out.extend(there.complement());
            }
            if disjoint {
                let hopeless = spans.iter().filter(|p| {
                    p.bounds.as_ref().is_some_and(|bounds| self.rules_out(name, p.lo, p.hi, bounds))
                });
                out.extend(hopeless.map(|p| (p.lo, p.hi)));
            }
        }
        TimeRanges::new(out)
    }
}

/// Bounds of a column that is null in every row.
pub(crate) fn all_null() -> ColumnBounds {
    ColumnBounds { nulls: Some(1), rows: Some(1), ..ColumnBounds::default() }
}

/// The bounds of the values of a span from its statistics; `None` if they are unusable for a predicate.
///
/// Strings have none: the format orders them by signed bytes. Floats that may include NaN have none either,
/// because bounds ignore NaN while predicates order it above all numbers; a NaN always shows in the sum.
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

    fn pruner(condition: &str) -> Pruner {
        Pruner::new(Some(condition.parse().unwrap()), BTreeMap::new())
    }

    fn span(lo: i64, hi: i64, min: i64, max: i64) -> Span {
        let bounds = ColumnBounds { nulls: None, ..ColumnBounds::range(min, max) };
        Span { lo, hi, bounds: Some(bounds) }
    }

    #[test]
    fn time_ranges_merge_and_complement() {
        let s = TimeRanges::new(vec![(5, 9), (0, 3), (4, 4), (20, i64::MAX)]);
        assert_eq!(s.parts(), [(0, 9), (20, i64::MAX)]);
        assert_eq!(s.complement(), [(i64::MIN, -1), (10, 19)]);
        assert!(s.covers(2, 9) && !s.covers(2, 10) && s.covers(30, 40));
    }

    #[test]
    fn time_intervals_agree_with_the_predicate() {
        let i64s = (i128::from(i64::MIN), i128::from(i64::MAX));
        let of = |condition: &str| interval_of(&condition.parse().unwrap());
        assert_eq!(of("time BETWEEN 3 AND 9 AND time > 4"), Some((5, 9)));
        assert_eq!(of("time < 7"), Some((i64s.0, 6)));
        assert_eq!(of("time = 7 AND time >= 9"), Some((9, 7)));
        for other in
            ["time <> 7", "time IN (7)", "time < 7 OR time > 9", "time < 7 AND x = 1", "NOT time < 7"]
        {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(of("time < 7.5"), None);
        for condition in ["time BETWEEN 3 AND 9", "time > 5 AND time < 6", "time = 9223372036854775807"] {
            let quick = pruner(condition);
            let slow = Pruner { interval: None, ..quick.clone() };
            let times = [i64::MIN, 2, 3, 5, 6, 9, 10, i64::MAX];
            for (i, lo) in times.into_iter().enumerate() {
                for hi in times.into_iter().skip(i) {
                    let out = quick.rules_out_time(lo, hi);
                    assert!(out || !slow.rules_out_time(lo, hi), "{condition} {lo} {hi}");
                    assert!(!(out && quick.wants_all(lo, hi)), "{condition} {lo} {hi}");
                }
            }
        }
    }

    #[test]
    fn a_pruned_span_excludes_its_time_for_every_column() {
        let spans = vec![span(0, 9, 1, 5), span(10, 19, 50, 60)];
        let excluded = pruner("x > 40").excluded([("x", spans.clone())].into_iter());
        assert!(excluded.covers(0, 9) && !excluded.covers(10, 11));
        // Rows outside the spans have a null x and cannot match either.
        assert!(excluded.covers(20, 30));
        let excluded = pruner("x > 40 OR y = 1").excluded([("x", spans)].into_iter());
        assert!(!excluded.covers(0, 9));
    }

    #[test]
    fn overlapping_spans_exclude_nothing() {
        // The newer span hides values of the older one: skipping it would bring them back.
        let spans = vec![span(0, 9, 50, 60), span(5, 9, 1, 2)];
        let excluded = pruner("x > 40").excluded([("x", spans)].into_iter());
        assert!(!excluded.covers(5, 9));
    }
}
