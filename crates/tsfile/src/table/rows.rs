//! The common part of tables whose rows are those of devices.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use tesselle_core::{Error, Plan, Result, Scan};

use super::BATCH_ROWS;
use crate::meta::DataType;
use crate::open::Archive;
use crate::read::batch::{ColumnOrigin, Projection};
use crate::read::device_data::DeviceData;
use crate::read::plan::{DeviceScan, Mode, plan_device};
use crate::read::prune::Pruner;

/// Where the values of a column of a table come from.
pub(super) enum TableColumn {
    Time,
    /// The same string in every row of the device, or null.
    Constant(Option<Arc<str>>),
    /// A column of the device, shown in this type.
    Column(usize, DataType),
}

/// The rows of one device.
pub(super) struct DeviceRows<'a> {
    pub(super) data: &'a DeviceData,
    /// The columns of the device by the names that the predicate uses.
    pub(super) names: Arc<[Arc<str>]>,
    /// By column of the output.
    pub(super) columns: Vec<TableColumn>,
    /// The schema of the output.
    pub(super) schema: SchemaRef,
    pub(super) pruner: Pruner,
}

impl DeviceRows<'_> {
    /// Adds the tasks that read these rows.
    pub(super) fn plan(self, archive: &Arc<Archive>, scan: &Scan, plan: &mut Plan) -> Result<()> {
        let data = self.data;
        let mut slots = vec![None; data.columns.len()];
        let mut projected_slots = Vec::new();
        let mut columns = Vec::with_capacity(self.columns.len());
        for origin in self.columns {
            columns.push(match origin {
                TableColumn::Time => ColumnOrigin::Time,
                TableColumn::Constant(value) => ColumnOrigin::Constant(value),
                TableColumn::Column(index, data_type) => {
                    let both = data.columns.get(index).zip(slots.get_mut(index));
                    let (column, slot) = both.ok_or_else(|| {
                        Error::internal("a table has a column that its device does not have")
                    })?;
                    ColumnOrigin::Slot(*slot.get_or_insert_with(|| {
                        projected_slots.push((Arc::clone(&column.name), data_type));
                        projected_slots.len() - 1
                    }))
                }
            });
        }
        let projection = Projection {
            schema: self.schema,
            columns,
            slots: projected_slots,
            show: archive.show,
            batch_rows: scan.batch_rows.unwrap_or(BATCH_ROWS),
        };
        let request = DeviceScan {
            projection: Arc::new(projection),
            mode: Mode::Rows,
            slots,
            names: self.names,
            pruner: Arc::new(self.pruner),
        };
        plan_device(archive, data, &request, plan);
        Ok(())
    }
}
