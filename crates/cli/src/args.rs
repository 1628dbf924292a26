//! Flags that several verbs share.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use arrow_schema::DataType;
use clap::Args;
use tesselle::core::split_names;
use tesselle::name::read_key;
use tesselle::{
    Dataset, Driver, DriverOptions, OpenOptions, Opener, Predicate, Result, Scan, Secret, TextOptions,
};

/// Options for opening inputs.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadArgs {
    /// Input format [default: detected from content]
    #[arg(long, value_name = "NAME")]
    pub(crate) format: Option<String>,

    /// Read the state as of TIME: milliseconds since the epoch, ISO 8601, or '5 minutes ago'
    #[arg(long, global = true, value_name = "TIME", conflicts_with = "between", value_parser = parse_time)]
    at: Option<u64>,

    /// Read only data written between two times, both included
    #[arg(long, global = true, value_name = "T1,T2", value_parser = parse_times)]
    between: Option<(u64, u64)>,

    /// File with the key of an encrypted array: 32 raw bytes, or hex: and 64 digits
    #[arg(long, global = true, value_name = "FILE")]
    key_file: Option<PathBuf>,

    /// Key of an encrypted array, from the environment only: command lines are visible to others
    #[arg(skip = std::env::var_os("TESSELLE_KEY"))]
    key: Option<OsString>,

    /// Show stored integers instead of their meaning: enumeration codes, 64-bit integers for all times
    #[arg(long)]
    raw: bool,

    /// Show string columns as bytes, including values that are not UTF-8
    #[arg(long)]
    text_as_binary: bool,

    /// CSV delimiter: a character, or tab, semicolon, pipe [default: detected in the first line]
    #[arg(long, global = true, value_name = "CHAR", value_parser = parse_delimiter)]
    delimiter: Option<u8>,

    /// CSV without a header line: the columns are column_1, column_2 and so on
    #[arg(long, global = true)]
    no_header: bool,

    /// CSV field to read as null, in addition to empty fields
    #[arg(long, global = true, value_name = "TEXT")]
    null: Option<String>,

    /// Read the whole domain of a dense TileDB array [default: its current domain, else its non-empty domain]
    #[arg(long)]
    full_domain: bool,
}

impl ReadArgs {
    /// The options that `open` takes.
    pub(crate) fn options(&self) -> Result<OpenOptions> {
        Ok(OpenOptions::default()
            .with_between(self.between.or_else(|| self.at.map(|end| (0, end))))
            .with_key(self.key()?)
            .with_raw(self.raw)
            .with_text_as_binary(self.text_as_binary)
            .with_full_domain(self.full_domain)
            .with_text(
                TextOptions::default()
                    .with_delimiter(self.delimiter)
                    .with_no_header(self.no_header)
                    .with_null(self.null.clone()),
            ))
    }

    /// Opens `uri` to look at its metadata; `table` takes precedence over its fragment. Threads start only where types are
    /// inferred, or where resources are given.
    pub(crate) fn open(&self, uri: &str, table: Option<&str>, resources: &ResourceArgs) -> Result<Dataset> {
        let opener = self.opener(table)?;
        if !resources.are_given() {
            return opener.open(uri);
        }
        opener.on(&resources.driver()?).open(uri)
    }

    /// The opener of inputs; `table` takes precedence over the fragment of a uri.
    pub(crate) fn opener(&self, table: Option<&str>) -> Result<Opener> {
        Ok(self.opener_with(table, self.options()?))
    }

    /// Like [`ReadArgs::opener`], with other options.
    pub(crate) fn opener_with(&self, table: Option<&str>, options: OpenOptions) -> Opener {
        let opener = Opener::new().format(self.format.clone()).table(table.map(str::to_owned));
        opener.options(options).ambient_key(self.key_file.is_none())
    }

    fn key(&self) -> Result<Option<Secret>> {
        if let Some(path) = &self.key_file {
            return read_key(path).map(Some);
        }
        self.key.as_ref().map(|text| Secret::parse(text.as_encoded_bytes())).transpose()
    }
}

/// Names that are separated by commas; a name with a comma is in double quotes.
#[derive(Debug, Clone)]
pub(crate) struct Names(Vec<String>);

impl std::str::FromStr for Names {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        Ok(Self(split_names(text)))
    }
}

impl Names {
    /// The names of a flag that may be repeated.
    pub(crate) fn all(lists: &[Self]) -> Vec<String> {
        lists.iter().flat_map(|list| list.0.iter().cloned()).collect()
    }
}

