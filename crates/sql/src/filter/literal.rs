//! The side of a comparison that is a value.

use arrow_schema::DataType;
use datafusion::common::ScalarValue;
use tesselle::Scalar;

use super::column::Operand;

/// Doubles represent integers exactly up to here.
const EXACT_INTEGERS: f64 = 4_503_599_627_370_496.0;

/// Decimal digits that a double keeps.
const DOUBLE_DIGITS: u32 = 15;

/// The value of a literal compared with this column.
pub(super) fn scalar(value: &ScalarValue, operand: &Operand<'_>) -> Option<Scalar> {
    let value = match value {
        ScalarValue::Dictionary(_, inner) => inner,
        other => other,
    };
    // Times count in their own unit: only literals of the compared type can be converted to integers.
    let given = value.data_type();
    if operand.data_type.is_decimal() {
        return decimal(value);
    }
    // So do decimals, in their last digit.
    let counts = |data_type: &DataType| data_type.is_temporal() || data_type.is_decimal();
    if (counts(operand.compared) || counts(&given)) && given != *operand.compared {
        return None;
    }
    let scalar = plain(value)?;
    match scalar {
        // DataFusion converts the integers to floats, so a zero among them is positive.
        Scalar::Float(v) if operand.data_type.is_integer() => {
            let negative_zero = v == 0.0 && v.is_sign_negative();
            let same = !v.is_nan() && v.abs() < EXACT_INTEGERS && !negative_zero;
            same.then_some(scalar)
        }
        scalar => Some(scalar),
    }
}

/// The value of a decimal, if an integer or a double is exactly it.
fn decimal(value: &ScalarValue) -> Option<Scalar> {
    let ScalarValue::Decimal128(Some(digits), _, scale) = value else { return None };
    let unit = 10_i128.checked_pow(u32::try_from(*scale).ok()?)?;
    if digits % unit == 0 {
        return Some(Scalar::Int(digits / unit));
    }
    // The shortest form of a double of so many digits is the decimal.
    let exact = digits.unsigned_abs() < 10_u128.pow(DOUBLE_DIGITS);
    exact.then(|| format!("{digits}e-{scale}").parse().ok().map(Scalar::Float)).flatten()
}

fn plain(value: &ScalarValue) -> Option<Scalar> {
    use ScalarValue as V;
    Some(match value {
        V::Boolean(v) => Scalar::Bool((*v)?),
        V::Int8(v) => (*v)?.into(),
        V::Int16(v) => (*v)?.into(),
        V::Int32(v) | V::Date32(v) => (*v)?.into(),
        V::Int64(v)
        | V::Date64(v)
        | V::TimestampSecond(v, _)
        | V::TimestampMillisecond(v, _)
        | V::TimestampMicrosecond(v, _)
        | V::TimestampNanosecond(v, _)
        | V::DurationSecond(v)
        | V::DurationMillisecond(v)
        | V::DurationMicrosecond(v)
        | V::DurationNanosecond(v) => (*v)?.into(),
        // Of an integer column, whose values are scaled to compare; see `widening`.
        V::Decimal128(v, ..) => Scalar::Int((*v)?),
        V::UInt8(v) => (*v)?.into(),
        V::UInt16(v) => (*v)?.into(),
        V::UInt32(v) => (*v)?.into(),
        V::UInt64(v) => (*v)?.into(),
        V::Float16(v) => Scalar::Float((*v)?.into()),
        V::Float32(v) => (*v)?.into(),
        V::Float64(v) => (*v)?.into(),
        V::Utf8(v) | V::LargeUtf8(v) | V::Utf8View(v) => Scalar::String(v.clone()?),
        V::Binary(v) | V::LargeBinary(v) | V::BinaryView(v) | V::FixedSizeBinary(_, v) => {
            Scalar::Bytes(v.clone()?)
        }
        _ => return None,
    })
}
