//! A format: how it is recognized, opened, created and repaired.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use bytes::Bytes;

use crate::append::AppendRequest;
use crate::container::Container;
use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::hint::Action;
use crate::options::{OpenOptions, Settings, WriteOptions};
use crate::request::{
    ArrayRequest, ArraysRequest, Capabilities, Created, RepairRequest, RewriteRequest, WriteRequest,
    WriteTarget, Written,
};
use crate::sink::{Sink, Summary};
use crate::storage::{Entry, Location};
use crate::table::Table;

/// A family of files.
pub trait Format: Send + Sync {
    /// The constants of the format.
    fn facts(&self) -> &'static FormatFacts;

    /// The name in options and reports, lower case.
    fn name(&self) -> &'static str {
        self.facts().name
    }

    /// The name in a sentence.
    fn title(&self) -> &'static str {
        self.facts().title
    }

    /// One line for help output.
    fn summary(&self) -> &'static str {
        self.facts().summary
    }

    /// File name extensions, without the dot, the preferred one first.
    fn extensions(&self) -> &'static [&'static str] {
        self.facts().extensions
    }

    /// The capabilities of the format.
    fn capabilities(&self) -> Capabilities {
        self.facts().capabilities
    }

    /// The confidence that a file is of this format, from its first and last bytes and its name.
    fn sniff(&self, probe: &Probe) -> Confidence {
        self.facts().sniff_file(probe)
    }

    /// Opens a container: metadata is read and checked, data is not touched.
    fn open(&self, location: &Location, options: &OpenOptions) -> Result<Arc<dyn Container>>;

    /// Opens several files with the same columns as one table. `None` if this format can only read them one after the
    /// other.
    fn open_many(&self, locations: &[Location], options: &OpenOptions) -> Result<Option<Arc<dyn Table>>> {
        let _ = (locations, options);
        Ok(None)
    }

    /// The kind of a folder that [`Format::sniff`] recognizes, for walks of a folder tree.
    fn folder(&self, folder: &Folder<'_>) -> FolderKind {
        let _ = folder;
        FolderKind::Container
    }

    /// Starts a new container for the rows of `request`. The format chooses defaults by the facts about the source and
    /// the memory of the driver, and returns what it changed and cannot keep.
    fn start(&self, request: WriteRequest, driver: &Driver) -> Result<Created> {
        let _ = (request, driver);
        Err(Error::unsupported(format!("{} files cannot be written by this version", self.name())))
    }

    /// Writes a whole array; the format reads the regions it needs, tile by tile, so memory stays bounded.
    fn write_array(&self, request: ArrayRequest<'_>, driver: &Driver) -> Result<Written> {
        let _ = (request, driver);
        Err(Error::unsupported(format!(
            "{} files cannot be written from an array by this version",
            self.name()
        )))
    }

    /// Writes several whole arrays of any shapes into one container; see [`Capabilities::several_arrays`].
    fn write_arrays(&self, request: ArraysRequest<'_>, driver: &Driver) -> Result<Written> {
        let _ = (request, driver);
        Err(Error::unsupported(format!("the format {} cannot contain several arrays", self.name())))
    }

    /// Starts a new container for rows with known columns only.
    fn create(
        &self,
        location: &Location,
        schema: SchemaRef,
        options: &WriteOptions,
        driver: &Driver,
    ) -> Result<Box<dyn Sink>> {
        let target = WriteTarget::Location(location.clone());
        Ok(self.start(WriteRequest::new(target, schema, options.clone()), driver)?.sink)
    }

    /// Rewrites a whole container as another one of the same format.
    ///
    /// Everything the source states is preserved unless the options change it: encodings, filters, orders, metadata,
    /// every table. Encoded tiles, pages and chunks are copied if nothing changes them. Returns `None` if the format
    /// cannot do that with these options; the caller then converts row by row.
    fn rewrite(&self, request: RewriteRequest<'_>, driver: &Driver) -> Result<Option<Rewritten>> {
        let _ = (request, driver);
        Ok(None)
    }

    /// The settings with which [`Format::rewrite`] writes the newest version of the format. `None` where there is
    /// one version.
    fn newest(&self) -> Option<Settings> {
        None
    }

    /// Adds rows, or an array along an axis, to a table that exists. Readers see the old state or the new one; the
    /// summary counts what was added.
    fn append(&self, request: AppendRequest<'_>, driver: &Driver) -> Result<Summary> {
        let _ = driver;
        Err(Error::unsupported(format!("{} files cannot be appended to", self.title()))
            .file(request.location.path())
            .suggest("write a new one with {}", [Action::Convert]))
    }

    /// Writes everything recoverable from the source to the target; the source is not modified.
    fn repair(&self, request: RepairRequest<'_>, driver: &Driver) -> Result<Repaired> {
        let _ = (request, driver);
        Err(Error::unsupported(format!("{} files cannot be repaired by this version", self.name())))
    }
}

