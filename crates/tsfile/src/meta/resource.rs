//! `.resource`: the devices of a file with their first and last times.
//!
//! ```text
//! 0.8 to 0.11   i32 n, n x (str device, i64 start), i32 m, m x (str device, i64 end) [, i32 k, k x i64 version]
//! 0.12 on       u8 1, u8 index type; by device: i32 n, n x (i64 start, i64 end), n x (device, i32 index);
//!               i64 max plan index, i64 min plan index, str modification file, ...
//! ```

use std::collections::BTreeMap;

use tesselle_core::{Cursor, Error, Result};

use super::primitive::Primitives as _;
use super::{DeviceId, PutPrimitives, Version, primitive::len32};

/// First and last time of a device; `None` in a file that is still being written.
pub(crate) type TimeRange = (Option<i64>, Option<i64>);

/// The devices of a file with their times.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Resource {
    /// By device path.
    pub devices: BTreeMap<String, TimeRange>,
    /// The time range of all devices together, if only that is stored.
    pub whole_file: Option<(i64, i64)>,
    /// Versions of the files that were merged into this one (0.10, 0.11).
    pub historical_versions: Vec<i64>,
}

impl Resource {
    /// Reads a resource file of any version. The first byte distinguishes the layouts: a version, or the high
    /// byte of a count that never reaches 2^24.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes, 0, "resource");
        match bytes {
            [1, ..] => Self::parse_versioned(&mut cursor),
            [0, ..] => Self::parse_plain(&mut cursor),
            _ => Err(cursor.corrupt("the resource version is not known").class("unsupported_version")),
        }
    }

    fn parse_plain(cursor: &mut Cursor<'_>) -> Result<Self> {
        let mut resource = Self::default();
        let n = cursor.len32()?;
        for _ in 0..cursor.count(n, 12)? {
            let device = cursor.string()?.to_string();
            resource.devices.entry(device).or_default().0 = Some(cursor.i64_be()?);
        }
        let n = cursor.len32()?;
        for _ in 0..cursor.count(n, 12)? {
            let device = cursor.string()?.to_string();
            resource.devices.entry(device).or_default().1 = Some(cursor.i64_be()?);
        }
        if !cursor.is_empty() {
            let n = cursor.len32()?;
            for _ in 0..cursor.count(n, 8)? {
                resource.historical_versions.push(cursor.i64_be()?);
            }
        }
        Ok(resource)
    }

    fn parse_versioned(cursor: &mut Cursor<'_>) -> Result<Self> {
        cursor.u8()?;
        let mut resource = Self::default();
        let kind = cursor.u8()?;
        match kind {
            1 | 3 => {}
            0 | 2 => {
                resource.whole_file = parse_file_level(cursor)?;
                return Ok(resource);
            }
            other => {
                let message = format!("time index type {other} is not known");
                return Err(cursor.corrupt(message).class("unsupported_version"));
            }
        }
        let n = cursor.len32()?;
        let mut times = Vec::with_capacity(cursor.count(n, 16)?);
        for _ in 0..n {
            times.push((cursor.i64_be()?, cursor.i64_be()?));
        }
        for _ in 0..cursor.count(n, 5)? {
            let version = if kind == 3 { Version::V4 } else { Version::V1 };
            let id = DeviceId::parse(cursor, version)?;
            let mut device = id.path();
            if resource.devices.contains_key(&device) {
                device = id.quoted_path();
            }
            let index = usize::try_from(cursor.i32_be()?).ok();
            let range = index.and_then(|i| times.get(i)).copied();
            let (start, end) =
                range.ok_or_else(|| cursor.corrupt("a device refers to a missing time range"))?;
            resource.devices.insert(device, (Some(start), Some(end)));
        }
        // Plan indexes, the name of the modification file and the progress index are not needed by a reader.
        Ok(resource)
    }

    /// Writes the layout of 0.12 and later for a file of version 3 or 4: the times of each device.
    pub(crate) fn write_versioned(
        devices: &BTreeMap<DeviceId, (i64, i64)>,
        version: Version,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let by_segments = version == Version::V4;
        out.extend([1, if by_segments { 3 } else { 1 }]);
        out.put_i32(len32(devices.len())?);
        for (start, end) in devices.values() {
            out.put_i64(*start);
            out.put_i64(*end);
        }
        for (index, device) in devices.keys().enumerate() {
            device.write(out, if by_segments { Version::V4 } else { Version::V1 })?;
            out.put_i32(len32(index)?);
        }
        // No plan index: the max is the smallest number, the min the largest.
        out.put_i64(i64::MIN);
        out.put_i64(i64::MAX);
        Ok(())
    }

    /// Writes the layout of 0.8 and 0.9.
    pub(crate) fn write_plain(&self, out: &mut Vec<u8>) -> Result<()> {
        for pick in [|r: &TimeRange| r.0, |r: &TimeRange| r.1] {
            let times: Vec<(&String, i64)> =
                self.devices.iter().filter_map(|(d, r)| Some((d, pick(r)?))).collect();
            out.put_i32(len32(times.len())?);
            for (device, time) in times {
                out.put_string(device)?;
                out.put_i64(time);
            }
        }
        Ok(())
    }
}

/// Releases differ in what precedes the two times; only the plain form is supported.
fn parse_file_level(cursor: &mut Cursor<'_>) -> Result<Option<(i64, i64)>> {
    if cursor.remaining() < 16 {
        return Err(Error::corrupt("the resource ends before its times")
            .class("truncated")
            .offset(cursor.offset()));
    }
    let (start, end) = (cursor.i64_be()?, cursor.i64_be()?);
    Ok((start <= end).then_some((start, end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_layout_round_trips() {
        let mut resource = Resource::default();
        resource.devices.insert("root.a".into(), (Some(0), Some(595)));
        resource.devices.insert("root.b".into(), (Some(-5), None));
        let mut out = Vec::new();
        resource.write_plain(&mut out).unwrap();
        assert_eq!(Resource::parse(&out).unwrap(), resource);
        for cut in 0..out.len() {
            assert!(Resource::parse(&out[..cut]).is_err(), "{cut}");
        }
    }
}
