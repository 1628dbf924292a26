//! The contract of repairs: a repair either fails with a clear error, or creates a container that passes every check
//! and correctly reports the outcome. Every format's repair is tested by this one body.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{Field, Schema};

use super::damage::Random;
use super::faulty::FaultyStorage;
use super::rows::sorted_rows;
use crate::driver::{Driver, Order, scan};
use crate::error::{ErrorKind, Result};
use crate::format::{Format, Outcome, Repaired};
use crate::options::OpenOptions;
use crate::report::{Depth, Report};
use crate::request::RepairRequest;
use crate::scan::Scan;
use crate::storage::{Location, MemoryStorage};

/// How many repairs had which outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RepairTally {
    /// Refused with an error.
    pub refused: u32,
    /// Nothing was found to be wrong.
    pub healthy: u32,
    /// All data was kept and its surroundings were rebuilt.
    pub repaired: u32,
    /// All data was kept and is in doubt.
    pub doubtful: u32,
    /// Some data was dropped.
    pub partial: u32,
}

impl std::ops::AddAssign for RepairTally {
    fn add_assign(&mut self, other: Self) {
        self.refused += other.refused;
        self.healthy += other.healthy;
        self.repaired += other.repaired;
        self.doubtful += other.doubtful;
        self.partial += other.partial;
    }
}

/// Repairs a container `count` times, each time with another flipped bit, and checks the results against the contract.
/// The container is all `files` under one folder, or the single file; positions are the same in every run. A
/// failing storage must stop the repair and the verification of the intact container.
pub fn repair_flips(
    format: &dyn Format,
    files: &[(String, Vec<u8>)],
    options: &OpenOptions,
    driver: &Driver,
    (seed, count): (u64, u32),
) -> RepairTally {
    let mut tally = RepairTally::default();
    let mut random = Random::new(seed);
    let total: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    let original = rows(format, &stored(format, files), options, driver).expect("the original can be read");
    failures_stop_a_repair(format, files, options, driver);
    for _ in 0..count {
        let mut damaged = files.to_vec();
        let mut at = random.place(total);
        let bit = random.below(8);
        let mut place = String::new();
        for (name, bytes) in &mut damaged {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << bit;
                place = format!("bit {bit} of byte {at} of '{name}'");
                break;
            }
            at -= bytes.len();
        }
        match repair_contract(format, &stored(format, &damaged), Some(&original), options, driver, &place) {
            None => tally.refused += 1,
            Some(Outcome::Healthy) => tally.healthy += 1,
            Some(Outcome::Repaired | Outcome::Unfinished) => tally.repaired += 1,
            Some(Outcome::Doubtful) => tally.doubtful += 1,
            Some(Outcome::Partial) => tally.partial += 1,
        }
    }
    tally
}

/// Repairs and verifies an intact container on a storage of which one operation fails, each of them once. What cannot be read today is
/// not lost: the repair fails for that reason, or the operation did not matter and all is kept.
fn failures_stop_a_repair(
    format: &dyn Format,
    files: &[(String, Vec<u8>)],
    options: &OpenOptions,
    driver: &Driver,
) {
    let whole = stored(format, files);
    let repair_with = |storage: &FaultyStorage| {
        let source = Location::new(Arc::new(storage.clone()), whole.path());
        let target = Location::new(Arc::new(MemoryStorage::new()), whole.path());
        format.repair(RepairRequest::new(&source, &target, options), driver)
    };
    let counted = FaultyStorage::failing(Arc::clone(whole.storage()), u64::MAX);
    let outcome = repair_with(&counted).expect("the original can be repaired").outcome;
    for at in 0..counted.operations() {
        match repair_with(&FaultyStorage::failing(Arc::clone(whole.storage()), at)) {
            Ok(repaired) => {
                assert_eq!(repaired.outcome, outcome, "operation {at} fails: {:?}", repaired.notes);
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Io, "operation {at} fails: {error}"),
        }
    }
    // Nor does a verification call damaged what cannot be read.
    let verify_with = |storage: &FaultyStorage| {
        let mut report = Report::new(Depth::Deep);
        let source = Location::new(Arc::new(storage.clone()), whole.path());
        let container = format.open(&source, options)?;
        container.verify(Depth::Deep, &driver.for_run(), &mut report).map(|()| report)
    };
    let counted = FaultyStorage::failing(Arc::clone(whole.storage()), u64::MAX);
    let is_fine = verify_with(&counted).expect("the original can be verified").ok();
    for at in 0..counted.operations() {
        match verify_with(&FaultyStorage::failing(Arc::clone(whole.storage()), at)) {
            Ok(report) => assert!(report.ok() || !is_fine, "operation {at} fails: {:?}", report.findings()),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Io, "operation {at} fails: {error}"),
        }
    }
}

