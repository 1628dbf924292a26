//! A format: how it is recognized, opened, created and repaired.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{DataType, SchemaRef};
use bytes::Bytes;

use crate::append::AppendRequest;
use crate::array::ArrayView;
use crate::container::Container;
use crate::driver::{CancelToken, Driver};
use crate::error::{Error, Result};
use crate::hint::Action;
use crate::limits::Limits;
use crate::request::{ArrayRequest, Capabilities, Created, WriteRequest, WriteTarget, Written};
use crate::sink::{Sink, Summary};
use crate::storage::{Entry, Location};
use crate::table::Table;

/// A family of files.
pub trait Format: Send + Sync {
    /// The name in options and reports, lower case.
    fn name(&self) -> &'static str;

    /// The name in a sentence.
    fn title(&self) -> &'static str {
        self.name()
    }

    /// One line for help output.
    fn summary(&self) -> &'static str;

    /// File name extensions, without the dot, the preferred one first.
    fn extensions(&self) -> &'static [&'static str];

    /// The confidence that a file is of this format, from its first and last bytes and its name.
    fn sniff(&self, probe: &Probe) -> Confidence;

    /// Opens a container: metadata is read and checked, data is not touched.
    fn open(&self, location: &Location, options: &OpenOptions) -> Result<Arc<dyn Container>>;

    /// Opens several files with the same columns as one table. `None` if this format can only read them one after the
    /// other.
    fn open_many(&self, locations: &[Location], options: &OpenOptions) -> Result<Option<Arc<dyn Table>>> {
        let _ = (locations, options);
        Ok(None)
    }

    /// The capabilities of the format. The default is read-only.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
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

    /// Writes a whole array with known cells only.
    fn create_from_array(
        &self,
        location: &Location,
        source: &dyn ArrayView,
        options: &WriteOptions,
        driver: &Driver,
    ) -> Result<Summary> {
        let target = WriteTarget::Location(location.clone());
        Ok(self.write_array(ArrayRequest::new(target, source, options.clone()), driver)?.summary)
    }

    /// Rewrites a whole container as another one of the same format.
    ///
    /// Everything the source states is preserved unless `write` changes it: encodings, filters, orders, metadata, every
    /// table. Encoded tiles, pages and chunks are copied if nothing changes them. Returns `None` if the format cannot
    /// do that with these options; the caller then converts row by row.
    fn rewrite(
        &self,
        source: &Location,
        target: &Location,
        open: &OpenOptions,
        write: &WriteOptions,
        driver: &Driver,
    ) -> Result<Option<Rewritten>> {
        let _ = (source, target, open, write, driver);
        Ok(None)
    }

    /// The settings with which [`Format::rewrite`] writes the newest version of the format. `None` where rows that are
    /// converted always have it.
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

    /// Writes everything recoverable from `source` to `target`; the source is not modified.
    fn repair(
        &self,
        source: &Location,
        target: &Location,
        options: &OpenOptions,
        driver: &Driver,
    ) -> Result<Repaired> {
        let _ = (source, target, options, driver);
        Err(Error::unsupported(format!("{} files cannot be repaired by this version", self.name())))
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

/// How to open a container.
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own, and all are off by default")]
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// Time travel: only data written in `[start, end]`, milliseconds since the epoch, both included.
    pub between: Option<(u64, u64)>,
    /// The key of an encrypted container.
    pub key: Option<Secret>,
    /// Stored integers instead of their meaning: enumeration codes, Int64 for every time.
    pub raw: bool,
    /// String columns as Binary.
    pub text_as_binary: bool,
    /// The whole domain of a dense array, including unwritten cells.
    pub full_domain: bool,
    /// The types of columns, for formats that do not state them.
    pub types: Vec<(String, DataType)>,
    /// How text records are read.
    pub text: TextOptions,
    /// Also rows that are marked as deleted but still stored, where the format has such.
    pub deleted: bool,
    /// The value that a repair puts where elements are lost; formats that cannot keep gaps refuse it.
    pub fill: Option<String>,
    /// Bounds that apply regardless of what a file states.
    pub limits: Limits,
    /// Ends an opening that takes long: where the types of columns are inferred, all values are read.
    pub cancel: CancelToken,
}

/// How files of delimited text are read, which do not state it themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextOptions {
    /// The byte between two fields; `None` finds it in the first line.
    pub delimiter: Option<u8>,
    /// Whether there is no line with the names of the columns: they are `column_1`, `column_2` and so on.
    pub no_header: bool,
    /// A field that stands for null, as an empty one does.
    pub null: Option<String>,
}

impl TextOptions {
    /// The delimiter that a caller spells: one ASCII character, or a name such as `tab`.
    pub fn delimiter(text: &str) -> Result<u8> {
        match text {
            "tab" | "\\t" => Ok(b'\t'),
            "comma" => Ok(b','),
            "semicolon" => Ok(b';'),
            "pipe" => Ok(b'|'),
            "space" => Ok(b' '),
            _ => match text.as_bytes() {
                [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
                _ => Err(Error::invalid(format!("'{text}' cannot separate fields"))
                    .hint("write one ASCII character, or tab, comma, semicolon, pipe or space")),
            },
        }
    }
}

/// A key that no `Debug` output shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// Wraps the bytes of a key.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// Parses a key: `hex:` and digits, or the raw bytes.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let Some(digits) = text.strip_prefix(b"hex:") else { return Ok(Self::new(text)) };
        let digits = digits.trim_ascii();
        let bytes = digits.chunks(2).map(|pair| {
            std::str::from_utf8(pair)
                .ok()
                .filter(|p| p.len() == 2)
                .and_then(|p| u8::from_str_radix(p, 16).ok())
        });
        bytes
            .collect::<Option<Vec<u8>>>()
            .map(Self)
            .ok_or_else(|| Error::invalid("the key after 'hex:' is not pairs of hexadecimal digits"))
    }

    /// The bytes.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// How to create a container. `settings` are format-specific `name=value` pairs; each format converts them into its
