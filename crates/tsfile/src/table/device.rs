//! The table of one device: time, then its measurements, joined on time.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
use tesselle_core::{
    At, ColumnRole, Plan, Predicate, Pushdown, Result, Scan, Storage, Table, TableFacts, TableStats,
};

use super::rows::{DeviceRows, TableColumn};
use super::{facts, pushdown, stats, wanted};
use crate::meta::DataType;
use crate::open::Archive;
use crate::read::TIME;
use crate::read::device_data::DeviceData;
use crate::read::prune::Pruner;

/// A device as a table.
pub(crate) struct DeviceTable {
    archive: Arc<Archive>,
    data: DeviceData,
    names: Arc<[Arc<str>]>,
    schema: SchemaRef,
}

impl DeviceTable {
    /// The table of the device at `path`.
    pub(crate) fn try_new(archive: &Arc<Archive>, path: &str) -> Result<Self> {
        let data = archive.device(path)?;
        let show = archive.show;
        let mut fields: Vec<Field> = vec![show.field(TIME, DataType::Vector, false)];
        let names = data.shown_names();
        fields.extend(data.columns.iter().zip(&*names).map(|(c, name)| show.field(name, c.data_type, true)));
        Ok(Self { archive: Arc::clone(archive), data, names, schema: Arc::new(Schema::new(fields)) })
    }
}

impl Table for DeviceTable {
    fn name(&self) -> &str {
        &self.data.path
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn stats(&self) -> TableStats {
        stats::of_device(&self.archive, &self.data)
    }

    fn facts(&self) -> Result<TableFacts> {
        let series = self.names.iter().map(|name| (name.to_string(), ColumnRole::Measurement));
        let roles = std::iter::once((TIME.to_owned(), ColumnRole::Time)).chain(series).collect();
        Ok(TableFacts { roles, aligned: self.data.is_aligned(), ..facts(&self.archive, &self.data.path) })
    }

    fn pushdown(&self, predicate: &Predicate) -> Pushdown {
        pushdown(predicate)
    }

    fn plan(&self, scan: &Scan) -> Result<Plan> {
        self.archive.refuse_unreadable()?;
        let wanted = wanted(scan, &self.schema)?;
        let origin = |index: &usize| match index.checked_sub(1) {
            None => Ok(TableColumn::Time),
            Some(i) => Ok(TableColumn::Column(i, self.data.columns.at(i)?.data_type)),
        };
        let rows = DeviceRows {
            data: &self.data,
            names: Arc::clone(&self.names),
            columns: wanted.iter().map(origin).collect::<Result<_>>()?,
            schema: Arc::new(self.schema.project(&wanted)?),
            pruner: Pruner::new(scan.predicate.clone(), BTreeMap::new()),
        };
        let mut plan = Plan::empty();
        rows.plan(&self.archive, scan, &mut plan)?;
        Ok(plan)
    }

    fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(self.archive.location.storage())
    }

    fn sort_columns(&self) -> Vec<String> {
        vec![TIME.to_owned()]
    }
}
