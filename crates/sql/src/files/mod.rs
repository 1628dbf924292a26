//! Files as tables: `FROM 'run.tet#temperature'`, globs, folders, and `CREATE EXTERNAL TABLE`.

mod foreign;
mod glob;
mod options;
mod parquet;

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory, UrlTableFactory};
use datafusion::common::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::CreateExternalTable;
use tesselle::foreign::Foreign;
use tesselle::{Driver, Error, Location, OpenOptions, Source, Table, Uri};

use crate::error::external;
use crate::provider::TesselleTable;
use crate::union::UnionTable;
use foreign::Kind;
use options::TableOptions;
pub(crate) use parquet::ParquetFactory;

/// Opens what a table name or a statement names.
#[derive(Debug, Clone)]
pub(crate) struct Opener {
    pub(crate) driver: Driver,
    pub(crate) options: OpenOptions,
    pub(crate) pushdown: bool,
}

/// What a name stands for.
enum Named {
    /// A table of ours, or several as one.
    Table(Arc<dyn Table>),
    /// Files that DataFusion reads.
    Foreign(Kind, Vec<String>),
}

impl Opener {
    pub(crate) fn provider(&self, table: Arc<dyn Table>) -> Arc<dyn TableProvider> {
        let provider = TesselleTable::new(table, self.driver.clone());
        Arc::new(if self.pushdown { provider } else { provider.without_pushdown() })
    }

    /// What `uri` names: one file, a container that is a folder, a folder of files, or a pattern.
    fn resolve(&self, uri: &str) -> tesselle::Result<Named> {
        let parsed = Uri::parse(uri)?;
        let local = !uri.contains("://") || uri.starts_with("file://");
        if local && !parsed.location.exists()? {
            let (pattern, fragment) = split(uri);
            if glob::is_glob(pattern) {
                return self.all_of(glob::expand(pattern)?, fragment);
            }
            return Err(missing(pattern));
        }
        if let Some(kind) = Kind::of(&parsed.location)? {
            return Ok(Named::Foreign(kind, vec![parsed.location.path().to_owned()]));
        }
        if let Some(text) = text_kind(&parsed.location)? {
            return Ok(Named::Table(text_table(text, &[parsed.location])?));
        }
        match open(uri, None, None, &self.options) {
            Ok(table) => Ok(Named::Table(table)),
            Err(error) if error.class_name() == "unknown_format" && parsed.location.is_dir()? => {
                let names =
                    parsed.location.list()?.into_iter().map(|entry| parsed.location.join(&entry.name));
                let mut known = Vec::new();
                for location in names.filter(|location| !location.name().starts_with('.')) {
                    // A folder may hold a README beside its data.
                    if text_kind(&location)?.is_some()
                        || Foreign::detect(&location)?.is_some()
                        || tesselle::detect(&location).is_ok()
                    {
                        known.push(location.path().to_owned());
                    }
                }
                if known.is_empty() { Err(error) } else { self.all_of(known, parsed.table.as_deref()) }
            }
            Err(error) => Err(error),
        }
    }

    /// Several files as one table.
    fn all_of(&self, paths: Vec<String>, fragment: Option<&str>) -> tesselle::Result<Named> {
        let locations = paths.iter().map(Location::local).collect::<tesselle::Result<Vec<_>>>()?;
        let mut kinds = Vec::with_capacity(paths.len());
        for location in &locations {
            kinds.push((Kind::of(location)?, text_kind(location)?));
        }
        let first = kinds.first().copied().unwrap_or_default();
        if let Some(other) = kinds.iter().position(|kind| *kind != first) {
            return Err(mixed(
                paths.first().map_or("", String::as_str),
                paths.get(other).map_or("", String::as_str),
            ));
        }
        match first {
            (Some(kind), _) => Ok(Named::Foreign(kind, paths)),
            (None, Some(text)) => Ok(Named::Table(text_table(text, &locations)?)),
            (None, None) => {
                let open = |path: &String| Ok((path.clone(), open(path, None, fragment, &self.options)?));
                let tables = paths.iter().map(open).collect::<tesselle::Result<Vec<_>>>()?;
                Ok(Named::Table(one_of(tables)?))
            }
        }
    }
}

/// The kind of a text file. Other engines call one object a line JSON.
fn text_kind(location: &Location) -> tesselle::Result<Option<Foreign>> {
    Ok(match Foreign::detect(location)? {
        Some(text @ (Foreign::Csv | Foreign::Jsonl)) => Some(text),
        None if location.name().to_ascii_lowercase().ends_with(".json") && location.is_file()? => {
            Some(Foreign::Jsonl)
        }
        _ => None,
    })
}

/// Text files as one table, of the columns that convert finds in them too.
fn text_table(text: Foreign, files: &[Location]) -> tesselle::Result<Arc<dyn Table>> {
    text.text_table(files, &[])?.ok_or_else(|| Error::internal("a text file is no table"))
}

/// The table of a statement, whose format and options are given.
fn open_given(
    locations: &[String],
    format: &str,
    options: &TableOptions,
) -> tesselle::Result<Arc<dyn Table>> {
    let mut tables = Vec::new();
    for uri in locations {
        let (pattern, fragment) = split(uri);
        let local = Uri::parse(uri).is_ok_and(|parsed| parsed.location.exists().unwrap_or(false));
        let (paths, fragment) = if glob::is_glob(pattern) && !local {
            (glob::expand(pattern)?, fragment)
        } else {
            (vec![uri.clone()], None)
        };
        for path in paths {
            let table = options.table.as_deref().or(fragment);
            let opened = open(&path, Some(format), table, &options.open)?;
            tables.push((path, opened));
        }
    }
    one_of(tables)
}

