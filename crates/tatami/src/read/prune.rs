//! Pruning by zone maps, null counts, bloom filters and page bounds.
//!
//! The core evaluates the predicate, with two additions of this format: float bounds ignore NaN, which orders
//! above every number, and a bloom filter may refute an equality.

use tesselle_core::{ColumnBounds, Comparison, Leaf, Predicate, Scalar, Verdict};

use crate::meta::types::LogicalType;
use crate::meta::zone::{Zone, to_scalar};

/// Statistics of one column in one row group, page or file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub(crate) logical: LogicalType,
    pub(crate) zone: Option<&'a Zone>,
    /// `None` when unknown, as for members of a collection.
    pub(crate) nulls: Option<u64>,
    pub(crate) rows: Option<u64>,
}

impl Facts<'_> {
    fn bounds(&self, keep_max: bool) -> ColumnBounds {
        let usable = self.zone.filter(|zone| zone.is_usable(self.logical));
        ColumnBounds {
            min: usable.and_then(|zone| to_scalar(self.logical, &zone.min)),
            max: usable.filter(|_| keep_max).and_then(|zone| to_scalar(self.logical, &zone.max)),
            nulls: self.nulls,
            rows: self.rows,
        }
    }
}

/// The statistics of a row group, page or file, by column.
pub(crate) trait Evidence {
    /// The statistics of a column; `None` if there are none.
    fn facts(&self, column: &str) -> Option<Facts<'_>>;

    /// Whether the column may have this value. Only called if bounds are not conclusive.
    fn may_contain(&self, column: &str, value: &Scalar) -> bool {
        let _ = (column, value);
        true
    }
}

/// The verdict on a row group, page or file.
pub(crate) fn verdict(predicate: &Predicate, evidence: &dyn Evidence) -> Verdict {
    predicate.verdict_by(&|column, leaf| match leaf {
        Leaf::Compare(op, value) => compare(column, op, value, evidence),
        Leaf::IsNull => {
            evidence.facts(column).map_or(Verdict::Maybe, |facts| facts.bounds(true).verdict(leaf))
        }
    })
}

fn compare(column: &str, op: Comparison, value: &Scalar, evidence: &dyn Evidence) -> Verdict {
    let Some(facts) = evidence.facts(column) else { return Verdict::Maybe };
    let float = matches!(facts.logical, LogicalType::Float32 | LogicalType::Float64);
    // A NaN may be above the max: it can satisfy `>` and `<>` there, and invalidate `<` for all rows.
    let nan_wanted = matches!(value, Scalar::Float(x) if x.is_nan());
    let keep_max = !float || (op == Comparison::Eq && !nan_wanted);
    match facts.bounds(keep_max).verdict(Leaf::Compare(op, value)) {
        Verdict::Always if float => Verdict::Maybe,
        Verdict::Maybe if op == Comparison::Eq && !nan_wanted && !evidence.may_contain(column, value) => {
            Verdict::Never
        }
        other => other,
    }
}

/// The columns whose equality with a literal a filter could refute, with the literals.
pub(crate) fn equalities(predicate: &Predicate) -> Vec<(&str, &Scalar)> {
    let mut out = Vec::new();
    collect(predicate, false, &mut out);
    out
}

fn collect<'a>(predicate: &'a Predicate, negated: bool, out: &mut Vec<(&'a str, &'a Scalar)>) {
    match predicate {
        Predicate::Not(inner) => collect(inner, !negated, out),
        Predicate::And(parts) | Predicate::Or(parts) => {
            for part in parts {
                collect(part, negated, out);
            }
        }
        Predicate::In { column, values } if !negated => {
            out.extend(values.iter().map(|v| (column.as_str(), v)));
        }
        Predicate::Compare { column, op, value } => {
            let op = if negated { op.opposite() } else { *op };
            if op == Comparison::Eq {
                out.push((column, value));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Known {
        logical: LogicalType,
        zone: Option<Zone>,
        nulls: Option<u64>,
        absent: bool,
    }

    impl Evidence for Known {
        fn facts(&self, column: &str) -> Option<Facts<'_>> {
            let facts =
                Facts { logical: self.logical, zone: self.zone.as_ref(), nulls: self.nulls, rows: Some(4) };
            (column == "x").then_some(facts)
        }

        fn may_contain(&self, _: &str, _: &Scalar) -> bool {
            !self.absent
        }
    }

    fn judge(condition: &str, known: &Known) -> Verdict {
        verdict(&condition.parse().unwrap(), known)
    }

    fn floats(min: f64, max: f64) -> Known {
        let zone = Zone { min: min.to_le_bytes().to_vec(), max: max.to_le_bytes().to_vec() };
        Known { logical: LogicalType::Float64, zone: Some(zone), nulls: Some(0), absent: false }
    }

    #[test]
    fn a_nan_may_be_above_float_bounds() {
        let known = floats(1.0, 5.0);
        for (condition, want) in [
            ("x > 9", Verdict::Maybe),
            ("x < 9", Verdict::Maybe),
            ("x < 1", Verdict::Never),
            ("x = 9", Verdict::Never),
            ("x = 0", Verdict::Never),
            ("NOT x > 9", Verdict::Maybe),
            ("x IN (7, 8)", Verdict::Never),
        ] {
            assert_eq!(judge(condition, &known), want, "{condition}");
        }
        assert_eq!(judge("x < 0", &floats(f64::NAN, f64::NAN)), Verdict::Maybe);
    }

    #[test]
    fn a_filter_refutes_equalities_only() {
        let zone = Zone { min: vec![1, 0], max: vec![9, 0] };
        let known = Known { logical: LogicalType::Int16, zone: Some(zone), nulls: Some(1), absent: true };
        assert_eq!(judge("x = 5", &known), Verdict::Never);
        assert_eq!(judge("NOT x <> 5", &known), Verdict::Never);
        assert_eq!(judge("x <> 5", &known), Verdict::Maybe);
        assert_eq!(judge("x < 99", &known), Verdict::Maybe, "a null row does not match");
        assert_eq!(judge("x = 5 OR x IS NULL", &known), Verdict::Maybe);
    }

    #[test]
    fn unknown_null_counts_prove_nothing_about_nulls() {
        let known = Known { logical: LogicalType::Int16, zone: None, nulls: None, absent: false };
        assert_eq!(judge("x IS NULL", &known), Verdict::Maybe);
        assert_eq!(judge("x IS NOT NULL", &known), Verdict::Maybe);
    }
}
