//! Times as Java's `ZonedDateTime` prints them.

use std::fmt::Write as _;

use chrono::{DateTime, Offset as _, TimeZone as _, Utc};
use chrono_tz::Tz;
use tesselle_core::{Error, Result};

const DAY_SECONDS: i64 = 86_400;
/// 400 years of the calendar.
const CYCLE_DAYS: i64 = 146_097;
/// Before this second, the start of year 1, every zone uses its local mean time.
const FIRST_SECOND: i64 = -62_135_596_800;
/// The first year after the tabulated rules, which repeat from here on.
const FIRST_UNLISTED_YEAR: i64 = 2100;
/// 28 tabulated years that cover every kind of year (leap or not, first weekday).
const LISTED_YEARS: std::ops::Range<i64> = 2070..2098;

/// A time zone, by its name.
#[derive(Debug, Clone)]
pub struct Zone {
    name: String,
    rules: Rules,
}

#[derive(Debug, Clone, Copy)]
enum Rules {
    Region(Tz),
    /// Seconds east of Greenwich.
    Fixed(i64),
}

impl Zone {
    /// The zone with this name: one of the IANA database, or `GMT+8`, `GMT-03:30`. As in Java, an unknown
    /// name means `GMT`.
    ///
    /// ```
    /// let zone = tesselle_tsfile::original::Zone::named("Asia/Shanghai");
    /// assert_eq!(zone.format(0)?, "1970-01-01T08:00+08:00[Asia/Shanghai]");
    /// # Ok::<(), tesselle_core::Error>(())
    /// ```
    pub fn named(name: &str) -> Self {
        if let Ok(region) = name.parse::<Tz>() {
            return Self { name: name.to_owned(), rules: Rules::Region(region) };
        }
        match custom(name) {
            Some((name, seconds)) => Self { name, rules: Rules::Fixed(seconds) },
            None => Self { name: "GMT".to_owned(), rules: Rules::Fixed(0) },
        }
    }

    /// Formats milliseconds since 1970 as `1970-01-01T08:00:00.595+08:00[Asia/Shanghai]`.
    pub fn format(&self, millis: i64) -> Result<String> {
        let second = millis.div_euclid(1000);
        let offset = self.offset(second)?;
        let local = second + offset;
        let (year, month, day) = civil(local.div_euclid(DAY_SECONDS));
        let time = local.rem_euclid(DAY_SECONDS);
        let mut out = match year {
            10_000.. => format!("+{year}"),
            0..10_000 => format!("{year:04}"),
            _ => format!("-{:04}", -year),
        };
        put(&mut out, format_args!("-{month:02}-{day:02}T{:02}:{:02}", time / 3600, time / 60 % 60));
        let (seconds, fraction) = (time % 60, millis.rem_euclid(1000));
        if seconds != 0 || fraction != 0 {
            put(&mut out, format_args!(":{seconds:02}"));
        }
        if fraction != 0 {
            put(&mut out, format_args!(".{fraction:03}"));
        }
        put_offset(&mut out, offset);
        put(&mut out, format_args!("[{}]", self.name));
        Ok(out)
    }

    /// Seconds east of Greenwich at a second since 1970.
    fn offset(&self, second: i64) -> Result<i64> {
        let region = match self.rules {
            Rules::Fixed(seconds) => return Ok(seconds),
            Rules::Region(region) => region,
        };
        let second = listed(second);
        let time: DateTime<Utc> = DateTime::from_timestamp(second, 0)
            .ok_or_else(|| Error::internal(format!("second {second} has no date")))?;
        let offset = region.offset_from_utc_datetime(&time.naive_utc()).fix();
        Ok(i64::from(offset.local_minus_utc()))
    }
}

fn put(out: &mut String, part: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = out.write_fmt(part);
}

/// `Z`, `+08:00`, or with seconds if the offset has them.
fn put_offset(out: &mut String, offset: i64) {
    if offset == 0 {
        out.push('Z');
        return;
    }
    let sign = if offset < 0 { '-' } else { '+' };
    let (hours, minutes, seconds) = (offset.abs() / 3600, offset.abs() / 60 % 60, offset.abs() % 60);
    put(out, format_args!("{sign}{hours:02}:{minutes:02}"));
    if seconds != 0 {
        put(out, format_args!(":{seconds:02}"));
    }
}

