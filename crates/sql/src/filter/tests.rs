use arrow_schema::{Field, TimeUnit};
use datafusion::logical_expr::{cast, col, lit};

use super::*;

fn schema() -> Schema {
    Schema::new(vec![
        Field::new("i", DataType::Int32, true),
        Field::new("f", DataType::Float64, true),
        Field::new("g", DataType::Float32, true),
        Field::new("s", DataType::Utf8, true),
        Field::new("d", DataType::Decimal128(12, 1), true),
        Field::new("t", DataType::Timestamp(TimeUnit::Millisecond, None), false),
    ])
}

fn text(expr: &Expr) -> Option<(String, bool)> {
    translate(expr, &schema()).map(|t| (t.predicate.to_string(), t.exact))
}

#[expect(clippy::unnecessary_wraps, reason = "compared with an option")]
fn expected(predicate: &str, exact: bool) -> Option<(String, bool)> {
    Some((predicate.to_owned(), exact))
}

#[test]
fn comparisons_translate_exactly_or_widen() {
    assert_eq!(text(&col("i").gt(lit(5))), expected("\"i\" > 5", true));
    assert_eq!(text(&lit(5).gt(col("i"))), expected("\"i\" < 5", true));
    assert_eq!(text(&col("i").in_list(vec![lit(1), lit(2)], true)), expected("NOT (\"i\" IN (1, 2))", true));
    assert_eq!(text(&col("f").gt(lit(0.0))), expected("\"f\" >= 0.0", false));
    assert_eq!(text(&col("f").lt(lit(2.0))), expected("(\"f\" < 2.0) OR (\"f\" = NaN)", false));
    assert_eq!(text(&col("f").not_eq(lit(0.0))), None);
    assert_eq!(text(&col("f").eq(lit(f64::NAN))), None);
    assert_eq!(text(&col("s").like(lit("ab%c"))), expected("(\"s\" >= 'ab') AND (\"s\" < 'ac')", false));
    assert_eq!(text(&col("s").like(lit("%c"))), None);
}

#[test]
fn times_count_in_the_unit_of_their_column() {
    assert_eq!(text(&col("t").eq(lit(5_i64))), None);
    let millis = ScalarValue::TimestampMillisecond(Some(7), None);
    assert_eq!(text(&col("t").gt_eq(lit(millis))), expected("\"t\" >= 7", true));
    let nanos = |n| lit(ScalarValue::TimestampNanosecond(Some(n), None));
    let fine = || cast(col("t"), DataType::Timestamp(TimeUnit::Nanosecond, None));
    assert_eq!(text(&fine().gt_eq(nanos(7_000_000))), expected("\"t\" >= 7", true));
    assert_eq!(text(&fine().gt_eq(nanos(7_000_001))), expected("\"t\" >= 8", true));
    assert_eq!(text(&fine().gt(nanos(7_000_001))), expected("\"t\" > 7", true));
    assert_eq!(text(&fine().lt(nanos(-1))), expected("\"t\" < 0", true));
    assert_eq!(text(&fine().eq(nanos(1))), None);
}

#[test]
fn casts_that_lose_nothing_are_seen_through() {
    assert_eq!(text(&cast(col("g"), DataType::Float64).gt(lit(0.1))), expected("\"g\" > 0.1", false));
    assert_eq!(text(&cast(col("i"), DataType::Int64).gt(lit(5_i64))), expected("\"i\" > 5", true));
    assert_eq!(text(&cast(col("i"), DataType::Float64).lt(lit(2.5))), expected("\"i\" < 2.5", true));
    assert_eq!(text(&cast(col("i"), DataType::Float64).lt(lit(1e300))), None);
    assert_eq!(text(&cast(col("i"), DataType::Float64).gt(lit(-0.0))), None);
    assert_eq!(text(&cast(col("i"), DataType::Float64).gt(lit(0.0))), expected("\"i\" > 0.0", true));
    assert_eq!(text(&cast(col("i"), DataType::Int8).lt(lit(5_i8))), None);
}

#[test]
fn integers_count_in_the_last_digit_of_a_decimal() {
    let tenths = |n: i128| lit(ScalarValue::Decimal128(Some(n), 12, 1));
    let wide = |name: &str| cast(col(name), DataType::Decimal128(12, 1));
    assert_eq!(text(&wide("i").gt(tenths(25))), expected("\"i\" > 2", true));
    assert_eq!(text(&wide("i").lt(tenths(25))), expected("\"i\" < 3", true));
    assert_eq!(text(&wide("i").gt_eq(tenths(20))), expected("\"i\" >= 2", true));
    assert_eq!(text(&wide("i").eq(tenths(-30))), expected("\"i\" = -3", true));
    assert_eq!(text(&wide("i").eq(tenths(25))), None);
    assert_eq!(text(&wide("f").eq(tenths(25))), None);
}

#[test]
fn decimals_are_compared_with_values_that_are_exactly_the_literal() {
    let number = |digits: i128, scale: i8| lit(ScalarValue::Decimal128(Some(digits), 38, scale));
    let wide = |scale: i8| cast(col("d"), DataType::Decimal128(38, scale));
    let tenths = lit(ScalarValue::Decimal128(Some(25), 12, 1));
    assert_eq!(text(&col("d").gt(tenths)), expected("\"d\" > 2.5", true));
    assert_eq!(text(&wide(2).eq(number(-700, 2))), expected("\"d\" = -7", true));
    assert_eq!(text(&wide(3).lt(number(70, 3))), expected("\"d\" < 0.07", true));
    // A cast that rounds, and more digits than a double has.
    assert_eq!(text(&wide(0).eq(number(7, 0))), None);
    assert_eq!(text(&wide(20).eq(number(123_456_789_012_345_678, 20))), None);
}

#[test]
fn half_a_conjunction_prunes_but_half_a_disjunction_does_not() {
    let odd = (col("i") + lit(1)).eq(lit(2));
    assert_eq!(text(&col("i").gt(lit(5)).and(odd.clone())), expected("\"i\" > 5", false));
    assert_eq!(text(&col("i").gt(lit(5)).or(odd.clone())), None);
    assert_eq!(text(&Expr::Not(Box::new(col("i").gt(lit(5)).and(odd)))), None);
}
