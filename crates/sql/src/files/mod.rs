//! Files as tables: `FROM 'run.tet#temperature'`, globs, folders, and `CREATE EXTERNAL TABLE`.

mod options;

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory, UrlTableFactory};
use datafusion::common::Result;
use datafusion::logical_expr::CreateExternalTable;
use options::TableOptions;
use tesselle::{Driver, Error, Location, OpenOptions, Table, Uri};

use crate::error::external;
use crate::provider::{Origin, TesselleTable};

/// Opens the file of a table name or a statement.
#[derive(Debug, Clone)]
pub(crate) struct Opener {
    pub(crate) driver: Driver,
    pub(crate) options: OpenOptions,
    /// The format and the table given by a statement.
    pub(crate) format: Option<String>,
    pub(crate) table: Option<String>,
    /// Whether a statement gives the time to read as of: that of the session applies to files that keep earlier states.
    pub(crate) own_time: bool,
    pub(crate) pushdown: bool,
}

impl Opener {
    /// The table that `uri` names, be it a file or a pattern of files.
    fn provider(&self, table: Arc<dyn Table>, uri: Option<&str>) -> Arc<dyn TableProvider> {
        let origin = uri.map(|uri| Origin { uri: uri.to_owned(), opener: self.opener() });
        let provider = TesselleTable::new(table, self.driver.clone()).in_file(origin);
        Arc::new(if self.pushdown { provider } else { provider.without_pushdown() })
    }

    fn opener(&self) -> tesselle::Opener {
        let opener = tesselle::Opener::new().options(self.options.clone());
        let opener = opener.format(self.format.clone()).table(self.table.clone());
        opener.among_others(!self.own_time).on(&self.driver)
    }
}

/// The URIs of the readable files and containers in a folder, sorted.
pub(crate) fn in_folder(folder: &str) -> tesselle::Result<Vec<String>> {
    let place = Uri::parse(folder)?.location;
    if !place.is_dir()? {
        return Err(Error::invalid(format!("'{folder}' is not a folder")));
    }
    let known = tesselle::files_in(&place)?;
    if known.is_empty() {
        return Err(Error::not_found(format!("'{folder}' has no file of a known format in it")));
    }
    Ok(known)
}

/// The last part of a path without its extensions, including that of a compression.
pub(crate) fn stem(uri: &str) -> &str {
    let name = tesselle::Compression::inner_name(file_name(uri));
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// The last part of a path.
pub(crate) fn file_name(uri: &str) -> &str {
    uri.trim_end_matches('/').rsplit('/').next().unwrap_or(uri)
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

    /// How the files of the session are opened.
    pub(crate) fn opener(&self) -> tesselle::Opener {
        self.opener.opener()
    }
}

#[async_trait]
impl UrlTableFactory for FileTables {
    async fn try_new(&self, url: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let opener = self.opener.clone();
        let name = url.to_owned();
        let driver = opener.driver.clone();
        match blocking(move || driver.install(|| opener.opener().open_all(&name))).await {
            Ok(table) => Ok(Some(self.opener.provider(table, Some(url)))),
            // Names without a dot, a slash or a fragment are names of tables, unless data has that name.
            Err(error) if !looks_like_a_file(url) && !is_data(url, &error) => Ok(None),
            Err(error) => Err(external(error)),
        }
    }
}

/// Whether an error is about existing data of this name.
fn is_data(name: &str, error: &Error) -> bool {
    let exists = || Location::local(name).and_then(|location| location.exists()).unwrap_or(false);
    error.class_name() != "unknown_format" && exists()
}

pub(crate) fn looks_like_a_file(name: &str) -> bool {
    name == "-" || name.contains(['/', '.', '#', '*'])
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
            let error = Error::invalid(format!("{} files state their own columns", self.format));
            return Err(external(error.hint("omit the list of columns")));
        }
        let TableOptions { table, open, own_time } =
            TableOptions::try_new(&self.opener.options, &command.options).map_err(external)?;
        let format = Some(self.format.to_owned());
        let opener = Opener { options: open, table, format, own_time, ..self.opener.clone() };
        let (locations, driver, own) =
            (command.locations.clone(), self.opener.driver.clone(), opener.clone());
        let open = move || match locations.as_slice() {
            [only] => opener.opener().open_all(only),
            several => opener.opener().open_several(several),
        };
        let table = blocking(move || driver.install(open)).await;
        let only = command.locations.first().filter(|_| command.locations.len() == 1);
        Ok(own.provider(table.map_err(external)?, only.map(String::as_str)))
    }
}

/// Runs work that reads or writes a disk or a store: it must not run on a thread that drives queries.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> tesselle::Result<T> + Send + 'static,
) -> tesselle::Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Error::internal("a task ended without a result").source(error))?
}
