//! The rows of all members as one table.

use std::sync::{Arc, OnceLock};

use arrow_schema::{Schema, SchemaRef};
use tesselle_core::{
    Context, Error, Known, Plan, Predicate, Pushdown, Result, Scan, Storage, Table, TableFacts, TableStats,
    Verdict,
};

use super::catalog::Collection;
use super::columns::{difference, says_types};
use super::member::Member;
use crate::meta::types::LogicalType;
use crate::meta::zone::Zone;
use crate::open::File;
use crate::read::plan;
use crate::read::prune::{Evidence, Facts, verdict};
use crate::search::has_segment_columns;
use crate::table::{facts, is_exact};

/// All rows, members in path order.
pub(crate) struct CollectionTable {
    collection: Collection,
    /// The first member defines the columns.
    first: Option<File>,
    /// The number of live rows, once determined; `None` if it is unknown without reading.
    rows: OnceLock<Option<u64>>,
}

impl CollectionTable {
    pub(crate) fn try_new(collection: Collection) -> Result<Self> {
        let first = collection.members().first().map(|member| collection.open_member(member)).transpose()?;
        Ok(Self { collection, first, rows: OnceLock::new() })
    }

    /// The number of live rows. The manifest counts deleted documents too, so files that may be search
    /// segments are opened to count theirs.
    fn count_rows(&self) -> Result<u64> {
        let members = self.collection.members();
        if !self.first.as_ref().is_some_and(has_segment_columns) {
            return Ok(members.iter().fold(0u64, |n, m| n.saturating_add(m.rows)));
        }
        members.iter().try_fold(0u64, |n, member| Ok(n.saturating_add(self.open(member)?.live_rows()?)))
    }

    /// A member's file, after a check that its columns match the collection.
    fn open(&self, member: &Member) -> Result<File> {
        let file = match &self.first {
            Some(first) if self.collection.members().first() == Some(member) => first.clone(),
            _ => self.collection.open_member(member)?,
        };
        if let Some(what) = self.first.as_ref().and_then(|first| difference(first, &file)) {
            return Err(Error::corrupt(format!(
                "the columns of member '{}' differ from those of the first one: {what}",
                member.path
            ))
            .class("schema_mismatch"))
            .in_file(self.collection.manifest_location().path());
        }
        Ok(file)
    }
}

/// Statistics of a member from the manifest: bounds, but no null counts.
struct MemberEvidence {
    zones: Vec<(String, LogicalType, Zone)>,
    rows: u64,
}

impl MemberEvidence {
    fn of(member: &Member) -> Self {
        let zones = member.zones.iter().filter_map(|z| {
            let (logical, zone) = member.zone(&z.column)?;
            Some((z.column.clone(), logical, zone))
        });
        Self { zones: zones.collect(), rows: member.rows }
    }
}

impl Evidence for MemberEvidence {
    fn facts(&self, column: &str) -> Option<Facts<'_>> {
        let (_, logical, zone) = self.zones.iter().find(|(name, _, _)| name == column)?;
        Some(Facts { logical: *logical, zone: Some(zone), nulls: None, rows: Some(self.rows) })
    }
}

impl Table for CollectionTable {
    fn name(&self) -> &'static str {
        ""
    }

    fn schema(&self) -> SchemaRef {
        self.first.as_ref().map_or_else(|| Arc::new(Schema::empty()), File::schema)
    }

    fn stats(&self) -> TableStats {
        let members = self.collection.members();
        let rows = *self.rows.get_or_init(|| self.count_rows().ok());
        let bytes = members.iter().fold(0u64, |n, m| n.saturating_add(m.bytes));
        let rows = rows.map_or(Known::Absent, Known::Exact);
        TableStats { rows, bytes: Known::Bound(bytes), ..TableStats::default() }
    }

    fn facts(&self) -> Result<TableFacts> {
        // Members have key/value pairs of their own; the roles and types of the columns are the same in all.
        let mut facts = self.first.as_ref().map(facts).unwrap_or_default();
        facts.attributes.retain(says_types);
        facts.unkept.clear();
        Ok(facts)
    }

    fn pushdown(&self, predicate: &Predicate) -> Pushdown {
        let exact = self.first.as_ref().is_some_and(|file| is_exact(file, predicate));
        if exact { Pushdown::Exact } else { Pushdown::Inexact }
    }

    fn plan(&self, scan: &Scan) -> Result<Plan> {
        let mut all = Plan::empty();
        let mut left = scan.limit;
        for member in self.collection.members() {
            let refuted = scan
                .predicate
                .as_ref()
                .is_some_and(|p| verdict(p, &MemberEvidence::of(member)) == Verdict::Never);
            // A file that is not opened counts as one unit.
            if refuted || left == Some(0) {
                all.pieces += 1;
                all.pruned += 1;
                continue;
            }
            let mut part = scan.clone();
            part.limit = left;
            let file = self.open(member)?;
            let plan = plan::plan(&file, &part)?;
            all.pieces = all.pieces.saturating_add(plan.pieces);
            all.pruned = all.pruned.saturating_add(plan.pruned);
            all.tasks.extend(plan.tasks);
            if scan.predicate.is_none() {
                let rows = file.live_rows()?;
                left = left.map(|n| n.saturating_sub(rows));
            }
        }
        Ok(all)
    }

    fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(self.collection.location().storage())
    }
}
