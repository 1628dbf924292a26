//! The findings of a verification. Damage found while verifying is data, not an error.

use crate::error::{Error, Result};
use crate::hint::Action;

/// The depth of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Depth {
    /// Structure only: everything `open` parses, and that chunks, pages and tiles are inside their files.
    Quick,
    /// Also every checksum, and a sample of chunks, pages or tiles decoded.
    #[default]
    Pieces,
    /// Every chunk, page or tile decoded, every stored statistic recomputed and compared.
    Deep,
}

impl Depth {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Pieces => "pieces",
            Self::Deep => "deep",
        }
    }
}

/// The severity of a finding. Only errors make a report fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Odd, but every value reads right.
    Warning,
    /// Data is lost, wrong or unreadable.
    Error,
}

impl Severity {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One finding of a verification.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Its severity.
    pub severity: Severity,
    /// The check that found it, or the class of the error.
    pub kind: &'static str,
    /// The expected and the found state.
    pub message: String,
    /// The file.
    pub file: Option<String>,
    /// The byte offset.
    pub offset: Option<u64>,
    /// The chunk, page or tile.
    pub piece: Option<String>,
}

impl Finding {
    /// A finding without a place.
    pub fn new(severity: Severity, kind: &'static str, message: impl Into<String>) -> Self {
        Self { severity, kind, message: message.into(), file: None, offset: None, piece: None }
    }

    /// An error-level finding of check `kind`, with the message and place of `error`.
    pub fn from_error(kind: &'static str, error: &Error) -> Self {
        Self {
            severity: Severity::Error,
            kind,
            message: error.message().to_owned(),
            file: error.file_name().map(str::to_owned),
            offset: error.byte_offset(),
            piece: error.piece_name().map(str::to_owned),
        }
    }

    /// Names the file.
    #[must_use]
    pub fn file(mut self, file: impl Into<String>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Returns the offset.
    #[must_use]
    pub fn offset(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    /// Sets the chunk, page or tile.
    #[must_use]
    pub fn piece(mut self, piece: impl Into<String>) -> Self {
        self.piece = Some(piece.into());
        self
    }

    fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "severity": self.severity.name(), "kind": self.kind, "message": self.message,
            "file": self.file, "offset": self.offset, "piece": self.piece,
        })
    }
}

/// All findings of one container. A damaged file can have millions: above a bound only their number is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    depth: Depth,
    findings: Vec<Finding>,
    errors: u64,
    dropped: u64,
    /// Chunks, pages or tiles that were checked.
    pub pieces: u64,
}

/// Maximum findings that are kept individually.
const KEPT: usize = 10_000;

impl Report {
    /// An empty report.
    pub fn new(depth: Depth) -> Self {
        Self { depth, findings: Vec::new(), errors: 0, dropped: 0, pieces: 0 }
    }

    /// The report on a container that does not open: one error of its class.
    pub fn refused(depth: Depth, error: &Error) -> Self {
        let mut report = Self::new(depth);
        report.add(Finding::from_error(error.class_name(), error));
        report
    }

    /// Adds a finding.
    pub fn add(&mut self, finding: Finding) {
        self.errors += u64::from(finding.severity == Severity::Error);
        if self.findings.len() < KEPT {
            self.findings.push(finding);
        } else {
            self.dropped += 1;
        }
    }

    /// Adds an error-level finding of check `kind`.
    pub fn error(&mut self, kind: &'static str, error: &Error) {
        self.add(Finding::from_error(kind, error));
    }

    /// The requested depth.
    pub fn depth(&self) -> Depth {
        self.depth
    }

    /// Whether there is no error.
    pub fn ok(&self) -> bool {
        self.errors == 0
    }

    /// How many findings are errors.
    pub fn error_count(&self) -> u64 {
        self.errors
    }

    /// The findings, in order of discovery.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The findings that are errors, in order of discovery.
    pub fn errors(&self) -> impl Iterator<Item = &Finding> + Clone {
        self.findings.iter().filter(|finding| finding.severity == Severity::Error)
    }

    /// Fails with the first error: a copy of damaged bytes would look intact.
    pub fn refuse_copy(&self, file: &str) -> Result<()> {
        let Some(found) = self.errors().next() else { return Ok(()) };
        let mut error = Error::corrupt(found.message.clone()).class(found.kind).file(file);
        if let Some(offset) = found.offset {
            error = error.offset(offset);
        }
        if let Some(piece) = &found.piece {
            error = error.piece(piece.clone());
        }
        Err(error.suggest("{} recovers the intact parts", [Action::Repair]))
    }

    /// How many further findings were counted but not kept.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The object of `verify --json`.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "ok": self.ok(), "depth": self.depth.name(), "pieces": self.pieces, "errors": self.errors,
            "findings_dropped": self.dropped,
            "findings": self.findings.iter().map(Finding::to_json).collect::<Vec<_>>(),
        })
    }
}
