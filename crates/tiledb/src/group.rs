//! Groups: folders whose members are arrays and other groups.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use tesselle_core::storage::EntryKind;
use tesselle_core::{
    Attribute, Container, Context, Depth, Description, Driver, Extent, FileLayout, LayoutMap, Location,
    OpenOptions, Report, Role, Table, TableDescription,
};

use crate::describe::metadata_json;
use crate::directory::{ArrayDirectory, FileEntry};
use crate::meta::group::{GroupDetails, Member, MemberKind};
use crate::meta::key_value::{self, MetadataValue};
use crate::meta::name::TimestampedName;
use crate::open::{Array, Loader, key_of};
use crate::table::ArrayTable;
use crate::write::DETAIL_VERSION;
use crate::{Error, Result, facts};

/// A member on the way through a group.
enum Visited<'a> {
    /// An array, or a member that cannot be reached.
    Array(Result<Location>),
    /// A group, whose members follow.
    Group(&'a Group),
}

/// The file that marks a folder as a group.
pub(crate) const MARKER: &str = "__tiledb_group.tdb";
/// Deepest nesting of groups whose arrays are tables.
pub(crate) const MAX_DEPTH: usize = 8;

/// An opened group.
pub(crate) struct Group {
    root: Location,
    options: OpenOptions,
    version: u32,
    members: Vec<Member>,
    metadata: BTreeMap<Vec<u8>, MetadataValue>,
    details: Vec<FileEntry>,
    directory: ArrayDirectory,
    encrypted: bool,
}

impl Group {
    /// Opens the group in the folder `root`, also while others write to it.
    pub(crate) fn open(root: &Location, options: &OpenOptions) -> Result<Self> {
        crate::vanished::opened(root, options.limits.metadata_bytes, || Self::open_once(root, options))
    }

    fn open_once(root: &Location, options: &OpenOptions) -> Result<Self> {
        let limit = options.limits.metadata_bytes;
        let (start, end) = options.between.unwrap_or((0, u64::MAX));
        let range = start..=end;
        let key = options.key.as_ref().map(|secret| key_of(secret.expose())).transpose()?;
        let loader = Loader { root, key: key.as_ref(), limit };
        // Metadata of groups lies where that of arrays does.
        let directory = ArrayDirectory::load(root, limit)?;
        let mut metadata = BTreeMap::new();
        for file in directory.visible_metadata(&range) {
            let payload = loader.payload(&file.path)?;
            key_value::apply(key_value::parse(&payload).in_file(&file.path)?, &mut metadata);
        }
        let mut details = detail_files(root)?;
        details.retain(|file| file.name.is_within(&range));
        let (mut version, mut encrypted) = (2, false);
        let mut members: Vec<Member> = Vec::new();
        for file in &details {
            let tile = loader.tile(&file.path)?;
            encrypted = tile.encrypted;
            let parsed = GroupDetails::parse(&tile.payload).in_file(&file.path)?;
            version = parsed.version;
            if version == 1 {
                // Before version 2 every file contained the complete list.
                members.clear();
            }
            for member in parsed.members {
                members.retain(|known| known.key() != member.key());
                if !member.deleted {
                    members.push(member);
                }
            }
        }
        Ok(Self {
            root: root.clone(),
            options: options.clone(),
            version,
            members,
            metadata,
            details,
            directory,
            encrypted,
        })
    }

    /// The members.
    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    /// Whether the files that list the members have the newest version.
    pub(crate) fn is_newest(&self) -> bool {
        self.version >= DETAIL_VERSION
    }

    /// The files that list the members as of the time of reading.
    pub(crate) fn detail_files(&self) -> &[FileEntry] {
        &self.details
    }

    /// The files of metadata that apply.
    pub(crate) fn visible_metadata(&self) -> Vec<&FileEntry> {
        let (start, end) = self.options.between.unwrap_or((0, u64::MAX));
        self.directory.visible_metadata(&(start..=end))
    }

    /// The names in the metadata.
    pub(crate) fn metadata_keys(&self) -> impl Iterator<Item = String> {
        self.metadata.keys().map(|key| String::from_utf8_lossy(key).into_owned())
    }

