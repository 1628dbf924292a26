//! A collection as a container.

use std::sync::Arc;

use serde_json::Value;
use tesselle_core::{
    Container, Depth, Description, Driver, Error, Extent, FileLayout, Finding, LayoutMap, Report, Result,
    Role, Severity, Table, TableDescription,
};

use super::catalog::Collection;
use super::member::Member;
use super::table::CollectionTable;
use crate::describe;
use crate::layout::layout;
use crate::verify::verify;

/// An opened collection.
#[derive(Debug)]
pub(crate) struct CollectionContainer {
    collection: Collection,
}

impl CollectionContainer {
    pub(crate) fn new(collection: Collection) -> Self {
        Self { collection }
    }
}

impl Container for CollectionContainer {
    fn describe(&self) -> Result<Description> {
        let members = self.collection.members();
        let mut out = Description::new("tatami", "1");
        // A manifest may refer to missing files: its contents are shown anyway.
        let first = members.first().and_then(|m| self.collection.open_member(m).ok());
        let columns =
            first.map(|file| describe::describe(&file).tables).and_then(|mut t| t.pop()).map(|t| t.columns);
        out.tables.push(TableDescription {
            name: String::new(),
            rows: Some(members.iter().fold(0, |n, m| n.saturating_add(m.rows))),
            columns: columns.unwrap_or_default(),
            extra: serde_json::Map::new(),
        });
        out.extra.insert("collection".into(), true.into());
        out.extra.insert("members".into(), members.iter().map(Member::to_json).collect());
        Ok(out)
    }

    fn table_names(&self) -> Vec<String> {
        vec![String::new()]
    }

    fn table(&self, name: &str) -> Result<Arc<dyn Table>> {
        if !name.is_empty() {
            return Err(Error::not_found(format!("table '{name}' does not exist"))
                .hint("a collection has a single table with an empty name"));
        }
        Ok(Arc::new(CollectionTable::try_new(self.collection.clone())?))
    }

    fn chunks(&self, limit: Option<usize>) -> Result<Vec<Value>> {
        let mut all = Vec::new();
        for member in self.collection.members() {
            let left = limit.map(|n| n.saturating_sub(all.len()));
            if left == Some(0) {
                break;
            }
            let mut chunks = describe::chunks(&self.collection.open_member(member)?, left)?;
            for chunk in chunks.iter_mut().filter_map(Value::as_object_mut) {
                chunk.insert("member".into(), member.path.as_str().into());
            }
            all.append(&mut chunks);
        }
        Ok(all)
    }

    fn chunk_count(&self) -> Option<u64> {
        let mut count = 0u64;
        for member in self.collection.members() {
            let file = self.collection.open_member(member).ok()?;
            count += file.footer().groups.iter().map(|group| group.chunks.len() as u64).sum::<u64>();
        }
        Some(count)
    }

    fn layout(&self) -> Result<LayoutMap> {
        let manifest = self.collection.manifest();
        let (valid, size) = (manifest.valid as u64, (manifest.valid + manifest.torn) as u64);
        let mut extents = vec![Extent::new(0..valid.min(5), Role::Header, "manifest header")];
        extents.push(Extent::new(
            valid.min(5)..valid,
            Role::Metadata,
            format!("log of {} live members", self.collection.members().len()),
        ));
        extents.push(Extent::new(valid..size, Role::Gap, "incomplete record"));
        extents.retain(|e| !e.range.is_empty());
        let name = self.collection.manifest_location().name().to_owned();
        let mut map = LayoutMap { files: vec![FileLayout { file: name, size, extents }.close_gaps()] };
        for member in self.collection.members() {
            let mut part = layout(&self.collection.open_member(member)?);
            part.files.iter_mut().for_each(|file| file.file.clone_from(&member.path));
            map.files.append(&mut part.files);
        }
        Ok(map)
    }

    fn verify(&self, depth: Depth, driver: &Driver, report: &mut Report) -> Result<()> {
        let manifest = self.collection.manifest();
        let path = self.collection.manifest_location().path();
        if manifest.torn > 0 {
            let message = format!("{} bytes after the last complete record are ignored", manifest.torn);
            let finding = Finding::new(Severity::Warning, "torn_tail", message)
                .file(path)
                .offset(manifest.valid as u64);
            report.add(finding);
        }
        if manifest.skipped > 0 {
            let message = format!("{} records of unknown kind", manifest.skipped);
            report.add(Finding::new(Severity::Warning, "unknown_record", message).file(path));
        }
        for member in self.collection.members() {
            driver.check_canceled()?;
            let file = match self.collection.open_member(member) {
                Ok(file) => file,
                Err(error) => {
                    report.error(error.class_name(), &error);
                    continue;
                }
            };
            let fresh = Member::of(&file, &member.path);
            if fresh.footer_crc != member.footer_crc
                || fresh.rows != member.rows
                || fresh.bytes != member.bytes
            {
                let message = format!("the manifest describes another version of '{}'", member.path);
                report.add(
                    Finding::new(Severity::Error, "stale_member", message)
                        .file(path)
                        .piece(member.path.clone()),
                );
            }
            verify(&file, depth, driver, report)?;
        }
        Ok(())
    }
}
