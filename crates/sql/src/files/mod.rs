//! Files as tables: `FROM 'run.tet#temperature'`, globs, folders, and `CREATE EXTERNAL TABLE`.

mod options;

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory, UrlTableFactory};
use datafusion::common::Result;
use datafusion::logical_expr::CreateExternalTable;
use options::TableOptions;
use tesselle::name::{expand, is_pattern};
use tesselle::{Driver, Error, Format, Location, OpenOptions, Table, Uri};

use crate::error::external;
use crate::provider::TesselleTable;
use crate::union::UnionTable;

/// Opens what a table name or a statement names.
#[derive(Debug, Clone)]
pub(crate) struct Opener {
    pub(crate) driver: Driver,
    pub(crate) options: OpenOptions,
    /// The format and the table that a statement names.
    pub(crate) format: Option<String>,
    pub(crate) table: Option<String>,
    pub(crate) pushdown: bool,
}

impl Opener {
    pub(crate) fn provider(&self, table: Arc<dyn Table>) -> Arc<dyn TableProvider> {
        let provider = TesselleTable::new(table, self.driver.clone());
        Arc::new(if self.pushdown { provider } else { provider.without_pushdown() })
    }

    /// What `uri` names: one file, a container that is a folder, a folder of files, or a pattern.
    fn resolve(&self, uri: &str) -> tesselle::Result<Arc<dyn Table>> {
        if is_pattern(uri) {
            return self.all_of(&expand(uri)?);
        }
        let parsed = Uri::parse(uri)?;
        if !Uri::is_remote(uri) && !parsed.location.exists()? {
            return Err(missing(Uri::split(uri).0));
        }
        match self.open(uri) {
            Err(error) if error.class_name() == "unknown_format" && parsed.location.is_dir()? => {
                let known = known_files(&parsed)?;
                if known.is_empty() { Err(error) } else { self.all_of(&known) }
            }
            opened => opened,
        }
    }

    fn open(&self, uri: &str) -> tesselle::Result<Arc<dyn Table>> {
        Ok(Arc::clone(self.opener().open_table(uri)?.table()))
    }

    fn opener(&self) -> tesselle::Opener {
        let opener = tesselle::Opener::new().options(self.options.clone());
        opener.format(self.format.clone()).table(self.table.clone())
    }

    /// Several files as one table.
    fn all_of(&self, uris: &[String]) -> tesselle::Result<Arc<dyn Table>> {
        let mut locations = Vec::with_capacity(uris.len());
        let mut format: Option<(&'static dyn Format, &String)> = None;
        for uri in uris {
            let location = Uri::parse(uri)?.location;
            let own = match &self.format {
                Some(name) => tesselle::format_by_name(name)?,
                None => tesselle::detect(&location)?,
            };
            match format {
                Some((first, name)) if first.name() != own.name() => return Err(mixed(name, uri)),
                _ => format = Some((own, format.map_or(uri, |(_, name)| name))),
            }
            locations.push(location);
        }
        let (format, _) = format.ok_or_else(|| Error::not_found("no file matches"))?;
        if let Some(table) = format.open_many(&locations, &self.options)? {
            return Ok(table);
        }
        let open = |uri: &String| Ok((uri.clone(), self.open(uri)?));
        let mut tables = uris.iter().map(open).collect::<tesselle::Result<Vec<_>>>()?;
        match tables.pop() {
            Some((_, only)) if tables.is_empty() => Ok(only),
            last => {
                tables.extend(last);
                Ok(Arc::new(UnionTable::new(tables)?))
            }
        }
    }
}

/// The files of a folder that are of a known format: there may be a README next to the data.
fn known_files(folder: &Uri) -> tesselle::Result<Vec<String>> {
    let names = folder.location.list()?.into_iter().map(|entry| folder.location.join(&entry.name));
    let known =
        names.filter(|location| !location.name().starts_with('.') && tesselle::detect(location).is_ok());
    let table = folder.table.as_ref().map_or_else(String::new, |table| format!("#{table}"));
    Ok(known.map(|location| format!("{}{table}", location.path())).collect())
}

/// The uris of what lies in a folder and can be read, sorted.
pub(crate) fn in_folder(folder: &str) -> tesselle::Result<Vec<String>> {
    let uri = Uri::parse(folder)?;
    if !uri.location.is_dir()? {
        return Err(Error::invalid(format!("'{folder}' is not a folder")));
    }
    let mut known = known_files(&uri)?;
    if known.is_empty() {
        return Err(Error::not_found(format!("'{folder}' has no file of a known format in it")));
    }
    known.sort();
    Ok(known)
}

/// The last part of a path without its ending, also where it is compressed.
pub(crate) fn stem(uri: &str) -> &str {
    let name = uri.trim_end_matches('/').rsplit('/').next().unwrap_or(uri);
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
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
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// Resolves quoted file names in `FROM`.
#[derive(Debug)]
pub(crate) struct FileTables {
    opener: Opener,
}

impl FileTables {
    pub(crate) fn new(opener: Opener) -> Self {
        Self { opener }
    }
}

#[async_trait]
impl UrlTableFactory for FileTables {
    async fn try_new(&self, url: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let opener = self.opener.clone();
        let name = url.to_owned();
        let driver = opener.driver.clone();
        match blocking(move || driver.install(|| opener.resolve(&name))).await {
            Ok(table) => Ok(Some(self.opener.provider(table))),
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
        let TableOptions { table, open } =
            TableOptions::new(&self.opener.options, &command.options).map_err(external)?;
        let opener =
            Opener { options: open, table, format: Some(self.format.to_owned()), ..self.opener.clone() };
        let (locations, driver) = (command.locations.clone(), self.opener.driver.clone());
        let open = move || match locations.as_slice() {
            [only] => opener.resolve(only),
            several => opener.all_of(several),
        };
        let table = blocking(move || driver.install(open)).await;
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