/// `GMT+8`, `GMT+08:30`, `GMT-0330` in Java's form, with their seconds.
fn custom(name: &str) -> Option<(String, i64)> {
    let rest = name.strip_prefix("GMT")?;
    let sign = rest.chars().next().filter(|sign| matches!(sign, '+' | '-'))?;
    let digits = rest.get(1..)?;
    let (hours, minutes) = match digits.split_once(':') {
        Some((hours, minutes)) if minutes.len() == 2 => (hours, minutes),
        Some(_) => return None,
        None if digits.len() > 2 => digits.split_at(digits.len() - 2),
        None => (digits, "0"),
    };
    let number = |digits: &str| {
        let is_number = (1..=2).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        is_number.then(|| digits.parse::<i64>().ok()).flatten()
    };
    let hours = number(hours).filter(|hours| *hours <= 23)?;
    let minutes = number(minutes).filter(|minutes| *minutes <= 59)?;
    let seconds = hours * 3600 + minutes * 60;
    if seconds == 0 {
        return Some(("GMT".to_owned(), 0));
    }
    let seconds = if sign == '-' { -seconds } else { seconds };
    Some((format!("GMT{sign}{hours:02}:{minutes:02}"), seconds))
}

/// A second in the tabulated years with the same rules.
fn listed(second: i64) -> i64 {
    let day = second.div_euclid(DAY_SECONDS);
    let (year, ..) = civil(day);
    if year < FIRST_UNLISTED_YEAR {
        return second.max(FIRST_SECOND);
    }
    let kind = |year: i64| ((first_day(year) + 4).rem_euclid(7), first_day(year + 1) - first_day(year));
    let like = LISTED_YEARS.clone().find(|listed| kind(*listed) == kind(year)).unwrap_or(LISTED_YEARS.start);
    second - (first_day(year) - first_day(like)) * DAY_SECONDS
}

/// The first day of a year, since 1970.
fn first_day(year: i64) -> i64 {
    let before = year - 1;
    365 * (year - 1970) + before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400) - 477
}

/// Year, month and day of a day since 1970, in the proleptic Gregorian calendar.
fn civil(day: i64) -> (i64, i64, i64) {
    // With years that start in March, the leap day is the last day.
    let shifted = day + 719_468;
    let (cycle, in_cycle) = (shifted.div_euclid(CYCLE_DAYS), shifted.rem_euclid(CYCLE_DAYS));
    let year = (in_cycle - in_cycle / 1460 + in_cycle / 36_524 - in_cycle / 146_096) / 365;
    let in_year = in_cycle - (365 * year + year / 4 - year / 100);
    let month = (5 * in_year + 2) / 153;
    let day = in_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (cycle * 400 + year + later, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(zone: &str, millis: i64) -> String {
        Zone::named(zone).format(millis).unwrap()
    }

    #[test]
    fn times_print_as_in_java() {
        assert_eq!(formatted("UTC", 0), "1970-01-01T00:00Z[UTC]");
        assert_eq!(formatted("UTC", -40), "1969-12-31T23:59:59.960Z[UTC]");
        assert_eq!(formatted("UTC", 200), "1970-01-01T00:00:00.200Z[UTC]");
        assert_eq!(formatted("Asia/Shanghai", 89_007), "1970-01-01T08:01:29.007+08:00[Asia/Shanghai]");
        assert_eq!(
            formatted("Asia/Shanghai", -62_135_596_800_000),
            "0001-01-01T08:05:43+08:05:43[Asia/Shanghai]"
        );
        assert_eq!(
            formatted("Asia/Shanghai", 9_000_000_000_000_000_000),
            "+285200616-07-25T00:00+08:00[Asia/Shanghai]"
        );
        assert_eq!(formatted("UTC", i64::MIN), "-292275055-05-16T16:47:04.192Z[UTC]");
        assert_eq!(formatted("UTC", i64::MAX), "+292278994-08-17T07:12:55.807Z[UTC]");
    }

    #[test]
    fn daylight_saving_time_continues_after_the_table() {
        for (year, offset) in [(2023, "-04:00"), (2099, "-04:00"), (2100, "-04:00"), (2800, "-04:00")] {
            let july = (first_day(year) + 190) * DAY_SECONDS * 1000;
            let shown = formatted("America/New_York", july);
            assert!(shown.contains(offset), "{shown}");
            let january = (first_day(year) + 9) * DAY_SECONDS * 1000;
            assert!(formatted("America/New_York", january).contains("-05:00"));
        }
    }

    #[test]
    fn years_start_on_the_right_day() {
        for year in [-401, -1, 0, 1, 1600, 1969, 1970, 2000, 2100, 9999] {
            assert_eq!(civil(first_day(year)), (year, 1, 1));
            assert_eq!(civil(first_day(year) - 1), (year - 1, 12, 31));
        }
    }

    #[test]
    fn offsets_from_utc_are_zones() {
        assert_eq!(formatted("GMT+8", 0), "1970-01-01T08:00+08:00[GMT+08:00]");
        assert_eq!(formatted("GMT-0330", 0), "1969-12-31T20:30-03:30[GMT-03:30]");
        assert_eq!(formatted("Nowhere/Else", 0), "1970-01-01T00:00Z[GMT]");
    }
}
