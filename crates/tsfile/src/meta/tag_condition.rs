//! The devices of a table that a deletion of IoTDB 2 applies to.
//!
//! ```text
//! u8 kind:  0 all of them
//!           1 one device:       device
//!           2 one segment:      vstr value (null is one too), svar segment (0 is the name of the table)
//!           3 all of these:     svar n, n x condition
//!           4 some devices:     svar n, n x device
//!           5 segment not null: svar segment
//! ```
//!
//! A device is encoded as in version 4. Kinds 4 and 5 exist in development versions since July 2026.

use std::collections::BTreeSet;

use tesselle_core::{Cursor, Error, Result};

use super::primitive::Primitives as _;
use super::{DeviceId, PutPrimitives as _, Version, primitive::len32};

/// Maximum nesting depth; the original nests once.
const MAX_DEPTH: usize = 32;

/// A condition on the segments of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TagCondition {
    /// Every device.
    Any,
    /// These devices.
    Devices(BTreeSet<DeviceId>),
    /// Devices with this segment; a missing segment is null.
    Segment {
        /// Its index; 0 is the table name.
        index: usize,
        /// Its value.
        value: Option<String>,
    },
    /// Devices that have a segment.
    Present {
        /// Its index.
        index: usize,
    },
    /// Devices that match all of these conditions.
    All(Vec<TagCondition>),
}

impl TagCondition {
    /// Whether a device matches.
    pub fn holds(&self, device: &DeviceId) -> bool {
        let segment = |index: &usize| device.segments().get(*index).and_then(Option::as_deref);
        match self {
            Self::Any => true,
            Self::Devices(devices) => devices.contains(device),
            Self::Segment { index, value } => segment(index) == value.as_deref(),
            Self::Present { index } => segment(index).is_some(),
            Self::All(parts) => parts.iter().all(|part| part.holds(device)),
        }
    }

    /// Reads a condition.
    pub fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        Self::parse_nested(cursor, 0)
    }

    fn parse_nested(cursor: &mut Cursor<'_>, depth: usize) -> Result<Self> {
        if depth > MAX_DEPTH {
            return Err(cursor.corrupt("conditions on tags are nested too deep").class("bad_deletion"));
        }
        let at = cursor.offset();
        match cursor.u8()? {
            0 => Ok(Self::Any),
            1 => Ok(Self::Devices(BTreeSet::from([DeviceId::parse(cursor, Version::V4)?]))),
            2 => {
                let value = cursor.vstr_or_null()?.map(str::to_string);
                Ok(Self::Segment { index: natural(cursor)?, value })
            }
            3 => {
                let mut parts = Vec::new();
                for _ in 0..natural(cursor)? {
                    match Self::parse_nested(cursor, depth + 1)? {
                        // Has no effect, and would take much more memory than file space.
                        Self::Any => {}
                        part => parts.push(part),
                    }
                }
                Ok(Self::All(parts))
            }
            4 => {
                let mut devices = BTreeSet::new();
                for _ in 0..natural(cursor)? {
                    devices.insert(DeviceId::parse(cursor, Version::V4)?);
                }
                Ok(Self::Devices(devices))
            }
            5 => Ok(Self::Present { index: natural(cursor)? }),
            kind => Err(Error::unsupported(format!("tag condition kind {kind} is not known"))
                .class("unsupported_mods")
                .offset(at)),
        }
    }

    /// Writes what [`TagCondition::parse`] reads.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Any => out.push(0),
            Self::Devices(devices) => {
                if devices.len() == 1 {
                    out.push(1);
                } else {
                    out.push(4);
                    out.put_svar(len32(devices.len())?);
                }
                devices.iter().try_for_each(|device| device.write(out, Version::V4))?;
            }
            Self::Segment { index, value } => {
                out.push(2);
                out.put_vstr(value.as_deref())?;
                out.put_svar(len32(*index)?);
            }
            Self::Present { index } => {
                out.push(5);
                out.put_svar(len32(*index)?);
            }
            Self::All(parts) => {
                out.push(3);
                out.put_svar(len32(parts.len())?);
                parts.iter().try_for_each(|part| part.write(out))?;
            }
        }
        Ok(())
    }
}

/// A count or an index.
pub(super) fn natural(cursor: &mut Cursor<'_>) -> Result<usize> {
    let at = cursor.offset();
    let n = cursor.svar()?;
    usize::try_from(n).map_err(|_| {
        Error::corrupt(format!("{n} is not a valid count or index in a deletion"))
            .class("bad_deletion")
            .offset(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(segments: &[Option<&str>]) -> DeviceId {
        DeviceId::from_segments(segments.iter().map(|s| s.map(str::to_string)).collect())
    }

    #[test]
    fn all_kinds_round_trip_and_match_as_documented() {
        let (a, b) = (device(&[Some("t"), None, Some("x")]), device(&[Some("t"), Some("y")]));
        let segment =
            |index, value: Option<&str>| TagCondition::Segment { index, value: value.map(str::to_string) };
        for (condition, of_a, of_b) in [
            (TagCondition::Any, true, true),
            (TagCondition::Devices(BTreeSet::from([a.clone()])), true, false),
            (TagCondition::Devices(BTreeSet::from([b.clone(), a.clone()])), true, true),
            (TagCondition::Devices(BTreeSet::new()), false, false),
            (segment(1, None), true, false),
            (segment(2, None), false, true),
            (segment(1, Some("y")), false, true),
            (TagCondition::Present { index: 2 }, true, false),
            (TagCondition::Present { index: 9 }, false, false),
            (TagCondition::All(vec![segment(0, Some("t")), segment(2, Some("x"))]), true, false),
            (TagCondition::All(Vec::new()), true, true),
        ] {
            assert_eq!((condition.holds(&a), condition.holds(&b)), (of_a, of_b), "{condition:?}");
            let mut out = Vec::new();
            condition.write(&mut out).unwrap();
            assert_eq!(TagCondition::parse(&mut Cursor::new(&out, 0, "deletion")).unwrap(), condition);
        }
    }

    /// Bytes and results of the development version of August 2026; releases do not have these kinds yet.
    #[test]
    fn the_newer_kinds_match_the_database() {
        let devices =
            [device(&[Some("t"), None, Some("x")]), device(&[Some("t"), Some("y")]), device(&[Some("t")])];
        for (hex, holds) in [
            ("04040202740279030274010278", [true, true, false]),
            ("04020202740279", [false, true, false]),
            ("0400", [false, false, false]),
            ("0502", [false, true, false]),
            ("0504", [true, false, false]),
            ("050e", [false, false, false]),
            ("030405040404010274030274010278", [true, false, false]),
        ] {
            let bytes: Vec<u8> =
                (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect();
            let mut cursor = Cursor::new(&bytes, 0, "deletion");
            let condition = TagCondition::parse(&mut cursor).unwrap();
            cursor.expect_end().unwrap();
            assert_eq!(devices.each_ref().map(|d| condition.holds(d)), holds, "{hex}");
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        let bytes = [3, 2].repeat(1 << 16);
        let error = TagCondition::parse(&mut Cursor::new(&bytes, 0, "deletion")).unwrap_err();
        assert_eq!(error.class_name(), "bad_deletion");
    }
}
