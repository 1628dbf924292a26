//! DATE: conversion between the decimal number yyyymmdd and days since 1970-01-01.

/// Days since the epoch; `None` for a number that is not a date.
pub(crate) fn days(date: i32) -> Option<i32> {
    let (year, month, day) = (date / 10_000, date / 100 % 100, date % 100);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i32::from(leap),
        _ => return None,
    };
    if date < 0 || !(1..=length).contains(&day) {
        return None;
    }
    // With years that start in March, the leap day is the last day.
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let year_of_era = y.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

#[cfg(test)]
mod tests {
    use super::days;

    #[test]
    fn known_days() {
        for (date, want) in [
            (19_700_101, 0),
            (19_691_231, -1),
            (20_000_229, 11_016),
            (20_240_301, 19_783),
            (10_101, -719_162),
        ] {
            assert_eq!(days(date), Some(want), "{date}");
        }
        for bad in [0, -1, 20_230_229, 20_231_301, 20_230_100, 20_230_132, i32::MAX, i32::MIN] {
            assert_eq!(days(bad), None, "{bad}");
        }
    }
}
