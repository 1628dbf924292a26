//! Narrowing of regions by conditions on axis columns.

use crate::predicate::{Comparison, Predicate};
use crate::scalar::Scalar;
use crate::selection::{Region, Span};

/// Narrows `region` by the conditions of `predicate` on the axes with these names, whose coordinates are integers
/// starting at `origin`. Returns whether the narrowed region contains exactly the matching rows; otherwise it contains
/// a superset.
pub fn narrow(predicate: &Predicate, names: &[&str], origin: &[i128], region: &mut Region) -> bool {
    let first = |axis: usize| origin.get(axis).copied().unwrap_or(0);
    let mut exact = true;
    for part in predicate.conjuncts() {
        exact &= match part {
            Predicate::Always(true) => true,
            Predicate::Always(false) => {
                region.spans.iter_mut().for_each(|span| keep(span, 0, 0));
                // An array without axes has one cell, which no span excludes.
                !region.spans.is_empty()
            }
            Predicate::Compare { column, op, value } => match axis(names, column, region) {
                Some((axis, span)) => compare(span, first(axis), *op, value),
                None => false,
            },
            Predicate::In { column, values } => {
                if let Some((axis, span)) = axis(names, column, region) {
                    within(span, first(axis), values);
                }
                false
            }
            _ => false,
        };
    }
    exact
}

fn axis<'r>(names: &[&str], column: &str, region: &'r mut Region) -> Option<(usize, &'r mut Span)> {
    let axis = names.iter().position(|name| *name == column)?;
    Some((axis, region.spans.get_mut(axis)?))
}

/// Keeps the positions of `span` in `[lo, hi)`.
fn keep(span: &mut Span, lo: i128, hi: i128) {
    let clamp = |n: i128| u64::try_from(n.clamp(0, i128::from(u64::MAX))).unwrap_or(u64::MAX);
    let (lo, hi) = (clamp(lo), clamp(hi));
    match span.within(lo, hi) {
        Some(part) => {
            span.start = part.first;
            span.stop = span.stop.min(hi);
        }
        None => span.stop = span.start,
    }
}

/// Narrows a span by `origin + position op value`; `false` if that is not a range.
fn compare(span: &mut Span, origin: i128, op: Comparison, value: &Scalar) -> bool {
    const MOST: i128 = u64::MAX as i128;
    // `below` counts the integers less than the value, `upto` those less than or equal to it.
    let (below, upto) = match value {
        Scalar::Int(n) => (*n, n.saturating_add(1)),
        Scalar::Bool(b) => (i128::from(*b), i128::from(*b) + 1),
        // NaN is above every number.
        Scalar::Float(x) if x.is_nan() => (i128::MAX, i128::MAX),
        Scalar::Float(x) => {
            let bounded = x.clamp(-1e19, 1e19);
            (bounded.ceil() as i128, (bounded.floor() as i128).saturating_add(1))
        }
        Scalar::Null => {
            keep(span, 0, 0);
            return true;
        }
        Scalar::String(_) | Scalar::Bytes(_) => return false,
    };
    let (below, upto) = (below.saturating_sub(origin), upto.saturating_sub(origin));
    match op {
        Comparison::Lt => keep(span, 0, below),
        Comparison::Le => keep(span, 0, upto),
        Comparison::Gt => keep(span, upto, MOST),
        Comparison::Ge => keep(span, below, MOST),
        Comparison::Eq => keep(span, below, upto),
        Comparison::Ne => return false,
    }
    true
}

/// Narrows a span to the range of a list of integers.
fn within(span: &mut Span, origin: i128, values: &[Scalar]) {
    let mut range: Option<(i128, i128)> = None;
    for value in values {
        match value {
            Scalar::Int(n) => {
                range = Some(range.map_or((*n, *n), |(lo, hi)| (lo.min(*n), hi.max(*n))));
            }
            Scalar::Null => {}
            _ => return,
        }
    }
    match range {
        Some((lo, hi)) => keep(span, lo.saturating_sub(origin), hi.saturating_add(1).saturating_sub(origin)),
        None => keep(span, 0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn narrowed(text: &str) -> (Vec<u64>, bool) {
        let mut region = Region { spans: vec![Span { start: 1, stop: 20, step: 3 }] }; // 1 4 7 10 13 16 19
        let exact = narrow(&text.parse().unwrap(), &["x"], &[0], &mut region);
        // The same coordinates on an axis with another origin.
        let mut shifted = Region { spans: vec![Span { start: 0, stop: 19, step: 3 }] };
        assert_eq!(narrow(&text.parse().unwrap(), &["x"], &[1], &mut shifted), exact, "{text}");
        assert_eq!(shifted.spans[0].len(), region.spans[0].len(), "{text}");
        assert!(region.spans[0].is_empty() || shifted.spans[0].start + 1 == region.spans[0].start, "{text}");
        let span = region.spans[0];
        ((0..span.len()).map(|i| span.start + i * span.step).collect(), exact)
    }

    #[test]
    fn the_cell_of_an_array_without_axes_is_left_to_the_filter() {
        let mut region = Region { spans: Vec::new() };
        assert!(!narrow(&Predicate::Always(false), &[], &[], &mut region));
    }

    #[test]
    fn ranges_become_regions() {
        for (text, want, exact) in [
            ("x >= 5 AND x < 13", vec![7, 10], true),
            ("x > 4", vec![7, 10, 13, 16, 19], true),
            ("x <= 4.5", vec![1, 4], true),
            ("x < 4.5", vec![1, 4], true),
            ("x > 16.5", vec![19], true),
            ("x = 7", vec![7], true),
            ("x = 8", vec![], true),
            ("x = 7.5", vec![], true),
            ("x < -3", vec![], true),
            ("x > 99999999999999999999", vec![], true),
            ("x = NULL", vec![], true),
            ("FALSE", vec![], true),
            ("x IN (8, 12)", vec![10], false),
            ("x <> 7", vec![1, 4, 7, 10, 13, 16, 19], false),
            ("x < 5 AND value > 2", vec![1, 4], false),
            ("x < 5 OR x > 10", vec![1, 4, 7, 10, 13, 16, 19], false),
        ] {
            assert_eq!(narrowed(text), (want, exact), "{text}");
        }
    }
}
