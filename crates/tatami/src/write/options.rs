//! Options of the writer.

use tesselle_core::{Action, Error, Result, Settings, setters, unhex};

use crate::meta::types::Codec;

/// The features that a file may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// The features of the original engine.
    #[default]
    Plain,
    /// In addition LIST columns, DICTIONARY and FSST pages and LZ4, declared in a separate footer section.
    Extended,
}

/// Options of a file to write. The defaults are those of the original engine's writer.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct WriterOptions {
    /// Maximum number of rows of a row group.
    pub row_group_rows: usize,
    /// A row group is closed once its values are estimated at this many bytes.
    pub row_group_bytes: u64,
    /// Maximum number of rows of a page.
    pub page_rows: usize,
    /// A blob run is closed before its values exceed this many bytes.
    pub blob_run_bytes: u64,
    /// Blobs held in memory before they are written out, in bytes, over all columns.
    pub blob_buffer_bytes: u64,
    /// The zstd level of data pages, runs and dictionaries.
    pub level: i32,
    /// The codec of data pages; LZ4 needs the extended profile.
    pub codec: Codec,
    /// The features that may be used.
    pub profile: Profile,
    /// The column that rows are sorted by; the order is checked.
    pub sort_key: Option<String>,
    /// Columns that get a bloom filter per row group.
    pub bloom: Vec<String>,
    /// String and binary columns with values in the blob region.
    pub blobs: Vec<String>,
    /// Key/value pairs of the footer, after those of the format itself.
    pub metadata: Vec<(String, String)>,
    /// Informational, stored in the header.
    pub page_size_hint: u32,
    /// Stored in the header; all zero is none.
    pub uuid: [u8; 16],
    /// Stored in the header, milliseconds since the epoch.
    pub created_ms: u64,
    /// Stored in the header.
    pub creator_id: u32,
    /// The minor version: 0 has neither zone maps nor indexes. `None` is the newest, of a rewrite that of the source.
    pub minor: Option<u16>,
}

setters! { WriterOptions {
    with_row_group_rows => row_group_rows: usize,
    with_row_group_bytes => row_group_bytes: u64,
    with_page_rows => page_rows: usize,
    with_blob_run_bytes => blob_run_bytes: u64,
    with_blob_buffer_bytes => blob_buffer_bytes: u64,
    with_level => level: i32,
    with_codec => codec: Codec,
    with_profile => profile: Profile,
    with_sort_key => sort_key: impl Into<Option<String>>,
    with_bloom => bloom: Vec<String>,
    with_blobs => blobs: Vec<String>,
    with_metadata => metadata: Vec<(String, String)>,
    with_page_size_hint => page_size_hint: u32,
    with_uuid => uuid: [u8; 16],
    with_created_ms => created_ms: u64,
    with_creator_id => creator_id: u32,
    with_minor => minor: impl Into<Option<u16>>,
} }

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            row_group_rows: 131_072,
            row_group_bytes: 268_435_456,
            page_rows: 65_536,
            blob_run_bytes: 1 << 20,
            blob_buffer_bytes: 64 << 20,
            level: 5,
            codec: Codec::Zstd,
            profile: Profile::Plain,
            sort_key: None,
            bloom: Vec::new(),
            blobs: Vec::new(),
            metadata: Vec::new(),
            page_size_hint: 0,
            uuid: [0; 16],
            created_ms: 0,
            creator_id: 0,
            minor: None,
        }
    }
}

const SETTINGS: [&str; 16] = [
    "blob",
    "blob_buffer_bytes",
    "blob_run_bytes",
    "bloom",
    "codec",
    "created_ms",
    "creator_id",
    "level",
    "page_rows",
    "page_size_hint",
    "profile",
    "row_group_bytes",
    "row_group_rows",
    "sort_key",
    "uuid",
    "version",
];

/// Gives the buffers of a writer their shares of the memory, where the settings do not.
pub(crate) fn fill_shares(settings: &mut Settings, memory: u64) {
    let defaults = WriterOptions::default();
    settings.fill_share("row_group_bytes", 4, defaults.row_group_bytes, memory);
    settings.fill_share("blob_buffer_bytes", 8, defaults.blob_buffer_bytes, memory);
}