/// typed options and rejects unknown names.
#[derive(Debug, Clone, Default)]
pub struct WriteOptions {
    /// Whether an existing target may be replaced.
    pub overwrite: bool,
    /// The name of the table to create, if the format has named tables.
    pub table: Option<String>,
    /// The format-specific settings, by name.
    pub settings: Settings,
}

/// Settings by name; the format must accept every one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings(BTreeMap<String, String>);

impl Settings {
    /// Reads `NAME=VALUE` pairs.
    pub fn from_pairs<S: AsRef<str>>(pairs: &[S]) -> Result<Self> {
        let mut settings = Self::default();
        for pair in pairs {
            let (name, value) = pair.as_ref().split_once('=').ok_or_else(|| {
                Error::invalid(format!("setting '{}' has no value", pair.as_ref())).hint("use NAME=VALUE")
            })?;
            settings.set(name, value);
        }
        Ok(settings)
    }

    /// Adds or replaces a setting.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.insert(name.into(), value.into());
    }

    /// With this setting added or replaced.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "a number reads better than a reference to one")]
    pub fn with(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.set(name, value.to_string());
        self
    }

    /// With this setting added or replaced; its value is a list, separated by commas.
    #[must_use]
    pub fn with_list<T: ToString>(
        self,
        name: impl Into<String>,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        let values: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
        self.with(name, values.join(","))
    }

    /// Adds or replaces all settings of `others`.
    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Sets a default that the caller did not set.
    pub fn fill(&mut self, name: &str, value: impl Into<String>) {
        if self.get(name).is_none() {
            self.set(name, value);
        }
    }

    /// Sets all of `others` that the caller left open.
    pub fn fill_all(&mut self, others: &Self) {
        for (name, value) in &others.0 {
            self.fill(name, value.clone());
        }
    }

    /// Bounds a writer's buffer by a share of the memory. A default that fits is kept, and so is a value chosen by the
    /// caller.
    pub fn fill_share(&mut self, name: &str, share: u64, default: u64, memory: u64) {
        const LEAST: u64 = 1 << 20;
        if memory / share < default {
            self.fill(name, (memory / share).max(LEAST).to_string());
        }
    }

    /// The value of a setting. Callers may write underscores for the dots and dashes of its name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).or_else(|| self.0.get(&keyword(name))).map(String::as_str)
    }

    /// The value of a setting, parsed.
    pub fn parse<T: std::str::FromStr>(&self, name: &str, what: &str) -> Result<Option<T>> {
        self.get(name)
            .map(|text| text.parse().map_err(|_| Error::invalid(format!("{name}={text} is not {what}"))))
            .transpose()
    }

    /// The zstd level, if set.
    pub fn zstd_level(&self) -> Result<Option<i32>> {
        match self.parse("level", "a zstd level")? {
            Some(level) if !(-7..=22).contains(&level) => Err(Error::invalid("zstd levels are -7 to 22")),
            level => Ok(level),
        }
    }

    /// Refuses names that are not among `known`.
    pub fn expect_only(&self, known: &[&str]) -> Result<()> {
        let is_known = |name: &str| known.iter().any(|known| *known == name || keyword(known) == name);
        let unknown = self.0.keys().find(|name| !is_known(name));
        unknown.map_or(Ok(()), |name| Err(Error::unknown_name("setting", name, known.iter().copied())))
    }
}

/// The name of a setting as a word that languages take as a keyword.
fn keyword(name: &str) -> String {
    name.replace(['.', '-'], "_")
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
    /// What it found.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_follow_a_small_memory_and_the_choice_of_the_caller() {
        let mut settings = Settings::default();
        settings.fill_share("a", 4, 256 << 20, 64 << 20);
        assert_eq!(settings.get("a"), Some("16777216"));
        settings.fill_share("b", 4, 256 << 20, 8 << 30);
        assert_eq!(settings.get("b"), None);
        settings.set("c", "5");
        settings.fill_share("c", 4, 64 << 20, 1 << 20);
        assert_eq!(settings.get("c"), Some("5"));
    }

    #[test]
    fn settings_are_found_by_their_keyword() {
        let mut settings = Settings::default();
        settings.set("filters_a_b", "zstd");
        assert_eq!(settings.get("filters.a-b"), Some("zstd"));
        settings.fill("filters.a-b", "none");
        assert_eq!(settings.get("filters.a-b"), Some("zstd"));
        assert!(settings.expect_only(&["filters.a-b"]).is_ok());
        assert!(settings.expect_only(&["filters.a"]).is_err());
        settings.set("filters.a-b", "lz4");
        assert_eq!(settings.get("filters.a-b"), Some("lz4"), "the name as it is wins");
    }
}
