//! Deciding from zone maps, null counts, bloom filters and page bounds which rows can match.
//!
//! The leaves are judged by the core's own rules, with two additions of this format: float bounds leave NaN out,
//! which orders above every number, and an equality may be refuted by a bloom filter.

use tesselle_core::{ColumnBounds, Comparison, Predicate, Scalar, Verdict};

use crate::meta::types::LogicalType;
use crate::meta::zone::{Zone, to_scalar};

/// What is known of one column in one piece.
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

/// What a piece tells when it is asked about its columns.
pub(crate) trait Evidence {
    /// What is known of a column; `None` for one without statistics.
    fn facts(&self, column: &str) -> Option<Facts<'_>>;

    /// Whether the column may hold this value. Only asked where bounds cannot tell.
    fn may_contain(&self, column: &str, value: &Scalar) -> bool {
        let _ = (column, value);
        true
    }
}

/// The verdict on a piece.
pub(crate) fn verdict(predicate: &Predicate, evidence: &dyn Evidence) -> Verdict {
    judge(predicate, evidence, false)
}

fn judge(predicate: &Predicate, evidence: &dyn Evidence, negated: bool) -> Verdict {
    match (predicate, negated) {
        (Predicate::Not(inner), _) => judge(inner, evidence, !negated),
        (Predicate::And(parts), false) | (Predicate::Or(parts), true) => {
            all(parts.iter().map(|part| judge(part, evidence, negated)))
        }
        (Predicate::Or(parts), false) | (Predicate::And(parts), true) => {
            any(parts.iter().map(|part| judge(part, evidence, negated)))
        }
        (Predicate::In { column, values }, false) => {
            any(values.iter().map(|value| compare(column, Comparison::Eq, value, evidence)))
        }
        (Predicate::In { column, values }, true) => {
            all(values.iter().map(|value| compare(column, Comparison::Ne, value, evidence)))
        }
        (Predicate::Compare { column, op, value }, _) => {
            compare(column, if negated { opposite(*op) } else { *op }, value, evidence)
        }
        (leaf, _) => {
            let leaf = if negated { Predicate::Not(Box::new(leaf.clone())) } else { leaf.clone() };
            leaf.verdict(&|column| evidence.facts(column).map(|facts| facts.bounds(true)))
        }
    }
}

fn compare(column: &str, op: Comparison, value: &Scalar, evidence: &dyn Evidence) -> Verdict {
    let Some(facts) = evidence.facts(column) else { return Verdict::Maybe };
    let float = matches!(facts.logical, LogicalType::Float32 | LogicalType::Float64);
    // A NaN may lie above the largest bound: it can satisfy `>` and `<>` there, and spoil `<` for a whole piece.
    let nan_wanted = matches!(value, Scalar::Float(x) if x.is_nan());
    let keep_max = !float || (op == Comparison::Eq && !nan_wanted);
    let bounds = facts.bounds(keep_max);
    let leaf = Predicate::Compare { column: column.to_owned(), op, value: value.clone() };
    let verdict = leaf.verdict(&|_| Some(bounds.clone()));
    match verdict {
        Verdict::Always if float => Verdict::Maybe,
        Verdict::Maybe if op == Comparison::Eq && !nan_wanted && !evidence.may_contain(column, value) => {
            Verdict::Never
        }
        other => other,
    }
}

fn opposite(op: Comparison) -> Comparison {
    match op {
        Comparison::Eq => Comparison::Ne,
        Comparison::Ne => Comparison::Eq,
        Comparison::Lt => Comparison::Ge,
        Comparison::Le => Comparison::Gt,
        Comparison::Gt => Comparison::Le,
        Comparison::Ge => Comparison::Lt,
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

/// The columns whose equality with a literal could be refuted by a filter, with the literals.
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
            let op = if negated { opposite(*op) } else { *op };
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

    struct Piece {
        logical: LogicalType,
        zone: Option<Zone>,
        nulls: Option<u64>,
        absent: bool,
    }

    impl Evidence for Piece {
        fn facts(&self, column: &str) -> Option<Facts<'_>> {
            let facts =
                Facts { logical: self.logical, zone: self.zone.as_ref(), nulls: self.nulls, rows: Some(4) };
            (column == "x").then_some(facts)
        }

        fn may_contain(&self, _: &str, _: &Scalar) -> bool {
            !self.absent
        }
    }

    fn judge(text: &str, piece: &Piece) -> Verdict {
        verdict(&text.parse().unwrap(), piece)
    }

    fn floats(min: f64, max: f64) -> Piece {
        let zone = Zone { min: min.to_le_bytes().to_vec(), max: max.to_le_bytes().to_vec() };
        Piece { logical: LogicalType::Float64, zone: Some(zone), nulls: Some(0), absent: false }
    }

    #[test]
    fn a_nan_may_hide_above_float_bounds() {
        let piece = floats(1.0, 5.0);
        for (text, want) in [
            ("x > 9", Verdict::Maybe),
            ("x < 9", Verdict::Maybe),
            ("x < 1", Verdict::Never),
            ("x = 9", Verdict::Never),
            ("x = 0", Verdict::Never),
            ("NOT x > 9", Verdict::Maybe),
            ("x IN (7, 8)", Verdict::Never),
        ] {
            assert_eq!(judge(text, &piece), want, "{text}");
        }
        assert_eq!(judge("x < 0", &floats(f64::NAN, f64::NAN)), Verdict::Maybe);
    }

    #[test]
    fn a_filter_refutes_equalities_only() {
        let zone = Zone { min: vec![1, 0], max: vec![9, 0] };
        let piece = Piece { logical: LogicalType::Int16, zone: Some(zone), nulls: Some(1), absent: true };
        assert_eq!(judge("x = 5", &piece), Verdict::Never);
        assert_eq!(judge("NOT x <> 5", &piece), Verdict::Never);
        assert_eq!(judge("x <> 5", &piece), Verdict::Maybe);
        assert_eq!(judge("x < 99", &piece), Verdict::Maybe, "a null row does not match");
        assert_eq!(judge("x = 5 OR x IS NULL", &piece), Verdict::Maybe);
    }

    #[test]
    fn unknown_null_counts_prove_nothing_about_nulls() {
        let piece = Piece { logical: LogicalType::Int16, zone: None, nulls: None, absent: false };
        assert_eq!(judge("x IS NULL", &piece), Verdict::Maybe);
        assert_eq!(judge("x IS NOT NULL", &piece), Verdict::Maybe);
    }
}
