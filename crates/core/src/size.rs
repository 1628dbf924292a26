//! Sizes in bytes as people write them.

use crate::error::{Error, Result};

const UNITS: [(&str, u64); 10] = [
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("k", 1 << 10),
    ("m", 1 << 20),
    ("g", 1 << 30),
    ("b", 1),
];

/// Parses a size: `512MiB`, `2GB`, `1.5K`, or a number of bytes. Units may be in any case.
pub fn parse_size(text: &str) -> Result<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let with_unit = UNITS.iter().find_map(|(unit, factor)| Some((lower.strip_suffix(unit)?, *factor)));
    let (number, factor) = with_unit.unwrap_or((&lower, 1));
    let number = number.trim();
    let whole = number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor));
    // 2^64 is the first number that does not fit.
    let part =
        || number.parse::<f64>().ok().map(|n| n * factor as f64).filter(|n| (0.0..2f64.powi(64)).contains(n));
    let size = whole.or_else(|| part().filter(|n| factor > 1 || n.fract() == 0.0).map(|n| n as u64));
    size.ok_or_else(|| {
        Error::invalid(format!("'{text}' is not a size"))
            .hint("a size must be a number with a unit, e.g. 512MiB or 2GB")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed_in_common_notations() {
        let size = |text: &str| parse_size(text).ok();
        assert_eq!(size("512MiB"), Some(512 << 20));
        assert_eq!(size("2gb"), Some(2_000_000_000));
        assert_eq!(size("1.5K"), Some(1536));
        assert_eq!(size(" 4 GiB "), Some(4 << 30));
        assert_eq!(size("1000"), Some(1000));
        assert_eq!(size(&u64::MAX.to_string()), Some(u64::MAX));
        for wrong in ["lots", "", "MiB", "-1", "1.5", "inf", "nan", "1e30", "99999999999GiB"] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
    }
}
