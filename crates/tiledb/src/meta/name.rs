//! Timestamped names (spec §2.1): `__<t1>_<t2>_<uuid>[_<version>]` of fragments, commits, schemas and metadata files.
//!
//! The name alone decides when a fragment was written and in which order fragments apply.

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use crate::{Error, Result};

/// A parsed name. The order is that of application: by first timestamp, then by the name itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct TimestampedName {
    /// First timestamp, milliseconds since the epoch.
    pub start: u64,
    /// Last timestamp.
    pub end: u64,
    /// The version stated in the name, or implied by its form.
    pub version: u32,
    /// The whole name without a suffix.
    pub name: String,
}

impl TimestampedName {
    /// Parses the last component of `path`, without its suffix.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let last = path.trim_end_matches('/').rsplit('/').next()?;
        let name = last.rsplit_once('.').map_or(last, |(stem, _)| stem);
        let rest = name.strip_prefix("__")?;
        let mut parts = rest.split('_');
        let parts = [(); 5].map(|()| parts.next());
        let (start, end, version) = match parts {
            [Some(start), Some(end), Some(uuid), Some(version), None] if is_uuid(uuid) => {
                (number(start)?, number(end)?, u32::try_from(number(version)?).ok()?)
            }
            [Some(start), Some(end), Some(uuid), None, _] if is_uuid(uuid) => {
                (number(start)?, number(end)?, 4)
            }
            [Some(uuid), Some(time), None, ..] if is_uuid(uuid) => (number(time)?, number(time)?, 2),
            _ => return None,
        };
        (start <= end).then(|| Self { start, end, version, name: name.to_owned() })
    }

    /// Whether both timestamps lie in `range`.
    pub(crate) fn is_within(&self, range: &RangeInclusive<u64>) -> bool {
        *range.start() <= self.start && self.end <= *range.end()
    }

    /// Whether some timestamp may lie in `range`.
    pub(crate) fn overlaps(&self, range: &RangeInclusive<u64>) -> bool {
        self.start <= *range.end() && *range.start() <= self.end
    }
}

impl Ord for TimestampedName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.start.cmp(&other.start).then_with(|| self.name.cmp(&other.name))
    }
}

impl PartialOrd for TimestampedName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn number(text: &str) -> Option<u64> {
    // `parse` would also take a plus sign.
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn is_uuid(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// A new identifier: 32 lower-case hexadecimal digits.
///
/// Names with equal timestamps apply in the order of their identifiers, so the first eight digits come from `counter`
/// when one process writes several names within a millisecond.
pub(crate) fn fresh_uuid(counter: Option<u32>) -> Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::invalid(format!("no random numbers for a file name: {error}")))?;
    let [a, b, c, d, tail @ ..] = bytes;
    let head = counter.unwrap_or(u32::from_be_bytes([a, b, c, d]) & 0x7fff_ffff);
    let mut out = format!("{head:08x}");
    out.push_str(&tesselle_core::hex(&tail));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "2141c889945f42cdf714170667222d38";

    #[test]
    fn all_three_forms_are_understood() {
        let modern = TimestampedName::parse(&format!("a/__commits/__10_12_{UUID}_22.wrt")).unwrap();
        assert_eq!((modern.start, modern.end, modern.version), (10, 12, 22));
        assert_eq!(modern.name, format!("__10_12_{UUID}_22"));
        let middle = TimestampedName::parse(&format!("__10_12_{UUID}")).unwrap();
        assert_eq!((middle.start, middle.end, middle.version), (10, 12, 4));
        let old = TimestampedName::parse(&format!("__{UUID}_1541540586869/")).unwrap();
        assert_eq!((old.start, old.end, old.version), (1_541_540_586_869, 1_541_540_586_869, 2));
    }

    #[test]
    fn other_names_are_refused() {
        for name in ["", "__", "__meta", "__array_schema.tdb", "__lock.tdb", "a.tdb", "__1_2_3_4"] {
            assert_eq!(TimestampedName::parse(name), None, "{name}");
        }
        assert_eq!(TimestampedName::parse(&format!("__12_10_{UUID}_22")), None);
        assert_eq!(TimestampedName::parse(&format!("__+1_10_{UUID}_22")), None);
        assert_eq!(TimestampedName::parse(&format!("__1_10_{UUID}_4294967296")), None);
    }

    #[test]
    fn names_sort_by_first_timestamp_then_by_name() {
        let name = |text: &str| TimestampedName::parse(text).unwrap();
        let early = name(&format!("__9_90_{UUID}_22"));
        let late = name(&format!("__10_10_{UUID}_22"));
        assert!(early < late);
        assert!(late < name("__10_10_3141c889945f42cdf714170667222d38_22"));
        assert!(early.overlaps(&(50..=60)) && !early.is_within(&(0..=60)) && early.is_within(&(0..=90)));
    }

    #[test]
    fn identifiers_have_32_hexadecimal_digits() {
        let uuid = fresh_uuid(Some(7)).unwrap();
        assert!(is_uuid(&uuid) && uuid.starts_with("00000007"));
        assert_ne!(fresh_uuid(None).unwrap(), fresh_uuid(None).unwrap());
    }
}
