//! Several devices of the tree model as one table: the device, the time, then the measurements of all.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, Field, Schema, SchemaRef};
use tesselle_core::{
    ColumnBounds, ColumnRole, Error, Plan, Predicate, Pushdown, Result, Scan, Storage, Table, TableFacts,
    TableStats,
};

use super::long::DEVICE;
use super::rows::{DeviceRows, TableColumn};
use super::{facts, pushdown, stats, wanted};
use crate::meta::DataType;
use crate::open::Archive;
use crate::read::TIME;
use crate::read::device_data::DeviceData;
use crate::read::prune::{Pruner, all_null};

/// Columns before the measurements.
const FIXED: usize = 2;

/// The devices whose paths match a pattern.
pub(crate) struct DevicesTable {
    archive: Arc<Archive>,
    pattern: String,
    devices: Vec<DeviceData>,
    /// The measurements of all devices, in the order in which they are first met.
    columns: Vec<(Arc<str>, DataType)>,
    schema: SchemaRef,
}

/// Whether a name is a pattern: one of its nodes is `*`, one level of the path, or `**`, any number of levels.
pub(crate) fn is_pattern(name: &str) -> bool {
    name.split('.').any(|node| node == "*" || node == "**")
}

fn matches(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern, path) {
        ([], []) => true,
        (["**", rest @ ..], path) => {
            (1..=path.len()).any(|n| path.get(n..).is_some_and(|path| matches(rest, path)))
        }
        ([node, rest @ ..], [first, path @ ..]) => (*node == "*" || node == first) && matches(rest, path),
        _ => false,
    }
}

impl DevicesTable {
    /// The table of the devices that match `pattern`, of which there must be one.
    pub(crate) fn try_new(archive: &Arc<Archive>, pattern: &str) -> Result<Self> {
        let nodes: Vec<&str> = pattern.split('.').collect();
        let is_wanted = |path: &&String| matches(&nodes, &path.split('.').collect::<Vec<_>>());
        let devices = archive.tree_devices().filter(is_wanted).map(|path| archive.device(path));
        let devices = devices.collect::<Result<Vec<_>>>()?;
        if devices.is_empty() {
            let known = archive.tree_devices().map(String::as_str);
            return Err(Error::unknown_name("device", pattern, known).file(archive.location.path()));
        }
        let mut columns: Vec<(Arc<str>, DataType)> = Vec::new();
        let mut places: BTreeMap<Arc<str>, (usize, &str)> = BTreeMap::new();
        for device in &devices {
            for column in &device.columns {
                let name = column.name.escape_debug();
                if [DEVICE, TIME].contains(&&*column.name) {
                    return Err(Error::unsupported(format!("'{}' has a measurement '{name}'", device.path))
                        .hint("read this device by itself"));
                }
                let (place, first) =
                    *places.entry(Arc::clone(&column.name)).or_insert((columns.len(), &device.path));
                let Some((_, known)) = columns.get(place) else {
                    columns.push((Arc::clone(&column.name), column.data_type));
                    continue;
                };
                if *known != column.data_type {
                    let (a, b) = (known.name(), column.data_type.name());
                    let message = format!("'{name}' is {a} in '{first}' and {b} in '{}'", device.path);
                    return Err(Error::unsupported(message).class("mixed_types").hint(
                        "choose fewer devices, or read the table '*', which has a column for each type",
                    ));
                }
            }
        }
        let show = archive.show;
        let mut fields =
            vec![Field::new(DEVICE, ArrowType::Utf8, false), show.field(TIME, DataType::Vector, false)];
        fields.extend(columns.iter().map(|(name, data_type)| show.field(name, *data_type, true)));
        let (archive, pattern) = (Arc::clone(archive), pattern.to_owned());
        Ok(Self { archive, pattern, devices, columns, schema: Arc::new(Schema::new(fields)) })
    }