/// The rows that a verb takes from its input.
#[derive(Debug, Clone, Args)]
pub(crate) struct RowArgs {
    /// Table to read
    #[arg(long, value_name = "NAME")]
    pub(crate) table: Option<String>,

    /// Only these columns, in this order
    #[arg(long, value_name = "A,B")]
    columns: Option<Vec<Names>>,

    /// Only rows where this SQL condition holds
    #[arg(long = "where", value_name = "EXPR", value_parser = parse_condition, allow_hyphen_values = true)]
    condition: Option<Predicate>,

    /// At most this many rows
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    /// Cast a column to another type, e.g. time=timestamp_ms; repeatable
    #[arg(long = "cast", value_name = "COLUMN=TYPE")]
    casts: Vec<String>,

    /// Column types of CSV and JSON lines: COLUMN=TYPE,… or a file with them [default: inferred]
    #[arg(long, value_name = "TYPES")]
    schema: Option<String>,
}

impl RowArgs {
    /// The opener of the input.
    pub(crate) fn opener(&self, read: &ReadArgs) -> Result<Opener> {
        Ok(read.opener(self.table.as_deref())?.types(types(self.schema.as_deref())?))
    }

    /// Columns, condition and limit.
    pub(crate) fn scan(&self) -> Scan {
        Scan::default()
            .with_columns(self.columns.as_deref().map(Names::all))
            .with_predicate(self.condition.clone())
            .with_limit(self.limit)
    }

    /// The types of columns to cast.
    pub(crate) fn casts(&self) -> Result<Vec<(String, DataType)>> {
        tesselle::parse_types(&self.casts.join(","))
    }
}

/// Resource limits, before or after any verb and subcommand.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Resources")]
pub(crate) struct ResourceArgs {
    /// Decoding threads [default: one per core]
    #[arg(long, global = true, value_name = "N")]
    threads: Option<usize>,

    /// Memory for decoding in progress, e.g. 512MiB or 2GB [default: a quarter of the free memory]
    #[arg(long, global = true, value_name = "SIZE", value_parser = tesselle::core::parse_size)]
    memory_limit: Option<u64>,
}

impl ResourceArgs {
    fn are_given(&self) -> bool {
        self.threads.is_some() || self.memory_limit.is_some()
    }

    /// Threads and memory, if given.
    #[cfg(feature = "sql")]
    pub(crate) fn parts(&self) -> (Option<usize>, Option<u64>) {
        (self.threads, self.memory_limit)
    }

    /// The flags that give a command the same resources.
    pub(crate) fn flags(&self) -> Vec<OsString> {
        let threads = self.threads.map(|threads| format!("--threads={threads}"));
        let memory = self.memory_limit.map(|bytes| format!("--memory-limit={bytes}"));
        threads.into_iter().chain(memory).map(OsString::from).collect()
    }

    /// A driver with these resources, which a signal cancels.
    pub(crate) fn driver(&self) -> Result<Driver> {
        let options = DriverOptions::default().with_threads(self.threads).with_memory(self.memory_limit);
        Ok(Driver::try_new(&options)?.under(crate::signals::token()))
    }
}

/// The condition of `--where`, in SQL.
#[cfg(feature = "sql")]
pub(crate) fn parse_condition(text: &str) -> Result<Predicate> {
    tesselle_sql::condition(text)
}

/// The condition of `--where`: the part of SQL that needs no engine.
#[cfg(not(feature = "sql"))]
pub(crate) fn parse_condition(text: &str) -> Result<Predicate> {
    let known = "comparisons, BETWEEN, IN, IS NULL, AND, OR and NOT";
    text.parse().map_err(|error: tesselle::Error| {
        error.hint(format!("this build knows {known}; LIKE and functions need the feature 'sql'"))
    })
}

fn parse_delimiter(text: &str) -> Result<u8> {
    TextOptions::delimiter(text)
}

fn parse_times(text: &str) -> std::result::Result<(u64, u64), String> {
    tesselle::name::parse_times(text).map_err(|error| error.to_string())
}

fn parse_time(text: &str) -> std::result::Result<u64, String> {
    tesselle::name::parse_time(text).map_err(|error| error.to_string())
}

/// Types of columns, given as they are or as a file that has them.
pub(crate) fn types(text: Option<&str>) -> Result<Vec<(String, DataType)>> {
    match text {
        None => Ok(Vec::new()),
        Some(text) if Path::new(text).is_file() => tesselle::parse_types(&crate::out::read_text(text)?),
        Some(text) => tesselle::parse_types(text),
    }
}