    /// Whether the list of members is encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.encrypted
    }

    fn location_of(&self, member: &Member) -> Result<Location> {
        if member.relative {
            return Ok(self.root.join(&member.uri));
        }
        let local = member.uri.strip_prefix("file://").unwrap_or(&member.uri);
        if local.contains("://") {
            return Err(Error::unsupported(format!("the member '{}' lies on another storage", member.uri)));
        }
        Ok(Location::new(Arc::clone(self.root.storage()), local))
    }

    fn nested(&self, member: &Member, depth: usize) -> Result<Self> {
        if depth >= MAX_DEPTH {
            return Err(Error::limit(format!("groups are nested more than {MAX_DEPTH} deep")));
        }
        let location = self.location_of(member)?;
        if !crate::is_group(&location)? {
            return Err(Error::not_found(format!("the member '{}' is not a group", member.key())));
        }
        Self::open(&location, &self.options)
    }

    /// Calls `take` with the name and the location of every array, those of nested groups under the path of their group.
    /// A member that cannot be reached is passed with the error as its location, so that an incomplete group is
    /// noticed.
    fn gather(&self, depth: usize, path: &str, take: &mut dyn FnMut(String, Result<Location>)) {
        self.visit(depth, path, &mut |name, member| match member {
            Visited::Array(location) => take(name, location),
            Visited::Group(_) => {}
        });
    }

    /// Calls `take` with the path of every member, at any depth.
    fn visit(&self, depth: usize, path: &str, take: &mut dyn FnMut(String, Visited<'_>)) {
        for member in &self.members {
            let name = format!("{path}{}", member.key());
            if member.kind == MemberKind::Array {
                take(name, Visited::Array(self.location_of(member)));
                continue;
            }
            match self.nested(member, depth) {
                Ok(group) => {
                    take(name.clone(), Visited::Group(&group));
                    group.visit(depth + 1, &format!("{name}/"), take);
                }
                Err(error) => take(name, Visited::Array(Err(error))),
            }
        }
    }

    /// The nested groups by path, each with its metadata.
    fn nested_groups(&self) -> Result<Map<String, Json>> {
        let mut groups = Map::new();
        let mut failed = None;
        self.visit(0, "", &mut |name, member| {
            if let Visited::Group(group) = member {
                match metadata_json(&group.metadata) {
                    Ok(metadata) => drop(groups.insert(name, metadata)),
                    Err(error) => failed = Some(error),
                }
            }
        });
        failed.map_or(Ok(groups), Err)
    }

    fn open_array(&self, location: Result<Location>) -> Result<Arc<dyn Container>> {
        let location = location?;
        crate::container::open_array(&location, &self.options).in_file(location.path())
    }

    /// The arrays that can be opened, by name; `describe` states why others cannot.
    fn reachable(&self) -> Vec<(String, Arc<dyn Container>)> {
        let mut arrays = Vec::new();
        self.gather(0, "", &mut |name, location| {
            arrays.extend(self.open_array(location).ok().map(|array| (name, array)));
        });
        arrays
    }

    /// The table of a member, or why there is none.
    fn describe_member(&self, name: String, location: Result<Location>) -> TableDescription {
        let described = self.open_array(location).and_then(|array| array.describe());
        let table = described.and_then(|description| {
            description.tables.into_iter().next().ok_or_else(|| Error::internal("an array has no table"))
        });
        match table {
            Ok(table) => TableDescription { name, ..table },
            Err(error) => {
                let extra = Map::from_iter([("error".to_owned(), Json::from(error.to_string()))]);
                TableDescription { name, rows: None, columns: Vec::new(), extra }
            }
        }
    }

    /// Where the array of this name is.
    fn array_location(&self, name: &str) -> Result<Location> {
        let (mut names, mut found) = (Vec::new(), None);
        self.gather(0, "", &mut |known, location| {
            if known == name {
                found.get_or_insert(location);
            }
            names.push(known);
        });
        found.unwrap_or_else(|| Err(Error::unknown_name("member", name, names.iter().map(String::as_str))))
    }
}

/// Where the member of a group is that its table of this name shows.
pub(crate) fn member_location(root: &Location, name: &str, options: &OpenOptions) -> Result<Location> {
    if !crate::is_group(root)? {
        return Err(Error::not_found(format!("table '{name}' does not exist"))
            .hint("an array has one table without a name"));
    }
    Group::open(root, options)?.array_location(name)
}

/// Whether a relative path stays below its starting point.
pub(crate) fn leads_down(path: &str) -> bool {
    path.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
}

