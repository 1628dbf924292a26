//! Group details (spec §15): the members of a group.
//!
//! ```text
//! u32 version | u64 count | per member: u32 version | u8 type | u8 relative | u64 len, uri | u8 has name | [u64 len, name]
//! | v2: u8 deleted
//! ```

use super::wire::{flag, name64, put_bytes64};
use crate::{Cursor, Error, Result};

/// The kind of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberKind {
    /// A group.
    Group,
    /// An array.
    Array,
}

impl MemberKind {
    /// The name in `info`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Array => "array",
        }
    }
}

/// A member of a group, or a removal marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Group or array.
    pub kind: MemberKind,
    /// Whether the uri is relative to the group.
    pub relative: bool,
    /// Its location.
    pub uri: String,
    /// Its name in the group.
    pub name: Option<String>,
    /// Whether it was removed.
    pub deleted: bool,
}

impl Member {
    /// The key that identifies a member.
    pub fn key(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.uri)
    }
}

/// The payload of a group detail file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupDetails {
    /// The version of the group format: 1 or 2.
    pub version: u32,
    /// The members.
    pub members: Vec<Member>,
}

impl GroupDetails {
    /// Reads the payload of a detail file.
    pub(crate) fn parse(payload: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(payload, 0, "group details");
        let cursor = &mut cursor;
        let version = cursor.u32_le()?;
        if !(1..=2).contains(&version) {
            return Err(Error::unsupported(format!(
                "group version {version} is not known; known are 1 and 2"
            )));
        }
        let stated = cursor.u64_le()?;
        let count = cursor.count(stated, 15)?;
        let members = (0..count).map(|_| Self::member(cursor)).collect::<Result<_>>()?;
        Ok(Self { version, members })
    }

    fn member(cursor: &mut Cursor<'_>) -> Result<Member> {
        let version = cursor.u32_le()?;
        if !(1..=2).contains(&version) {
            return Err(cursor.corrupt(format!("group member version {version} is not known")));
        }
        let kind = match cursor.u8()? {
            1 => MemberKind::Group,
            2 => MemberKind::Array,
            other => return Err(cursor.corrupt(format!("group member type {other} is not known"))),
        };
        let relative = flag(cursor)?;
        let uri = name64(cursor)?;
        let name = if flag(cursor)? { Some(name64(cursor)?) } else { None };
        let deleted = version >= 2 && flag(cursor)?;
        Ok(Member { kind, relative, uri, name, deleted })
    }

    /// The payload of a detail file.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = self.version.to_le_bytes().to_vec();
        out.extend_from_slice(&(self.members.len() as u64).to_le_bytes());
        for member in &self.members {
            out.extend_from_slice(&self.version.to_le_bytes());
            out.push(if member.kind == MemberKind::Group { 1 } else { 2 });
            out.push(u8::from(member.relative));
            put_bytes64(&mut out, member.uri.as_bytes());
            out.push(u8::from(member.name.is_some()));
            if let Some(name) = &member.name {
                put_bytes64(&mut out, name.as_bytes());
            }
            if self.version >= 2 {
                out.push(u8::from(member.deleted));
            }
        }
        out
    }
}