/// The constants of a format.
#[derive(Debug, Clone, Copy)]
pub struct FormatFacts {
    /// The name in options and reports, lower case.
    pub name: &'static str,
    /// The name in a sentence.
    pub title: &'static str,
    /// One line for help output.
    pub summary: &'static str,
    /// File name extensions, without the dot, the preferred one first.
    pub extensions: &'static [&'static str],
    /// The first bytes of its files: one of these. Empty if only the name identifies them.
    pub magic: &'static [&'static [u8]],
    /// What it can do.
    pub capabilities: Capabilities,
}

impl FormatFacts {
    /// The confidence that a file is of this format, from its first bytes and its name. A folder is not.
    pub fn sniff_file(&self, probe: &Probe) -> Confidence {
        if probe.entries.is_some() {
            Confidence::No
        } else if self.magic.iter().any(|magic| probe.head.starts_with(magic)) {
            Confidence::Content
        } else if self.extensions.iter().any(|extension| probe.has_extension(extension)) {
            Confidence::Name
        } else {
            Confidence::No
        }
    }
}

/// A folder that is walked.
pub struct Folder<'a> {
    /// The confidence that the folder is of this format.
    pub confidence: Confidence,
    /// The entries, sorted by name.
    pub entries: &'a [Entry],
    /// Whether a file with this name would be of a known format.
    pub is_known: &'a dyn Fn(&str) -> bool,
}

impl Folder<'_> {
    /// Whether there is an entry of this name.
    pub fn has(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| entry.name == name)
    }
}

/// The kind of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderKind {
    /// A plain folder with containers in it.
    Place,
    /// A container as a whole.
    Container,
    /// A container whose members are separate containers.
    Group,
}

/// The confidence that a file is of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Not of this format.
    No,
    /// By its name, and the bytes do not contradict; also damaged files recognizable only by name.
    Name,
    /// By its bytes.
    Content,
}

/// The data available for format detection.
#[derive(Debug, Clone)]
pub struct Probe {
    /// The last part of the path.
    pub name: String,
    /// The first bytes of a file (up to 4 KiB); empty for a folder.
    pub head: Bytes,
    /// The last bytes of a file (up to 4 KiB); empty for a folder.
    pub tail: Bytes,
    /// The size of a file; 0 for a folder.
    pub size: u64,
    /// The names of a folder's entries, sorted; `None` for a file.
    pub entries: Option<Vec<String>>,
}

impl Probe {
    /// Bytes read from either end.
    pub const WINDOW: u64 = 4096;

    /// Reads the probe of a location.
    pub fn of(location: &Location) -> Result<Self> {
        let name = location.name().to_owned();
        if location.is_dir()? {
            let mut entries: Vec<String> = location.list()?.into_iter().map(|entry| entry.name).collect();
            entries.sort();
            return Ok(Self {
                name,
                head: Bytes::new(),
                tail: Bytes::new(),
                size: 0,
                entries: Some(entries),
            });
        }
        let size = location.size()?;
        let window = size.min(Self::WINDOW);
        let mut parts = location.read(&[0..window, size - window..size])?.into_iter();
        let (head, tail) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        Ok(Self { name, head, tail, size, entries: None })
    }

    /// Whether the name ends in `.extension`, ignoring case.
    pub fn has_extension(&self, extension: &str) -> bool {
        self.name.rsplit_once('.').is_some_and(|(_, end)| end.eq_ignore_ascii_case(extension))
    }
}

/// The result of [`Format::rewrite`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// What was written. `summary.lost` lists what a setting or a limit of the format did not keep.
    pub summary: Summary,
    /// The names of the attributes (free metadata) that were kept.
    pub kept: Vec<String>,
}

/// The result of a repair, from best to worst. The first three keep all data that was ever completely stored.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Every check of a deep verification passed; the result is a copy.
    #[default]
    Healthy,
    /// All data was kept; trailers, indexes or statistics were rebuilt.
    Repaired,
    /// The file ends too early, as after a crash of its writer: everything completely stored was kept.
    Unfinished,
    /// All data was kept, but it disagrees with its statistics or checksums, and which of the two is right is unknown.
    Doubtful,
    /// Some data was dropped.
    Partial,
}

impl Outcome {
    /// Whether nothing that was completely stored is lost or in doubt.
    pub fn is_whole(self) -> bool {
        self <= Self::Unfinished
    }

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Repaired => "repaired",
            Self::Unfinished => "unfinished",
            Self::Doubtful => "doubtful",
            Self::Partial => "partial",
        }
    }
}

/// The result of a repair.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repaired {
    /// The state of the result.
    pub outcome: Outcome,
    /// Bytes of the source that are in the result.
    pub kept_bytes: u64,
    /// Bytes of the source that are not.
    pub dropped_bytes: u64,
    /// The actions taken, one line each.
    pub notes: Vec<String>,
}

impl Repaired {
    /// Adds a note on something that is no better than `outcome`.
    pub fn note(&mut self, outcome: Outcome, text: impl Into<String>) {
        self.outcome = self.outcome.max(outcome);
        self.notes.push(text.into());
    }

    /// The object of `repair --json`.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "outcome": self.outcome.name(), "kept_bytes": self.kept_bytes, "dropped_bytes": self.dropped_bytes,
            "notes": self.notes,
        })
    }
}