impl WriterOptions {
    /// The defaults, with buffers that fit the memory.
    pub(crate) fn within(memory: u64) -> Result<Self> {
        let mut settings = Settings::default();
        fill_shares(&mut settings, memory);
        Self::from_settings(&settings)
    }

    /// Reads the settings of a write request.
    pub fn from_settings(settings: &Settings) -> Result<Self> {
        settings.expect_only(&SETTINGS)?;
        let defaults = Self::default();
        let positive = |name: &str, n: u64| -> Result<u64> {
            if n == 0 { Err(Error::invalid(format!("{name} must be at least 1"))) } else { Ok(n) }
        };
        let bytes = |name: &str, default: u64| -> Result<u64> {
            positive(name, settings.bytes(name)?.unwrap_or(default))
        };
        let rows = |name: &str, default: usize| -> Result<usize> {
            let n = settings.parse(name, "a whole number")?.unwrap_or(default as u64);
            let n = positive(name, n)?.min(u64::from(u32::MAX));
            usize::try_from(n).map_err(|_| Error::invalid(format!("{name}={n} is too large")))
        };
        let codec = match settings.get("codec") {
            None => Codec::Zstd,
            Some(name) => {
                [Codec::None, Codec::Lz4, Codec::Zstd].into_iter().find(|c| c.name() == name).ok_or_else(
                    || Error::invalid(format!("codec={name} is not known")).hint("none, lz4 or zstd"),
                )?
            }
        };
        let profile = match settings.get("profile") {
            None | Some("plain") => Profile::Plain,
            Some("extended") => Profile::Extended,
            Some(other) => {
                return Err(Error::invalid(format!("profile={other} is not known")).hint("plain or extended"));
            }
        };
        if codec == Codec::Lz4 && profile == Profile::Plain {
            return Err(Error::invalid("lz4 needs the extended profile")
                .suggest("add {}", [Action::setting("profile", "extended")]));
        }
        Ok(Self {
            row_group_rows: rows("row_group_rows", defaults.row_group_rows)?,
            row_group_bytes: bytes("row_group_bytes", defaults.row_group_bytes)?,
            page_rows: rows("page_rows", defaults.page_rows)?,
            blob_run_bytes: bytes("blob_run_bytes", defaults.blob_run_bytes)?,
            blob_buffer_bytes: bytes("blob_buffer_bytes", defaults.blob_buffer_bytes)?,
            level: settings.zstd_level()?.unwrap_or(defaults.level),
            codec,
            profile,
            sort_key: settings.get("sort_key").map(str::to_owned),
            bloom: names(settings, "bloom"),
            blobs: names(settings, "blob"),
            metadata: Vec::new(),
            page_size_hint: settings.bytes("page_size_hint")?.unwrap_or(0),
            uuid: settings.get("uuid").map_or(Ok([0; 16]), uuid)?,
            created_ms: settings.parse("created_ms", "milliseconds since the epoch")?.unwrap_or(0),
            creator_id: settings.parse("creator_id", "a whole number")?.unwrap_or(0),
            minor: settings.get("version").map(minor).transpose()?,
        })
    }
}

fn minor(version: &str) -> Result<u16> {
    match version {
        "1.0" => Ok(0),
        "1.1" => Ok(1),
        other => Err(Error::unknown_name("version", other, ["1.0", "1.1"])),
    }
}

fn names(settings: &Settings, name: &str) -> Vec<String> {
    let value = settings.get(name).unwrap_or_default();
    value.split(',').map(str::trim).filter(|n| !n.is_empty()).map(str::to_owned).collect()
}

fn uuid(value: &str) -> Result<[u8; 16]> {
    let refuse = || Error::invalid(format!("uuid={value} is not 32 hexadecimal digits"));
    let digits: Vec<u8> = value.bytes().filter(|b| *b != b'-').collect();
    unhex(&digits).and_then(|bytes| bytes.try_into().ok()).ok_or_else(refuse)
}
