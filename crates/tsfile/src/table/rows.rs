//! The common part of tables whose rows are those of devices.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use tesselle_core::{Error, Plan, Result, Scan};

use super::BATCH_ROWS;
use crate::meta::DataType;
use crate::open::Archive;
use crate::read::assemble::DeviceData;
use crate::read::output::{Part, Shape};
use crate::read::plan::{Mode, Request, plan_device};
use crate::read::prune::Pruner;

/// Where the values of a column of a table come from.
pub(super) enum Origin {
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
    pub(super) origins: Vec<Origin>,
    /// The schema of the output.
    pub(super) schema: SchemaRef,
    pub(super) pruner: Pruner,
}

impl DeviceRows<'_> {
    /// Adds the tasks that read these rows.
    pub(super) fn plan(self, archive: &Arc<Archive>, scan: &Scan, plan: &mut Plan) -> Result<()> {
        let data = self.data;
        let mut slots = vec![None; data.columns.len()];
        let mut shape_slots = Vec::new();
        let mut columns = Vec::with_capacity(self.origins.len());
        for origin in self.origins {
            columns.push(match origin {
                Origin::Time => Part::Time,
                Origin::Constant(value) => Part::Constant(value),
                Origin::Column(index, data_type) => {
                    let both = data.columns.get(index).zip(slots.get_mut(index));
                    let (column, slot) =
                        both.ok_or_else(|| Error::internal("a table has a column that its device has not"))?;
                    Part::Slot(*slot.get_or_insert_with(|| {
                        shape_slots.push((Arc::clone(&column.name), data_type));
                        shape_slots.len() - 1
                    }))
                }
            });
        }
        let shape = Shape {
            schema: self.schema,
            columns,
            slots: shape_slots,
            show: archive.show,
            batch_rows: scan.batch_rows.unwrap_or(BATCH_ROWS),
        };
        let request = Request {
            shape: Arc::new(shape),
            mode: Mode::Rows,
            slots,
            names: self.names,
            pruner: Arc::new(self.pruner),
        };
        plan_device(archive, data, &request, plan);
        Ok(())
    }
}
