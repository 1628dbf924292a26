//! The first and last bytes of a file: its version, and whether it is complete.

use tesselle_core::{At, Error, Result};

/// The magic at the start of every file.
pub(crate) const MAGIC: &[u8; 6] = b"TsFile";

/// A version of the file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Version {
    /// `TsFilev0.8.0`: `IoTDB` 0.8.
    V08,
    /// `TsFile000001`: `IoTDB` 0.9.
    V1,
    /// `TsFile000002`: `IoTDB` 0.10 and 0.11.
    V2,
    /// `TsFile` and the byte 3: `IoTDB` 0.12 to 1.3.
    V3,
    /// `TsFile` and the byte 4: `TsFile` 2, `IoTDB` 2.
    V4,
}

impl Version {
    /// All versions, oldest first.
    pub const ALL: [Self; 5] = [Self::V08, Self::V1, Self::V2, Self::V3, Self::V4];

    /// The version as reports name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::V08 => "v0.8.0",
            Self::V1 => "000001",
            Self::V2 => "000002",
            Self::V3 => "3",
            Self::V4 => "4",
        }
    }

    /// The first bytes of a file.
    pub(crate) fn head(self) -> &'static [u8] {
        match self {
            Self::V08 => b"TsFilev0.8.0",
            Self::V1 => b"TsFile000001",
            Self::V2 => b"TsFile000002",
            Self::V3 => b"TsFile\x03",
            Self::V4 => b"TsFile\x04",
        }
    }

    /// The last bytes of a complete file.
    pub(crate) fn tail(self) -> &'static [u8] {
        match self {
            Self::V08 => b"TsFilev0.8.0",
            _ => MAGIC,
        }
    }

    /// Whether chunks, pages and names use the variable-length integers introduced with version 3.
    pub fn is_compact(self) -> bool {
        self >= Self::V3
    }

    /// Whether the metadata is one block per device, without an index tree.
    pub fn is_flat(self) -> bool {
        self <= Self::V1
    }

    /// Determines the version from the first bytes of a file (twelve are enough). A bare `TsFile`, left
    /// behind by the recovery of 0.9, counts as an empty file of that version.
    pub(crate) fn recognise(head: &[u8]) -> Result<Self> {
        if head.get(..6) != Some(MAGIC.as_slice()) {
            return Err(Error::corrupt("the file does not start with 'TsFile'").class("bad_magic").offset(0));
        }
        let rest = head.part(6..)?;
        match rest.first() {
            None => return Ok(Self::V1),
            Some(3) => return Ok(Self::V3),
            Some(4) => return Ok(Self::V4),
            Some(_) => {}
        }
        if rest.len() < 6 {
            return Err(Error::corrupt("the file ends inside its version number")
                .class("truncated")
                .offset(6));
        }
        match rest.get(..6) {
            Some(b"v0.8.0") => Ok(Self::V08),
            Some(b"000001") => Ok(Self::V1),
            Some(b"000002") => Ok(Self::V2),
            other => {
                let found = String::from_utf8_lossy(other.unwrap_or_default()).into_owned();
                let error =
                    Error::unsupported(format!("TsFile version '{}' is not known", found.escape_debug()));
                let hint = if found.starts_with('v') {
                    "files from before 0.8 have a different, Thrift-based layout; convert them with the IoTDB release that wrote them"
                } else {
                    "supported are v0.8.0, 000001, 000002, 3 and 4; the file may come from a newer writer"
                };
                Err(error.class("unsupported_version").offset(6).hint(hint))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_is_recognized() {
        for version in Version::ALL {
            assert_eq!(Version::recognise(version.head()).unwrap(), version);
        }
        assert_eq!(Version::recognise(MAGIC).unwrap(), Version::V1);
    }

    #[test]
    fn older_and_newer_files_are_refused_by_name() {
        let old = Version::recognise(b"TsFilev0.3.0").unwrap_err();
        assert!(old.to_string().contains("v0.3.0"), "{old}");
        assert_eq!(old.class_name(), "unsupported_version");
        assert!(Version::recognise(b"TsFile\x05\x00\x00\x00\x00\x00").is_err());
        assert!(Version::recognise(b"TsFil").is_err());
        assert!(Version::recognise(b"TsFile0").is_err());
    }
}
