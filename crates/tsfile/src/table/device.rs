//! The table of one device: time, then its measurements, joined on time.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
use tesselle_core::{
    ColumnRole, Plan, Predicate, Pushdown, Result, Scan, Storage, Table, TableFacts, TableStats,
};

use super::{BATCH_ROWS, facts, pushdown, stats, wanted};
use crate::meta::DataType;
use crate::open::Archive;
use crate::read::TIME;
use crate::read::assemble::DeviceData;
use crate::read::output::{Part, Shape};
use crate::read::plan::{Mode, Request, plan_device};
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
    pub(crate) fn new(archive: &Arc<Archive>, path: &str) -> Result<Self> {
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
        let mut slots = vec![None; self.data.columns.len()];
        let mut shape_slots = Vec::new();
        let mut columns = Vec::with_capacity(wanted.len());
        for index in &wanted {
            let Some(column) = index.checked_sub(1).and_then(|i| Some((i, self.data.columns.get(i)?))) else {
                columns.push(Part::Time);
                continue;
            };
            let (i, column) = column;
            let slot = *slots.get(i).unwrap_or(&None);
            let slot = slot.unwrap_or_else(|| {
                shape_slots.push((Arc::clone(&column.name), column.data_type));
                shape_slots.len() - 1
            });
            if let Some(place) = slots.get_mut(i) {
                *place = Some(slot);
            }
            columns.push(Part::Slot(slot));
        }
        let shape = Shape {
            schema: Arc::new(self.schema.project(&wanted)?),
            columns,
            slots: shape_slots,
            show: self.archive.show,
            batch_rows: scan.batch_rows.unwrap_or(BATCH_ROWS),
        };
        let request = Request {
            shape: Arc::new(shape),
            mode: Mode::Rows,
            slots,
            names: Arc::clone(&self.names),
            pruner: Arc::new(Pruner::new(scan.predicate.clone(), BTreeMap::new())),
        };
        let mut plan = Plan::empty();
        plan_device(&self.archive, &self.data, &request, &mut plan);
        Ok(plan)
    }

    fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(self.archive.location.storage())
    }

    fn sort_columns(&self) -> Vec<String> {
        vec![TIME.to_owned()]
    }
}
