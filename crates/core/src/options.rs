//! How containers are opened and created.

use std::collections::BTreeMap;

use arrow_schema::DataType;

use crate::driver::{CancelToken, Reporter};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::scalar::unhex;
use crate::setters;
use crate::size::parse_size;

/// How to open a container.
#[non_exhaustive]
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
    /// Local files are mapped instead of read. Only for files that no program truncates meanwhile: the system ends a
    /// process that reads past the end of a mapped file.
    pub mapped: bool,
    /// The value that a repair puts where elements are lost; formats that cannot keep gaps refuse it.
    pub fill: Option<String>,
    /// Bounds that apply regardless of what a file states.
    pub limits: Limits,
    /// Ends an opening that takes long: where the types of columns are inferred, all values are read.
    pub cancel: CancelToken,
    /// Learns how far such an opening is.
    pub progress: Reporter,
}

setters! { OpenOptions {
    with_between => between: impl Into<Option<(u64, u64)>>,
    with_key => key: impl Into<Option<Secret>>,
    with_raw => raw: bool,
    with_text_as_binary => text_as_binary: bool,
    with_full_domain => full_domain: bool,
    with_types => types: Vec<(String, DataType)>,
    with_text => text: TextOptions,
    with_deleted => deleted: bool,
    with_mapped => mapped: bool,
    with_fill => fill: impl Into<Option<String>>,
    with_limits => limits: Limits,
    with_cancel => cancel: CancelToken,
    with_progress => progress: Reporter,
} }

/// How files of delimited text are read, which do not state it themselves.
#[non_exhaustive]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextOptions {
    /// The byte between two fields; `None` finds it in the first line.
    pub delimiter: Option<u8>,
    /// Whether there is no line with the names of the columns: they are `column_1`, `column_2` and so on.
    pub no_header: bool,
    /// A field that stands for null, as an empty one does.
    pub null: Option<String>,
}

setters! { TextOptions {
    with_delimiter => delimiter: impl Into<Option<u8>>,
    with_no_header => no_header: bool,
    with_null => null: impl Into<Option<String>>,
} }

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
        unhex(digits.trim_ascii())
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
#[non_exhaustive]
#[derive(Debug, Clone, Default)]
pub struct WriteOptions {
    /// Whether an existing target may be replaced.
    pub overwrite: bool,
    /// The name of the table to create, if the format has named tables.
    pub table: Option<String>,
    /// The format-specific settings, by name.
    pub settings: Settings,
}

setters! { WriteOptions {
    with_overwrite => overwrite: bool,
    with_table => table: impl Into<Option<String>>,
    with_settings => settings: Settings,
} }

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

    /// A size in bytes, if set: `4GiB`, `1.5MB` or a number of bytes.
    pub fn bytes<T: TryFrom<u64>>(&self, name: &str) -> Result<Option<T>> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let size = parse_size(text).map_err(|error| {
            let given = Error::invalid(format!("{name}={text} is not a size"));
            error.next_step().cloned().into_iter().fold(given, Error::hint)
        })?;
        T::try_from(size).map(Some).map_err(|_| Error::invalid(format!("{name}={text} is too large")))
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

    /// Refuses the settings of tensors that say how rows become cells, for an array: it has an order of its own, and
    /// these axes.
    pub fn expect_no_rows(&self, axes: &[String]) -> Result<()> {
        let same = |text: &str| text.parse() == Ok(axes.len()) || text.split(',').map(str::trim).eq(axes);
        let applies = |name: &str| self.get(name).is_some_and(|text| name == "axes" && same(text));
        let given =
            ["axes", "order", "fill"].into_iter().find(|name| self.get(name).is_some() && !applies(name));
        given.map_or(Ok(()), |name| {
            Err(Error::invalid(format!("the setting {name} is about rows, but the source is an array"))
                .hint("leave it out: the array keeps its axes and its order"))
        })
    }
}

/// The name of a setting as a word that languages take as a keyword.
fn keyword(name: &str) -> String {
    name.replace(['.', '-'], "_")
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
    fn sizes_have_units() {
        let settings = Settings::default().with("a_bytes", "4GiB").with("b_bytes", 7).with("c_bytes", "much");
        assert_eq!(settings.bytes::<u64>("a_bytes").unwrap(), Some(4 << 30));
        assert_eq!(settings.bytes::<u32>("b_bytes").unwrap(), Some(7));
        assert_eq!(settings.bytes::<u32>("d_bytes").unwrap(), None);
        let error = |name| settings.bytes::<u32>(name).unwrap_err().to_string();
        assert_eq!(error("a_bytes"), "a_bytes=4GiB is too large");
        assert!(error("c_bytes").contains("c_bytes=much is not a size; a size must be a number with a unit"));
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
