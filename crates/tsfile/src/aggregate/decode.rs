//! Decodes and aggregates the points that statistics cannot answer for.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::Schema;
use tesselle_core::driver::Order;
use tesselle_core::{Driver, Error, Plan, Predicate, Result};

use super::Aggregates;
use crate::meta::DataType;
use crate::open::Archive;
use crate::read::TIME;
use crate::read::batch::{ColumnOrigin, Projection};
use crate::read::device_data::DeviceData;
use crate::read::plan::{DeviceScan, Mode, plan_device};
use crate::read::prune::Pruner;

/// Points per batch.
const BATCH_POINTS: usize = 64 << 10;

/// Aggregates the points of one column in `ranges`, which are disjoint and ascending; also returns the bytes
/// fetched.
pub(super) fn time_ranges(
    archive: &Arc<Archive>,
    data: &DeviceData,
    at: usize,
    ranges: &[(i64, i64)],
    driver: &Driver,
) -> Result<(Aggregates, u64)> {
    let column = data.columns.get(at).ok_or_else(|| Error::internal("a column is missing"))?;
    let show = archive.show;
    let fields = vec![
        show.field(TIME, DataType::Vector, false),
        show.field(&format!("value of {}", column.name), column.data_type, false),
    ];
    let projection = Projection {
        schema: Arc::new(Schema::new(fields)),
        columns: vec![ColumnOrigin::Time, ColumnOrigin::Slot(0)],
        slots: vec![(Arc::clone(&column.name), column.data_type)],
        show,
        batch_rows: BATCH_POINTS,
    };
    let parts = ranges.iter().map(|(lo, hi)| Predicate::between(TIME, *lo, *hi));
    let request = DeviceScan {
        projection: Arc::new(projection),
        mode: Mode::Points,
        slots: (0..data.columns.len()).map(|i| (i == at).then_some(0)).collect(),
        names: data.shown_names(),
        pruner: Arc::new(Pruner::new(Some(Predicate::Or(parts.collect())), BTreeMap::new())),
    };
    let mut plan = Plan::empty();
    plan_device(archive, data, &request, &mut plan);
    let run = driver.for_run();
    let mut total = Aggregates::default();
    for batch in run.batches(Arc::clone(archive.location.storage()), plan, Order::Plan) {
        let batch = batch?;
        let times: &[i64] = batch.column(0).as_primitive::<Int64Type>().values();
        let (Some(first), Some(last)) = (times.first(), times.last()) else { continue };
        for (lo, hi) in ranges.iter().filter(|(lo, hi)| lo <= last && first <= hi) {
            let from = times.partition_point(|time| time < lo);
            let to = times.partition_point(|time| time <= hi).max(from);
            let (times, values) = (&times[from..to], batch.column(1).slice(from, to - from));
            total.merge(Aggregates::of_points(times, &values, column.data_type)?);
        }
    }
    Ok((total, run.counters().snapshot().bytes_fetched))
}