/// One table of one container.
fn open(
    uri: &str,
    format: Option<&str>,
    table: Option<&str>,
    options: &OpenOptions,
) -> tesselle::Result<Arc<dyn Table>> {
    let source = Source::open(uri, format, table, options)?;
    source.table().ok_or_else(|| Error::internal(format!("'{uri}' is not a table")))
}

fn one_of(mut tables: Vec<(String, Arc<dyn Table>)>) -> tesselle::Result<Arc<dyn Table>> {
    match tables.pop() {
        Some((_, only)) if tables.is_empty() => Ok(only),
        Some(last) => {
            tables.push(last);
            Ok(Arc::new(UnionTable::new(tables)?))
        }
        None => Err(Error::not_found("no file matches")),
    }
}

fn split(uri: &str) -> (&str, Option<&str>) {
    uri.split_once('#').map_or((uri, None), |(path, table)| (path, Some(table)))
}

fn mixed(one: &str, other: &str) -> Error {
    Error::invalid(format!("'{one}' and '{other}' are of different kinds, which are not read as one table"))
        .hint("narrow the pattern, e.g. to *.tet")
}

/// The file is not there; perhaps one of a like name is.
fn missing(path: &str) -> Error {
    let error = Error::io(format!("cannot read '{path}'"), std::io::ErrorKind::NotFound.into());
    let folder = Location::local(path).ok().and_then(|l| l.parent());
    let folder = folder.map_or_else(|| Location::local("."), Ok);
    let Ok(entries) = folder.and_then(|folder| folder.list()) else { return error };
    let name = path.rsplit('/').next().unwrap_or(path);
    let known: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let near = Error::unknown_name("file", name, known);
    match near.hint_text().filter(|hint| hint.starts_with("did you mean")) {
        Some(hint) => error.hint(hint.to_owned()),
        None => error,
    }
}

/// How the session's state is had, while there is one.
type StateOf = Box<dyn Fn() -> Option<SessionState> + Send + Sync>;

/// Resolves quoted file names in `FROM`.
pub(crate) struct FileTables {
    opener: Opener,
    /// Files that DataFusion reads are opened with the settings of the session, which comes into being later.
    state: OnceLock<StateOf>,
}

impl std::fmt::Debug for FileTables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileTables").field("opener", &self.opener).finish_non_exhaustive()
    }
}

impl FileTables {
    pub(crate) fn new(opener: Opener) -> Self {
        Self { opener, state: OnceLock::new() }
    }

    /// Tells where the session is.
    pub(crate) fn attach(&self, state: impl Fn() -> Option<SessionState> + Send + Sync + 'static) {
        self.state.get_or_init(|| Box::new(state));
    }

    fn state(&self) -> Result<SessionState> {
        let state = self.state.get().and_then(|state| state());
        state.ok_or_else(|| external(Error::internal("the session has ended")))
    }
}

#[async_trait]
impl UrlTableFactory for FileTables {
    async fn try_new(&self, url: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let opener = self.opener.clone();
        let name = url.to_owned();
        let driver = opener.driver.clone();
        let named = blocking(move || driver.install(|| opener.resolve(&name))).await;
        match named {
            Ok(Named::Table(table)) => Ok(Some(self.opener.provider(table))),
            Ok(Named::Foreign(kind, paths)) => {
                foreign::provider(&self.state()?, kind, &paths).await.map(Some)
            }
            // Names without a dot, a slash or a fragment are names of tables, unless data has that name.
            Err(error) if !looks_like_a_file(url) && !is_data(url, &error) => Ok(None),
            Err(error) => Err(external(error)),
        }
    }
}

/// Whether an error is about data of this name, rather than that there is none.
fn is_data(name: &str, error: &Error) -> bool {
    let exists = || Location::local(name).and_then(|location| location.exists()).unwrap_or(false);
    error.class_name() != "unknown_format" && exists()
}

pub(crate) fn looks_like_a_file(name: &str) -> bool {
    name.contains(['/', '.', '#', '*'])
}

/// `CREATE EXTERNAL TABLE t STORED AS TET LOCATION 'x.tet' OPTIONS ('table' 'temperature', 'at' '1000')`.
#[derive(Debug)]
pub(crate) struct ExternalTables {
    pub(crate) opener: Opener,
    pub(crate) format: &'static str,
}

#[async_trait]
impl TableProviderFactory for ExternalTables {
    async fn create(
        &self,
        _state: &dyn Session,
        command: &CreateExternalTable,
    ) -> Result<Arc<dyn TableProvider>> {
        if !command.schema.fields().is_empty() {
            let error = Error::invalid(format!("{} files name their own columns", self.format));
            return Err(external(error.hint("leave the list of columns out")));
        }
        let options = TableOptions::new(&self.opener.options, &command.options).map_err(external)?;
        let (format, locations) = (self.format, command.locations.clone());
        let driver = self.opener.driver.clone();
        let table = blocking(move || driver.install(|| open_given(&locations, format, &options))).await;
        Ok(self.opener.provider(table.map_err(external)?))
    }
}

/// Opening reads metadata from a disk or a store: not on a thread that drives queries.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> tesselle::Result<T> + Send + 'static,
) -> tesselle::Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Error::internal("opening a file failed").source(error))?
}
