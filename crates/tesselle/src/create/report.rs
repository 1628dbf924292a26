//! The result of a write.

use tesselle_core::{Fitted, Format, Summary, TypeChange};

/// The result of a write, and the format's response to it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteReport {
    /// The format of the target.
    pub format: &'static str,
    /// Rows, bytes and chunks (pages, tiles) of the target.
    pub summary: Summary,
    /// Columns stored in a wider type; every value is kept.
    pub changed: Vec<TypeChange>,
    /// The names of the kept attributes.
    pub kept: Vec<String>,
    /// The parts of the source that the target cannot store, one line each.
    pub lost: Vec<String>,
}

impl WriteReport {
    pub(crate) fn new(to: &dyn Format, mut summary: Summary, fitted: Fitted) -> Self {
        let Fitted { changed, kept, mut lost } = fitted;
        lost.append(&mut summary.lost);
        Self { format: to.name(), summary, changed, kept, lost }
    }

    /// The object of `convert --json`.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "format": self.format, "rows": self.summary.rows, "bytes": self.summary.bytes,
            "pieces": self.summary.pieces,
            "changed_types": self.changed.iter().map(TypeChange::to_json).collect::<Vec<_>>(),
            "metadata": { "kept": self.kept, "lost": self.lost },
        })
    }
}
