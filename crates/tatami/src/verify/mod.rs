//! Verification of a file at three depths: the footer, every checksum, every value.

mod chunk;
mod regions;
mod structure;

use tesselle_core::{Depth, Driver, Error, ErrorKind, Finding, Report, Result, Severity};

use crate::open::File;
use crate::search;

/// Collects the findings about one part of a file.
pub(crate) struct Findings {
    file: String,
    list: Vec<Finding>,
    pieces: u64,
    /// A failure of the storage, which does not concern the data.
    failure: Option<Error>,
}

impl Findings {
    fn new(file: &File) -> Self {
        Self { file: file.path().to_string(), list: Vec::new(), pieces: 0, failure: None }
    }

    /// Adds an error from reading under its own class.
    fn error(&mut self, error: &Error) {
        self.kind(error.class_name(), error);
    }

    /// Adds an error from reading as damage of this kind.
    fn kind(&mut self, kind: &'static str, error: &Error) {
        if matches!(error.kind(), ErrorKind::Io | ErrorKind::Canceled) {
            self.failure.get_or_insert_with(|| error.clone().file(self.file.clone()));
            return;
        }
        let mut finding = Finding::from_error(kind, error);
        finding.file.get_or_insert_with(|| self.file.clone());
        self.list.push(finding);
    }

    fn add(
        &mut self,
        severity: Severity,
        kind: &'static str,
        message: impl Into<String>,
        piece: impl Into<String>,
    ) {
        self.list.push(Finding::new(severity, kind, message).file(self.file.clone()).piece(piece));
    }

    /// Adds a violation of the format.
    fn wrong(&mut self, kind: &'static str, message: impl Into<String>, piece: impl Into<String>) {
        self.add(Severity::Error, kind, message, piece);
    }

    fn into_report(self, report: &mut Report) -> Result<()> {
        report.pieces += self.pieces;
        self.list.into_iter().for_each(|finding| report.add(finding));
        self.failure.map_or(Ok(()), Err)
    }
}

/// Checks a file; adds damage to the report.
pub(crate) fn verify(file: &File, depth: Depth, driver: &Driver, report: &mut Report) -> Result<()> {
    let mut findings = Findings::new(file);
    structure::check(file, &mut findings);
    findings.into_report(report)?;
    if depth > Depth::Quick {
        records(file, depth, driver, report)?;
    }
    search::verify(file, depth, driver, report)
}

/// Checks every record.
fn records(file: &File, depth: Depth, driver: &Driver, report: &mut Report) -> Result<()> {
    let groups = &file.footer().groups;
    driver.progress().expect(groups.iter().map(|group| group.bytes).fold(0, u64::saturating_add));
    let parts = driver.try_map(groups.iter().enumerate(), |(number, group)| {
        let mut findings = Findings::new(file);
        chunk::check_group(file, number, depth, &mut findings);
        driver.progress().advance(group.bytes);
        Ok(findings)
    })?;
    for part in parts {
        part.into_report(report)?;
    }
    let mut findings = Findings::new(file);
    regions::check(file, depth, driver, &mut findings)?;
    findings.into_report(report)?;
    chunk::check_order(file, depth, report);
    Ok(())
}
