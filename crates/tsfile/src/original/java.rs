//! Numbers and strings as Java prints them.

use crate::meta::Value;

/// A double as `Double.toString` prints it.
pub(super) fn double(value: f64) -> String {
    decimal(value.is_nan(), value.is_infinite(), value.is_sign_negative(), &format!("{:e}", value.abs()))
}

/// A float as `Float.toString` prints it.
pub(super) fn float(value: f32) -> String {
    decimal(value.is_nan(), value.is_infinite(), value.is_sign_negative(), &format!("{:e}", value.abs()))
}

/// Formats the shortest digits that parse back to the number: plain from 10^-3 to 10^7, otherwise with an
/// exponent.
fn decimal(is_nan: bool, is_infinite: bool, is_negative: bool, scientific: &str) -> String {
    if is_nan {
        return "NaN".to_owned();
    }
    let sign = if is_negative { "-" } else { "" };
    if is_infinite {
        return format!("{sign}Infinity");
    }
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let fraction = |digits: &str| if digits.is_empty() { "0".to_owned() } else { digits.to_owned() };
    if digits == "0" {
        return format!("{sign}0.0");
    }
    if !(-3..7).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        return format!("{sign}{first}.{}E{exponent}", fraction(rest));
    }
    if exponent < 0 {
        let zeros = "0".repeat((-exponent - 1) as usize);
        return format!("{sign}0.{zeros}{digits}");
    }
    let whole = exponent as usize + 1;
    let padded = format!("{digits:0<whole$}");
    let (integer, rest) = padded.split_at(whole);
    format!("{sign}{integer}.{}", fraction(rest))
}

/// A value in Java string concatenation.
pub(super) fn value(value: &Value) -> String {
    match value {
        Value::Boolean(v) => v.to_string(),
        Value::Int32(v) => v.to_string(),
        Value::Int64(v) => v.to_string(),
        Value::Float(v) => float(*v),
        Value::Double(v) => double(*v),
        Value::Binary(v) => String::from_utf8_lossy(v).into_owned(),
    }
}

/// Java's string order: by UTF-16 code units.
pub(super) fn compare(a: &str, b: &str) -> std::cmp::Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_print_as_in_java() {
        let cases = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (16.0, "16.0"),
            (87_974_700.0, "8.79747E7"),
            (9_999_999.0, "9999999.0"),
            (1e7, "1.0E7"),
            (0.001, "0.001"),
            (0.00099, "9.9E-4"),
            (-1.5, "-1.5"),
            (120.0, "120.0"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
            (9.007_199_254_740_992e15, "9.007199254740992E15"),
            (f64::MAX, "1.7976931348623157E308"),
        ];
        for (value, printed) in cases {
            assert_eq!(double(value), printed);
        }
        assert_eq!(float(0.1), "0.1");
        assert_eq!(float(f32::MAX), "3.4028235E38");
    }
}