/// The files in memory, under a name that the format would choose.
fn stored(format: &dyn Format, files: &[(String, Vec<u8>)]) -> Location {
    let storage = MemoryStorage::new();
    let root = format!("data.{}", format.extensions().first().unwrap_or(&"bin"));
    for (name, bytes) in files {
        let path = if name.is_empty() { root.clone() } else { format!("{root}/{name}") };
        storage.put(path, bytes.clone());
    }
    Location::new(Arc::new(storage), root)
}

/// The rows of all tables, by the names of the tables.
pub type Rows = [(String, Vec<String>)];

/// Repairs one damaged container and checks the result against the contract; `None` if the repair failed with an error.
/// `original` is what it held before it was damaged, if known. `place` names the damage in messages.
pub fn repair_contract(
    format: &dyn Format,
    damaged: &Location,
    original: Option<&Rows>,
    options: &OpenOptions,
    driver: &Driver,
    place: &str,
) -> Option<Outcome> {
    // On one thread of the driver: on a small container, threads would do little but wait for each other.
    driver.install(|| check_repair(format, damaged, original, options, driver, place))
}

fn check_repair(
    format: &dyn Format,
    damaged: &Location,
    original: Option<&Rows>,
    options: &OpenOptions,
    driver: &Driver,
    place: &str,
) -> Option<Outcome> {
    let target = Location::new(Arc::new(MemoryStorage::new()), damaged.path());
    let repaired = match format.repair(RepairRequest::new(damaged, &target, options), driver) {
        Ok(repaired) => repaired,
        Err(error) => {
            let text = error.to_string();
            assert!(error.kind() != ErrorKind::Internal, "{place}: an internal error: {text}");
            assert!(!text.is_empty() && !text.contains('\n'), "{place}: not one line: {text}");
            assert!(!target.exists().unwrap(), "{place}: a failed repair left something behind");
            return None;
        }
    };
    let Repaired { outcome, notes, .. } = &repaired;
    assert!(!notes.is_empty(), "{place}: a repair without notes");
    for note in notes {
        assert!(!note.contains("tess repair"), "{place}: a repair that suggests a repair: {note}");
        assert!(!note.contains('\n'), "{place}: not one line: {note}");
    }
    let health = verify(format, &target, options, driver);
    assert!(health.ok(), "{place}: the result of {notes:?} is damaged: {:?}", health.findings());
    let got = match rows(format, &target, options, driver) {
        Ok(rows) => rows,
        // A damaged file can state more rows than a plan can have: there is nothing to compare.
        Err(error) if error.kind() == ErrorKind::Limit => return Some(*outcome),
        Err(error) => panic!("{place}: the result of {notes:?} does not read: {error}"),
    };
    match outcome {
        Outcome::Healthy | Outcome::Repaired => {
            // Damage that no check can detect cannot be repaired: the rows are those that the source shows.
            let before = verify(format, damaged, options, driver);
            assert!(
                before.ok() || *outcome == Outcome::Repaired,
                "{place}: called healthy in spite of {:?}",
                before.findings()
            );
            let is_shown = || rows(format, damaged, options, driver).is_ok_and(|shown| shown == got);
            let is_kept = match original {
                Some(original) => got == original || (before.ok() && is_shown()),
                None => !before.ok() || is_shown(),
            };
            assert!(is_kept, "{place}: the repair claims to have kept all rows: {notes:?}");
        }
        // Which rows are dropped or in doubt is tested per format.
        Outcome::Unfinished | Outcome::Doubtful | Outcome::Partial => {}
    }
    Some(*outcome)
}

fn verify(format: &dyn Format, location: &Location, options: &OpenOptions, driver: &Driver) -> Report {
    let mut report = Report::new(Depth::Deep);
    let checked = format
        .open(location, options)
        .and_then(|container| container.verify(Depth::Deep, &driver.for_run(), &mut report));
    if let Err(error) = checked {
        report.error(error.class_name(), &error);
    }
    report
}

/// The columns in one line. Metadata has no order of its own.
fn columns(schema: &Schema) -> String {
    let column = |field: &Arc<Field>| {
        let metadata: BTreeMap<_, _> = field.metadata().iter().collect();
        format!("{} {:?} {} {metadata:?}", field.name(), field.data_type(), field.is_nullable())
    };
    schema.fields().iter().map(column).collect::<Vec<_>>().join(", ")
}

/// The rows of all tables, by the names of the tables.
fn rows(
    format: &dyn Format,
    location: &Location,
    options: &OpenOptions,
    driver: &Driver,
) -> Result<Vec<(String, Vec<String>)>> {
    let container = format.open(location, options)?;
    let mut names = container.table_names();
    names.sort();
    let read = |name: String| -> Result<(String, Vec<String>)> {
        let table = container.table(&name)?;
        let mut lines = vec![columns(&table.schema())];
        for batch in scan(&*table, &Scan::all(), driver, Order::Plan)? {
            lines.extend(sorted_rows(&batch?));
        }
        lines[1..].sort();
        Ok((name, lines))
    };
    names.into_iter().map(read).collect()
}
