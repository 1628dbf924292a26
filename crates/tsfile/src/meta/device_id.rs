//! Device names. Up to version 3 a device is one string; version 4 splits it into segments.

use tesselle_core::{Cursor, Result};

use super::primitive::Primitives as _;
use super::{PutPrimitives, Version, primitive::len32};

/// A device.
///
/// Trailing null segments are ignored: one library of version 4 writes them, the other does not.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId {
    segments: Vec<Option<String>>,
}

impl DeviceId {
    /// A device named by one string, as in versions before 4.
    pub fn plain(name: impl Into<String>) -> Self {
        Self { segments: vec![Some(name.into())] }
    }

    /// A device with the given segments.
    pub fn from_segments(mut segments: Vec<Option<String>>) -> Self {
        while segments.len() > 1 && segments.last().is_some_and(Option::is_none) {
            segments.pop();
        }
        Self { segments }
    }

    /// The device of a dotted path, split as in version 4: the first three nodes are one segment; of fewer
    /// than four nodes all but the last.
    pub fn from_path(path: &str) -> Self {
        let nodes: Vec<&str> = path.split('.').collect();
        let head = match nodes.len() {
            1 => 1,
            n @ 2..4 => n - 1,
            _ => 3,
        };
        let (first, rest) = nodes.split_at(head);
        let mut segments = vec![Some(first.join("."))];
        segments.extend(rest.iter().map(|s| Some((*s).to_string())));
        Self { segments }
    }

    /// The segments.
    pub fn segments(&self) -> &[Option<String>] {
        &self.segments
    }

    /// The first segment: in the table model the table name.
    pub fn table_name(&self) -> &str {
        self.segments.first().and_then(Option::as_deref).unwrap_or_default()
    }

    /// Whether its name is one of the table model; devices of the tree model start with `root`.
    pub fn is_of_table_model(&self) -> bool {
        !self.table_name().starts_with("root.")
    }

    /// The value of tag `i` in the table model.
    pub fn tag(&self, i: usize) -> Option<&str> {
        self.segments.get(i.saturating_add(1)).and_then(Option::as_deref)
    }

    /// The segments joined by dots; a null prints as `null`.
    pub fn path(&self) -> String {
        let parts = || self.segments.iter().map(|s| s.as_deref().unwrap_or("null"));
        let mut path = String::with_capacity(parts().map(|part| part.len() + 1).sum());
        for (i, part) in parts().enumerate() {
            path.push_str(if i == 0 { "" } else { "." });
            path.push_str(part);
        }
        path
    }

    /// The same with back quotes around ambiguous segments: those with a dot, and the word `null`.
    pub(crate) fn quoted_path(&self) -> String {
        let quoted = |segment: &Option<String>| match segment.as_deref() {
            None => "null".to_string(),
            Some(segment) if segment == "null" || segment.contains(['.', '`']) => {
                format!("`{}`", segment.replace('`', "``"))
            }
            Some(segment) => segment.to_string(),
        };
        self.segments.iter().map(quoted).collect::<Vec<_>>().join(".")
    }

    /// Reads a device.
    pub(crate) fn parse(cursor: &mut Cursor<'_>, version: Version) -> Result<Self> {
        match version {
            Version::V08 | Version::V1 | Version::V2 => Ok(Self::plain(cursor.string()?)),
            Version::V3 => Ok(Self::plain(cursor.vstr()?)),
            Version::V4 => {
                let n = cursor.uvar()?;
                let mut segments = Vec::with_capacity(cursor.count(u64::from(n), 1)?);
                for _ in 0..n {
                    segments.push(cursor.vstr_or_null()?.map(str::to_string));
                }
                if segments.is_empty() {
                    return Err(cursor.corrupt("a device has no segments").class("bad_device"));
                }
                Ok(Self::from_segments(segments))
            }
        }
    }

    /// Writes what [`DeviceId::parse`] reads.
    pub(crate) fn write(&self, out: &mut Vec<u8>, version: Version) -> Result<()> {
        match version {
            Version::V08 | Version::V1 | Version::V2 => out.put_string(&self.path()),
            Version::V3 => out.put_vstr(Some(&self.path())),
            Version::V4 => {
                out.put_uvar(len32(self.segments.len())?.cast_unsigned());
                self.segments.iter().try_for_each(|s| out.put_vstr(s.as_deref()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_split_as_in_version_4() {
        let cut = |path: &str| {
            let id = DeviceId::from_path(path);
            id.segments().iter().map(|s| s.clone().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(cut("d"), ["d"]);
        assert_eq!(cut("root.d"), ["root", "d"]);
        assert_eq!(cut("root.sg.d1"), ["root.sg", "d1"]);
        assert_eq!(cut("root.a.b.c.d"), ["root.a.b", "c", "d"]);
    }

    #[test]
    fn trailing_nulls_are_ignored() {
        let segment = |s: &str| Some(s.to_string());
        let kept = DeviceId::from_segments(vec![segment("weather"), segment("north"), None]);
        assert_eq!(kept, DeviceId::from_segments(vec![segment("weather"), segment("north")]));
        assert_eq!(kept.tag(1), None);
        let inner = DeviceId::from_segments(vec![segment("weather"), None, segment("x")]);
        assert_eq!(inner.path(), "weather.null.x");
        let word = DeviceId::from_segments(vec![segment("weather"), segment("null"), segment("x.y")]);
        assert_eq!(word.quoted_path(), "weather.`null`.`x.y`");
        let mut out = Vec::new();
        inner.write(&mut out, Version::V4).unwrap();
        assert_eq!(DeviceId::parse(&mut Cursor::new(&out, 0, "device"), Version::V4).unwrap(), inner);
    }
}
