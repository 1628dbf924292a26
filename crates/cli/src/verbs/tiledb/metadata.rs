//! `tess tiledb meta` and `group`.

use serde_json::{Value, json};
use tesselle::tiledb::write::GroupWriter;
use tesselle::tiledb::{Member, MemberKind, MetadataValue, is_array, is_group};
use tesselle::{Error, Location, Result};

use super::TileDb;
use crate::Outcome;
use crate::format::{Align, TextTable};

impl TileDb {
    pub(super) fn meta(&self, array: &str, put: &[String], remove: &[String]) -> Result<Outcome> {
        let mut entries = Vec::new();
        for text in put {
            let (key, value) =
                text.split_once('=').ok_or_else(|| Error::invalid(format!("'{text}' is not KEY=VALUE")))?;
            entries.push((key.as_bytes().to_vec(), Some(typed(value)?)));
        }
        entries.extend(remove.iter().map(|key| (key.as_bytes().to_vec(), None)));
        if !entries.is_empty() {
            self.refuse_times("meta --put")?;
            let location = Location::local(array)?;
            if is_group(&location)? {
                GroupWriter::open(&location, self.key()?)?.write_metadata(&entries, None)?;
            } else {
                self.open(array)?.write_metadata(&entries, None)?;
            }
        }
        let metadata = self.read.opener(None)?.open(array)?.container().describe()?.metadata;
        let mut table =
            TextTable::new(&[("key", Align::Left), ("type", Align::Left), ("value", Align::Left)]);
        for (key, entry) in metadata.as_object().into_iter().flatten() {
            let value = &entry["value"];
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            table.row([key.clone(), entry["type"].as_str().unwrap_or_default().to_owned(), shown]);
        }
        self.report(&metadata, &table.render(""))
    }

    pub(super) fn group(
        &self,
        group: &str,
        create: bool,
        arrays: &[String],
        groups: &[String],
        remove: &[String],
    ) -> Result<Outcome> {
        self.refuse_times("group")?;
        let location = Location::local(group)?;
        let key = self.key()?;
        for (paths, what, is) in
            [(arrays, "array", is_array as fn(&Location) -> _), (groups, "group", is_group)]
        {
            for path in paths {
                // A path that leaves the folder is refused with the members.
                let leaves = path.starts_with('/') || path.split('/').any(|part| part == "..");
                if !leaves && !is(&location.join(path))? {
                    return Err(Error::not_found(format!("there is no {what} '{path}' in '{group}'"))
                        .hint("paths of members are relative to the folder of the group"));
                }
            }
        }
        let writer =
            if create { GroupWriter::create(&location, key)? } else { GroupWriter::open(&location, key)? };
        let name = |path: &String| path.trim_end_matches('/').rsplit('/').next().unwrap_or(path).to_owned();
        let mut add: Vec<Member> = arrays
            .iter()
            .map(|path| Member::relative(MemberKind::Array, path.as_str(), name(path)))
            .collect();
        add.extend(groups.iter().map(|path| Member::relative(MemberKind::Group, path.as_str(), name(path))));
        let remove: Vec<&str> = remove.iter().map(String::as_str).collect();
        if !add.is_empty() || !remove.is_empty() {
            writer.change(&add, &remove, None)?;
        }
        let members: Vec<Value> = writer
            .members()?
            .values()
            .map(|member| json!({ "name": member.name, "uri": member.uri, "type": if member.kind == MemberKind::Array { "array" } else { "group" } }))
            .collect();
        let mut table = TextTable::new(&[("name", Align::Left), ("type", Align::Left), ("uri", Align::Left)]);
        for member in &members {
            table.row(["name", "type", "uri"].map(|key| member[key].as_str().unwrap_or_default().to_owned()));
        }
        self.report(&json!({ "members": members }), &table.render(""))
    }
}

/// An integer, a number, or a string, by its form.
fn typed(text: &str) -> Result<MetadataValue> {
    if let Ok(integer) = text.parse::<i64>() {
        return Ok(MetadataValue::integer(integer));
    }
    match text.parse::<f64>() {
        Ok(number) => Ok(MetadataValue::float(number)),
        Err(_) => MetadataValue::string(text),
    }
}
