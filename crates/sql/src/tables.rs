//! The tables of a session by name: those that are registered, and files. The files of a folder are opened when a
//! statement first names them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use datafusion::catalog::{MemorySchemaProvider, SchemaProvider, TableProvider, UrlTableFactory};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::TableType;
use futures::future::join_all;

use crate::files::FileTables;

/// The registered tables, open or not.
#[derive(Debug)]
pub(crate) struct Tables {
    opened: MemorySchemaProvider,
    /// The URIs of tables that no statement has named yet.
    unopened: Mutex<BTreeMap<String, String>>,
    files: Arc<FileTables>,
}

impl Tables {
    pub(crate) fn new(files: Arc<FileTables>) -> Self {
        Self { opened: MemorySchemaProvider::new(), unopened: Mutex::default(), files }
    }

    /// Makes the file `uri` a table of this name, without reading it.
    pub(crate) fn promise(&self, name: String, uri: String) -> Result<()> {
        if self.table_exist(&name) {
            return exec_err!("two files would be the table '{name}'");
        }
        self.unopened().insert(name, uri);
        Ok(())
    }

    /// Opens those of these tables that are not open yet, at once. An error is left to the planner, which opens again.
    pub(crate) async fn open(&self, names: impl Iterator<Item = &str>) {
        let unopened: Vec<&str> = names.filter(|name| self.unopened().contains_key(*name)).collect();
        join_all(unopened.into_iter().map(|name| self.table(name))).await;
    }

    /// The only table whose name is this one in other upper and lower case.
    fn in_other_case(&self, name: &str) -> Option<String> {
        let mut names = self.table_names().into_iter().filter(|known| known.eq_ignore_ascii_case(name));
        names.next().filter(|found| found != name && names.next().is_none())
    }

    fn unopened(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.unopened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl SchemaProvider for Tables {
    fn table_names(&self) -> Vec<String> {
        let mut names = self.opened.table_names();
        names.extend(self.unopened().keys().cloned());
        names
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if let Some(table) = self.opened.table(name).await? {
            return Ok(Some(table));
        }
        let unopened = self.unopened().get(name).cloned();
        let Some(uri) = unopened else {
            // Any other name may be that of a file, or differ in case: names without quotes are read in lower case.
            return match (self.files.try_new(name).await?, self.in_other_case(name)) {
                (None, Some(table)) => self.table(&table).await,
                (file, _) => Ok(file),
            };
        };
        let Some(table) = self.files.try_new(&uri).await? else { return Ok(None) };
        let mut unopened = self.unopened();
        // Another statement may have opened it meanwhile, or dropped it.
        if unopened.remove(name).is_some() {
            self.opened.register_table(name.to_owned(), Arc::clone(&table))?;
        }
        Ok(Some(table))
    }

    async fn table_type(&self, name: &str) -> Result<Option<TableType>> {
        // A list of tables opens none of them.
        if self.unopened().contains_key(name) {
            return Ok(Some(TableType::Base));
        }
        self.opened.table_type(name).await
    }

    fn register_table(
        &self,
        name: String,
        table: Arc<dyn TableProvider>,
    ) -> Result<Option<Arc<dyn TableProvider>>> {
        if self.unopened().contains_key(&name) {
            return exec_err!("two files would be the table '{name}'");
        }
        self.opened.register_table(name, table)
    }

    fn deregister_table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let other = if self.table_exist(name) { None } else { self.in_other_case(name) };
        let name = other.as_deref().unwrap_or(name);
        if !self.table_exist(name) {
            return exec_err!("'{name}' is a file, which DROP TABLE does not delete");
        }
        self.unopened().remove(name);
        self.opened.deregister_table(name)
    }

    fn table_exist(&self, name: &str) -> bool {
        self.unopened().contains_key(name) || self.opened.table_exist(name)
    }
}