fn detail_files(root: &Location) -> Result<Vec<FileEntry>> {
    let files = crate::vanished::entries(&root.join("__group"))?;
    let files = files.into_iter().filter(|entry| entry.kind == EntryKind::File && !entry.name.contains('.'));
    let mut out: Vec<FileEntry> = files
        .filter_map(|entry| {
            let name = TimestampedName::parse(&entry.name)?;
            Some(FileEntry { name, path: format!("__group/{}", entry.name) })
        })
        .collect();
    out.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(out)
}

impl Container for Group {
    fn describe(&self) -> Result<Description> {
        let mut out = Description::new(crate::NAME, self.version.to_string());
        out.metadata = metadata_json(&self.metadata)?;
        let member =
            |member: &Member| json!({ "name": member.name, "type": member.kind.name(), "uri": member.uri });
        let mut extra = Map::new();
        extra.insert("kind".into(), "group".into());
        extra.insert("members".into(), self.members.iter().map(member).collect());
        let groups = self.nested_groups()?;
        if !groups.is_empty() {
            extra.insert("groups".into(), Json::Object(groups));
        }
        out.extra = extra;
        self.gather(0, "", &mut |name, location| out.tables.push(self.describe_member(name, location)));
        Ok(out)
    }

    fn table_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.gather(0, "", &mut |name, _| names.push(name));
        names
    }

    fn table(&self, name: &str) -> Result<Arc<dyn Table>> {
        let location = self.array_location(name)?;
        let array = Array::open(&location, &self.options).in_file(location.path())?;
        Ok(Arc::new(ArrayTable::new(Arc::new(array))))
    }

    fn attributes(&self) -> Result<Vec<Attribute>> {
        facts::entries(&self.metadata)
    }

    fn unkept(&self) -> Result<Vec<String>> {
        let mut unkept = Vec::new();
        self.visit(0, "", &mut |name, member| {
            if let Visited::Group(group) = member
                && !group.metadata.is_empty()
            {
                unkept.push(format!("the metadata of group '{name}'"));
            }
        });
        Ok(unkept)
    }

    fn chunks(&self, limit: Option<usize>) -> Result<Vec<Json>> {
        let mut all = Vec::new();
        for (name, array) in self.reachable() {
            let left = limit.map(|limit| limit.saturating_sub(all.len()));
            if left == Some(0) {
                break;
            }
            all.extend(array.chunks(left)?.into_iter().map(|chunk| {
                let mut named = Map::from_iter([("table".to_owned(), name.clone().into())]);
                named.extend(chunk.as_object().cloned().unwrap_or_default());
                Json::Object(named)
            }));
        }
        Ok(all)
    }

    fn chunk_count(&self) -> Option<u64> {
        self.reachable().iter().try_fold(0_u64, |sum, (_, array)| sum.checked_add(array.chunk_count()?))
    }

    fn layout(&self) -> Result<LayoutMap> {
        let mut files = Vec::new();
        let mut add = |path: &str, content: &str| {
            let location = self.root.join(path);
            if location.is_file()? {
                let size = location.size()?;
                let extents = vec![Extent::new(0..size, Role::Metadata, content)];
                files.push(FileLayout { file: path.to_owned(), size, extents });
            }
            Ok::<(), Error>(())
        };
        add(MARKER, "group marker")?;
        self.details.iter().try_for_each(|file| add(&file.path, "group details (generic tile)"))?;
        self.directory
            .metadata
            .iter()
            .try_for_each(|file| add(&file.path, "group metadata (generic tile)"))?;
        files.sort_by(|a, b| a.file.cmp(&b.file));
        Ok(LayoutMap { files })
    }

    fn verify(&self, depth: Depth, driver: &Driver, report: &mut Report) -> Result<()> {
        for member in &self.members {
            // Only members below the group's folder are visited: other members may point back to it.
            if !member.relative || !leads_down(&member.uri) {
                continue;
            }
            let location = self.location_of(member)?;
            let checked = match member.kind {
                MemberKind::Array => crate::container::open_array(&location, &self.options),
                MemberKind::Group => {
                    Self::open(&location, &self.options).map(|group| Arc::new(group) as Arc<dyn Container>)
                }
            };
            match checked.in_file(location.path()).in_piece(|| format!("member '{}'", member.key())) {
                Ok(container) => container.verify(depth, driver, report)?,
                Err(error) => {
                    let error = crate::vanished::damage(error)?;
                    report.error(error.class_name(), &error);
                }
            }
        }
        Ok(())
    }
}
