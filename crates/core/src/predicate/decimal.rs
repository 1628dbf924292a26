//! Comparing decimals with literals, exactly.

use arrow_array::types::Decimal128Type;
use arrow_array::{BooleanArray, PrimitiveArray};

use super::Comparison;
use super::eval::compare_native;
use crate::scalar::Scalar;

/// Above the digits of every decimal; its negative is below them.
const OUTSIDE: i128 = i128::MAX;

/// A column whose values have `scale` digits after the point.
pub(super) fn compare(
    array: &PrimitiveArray<Decimal128Type>,
    scale: i8,
    op: Comparison,
    value: &Scalar,
) -> Option<BooleanArray> {
    let (op, digits) = op.of_digits(value, scale)?;
    Some(compare_native(array, op, digits))
}

impl Comparison {
    /// `decimal op value` as a comparison of the digits of the decimal, of which `scale` are behind the point; also if no
    /// decimal has this value. `None` if the value is no number.
    pub fn of_digits(self, value: &Scalar, scale: i8) -> Option<(Self, i128)> {
        let (digits, digits_scale, negative) = match value {
            Scalar::Int(number) => (Some(*number), 0, *number < 0),
            Scalar::Float(number) if number.is_nan() => (None, 0, false),
            // The shortest form of a float is what was written.
            Scalar::Float(number) => {
                let text = number.to_string();
                let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
                (format!("{whole}{fraction}").parse::<i128>().ok(), fraction.len(), *number < 0.0)
            }
            _ => return None,
        };
        let outside = (self, if negative { -OUTSIDE } else { OUTSIDE });
        let Some(digits) = digits else { return Some(outside) };
        let shift = i32::from(scale) - i32::try_from(digits_scale).ok()?;
        let Some(factor) = 10_i128.checked_pow(shift.unsigned_abs()) else { return Some(outside) };
        if shift >= 0 {
            return Some(digits.checked_mul(factor).map_or(outside, |digits| (self, digits)));
        }
        let (floor, is_whole) = (digits.div_euclid(factor), digits.rem_euclid(factor) == 0);
        Some(match self {
            op if is_whole => (op, floor),
            // No decimal has this value.
            Self::Eq | Self::Ne => (self, OUTSIDE),
            Self::Lt | Self::Le => (Self::Le, floor),
            Self::Gt | Self::Ge => (Self::Gt, floor),
        })
    }
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
