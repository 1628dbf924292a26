//! Groups (spec §15): folders that list arrays and other groups.

use std::collections::BTreeMap;

use tesselle_core::storage::StagedFolder;
use tesselle_core::{Limits, Location};

use super::commit::put;
use super::metadata::write_metadata;
use super::name::{WRITE_VERSION, fresh, stamp};
use crate::filter::Key;
use crate::group::{MARKER, leads_down};
use crate::meta::generic_tile::GenericTile;
use crate::meta::group::{GroupDetails, Member, MemberKind};
use crate::meta::key_value::Entries;
use crate::meta::name::TimestampedName;
use crate::vanished::entries;
use crate::{Error, Result};

/// The version of the detail files written.
pub(crate) const DETAIL_VERSION: u32 = 2;

/// A group to write to.
#[derive(Debug, Clone)]
pub struct GroupWriter {
    location: Location,
    key: Option<Key>,
}

impl GroupWriter {
    /// Creates an empty group at an empty location.
    pub fn create(location: &Location, key: Option<Key>) -> Result<Self> {
        if location.join(MARKER).exists()? || location.join("__schema").exists()? {
            return Err(Error::invalid(format!("'{location}' is already a group or an array")));
        }
        StagedFolder::fill(location, |place| {
            for folder in ["__group", "__meta"] {
                place.storage().create_dir(place.join(folder).path())?;
            }
            put(&place.join(MARKER), &[])
        })?;
        Ok(Self { location: location.clone(), key })
    }

    /// Opens a group.
    pub fn open(location: &Location, key: Option<Key>) -> Result<Self> {
        if !location.join(MARKER).exists()? {
            return Err(Error::not_found(format!("'{location}' is not a group")));
        }
        Ok(Self { location: location.clone(), key })
    }

    /// The members by key: the name, or the uri of unnamed members.
    pub fn members(&self) -> Result<BTreeMap<String, Member>> {
        let folder = self.location.join("__group");
        let mut members = BTreeMap::new();
        let entries = entries(&folder)?.into_iter().filter(|entry| !entry.name.contains('.'));
        let mut names: Vec<TimestampedName> =
            entries.filter_map(|entry| TimestampedName::parse(&entry.name)).collect();
        names.sort();
        let limit = Limits::default().metadata_bytes;
        for name in names {
            let bytes = folder.join(&name.name).read_all(limit)?;
            let details =
                GroupDetails::parse(&GenericTile::parse(&bytes, 0, self.key.as_ref(), limit)?.payload)?;
            if details.version < DETAIL_VERSION {
                // Old detail files contain the complete list.
                members.clear();
            }
            for member in details.members {
                if member.deleted {
                    members.remove(member.key());
                } else {
                    members.insert(member.key().to_owned(), member);
                }
            }
        }
        Ok(members)
    }

    /// Adds members and removes those with the given keys, atomically.
    pub fn change(&self, add: &[Member], remove: &[&str], timestamp: Option<u64>) -> Result<()> {
        let mut members = self.members()?;
        let mut tombstones = Vec::new();
        for key in remove {
            let Some(mut member) = members.remove(*key) else {
                return Err(Error::unknown_name("member", key, members.keys().map(String::as_str)));
            };
            member.deleted = true;
            tombstones.push(member);
        }
        for member in add {
            if member.relative && !leads_down(&member.uri) {
                return Err(Error::invalid(format!("'{}' is not inside the group's folder", member.uri))
                    .hint("use a path relative to the group, without '..'"));
            }
            if members.insert(member.key().to_owned(), member.clone()).is_some() {
                return Err(Error::invalid(format!("the group already has a member '{}'", member.key())));
            }
            tombstones.retain(|gone| gone.key() != member.key());
        }
        let members = members.into_values().chain(tombstones).collect();
        let details = GroupDetails { version: DETAIL_VERSION, members };
        let name = format!("{}_{DETAIL_VERSION}", fresh(stamp(timestamp))?);
        let bytes = GenericTile::write(&details.write(), WRITE_VERSION, self.key.as_ref())?;
        put(&self.location.join("__group").join(&name), &bytes)
    }

    /// Sets (or, with `None`, removes) named values of the group.
    pub fn write_metadata(&self, entries: &Entries, timestamp: Option<u64>) -> Result<()> {
        write_metadata(&self.location, entries, self.key.as_ref(), stamp(timestamp)).map(drop)
    }
}

impl Member {
    /// A named array or group inside the group's folder.
    pub fn relative(kind: MemberKind, uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self { kind, relative: true, uri: uri.into(), name: Some(name.into()), deleted: false }
    }

    /// An array or group anywhere, under a name.
    pub fn absolute(kind: MemberKind, uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self { kind, relative: false, uri: uri.into(), name: Some(name.into()), deleted: false }
    }
}
