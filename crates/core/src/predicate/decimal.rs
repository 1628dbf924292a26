//! Comparing decimals with literals, exactly.

use std::cmp::Ordering;

use arrow_array::types::Decimal128Type;
use arrow_array::{BooleanArray, PrimitiveArray};

use super::Comparison;
use super::eval::{compare_native, masked};
use crate::scalar::Scalar;

/// A column whose values have `scale` digits after the point.
pub(super) fn compare(
    array: &PrimitiveArray<Decimal128Type>,
    scale: i8,
    op: Comparison,
    value: &Scalar,
) -> Option<BooleanArray> {
    let all = |ordering: Ordering| Some(masked(array, |_| op.holds(ordering)));
    let outside = |negative: bool| all(if negative { Ordering::Greater } else { Ordering::Less });
    let (digits, digits_scale) = match value {
        Scalar::Int(number) => (Some(*number), 0),
        Scalar::Float(number) if number.is_nan() => return all(Ordering::Less),
        // The shortest form of a float is what was written.
        Scalar::Float(number) => {
            let text = number.to_string();
            let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
            (format!("{whole}{fraction}").parse::<i128>().ok(), fraction.len())
        }
        _ => return None,
    };
    let negative = match value {
        Scalar::Int(number) => *number < 0,
        Scalar::Float(number) => *number < 0.0,
        _ => false,
    };
    let Some(digits) = digits else { return outside(negative) };
    let shift = i32::from(scale) - i32::try_from(digits_scale).ok()?;
    let Some(factor) = 10_i128.checked_pow(shift.unsigned_abs()) else { return outside(negative) };
    if shift >= 0 {
        return match digits.checked_mul(factor) {
            Some(value) => Some(compare_native(array, op, value)),
            None => outside(negative),
        };
    }
    let (floor, is_whole) = (digits.div_euclid(factor), digits.rem_euclid(factor) == 0);
    let op = match op {
        op if is_whole => op,
        Comparison::Eq => return Some(masked(array, |_| false)),
        Comparison::Ne => return Some(masked(array, |_| true)),
        Comparison::Lt | Comparison::Le => Comparison::Le,
        Comparison::Gt | Comparison::Ge => Comparison::Gt,
    };
    Some(compare_native(array, op, floor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_compare_by_value() {
        let column = PrimitiveArray::<Decimal128Type>::from(vec![Some(-150), Some(7), None, Some(1050)]);
        let holds = |op: Comparison, value: Scalar| -> Vec<Option<bool>> {
            compare(&column, 2, op, &value).unwrap().iter().collect()
        };
        let (t, f) = (Some(true), Some(false));
        assert_eq!(holds(Comparison::Eq, Scalar::Float(0.07)), [f, t, None, f]);
        assert_eq!(holds(Comparison::Le, Scalar::Float(0.07)), [t, t, None, f]);
        assert_eq!(holds(Comparison::Lt, Scalar::Float(10.505)), [t, t, None, t]);
        assert_eq!(holds(Comparison::Ge, Scalar::Float(-1.505)), [t, t, None, t]);
        assert_eq!(holds(Comparison::Eq, Scalar::Float(-1.505)), [f, f, None, f]);
        assert_eq!(holds(Comparison::Gt, Scalar::Int(10)), [f, f, None, t]);
        assert_eq!(holds(Comparison::Lt, Scalar::Float(1e300)), [t, t, None, t]);
        assert_eq!(holds(Comparison::Gt, Scalar::Int(i128::MIN)), [t, t, None, t]);
        assert_eq!(compare(&column, 2, Comparison::Eq, &Scalar::String("x".into())), None);
    }
}
