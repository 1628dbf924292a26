//! An opened file as a container of its datasets.
#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

use std::sync::Arc;

use serde_json::Value;
use tesselle_core::{
    Container, DType, Depth, Description, Driver, Error, LayoutMap, Limits, Location, OpenOptions, Report,
    Result, Table,
};

use crate::meta::catalog::Catalog;
use crate::meta::footer::HistoryRow;
use crate::meta::index::MemoryBudget;
use crate::meta::metadata::Metadata;
use crate::open::Opened;
use crate::read::array::{self, Array};
use crate::{layout, verify};

/// An opened `.tet` file.
#[derive(Debug, Clone)]
pub struct File {
    pub(crate) opened: Arc<Opened>,
}

impl File {
    /// Opens a file: superblock, directory, index and footer are read and checked, payloads are not read. The
    /// rows of a large index are read and checked when they are needed.
    pub fn open(location: &Location, options: &OpenOptions) -> Result<Self> {
        Ok(Self::with_catalog(location, Catalog::open(location, &options.limits)?, &options.limits))
    }

    pub(crate) fn with_catalog(location: &Location, catalog: Catalog, limits: &Limits) -> Self {
        Self { opened: Arc::new(Opened::new(location.clone(), catalog, limits.clone())) }
    }

    /// The history rows of the footer.
    pub fn history(&self) -> &[HistoryRow] {
        self.opened.catalog.footer.as_ref().map_or(&[], |footer| &footer.document.history)
    }

    /// The metadata of the footer, spilled or not.
    pub fn metadata(&self) -> Option<&Metadata> {
        self.opened.catalog.footer.as_ref()?.metadata.as_ref()
    }

    /// The memory hints of the index header.
    pub fn memory_budget(&self) -> MemoryBudget {
        self.opened.catalog.budget
    }

    /// How many datasets it has.
    pub fn datasets(&self) -> usize {
        self.opened.catalog.datasets.len()
    }

    /// The element type of a dataset, by position.
    pub fn dtype(&self, id: usize) -> Option<DType> {
        self.opened.catalog.datasets.get(id)?.dtype()
    }

    /// The array view of a dataset, by position: also of one whose name another dataset has taken.
    pub fn array(&self, id: usize) -> Result<Arc<dyn tesselle_core::ArrayView>> {
        Ok(Arc::new(Array::try_new(&self.opened, id)?))
    }

    /// The table view of a dataset, by position.
    pub fn table_at(&self, id: usize) -> Result<Arc<dyn Table>> {
        Ok(Arc::new(array::table(&self.opened, id)?))
    }
}

impl Container for File {
    fn describe(&self) -> Result<Description> {
        crate::describe::describe(&self.opened)
    }

    fn table_names(&self) -> Vec<String> {
        self.opened.catalog.datasets.iter().map(|dataset| dataset.name.clone()).collect()
    }

    fn table(&self, name: &str) -> Result<Arc<dyn Table>> {
        let catalog = &self.opened.catalog;
        let id = catalog.position(name).ok_or_else(|| {
            Error::unknown_name("dataset", name, catalog.datasets.iter().map(|d| d.name.as_str()))
                .file(self.opened.location.path())
        })?;
        self.table_at(id)
    }

    fn chunks(&self, limit: Option<usize>) -> Result<Vec<Value>> {
        crate::describe::chunks(&self.opened, limit)
    }

    fn chunk_count(&self) -> Option<u64> {
        Some(self.opened.catalog.rows.len())
    }

    fn layout(&self) -> Result<LayoutMap> {
        layout::layout(&self.opened)
    }

    fn verify(&self, depth: Depth, driver: &Driver, report: &mut Report) -> Result<()> {
        verify::verify(&self.opened, depth, driver, report)
    }
}
