//! The manifest: an append-only log of members.
//!
//! ```text
//! "TMAN"  u8 version
//! records:  u8 kind (1 add, 2 remove, 3 set tier)  uv length  body  u32 CRC-32C of all three
//! ```
//!
//! The first record that is truncated or fails its checksum ends the log; it is the result of a crash.

use std::collections::BTreeMap;

use tesselle_codec::crc::crc32c;
use tesselle_codec::varint;
use tesselle_core::{At, Cursor, Error, Result, Within};

use super::member::Member;

/// The magic.
pub(crate) const MAGIC: [u8; 4] = *b"TMAN";
const VERSION: u8 = 1;
const HEADER_LEN: usize = 5;

const ADD: u8 = 1;
const REMOVE: u8 = 2;
const SET_TIER: u8 = 3;

/// One edit of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Edit {
    /// A new member, or a new version of one.
    Add(Member),
    /// Removes a member; its file remains.
    Remove([u8; 16]),
    /// A member moves to another tier.
    SetTier([u8; 16], u8),
}

impl Edit {
    fn write(&self, out: &mut Vec<u8>) {
        let mut body = Vec::new();
        let kind = match self {
            Self::Add(member) => {
                member.write(&mut body);
                ADD
            }
            Self::Remove(uuid) => {
                body.extend_from_slice(uuid);
                REMOVE
            }
            Self::SetTier(uuid, tier) => {
                body.extend_from_slice(uuid);
                body.push(*tier);
                SET_TIER
            }
        };
        let start = out.len();
        out.push(kind);
        varint::write(body.len() as u64, out);
        out.append(&mut body);
        let crc = crc32c(out.within(start..));
        out.extend_from_slice(&crc.to_le_bytes());
    }

    /// `None` for unknown kinds and unreadable add bodies: both are skipped.
    fn parse(kind: u8, body: &[u8]) -> Option<Self> {
        let mut cursor = Cursor::new(body, 0, "manifest record");
        match kind {
            ADD => Member::parse(&mut cursor).ok().map(Self::Add),
            REMOVE => cursor.array().ok().map(Self::Remove),
            SET_TIER => Some(Self::SetTier(cursor.array().ok()?, cursor.u8().ok()?)),
            _ => None,
        }
    }
}

/// A replayed log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Manifest {
    members: BTreeMap<[u8; 16], Member>,
    /// Number of valid bytes of the log.
    pub(crate) valid: usize,
    /// Number of bytes after them, an incomplete record.
    pub(crate) torn: usize,
    /// Number of skipped records of unknown kind.
    pub(crate) skipped: usize,
}

impl Manifest {
    /// Replays a log. Fewer bytes than a header are an empty collection.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        let mut manifest = Self::default();
        let Some((header, mut rest)) = bytes.split_at_checked(HEADER_LEN) else {
            manifest.torn = bytes.len();
            return Ok(manifest);
        };
        if !header.starts_with(&MAGIC) {
            let found = header.part(..4)?.escape_ascii();
            return Err(Error::corrupt(format!("the manifest starts with \"{found}\", expected \"TMAN\""))
                .class("bad_manifest")
                .offset(0));
        }
        if header.get(4) != Some(&VERSION) {
            let version = header.value(4);
            return Err(Error::unsupported(format!("manifest version {version} is not known"))
                .class("unsupported_version")
                .offset(4));
        }
        while let Some((edit, len)) = next_record(rest) {
            match edit {
                Some(edit) => manifest.apply(edit),
                None => manifest.skipped += 1,
            }
            rest = rest.part(len..)?;
        }
        manifest.valid = bytes.len() - rest.len();
        manifest.torn = rest.len();
        Ok(manifest)
    }

    /// Applies one edit.
    pub(crate) fn apply(&mut self, edit: Edit) {
        match edit {
            Edit::Add(member) => {
                self.members.insert(member.uuid, member);
            }
            Edit::Remove(uuid) => {
                self.members.remove(&uuid);
            }
            Edit::SetTier(uuid, tier) => {
                if let Some(member) = self.members.get_mut(&uuid) {
                    member.tier = tier;
                }
            }
        }
    }

    /// The live members, by path.
    pub(crate) fn members(&self) -> Vec<Member> {
        let mut members: Vec<Member> = self.members.values().cloned().collect();
        members.sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()).then(a.uuid.cmp(&b.uuid)));
        members
    }
}

/// The next record and its length; `None` at the end of the valid log.
fn next_record(bytes: &[u8]) -> Option<(Option<Edit>, usize)> {
    let (&kind, rest) = bytes.split_first()?;
    let (body_len, varint_len) = varint::read(rest).ok()?;
    let head = 1 + varint_len;
    let end = head.checked_add(usize::try_from(body_len).ok()?)?;
    let covered = bytes.get(..end)?;
    let stored = bytes.get(end..)?.first_chunk::<4>()?;
    if crc32c(covered) != u32::from_le_bytes(*stored) {
        return None;
    }
    Some((Edit::parse(kind, covered.get(head..)?), end + 4))
}

/// Appends these edits to `log`; an incomplete record at the end is cut off, because it would hide them.
pub(crate) fn append(log: &[u8], valid: usize, edits: &[Edit]) -> Vec<u8> {
    let mut out = log.within(..valid).to_vec();
    if out.is_empty() {
        out.extend_from_slice(&MAGIC);
        out.push(VERSION);
    }
    for edit in edits {
        edit.write(&mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(n: u8) -> Member {
        Member {
            path: format!("part-{n}.tatami"),
            uuid: [n; 16],
            rows: 10,
            bytes: 1000,
            sort_column: "id".into(),
            sort_type: 4,
            key_min: vec![0; 8],
            key_max: vec![9; 8],
            zones: Vec::new(),
            tier: 0,
            crawls: vec!["x".into()],
            created_ms: 5,
            footer_crc: 77,
        }
    }

    #[test]
    fn edits_replay_in_order_and_an_incomplete_record_is_dropped() {
        let edits = [
            Edit::Add(member(1)),
            Edit::Add(member(2)),
            Edit::SetTier([2; 16], 9),
            Edit::Remove([1; 16]),
            Edit::Add(member(3)),
        ];
        let log = append(&[], 0, &edits);
        let manifest = Manifest::parse(&log).unwrap();
        assert_eq!(
            manifest.members().iter().map(|m| (m.uuid[0], m.tier)).collect::<Vec<_>>(),
            [(2, 9), (3, 0)]
        );
        for cut in HEADER_LEN..log.len() {
            let torn = Manifest::parse(&log[..cut]).unwrap();
            assert_eq!(torn.valid + torn.torn, cut);
            let grown = append(&log[..cut], torn.valid, &[Edit::Add(member(7))]);
            assert!(Manifest::parse(&grown).unwrap().members().contains(&member(7)), "cut at {cut}");
        }
    }

    #[test]
    fn unknown_kinds_and_unreadable_bodies_are_skipped() {
        let mut log = append(&[], 0, &[Edit::Add(member(1))]);
        for (kind, body) in [(9u8, b"anything".as_slice()), (ADD, b"\xff")] {
            let start = log.len();
            log.push(kind);
            varint::write(body.len() as u64, &mut log);
            log.extend_from_slice(body);
            let crc = crc32c(&log[start..]);
            log.extend_from_slice(&crc.to_le_bytes());
        }
        let manifest = Manifest::parse(&log).unwrap();
        assert_eq!((manifest.members().len(), manifest.skipped, manifest.torn), (1, 2, 0));
    }
}
