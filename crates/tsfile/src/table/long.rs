//! The long table `*`: one row per point of the whole archive.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, Field, Schema, SchemaRef};
use tesselle_core::{
    ColumnBounds, Plan, Predicate, Pushdown, Result, Scan, Storage, Table, TableFacts, TableStats,
};

use super::{BATCH_ROWS, LONG, facts, pushdown, wanted};
use crate::meta::DataType;
use crate::open::Archive;
use crate::read::TIME;
use crate::read::batch::{ColumnOrigin, Projection};
use crate::read::device_data::DeviceData;
use crate::read::plan::{DeviceScan, Mode, plan_device};
use crate::read::prune::{Pruner, all_null};

pub(super) const DEVICE: &str = "device";
const MEASUREMENT: &str = "measurement";
/// Columns before those of the values.
const FIXED: usize = 3;

/// All points of an archive.
pub(crate) struct LongTable {
    archive: Arc<Archive>,
    types: Vec<DataType>,
    schema: SchemaRef,
}

impl LongTable {
    /// The long table of an archive.
    pub(crate) fn try_new(archive: &Arc<Archive>) -> Result<Self> {
        let mut types = BTreeSet::new();
        for entry in &archive.files {
            for device in &entry.file.devices {
                let series = entry.file.series(device)?;
                types.extend(series.iter().filter(|s| !s.is_time_column()).map(|s| s.data_type));
            }
        }
        let types: Vec<DataType> = types.into_iter().collect();
        let mut fields = vec![
            Field::new(DEVICE, ArrowType::Utf8, false),
            Field::new(MEASUREMENT, ArrowType::Utf8, false),
            archive.show.field(TIME, DataType::Vector, false),
        ];
        fields.extend(types.iter().map(|t| archive.show.field(&value_column(*t), *t, true)));
        Ok(Self { archive: Arc::clone(archive), types, schema: Arc::new(Schema::new(fields)) })
    }

    fn plan_one(&self, data: &DeviceData, scan: &Scan, wanted: &[usize], plan: &mut Plan) -> Result<()> {
        let mut constants = BTreeMap::from([(DEVICE.to_string(), string_bounds(&data.path))]);
        let pruner = Arc::new(Pruner::new(scan.predicate.clone(), constants.clone()));
        let mut slots = vec![None; data.columns.len()];
        for (i, column) in data.columns.iter().enumerate() {
            constants.insert(MEASUREMENT.to_string(), string_bounds(&column.name));
            for other in &self.types {
                constants.remove(&value_column(*other));
                if *other != column.data_type {
                    constants.insert(value_column(*other), all_null());
                }
            }
            if Pruner::new(scan.predicate.clone(), constants.clone()).rules_out_all() {
                plan.pieces += column.chunks.len() as u64;
                plan.pruned += column.chunks.len() as u64;
            } else if let Some(slot) = slots.get_mut(i) {
                *slot = self.types.iter().position(|t| *t == column.data_type);
            }
        }
        let columns = wanted.iter().map(|index| match *index {
            0 => ColumnOrigin::Constant(Some(data.path.as_str().into())),
            1 => ColumnOrigin::Measurement,
            2 => ColumnOrigin::Time,
            i => ColumnOrigin::Slot(i - FIXED),
        });
        let projection = Projection {
            schema: Arc::new(self.schema.project(wanted)?),
            columns: columns.collect(),
            slots: self.types.iter().map(|t| (value_column(*t).into(), *t)).collect(),
            show: self.archive.show,
            batch_rows: scan.batch_rows.unwrap_or(BATCH_ROWS),
        };
        let request = DeviceScan {
            projection: Arc::new(projection),
            mode: Mode::Points,
            slots,
            names: data.columns.iter().map(|c| value_column(c.data_type).into()).collect(),
            pruner,
        };
        plan_device(&self.archive, data, &request, plan);
        Ok(())
    }
}

fn value_column(data_type: DataType) -> String {
    format!("value_{}", data_type.name().to_ascii_lowercase())
}

fn string_bounds(value: &str) -> ColumnBounds {
    ColumnBounds::range(value, value)
}

impl Table for LongTable {
    fn name(&self) -> &str {
        LONG
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn stats(&self) -> TableStats {
        TableStats::default()
    }

    fn facts(&self) -> Result<TableFacts> {
        let key = [DEVICE, MEASUREMENT, TIME].map(str::to_owned).to_vec();
        Ok(TableFacts { unordered: true, key, ..facts(&self.archive, LONG) })
    }

    fn pushdown(&self, predicate: &Predicate) -> Pushdown {
        pushdown(predicate)
    }

    fn plan(&self, scan: &Scan) -> Result<Plan> {
        self.archive.refuse_unreadable()?;
        let wanted = wanted(scan, &self.schema)?;
        let mut plan = Plan::empty();
        for (path, places) in &self.archive.devices {
            let constants = BTreeMap::from([(DEVICE.to_string(), string_bounds(path))]);
            if Pruner::new(scan.predicate.clone(), constants).rules_out_all() {
                continue;
            }
            let data = DeviceData::assemble(&self.archive, path, places)?;
            self.plan_one(&data, scan, &wanted, &mut plan)?;
        }
        Ok(plan)
    }

    fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(self.archive.location.storage())
    }
}
