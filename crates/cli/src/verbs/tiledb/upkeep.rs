//! `tess tiledb consolidate` and `vacuum`.

use std::fmt::Write as _;

use serde_json::json;
use tesselle::tiledb::write::{ArrayWriter, Consolidation, Removal, Vacuum};
use tesselle::{Driver, Error, Result};

use super::TileDb;
use crate::format::{self, Align, TextTable};
use crate::{Outcome, out};

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum What {
    Fragments,
    Commits,
    FragmentMetadata,
    ArrayMetadata,
}

impl What {
    pub(super) fn vacuum(self) -> Vacuum {
        match self {
            Self::Fragments => Vacuum::Fragments,
            Self::Commits => Vacuum::Commits,
            Self::FragmentMetadata => Vacuum::FragmentMetadata,
            Self::ArrayMetadata => Vacuum::Metadata,
        }
    }
}

impl TileDb {
    pub(super) fn consolidate(
        &self,
        array: &str,
        what: What,
        purge: bool,
        dry_run: bool,
        driver: &Driver,
    ) -> Result<Outcome> {
        let array = self.open(array)?.with_driver(driver);
        let between = self.read.options()?.between;
        if what == What::Fragments {
            let consolidation = Consolidation::default().with_between(between).with_purge(purge);
            return if dry_run {
                self.report_plan(&array, &consolidation)
            } else {
                let written = array.consolidate(&consolidation)?;
                if written.fragments.is_empty() && !self.json {
                    out::print("nothing to merge\n")?;
                }
                self.report_written(&written)
            };
        }
        if between.is_some() || purge || dry_run {
            return Err(Error::invalid("--between, --purge and --dry-run are for --what fragments"));
        }
        let (merged, thing) = match what {
            What::Commits => (array.consolidate_commits()?, "commit"),
            What::FragmentMetadata => (array.consolidate_fragment_metadata()?, "footer"),
            What::ArrayMetadata | What::Fragments => (array.consolidate_metadata()?, "metadata file"),
        };
        let text = if merged == 0 {
            "nothing to merge\n".to_owned()
        } else {
            format!("{} merged into one file\n", format::counted(merged as u64, thing))
        };
        self.report(&json!({ "merged": merged }), &text)
    }

    pub(super) fn report_plan(&self, array: &ArrayWriter, consolidation: &Consolidation) -> Result<Outcome> {
        let plan = array.plan_consolidation(consolidation)?;
        let right = Align::Right;
        let mut table = TextTable::new(&[
            ("fragment", Align::Left),
            ("from", right),
            ("to", right),
            ("cells", right),
            ("size", right),
        ]);
        let mut objects = Vec::new();
        for fragment in &plan {
            let (from, to) = fragment.timestamps;
            table.row([
                fragment.name.clone(),
                from.to_string(),
                to.to_string(),
                format::count(fragment.cells),
                format::bytes(fragment.bytes),
            ]);
            objects.push(json!({
                "name": fragment.name, "timestamps": [from, to], "cells": fragment.cells, "bytes": fragment.bytes,
            }));
        }
        let bytes: u64 = plan.iter().map(|fragment| fragment.bytes).sum();
        let text = if plan.is_empty() {
            "nothing to merge\n".to_owned()
        } else {
            let count = format::counted(plan.len() as u64, "fragment");
            format!("{}would merge {count}, {}\n", table.render(""), format::bytes(bytes))
        };
        self.report(&json!({ "dry_run": true, "fragments": objects, "bytes": bytes }), &text)
    }

    pub(super) fn report_removal(&self, removal: &Removal, dry_run: bool) -> Result<Outcome> {
        let object = json!({ "dry_run": dry_run, "removed": removal.paths, "bytes": removal.bytes });
        let mut text = String::new();
        for path in &removal.paths {
            text.push_str(path);
            text.push('\n');
        }
        let done = if dry_run { "would remove" } else { "removed" };
        let count = format::count(removal.paths.len() as u64);
        let _ = writeln!(text, "{done} {count} files and folders, {}", format::bytes(removal.bytes));
        self.report(&object, &text)
    }
}
