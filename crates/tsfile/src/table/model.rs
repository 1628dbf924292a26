//! A table of the table model (version 4): the rows of its devices, with their tags as columns.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use arrow_schema::{Field, Schema, SchemaRef};
use tesselle_core::{
    At, ColumnBounds, ColumnRole, Error, Plan, Predicate, Pushdown, Result, Scan, Storage, Table, TableFacts,
    TableStats,
};

use super::rows::{DeviceRows, TableColumn};
use super::{brief, facts, pushdown, stats, wanted};
use crate::meta::DataType;
use crate::meta::schema::{Category, MeasurementSchema};
use crate::open::Archive;
use crate::read::TIME;
use crate::read::device_data::DeviceData;
use crate::read::prune::{Pruner, all_null};

/// A table of the table model.
pub(crate) struct ModelTableView {
    archive: Arc<Archive>,
    name: String,
    /// Created on first use: statistics do not need it.
    schema: OnceLock<SchemaRef>,
    columns: Vec<(MeasurementSchema, Category)>,
}

/// A device of a table with the value of each tag, in tag order.
struct Member {
    data: DeviceData,
    tags: Vec<Option<Arc<str>>>,
}

impl ModelTableView {
    /// The table of that name, which must exist.
    pub(crate) fn try_new(archive: &Arc<Archive>, name: &str) -> Result<Self> {
        let Some(table) = archive.tables.get(name) else {
            return Err(Error::unknown_name("table", name, archive.tables.keys().map(String::as_str)));
        };
        let columns: Vec<_> = table.columns.iter().filter(|(_, c)| *c != Category::Time).cloned().collect();
        Ok(Self { archive: Arc::clone(archive), name: name.to_string(), schema: OnceLock::new(), columns })
    }

    fn arrow_schema(&self) -> &SchemaRef {
        self.schema.get_or_init(|| {
            let show = self.archive.show;
            let mut fields: Vec<Field> = vec![show.field(TIME, DataType::Vector, false)];
            fields.extend(self.columns.iter().map(|(c, _)| show.field(&c.name, c.data_type, true)));
            Arc::new(Schema::new(fields))
        })
    }

    fn devices(&self) -> Result<&[String]> {
        let table = self.archive.tables.get(&self.name);
        table.map(|table| table.devices.as_slice()).ok_or_else(|| Error::internal("a table is not listed"))
    }

    /// The tags of a device as strings.
    fn tags(&self, path: &str) -> Result<Vec<Option<Arc<str>>>> {
        let place = self.archive.devices.get(path).and_then(|places| places.first());
        let (file, device) = place.ok_or_else(|| Error::internal("a device is not listed"))?;
        let device = self.archive.files.at(*file)?.file.devices.at(*device)?;
        let count = self.columns.iter().filter(|(_, c)| *c == Category::Tag).count();
        Ok((0..count).map(|i| device.id.tag(i).map(Arc::from)).collect())
    }

    fn constants(&self, tags: &[Option<Arc<str>>]) -> BTreeMap<String, ColumnBounds> {
        let names = self.columns.iter().filter(|(_, c)| *c == Category::Tag).map(|(c, _)| &c.name);
        let bounds =
            tags.iter().map(|tag| tag.as_deref().map_or_else(all_null, |t| ColumnBounds::range(t, t)));
        let mut constants: BTreeMap<String, ColumnBounds> = names.cloned().zip(bounds).collect();
        let attributes = self.columns.iter().filter(|(_, c)| *c == Category::Attribute);
        constants.extend(attributes.map(|(c, _)| (c.name.clone(), all_null())));
        constants
    }

    fn plan_member(
        &self,
        member: &Member,
        scan: &Scan,
        wanted: &[usize],
        pruner: Pruner,
        plan: &mut Plan,
    ) -> Result<()> {
        let data = &member.data;
        let declared = |name: &str| {
            let column = self.columns.iter().find(|(c, _)| c.name.eq_ignore_ascii_case(name));
            column.map_or_else(|| name.into(), |(c, _)| c.name.as_str().into())
        };
        let rows = DeviceRows {
            data,
            names: data.columns.iter().map(|c| declared(&c.name)).collect(),
            columns: wanted.iter().map(|index| self.origin(member, *index)).collect::<Result<_>>()?,
            schema: Arc::new(self.arrow_schema().project(wanted)?),
            pruner,
        };
        rows.plan(&self.archive, scan, plan)
    }

    /// Where the values of a column come from in a device.
    fn origin(&self, member: &Member, index: usize) -> Result<TableColumn> {
        let Some((column, category)) = index.checked_sub(1).and_then(|i| self.columns.get(i)) else {
            return Ok(TableColumn::Time);
        };
        if *category == Category::Tag {
            let before = self.columns.iter().take(index - 1).filter(|(_, c)| *c == Category::Tag).count();
            return Ok(TableColumn::Constant(member.tags.get(before).cloned().flatten()));
        }
        let data = &member.data;
        // Fields are matched case-insensitively: the original stores names in lower case.
        let found = data.columns.iter().enumerate().find(|(_, c)| c.name.eq_ignore_ascii_case(&column.name));
        let Some((i, source)) = found else { return Ok(TableColumn::Constant(None)) };
        if source.data_type.physical() != column.data_type.physical() {
            let (a, b) = (column.data_type.name(), source.data_type.name());
            let message =
                format!("column '{}' is declared as {a} and stored as {b}", column.name.escape_debug());
            return Err(Error::corrupt(message).class("bad_schema").piece(format!("'{}'", data.path)));
        }
        Ok(TableColumn::Column(i, column.data_type))
    }
}

impl Table for ModelTableView {
    fn name(&self) -> &str {
        &self.name
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(self.arrow_schema())
    }

    fn stats(&self) -> TableStats {
        let fields = self.columns.iter().filter(|(_, c)| *c == Category::Field);
        let fields: Vec<&str> = fields.map(|(c, _)| c.name.as_str()).collect();
        let Ok(devices) = self.devices() else { return TableStats::default() };
        if let Some(stats) = brief::of_table(&self.archive, devices, &fields) {
            return stats;
        }
        let devices = devices.iter().map(|path| self.archive.device(path)).collect::<Result<Vec<_>>>();
        devices.map_or_else(
            |_| TableStats::default(),
            |devices| stats::of_table(&self.archive, &devices, &fields),
        )
    }

    fn facts(&self) -> Result<TableFacts> {
        let own = self.columns.iter().map(|(column, category)| (column.name.clone(), category.role()));
        let roles = std::iter::once((TIME.to_owned(), ColumnRole::Time)).chain(own).collect();
        let unordered = self.columns.iter().any(|(_, category)| *category == Category::Tag);
        Ok(TableFacts { roles, unordered, ..facts(&self.archive, &self.name) })
    }

    fn pushdown(&self, predicate: &Predicate) -> Pushdown {
        pushdown(predicate)
    }

    fn plan(&self, scan: &Scan) -> Result<Plan> {
        self.archive.refuse_unreadable()?;
        let wanted = wanted(scan, self.arrow_schema())?;
        let mut plan = Plan::empty();
        for path in self.devices()? {
            let tags = self.tags(path)?;
            let pruner = Pruner::new(scan.predicate.clone(), self.constants(&tags));
            let data = self.archive.device(path)?;
            self.plan_member(&Member { data, tags }, scan, &wanted, pruner, &mut plan)?;
        }
        Ok(plan)
    }

    fn storage(&self) -> Arc<dyn Storage> {
        Arc::clone(self.archive.location.storage())
    }
}
