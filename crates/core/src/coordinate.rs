//! Coordinates as people write them: numbers, and dates and times where an axis counts time.

use arrow_array::timezone::Tz;
use arrow_cast::parse::{parse_interval_month_day_nano, string_to_datetime};
use arrow_schema::{DataType, TimeUnit};

use crate::types::per_second;

const SECOND: i128 = 1_000_000_000;
const DAY: i128 = 86_400 * SECOND;
/// The zone of times without one.
pub(crate) const UTC: &str = "+00:00";

/// How many nanoseconds a count is, in a column of points in time.
pub(crate) fn unit_of(data_type: &DataType) -> Option<i128> {
    match data_type {
        DataType::Timestamp(unit, _) => Some(nanos(*unit)),
        DataType::Date32 => Some(DAY),
        DataType::Date64 => Some(nanos(TimeUnit::Millisecond)),
        _ => None,
    }
}

/// Nanoseconds in a unit of time.
pub(crate) fn nanos(unit: TimeUnit) -> i128 {
    SECOND / i128::from(per_second(unit))
}

/// Nanoseconds since 1970 of a time in ISO 8601; without a zone it is in `zone`.
pub(crate) fn time(text: &str, zone: Tz) -> Option<i128> {
    let time = string_to_datetime(&zone, text.trim()).ok()?;
    Some(i128::from(time.timestamp()) * SECOND + i128::from(time.timestamp_subsec_nanos()))
}

/// Nanoseconds since 1970 of a coordinate in ISO 8601, with or without quotes; without a zone it is in UTC.
pub(crate) fn instant(text: &str) -> Option<i128> {
    time(unquoted(text), UTC.parse().ok()?)
}

fn unquoted(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).unwrap_or(text)
}

/// The coordinate in a column of this type: a number, or a date or time in ISO 8601 where the column counts time.
/// `None` if the string is neither, or lies between two counts.
///
/// ```
/// use arrow_schema::DataType;
/// use tesselle_core::coordinate;
/// assert_eq!(coordinate("1970-02-01", &DataType::Date32), Some(31));
/// assert_eq!(coordinate("31", &DataType::Date32), Some(31));
/// assert_eq!(coordinate("1970-02-01T06:00:00", &DataType::Date32), None);
/// ```
pub fn coordinate(text: &str, data_type: &DataType) -> Option<i128> {
    if let Ok(number) = text.trim().parse() {
        return Some(number);
    }
    let (unit, time) = (unit_of(data_type)?, instant(text)?);
    (time.rem_euclid(unit) == 0).then(|| time.div_euclid(unit))
}

/// How many coordinates of a column of this type a length has: a number, or days and shorter units where the column
/// counts time. `None` if the string is neither, or is no whole number of counts.
///
/// ```
/// use arrow_schema::{DataType, TimeUnit};
/// use tesselle_core::coordinates_in;
/// let seconds = DataType::Timestamp(TimeUnit::Second, None);
/// assert_eq!(coordinates_in("90 minutes", &seconds), Some(5400));
/// assert_eq!(coordinates_in("7 days", &DataType::Date32), Some(7));
/// assert_eq!(coordinates_in("1 month", &DataType::Date32), None);
/// ```
pub fn coordinates_in(text: &str, data_type: &DataType) -> Option<i128> {
    if let Ok(number) = text.trim().parse() {
        return Some(number);
    }
    let unit = unit_of(data_type)?;
    let interval = parse_interval_month_day_nano(unquoted(text)).ok()?;
    // A month has no fixed length.
    let length = i128::from(interval.days) * DAY + i128::from(interval.nanoseconds);
    (interval.months == 0 && length.rem_euclid(unit) == 0).then(|| length.div_euclid(unit))
}

/// The parts of `first:second[:third]`, where the first two may contain colons, as times do: the split for which
/// `is_end` accepts both; the second is as long as possible.
///
/// ```
/// use arrow_schema::DataType;
/// use tesselle_core::{coordinate, split_ends};
/// let is_day = |text: &str| coordinate(text, &DataType::Date32).is_some();
/// let days = "2025-01-01T00:00:00:2025-02-01T00:00:00:7";
/// assert_eq!(split_ends(days, is_day), Some(("2025-01-01T00:00:00", "2025-02-01T00:00:00", Some("7"))));
/// assert_eq!(split_ends("3:9", is_day), Some(("3", "9", None)));
/// ```
pub fn split_ends(text: &str, is_end: impl Fn(&str) -> bool) -> Option<(&str, &str, Option<&str>)> {
    text.match_indices(':').find_map(|(at, colon)| {
        let (first, rest) = (text.get(..at)?, text.get(at + colon.len()..)?);
        if !is_end(first) {
            return None;
        }
        if is_end(rest) {
            return Some((first, rest, None));
        }
        let (second, third) = rest.rsplit_once(':')?;
        is_end(second).then_some((first, second, Some(third)))
    })
}
