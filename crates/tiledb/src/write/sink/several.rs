//! Several arrays as the members of a new group; slashes in their names lead through groups inside it.

use std::collections::{BTreeMap, BTreeSet};

use tesselle_core::storage::StagedFolder;
use tesselle_core::{ArrayRequest, ArraysRequest, Driver, Error, Fitted, Result, WriteTarget, Written};

use super::metadata::entries;
use super::write_array;
use crate::group::{MAX_DEPTH, leads_down};
use crate::meta::group::{Member, MemberKind};
use crate::write::GroupWriter;
use crate::write::options::SinkSettings;

/// Writes a group of dense arrays. The group appears atomically.
pub(crate) fn write_arrays(request: &ArraysRequest<'_>, driver: &Driver) -> Result<Written> {
    let ArraysRequest { location, arrays, attributes, options } = request;
    location.refuse_existing(options.overwrite)?;
    crate::rewrite::refuse_foreign(location)?;
    let groups = groups(arrays.iter().map(|array| array.name.as_str()))?;
    let empty = arrow_schema::Schema::empty();
    let common = SinkSettings::parse(&options.settings, &empty, Vec::new())?;
    let staged = StagedFolder::try_new(location)?;
    let group = GroupWriter::create(staged.location(), common.key.clone())?;
    for (path, members) in &groups {
        let inner = match *path {
            "" => group.clone(),
            path => GroupWriter::create(&staged.location().join(path), common.key.clone())?,
        };
        inner.change(members, &[], common.timestamp)?;
    }
    let kept = attributes.iter().map(|attribute| attribute.name.clone()).collect();
    let mut written = Written { fitted: Fitted { kept, ..Fitted::default() }, ..Written::default() };
    for array in arrays {
        let target = WriteTarget::Location(staged.join(&array.name)?);
        let mut own = array.options(options);
        let (_, name) = array.name.rsplit_once('/').unwrap_or(("", &array.name));
        // An attribute cannot have the name of a dimension, as a coordinate has.
        own.table = Some(name.to_owned()).filter(|name| !array.array.axis_names().contains(name));
        let mut one = ArrayRequest::new(target, array.array, own);
        one.facts = array.facts();
        written
            .add(write_array(one, driver).map_err(|error| error.piece(format!("array '{}'", array.name)))?);
    }
    let metadata = entries(attributes)?;
    if !metadata.is_empty() {
        group.write_metadata(&metadata, common.timestamp)?;
    }
    staged.commit()?;
    Ok(written)
}

/// The members of the group and of the groups inside it, by path; that of the outermost is empty.
fn groups<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<BTreeMap<&'a str, Vec<Member>>> {
    let mut groups = BTreeMap::from([("", Vec::new())]);
    let mut taken = BTreeSet::new();
    for name in names {
        if !leads_down(name) || !name.split('/').all(is_member) {
            return Err(refused(name).hint("use a path of names that do not start with two underscores"));
        }
        if name.matches('/').count() > MAX_DEPTH {
            return Err(refused(name).hint(format!("groups are nested {MAX_DEPTH} deep at most")));
        }
        let (mut inner, mut kind) = (name, MemberKind::Array);
        loop {
            let (group, own) = inner.rsplit_once('/').unwrap_or(("", inner));
            if !taken.insert(inner) {
                return Err(refused(name).hint("another array or group has this name"));
            }
            let is_new = !groups.contains_key(group);
            groups.entry(group).or_default().push(Member::relative(kind, own, own));
            if !is_new {
                break;
            }
            (inner, kind) = (group, MemberKind::Group);
        }
    }
    Ok(groups)
}

/// Whether a name can be that of a folder inside a group.
fn is_member(name: &str) -> bool {
    !name.starts_with("__") && !name.contains(['\\', '\0'])
}

fn refused(name: &str) -> Error {
    Error::invalid(format!("'{}' cannot be the name of an array in a group", name.escape_debug()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_through_groups() {
        let found = groups(["a", "x/y", "x/z/w", "b", "x/u"]).unwrap();
        let names = |path: &str| found[path].iter().map(Member::key).collect::<Vec<_>>();
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), ["", "x", "x/z"]);
        assert_eq!(names(""), ["a", "x", "b"]);
        assert_eq!((names("x"), names("x/z")), (vec!["y", "z", "u"], vec!["w"]));
        assert_eq!(found["x"].iter().map(|member| member.kind).collect::<Vec<_>>()[1], MemberKind::Group);
        assert_eq!(groups([]).unwrap().len(), 1);
    }

    #[test]
    fn names_that_are_no_folders_or_taken_are_refused() {
        let deep = ["x"; MAX_DEPTH + 2].join("/");
        for name in ["", ".", "..", "../a", "/a", "a/", "a//b", "__a", "a/__b", "a\\b", "a\0b", deep.as_str()]
        {
            let error = groups(["k", name]).unwrap_err().to_string();
            assert!(error.contains("cannot be the name"), "{name:?}: {error}");
        }
        for names in [["a", "a"], ["a", "a/b"], ["a/b", "a"], ["a/b", "a/b/c"], ["a/b/c", "a/b"]] {
            assert!(groups(names).is_err(), "{names:?}");
        }
        assert!(groups([&deep[2..]]).is_ok());
    }
}
