//! A file as a container with one table.

use std::sync::Arc;

use serde_json::Value;
use tesselle_core::{Container, Depth, Description, Driver, Error, LayoutMap, Report, Result, Table};

use crate::describe;
use crate::layout::layout;
use crate::open::File;
use crate::search;
use crate::table::FileTable;
use crate::verify::verify;

/// One file.
#[derive(Debug)]
pub(crate) struct FileContainer {
    pub(crate) file: File,
}

impl Container for FileContainer {
    fn describe(&self) -> Result<Description> {
        let mut out = describe::describe(&self.file);
        if let Some(search) = search::describe(&self.file)? {
            out.extra.insert("search".into(), search);
        }
        Ok(out)
    }

    fn table_names(&self) -> Vec<String> {
        vec![String::new()]
    }

    fn table(&self, name: &str) -> Result<Arc<dyn Table>> {
        if name.is_empty() {
            return Ok(Arc::new(FileTable::try_new(self.file.clone())?));
        }
        Err(Error::not_found(format!("table '{name}' does not exist"))
            .hint("a tatami file has a single table with an empty name"))
    }

    fn chunks(&self, limit: Option<usize>) -> Result<Vec<Value>> {
        describe::chunks(&self.file, limit)
    }

    fn chunk_count(&self) -> Option<u64> {
        Some(self.file.footer().groups.iter().map(|g| g.chunks.len() as u64).sum())
    }

    fn layout(&self) -> Result<LayoutMap> {
        Ok(layout(&self.file))
    }

    fn verify(&self, depth: Depth, driver: &Driver, report: &mut Report) -> Result<()> {
        verify(&self.file, depth, driver, report)
    }
}
