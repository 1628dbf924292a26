//! The `Container` implementation of an archive.

use std::sync::Arc;

use serde_json::Value as Json;
use tesselle_core::{Container, Depth, Description, Driver, LayoutMap, Report, Result, Table};

use crate::describe;
use crate::layout;
use crate::open::Archive;
use crate::table::{DeviceTable, DevicesTable, LONG, LongTable, ModelTableView, is_pattern};
use crate::verify;

/// An opened file or data directory.
pub(crate) struct TsContainer {
    archive: Arc<Archive>,
}

impl TsContainer {
    pub(crate) fn new(archive: Archive) -> Self {
        Self { archive: archive.shared() }
    }
}

impl Container for TsContainer {
    fn describe(&self) -> Result<Description> {
        describe::describe(&self.archive)
    }

    fn table_names(&self) -> Vec<String> {
        self.archive.tree_devices().chain(self.archive.tables.keys()).cloned().collect()
    }

    fn table(&self, name: &str) -> Result<Arc<dyn Table>> {
        if name == LONG {
            return Ok(Arc::new(LongTable::try_new(&self.archive)?));
        }
        if self.archive.tables.contains_key(name) {
            return Ok(Arc::new(ModelTableView::try_new(&self.archive, name)?));
        }
        if is_pattern(name) && !self.archive.devices.contains_key(name) {
            return Ok(Arc::new(DevicesTable::try_new(&self.archive, name)?));
        }
        Ok(Arc::new(DeviceTable::try_new(&self.archive, name)?))
    }

    fn chunks(&self, limit: Option<usize>) -> Result<Vec<Json>> {
        describe::chunks(&self.archive, limit)
    }

    fn chunk_count(&self) -> Option<u64> {
        describe::chunk_count(&self.archive)
    }

    fn layout(&self) -> Result<LayoutMap> {
        layout::layout(&self.archive)
    }

    fn verify(&self, depth: Depth, driver: &Driver, report: &mut Report) -> Result<()> {
        verify::verify(&self.archive, depth, driver, report)
    }
}
