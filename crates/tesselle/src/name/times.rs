//! Times of states: numbers, ISO 8601, and times before now.

use std::time::{SystemTime, UNIX_EPOCH};

use tesselle_core::{Error, Result};

/// Units of times before now, in milliseconds; all but the first may end with an s.
const UNITS: [(&str, u64); 6] = [
    ("ms", 1),
    ("second", 1_000),
    ("minute", 60_000),
    ("hour", 3_600_000),
    ("day", 86_400_000),
    ("week", 604_800_000),
];

/// A time: milliseconds since the epoch, ISO 8601, `now`, or a time before now such as `5 minutes ago`.
pub fn parse_time(text: &str) -> Result<u64> {
    let text = text.trim();
    if let Ok(millis) = text.parse() {
        return Ok(millis);
    }
    if let Some(before) = before_now(text) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_millis());
        let now = now.ok().and_then(|millis| u64::try_from(millis).ok());
        let now = now.ok_or_else(|| Error::invalid("the clock of this machine is not set"))?;
        return now.checked_sub(before).ok_or_else(|| before_1970(text));
    }
    let nanos = arrow_cast::parse::string_to_timestamp_nanos(text).map_err(|_| {
        Error::invalid(format!("'{text}' is not a time")).hint(
            "use milliseconds since the epoch, ISO 8601 such as 2024-05-01T12:00:00Z, or a time such as '5 minutes ago'",
        )
    })?;
    u64::try_from(nanos.div_euclid(1_000_000)).map_err(|_| before_1970(text))
}

/// Two times separated by a comma, both included.
pub fn parse_times(text: &str) -> Result<(u64, u64)> {
    let (start, end) =
        text.split_once(',').ok_or_else(|| Error::invalid("expected two times separated by a comma"))?;
    Ok((parse_time(start)?, parse_time(end)?))
}

fn before_1970(text: &str) -> Error {
    Error::invalid(format!("the time '{text}' is before 1970, which no format supports"))
}

/// How many milliseconds before now a time is; `None` if it is not relative.
fn before_now(text: &str) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    if text == "now" {
        return Some(0);
    }
    let amount = text.strip_suffix("ago")?.trim_end();
    let digits = amount.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = amount.split_at(digits);
    let unit = unit.trim_start();
    let (_, millis) =
        UNITS.iter().find(|(name, _)| unit == *name || unit.strip_suffix('s') == Some(*name))?;
    number.parse::<u64>().ok()?.checked_mul(*millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_milliseconds_or_iso() {
        assert_eq!(parse_time("1700000000000").unwrap(), 1_700_000_000_000);
        assert_eq!(parse_time("1970-01-02").unwrap(), 86_400_000);
        assert_eq!(parse_time("1970-01-01T00:00:01.5Z").unwrap(), 1500);
        assert_eq!(parse_times("1, 2").unwrap(), (1, 2));
        assert!(parse_times("1").is_err() && parse_time("soon").is_err());
    }

    #[test]
    fn times_before_now_have_a_number_and_a_unit() {
        assert_eq!(before_now("now"), Some(0));
        assert_eq!(before_now("1 minute ago"), Some(60_000));
        assert_eq!(before_now("90 Seconds ago"), Some(90_000));
        assert_eq!(before_now("2days ago"), Some(172_800_000));
        assert_eq!(before_now("250 ms ago"), Some(250));
        for text in [
            "ago",
            "minute ago",
            "1 ago",
            "1 minute",
            "-1 day ago",
            "1 month ago",
            "99999999999999 weeks ago",
        ] {
            assert_eq!(before_now(text), None, "{text}");
        }
        let (hour_ago, now) = parse_times("1 hour ago,now").unwrap();
        assert!(now - hour_ago >= 3_600_000);
        assert!(parse_time("30000 weeks ago").is_err(), "before 1970");
    }
}