    fn origin(&self, device: &DeviceData, index: usize) -> TableColumn {
        match index.checked_sub(FIXED).and_then(|i| self.columns.get(i)) {
            None if index == 0 => TableColumn::Constant(Some(device.path.as_str().into())),
            None => TableColumn::Time,
            Some((name, data_type)) => match device.columns.iter().position(|column| column.name == *name) {
                Some(found) => TableColumn::Column(found, *data_type),
                None => TableColumn::Constant(None),
            },
        }
    }

    /// The column values of a device that are known without reading.
    fn constants(&self, device: &DeviceData) -> BTreeMap<String, ColumnBounds> {
        let own = ColumnBounds::range(device.path.as_str(), device.path.as_str());
        let missing = |name: &str| device.columns.iter().all(|column| *column.name != *name);
        let absent = self.columns.iter().filter(|(name, _)| missing(name));
        let absent = absent.map(|(name, _)| (name.to_string(), all_null()));
        std::iter::once((DEVICE.to_owned(), own)).chain(absent).collect()
    }
}

impl Table for DevicesTable {
    fn name(&self) -> &str {
        &self.pattern
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn stats(&self) -> TableStats {
        let fields: Vec<&str> = self.columns.iter().map(|(name, _)| &**name).collect();
        // Statistics of tables ignore case, which distinguishes measurements.
        let same =
            |(i, name): (usize, &&str)| fields.iter().skip(i + 1).any(|f| f.eq_ignore_ascii_case(name));
        if fields.iter().enumerate().any(same) {
            return TableStats::default();
        }
        stats::of_table(&self.archive, &self.devices, &fields)
    }

    fn facts(&self) -> Result<TableFacts> {
        let fixed =
            [(DEVICE, ColumnRole::Tag), (TIME, ColumnRole::Time)].map(|(name, role)| (name.to_owned(), role));
        let series = self.columns.iter().map(|(name, _)| (name.to_string(), ColumnRole::Measurement));
        let roles = fixed.into_iter().chain(series).collect();
        let key = [DEVICE, TIME].map(str::to_owned).to_vec();
        Ok(TableFacts { roles, key, unordered: true, ..facts(&self.archive, &self.pattern) })
    }

    fn pushdown(&self, predicate: &Predicate) -> Pushdown {
        pushdown(predicate)
    }

    fn plan(&self, scan: &Scan) -> Result<Plan> {
        self.archive.refuse_unreadable()?;
        let wanted = wanted(scan, &self.schema)?;
        let mut plan = Plan::empty();
        for device in &self.devices {
            let pruner = Pruner::new(scan.predicate.clone(), self.constants(device));
            if pruner.rules_out_all() {
                continue;
            }
            let rows = DeviceRows {
                data: device,
                names: device.columns.iter().map(|column| Arc::clone(&column.name)).collect(),
                columns: wanted.iter().map(|index| self.origin(device, *index)).collect(),
                schema: Arc::new(self.schema.project(&wanted)?),
                pruner,
            };
            rows.plan(&self.archive, scan, &mut plan)?;
        }
        Ok(plan)
    }

    fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(self.archive.location.storage())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_one_level_and_two_are_any_number() {
        let is = |pattern: &str, path: &str| {
            matches(&pattern.split('.').collect::<Vec<_>>(), &path.split('.').collect::<Vec<_>>())
        };
        assert!(is("root.fleet.*", "root.fleet.truck1"));
        assert!(!is("root.fleet.*", "root.fleet"));
        assert!(!is("root.fleet.*", "root.fleet.truck1.engine"));
        assert!(is("root.*.truck1", "root.fleet.truck1"));
        assert!(is("root.**", "root.fleet.truck1"));
        assert!(is("root.**.engine", "root.fleet.truck1.engine"));
        assert!(!is("root.**.engine", "root.engine"));
        assert!(!is("root.fleet.t*", "root.fleet.truck1"));
        assert!(is_pattern("root.**") && is_pattern("root.*.a") && !is_pattern("root.t*"));
    }
}
