//! Writes record batches to a file: one device, a device per value of a column, a table with tags, or long
//! rows.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::{DataType as ArrowType, Field, Schema, SchemaRef};
use tesselle_core::fit::check_types;
use tesselle_core::{
    Action, At, ColumnRole, Created, Driver, Error, Fit, Fitted, Result, Sink, Summary, TableFacts, Within,
    WriteOptions, WriteRequest,
};

use super::buffer::Input;
use super::labels::{KeyRows, Labels, groups};
use super::options::SinkOptions;
use super::schema::{Converted, convert, fit, fit_time, millis, type_of};
use super::sort::TimeSort;
use super::writer::Writer;
use super::writer_options::{Order, WriterOptions};
use crate::format::NAME;
use crate::meta::schema::{Category, TableSchema};
use crate::meta::{DataType, DeviceId, Version};
use crate::table::LONG;

/// The default device.
const DEFAULT_DEVICE: &str = "root.data";
/// The default table.
const DEFAULT_TABLE: &str = "data";
/// Value of the `time` setting that numbers the rows.
const ROW_NUMBERS: &str = "@row";

/// Starts a file. The module documentation lists the settings; the others are derived from facts about the
/// source and the memory of the driver.
pub(crate) fn start(request: WriteRequest, driver: &Driver) -> Result<Created> {
    let WriteRequest { target, schema, facts, mut options, .. } = request;
    fill(&mut options, &schema, &facts, driver.budget().total());
    let sink_options = SinkOptions::parse(&options.settings)?;
    let roles = Roles::choose(&schema, &sink_options, &options)?;
    let types = check_types(NAME, roles.fits(&schema, sink_options.writer.version))?;
    let mut writer =
        Writer::create(target.location(NAME)?, options.overwrite, sink_options.writer.clone(), driver)?;
    let fields = roles.declare(&schema, &sink_options, &mut writer)?;
    let sink = TsFileSink::new(writer, roles, sink_options, fields, schema, driver);
    Ok(Created { sink: Box::new(sink), fitted: Fitted::losing(&facts).with_types(types) })
}

/// Applies settings derived from the source: times remain times, tags remain tags, a device keeps its name.
fn fill(options: &mut WriteOptions, schema: &Schema, facts: &TableFacts, memory: u64) {
    let settings = &mut options.settings;
    let version = settings.get("version").map(str::to_owned);
    settings.fill_share("group_bytes", 4, WriterOptions::for_version(Version::V4).group_bytes as u64, memory);
    let times = facts.present(ColumnRole::Time, schema);
    let was_series = facts.format == NAME || !times.is_empty();
    if let [time] = times.as_slice() {
        settings.fill("time", *time);
    }
    let tags = facts.present(ColumnRole::Tag, schema);
    let can_align = version.as_deref().is_none_or(|version| matches!(version, "3" | "4"));
    if !tags.is_empty() && version.as_deref().is_none_or(|version| version == "4") {
        settings.fill("tags", tags.join(","));
        settings.fill("model", "table");
    } else if can_align && (facts.aligned || !was_series) && settings.get("model") != Some("table") {
        // Rows share their times, and a row of only nulls exists only where it has a time of its own.
        settings.fill("aligned", "true");
    }
    let named = facts.table.as_ref().filter(|name| facts.format == NAME && *name != LONG);
    if options.table.is_none() && settings.get("device").is_none() {
        options.table = named.cloned();
    }
}

/// The roles of the columns of a batch.
#[derive(Debug)]
pub(super) struct Roles {
    pub(super) time: Time,
    pub(super) devices: RowDevices,
}

#[derive(Debug)]
pub(super) enum Time {
    Column(usize),
    RowNumbers,
}

#[derive(Debug)]
pub(super) enum RowDevices {
    /// All rows belong to one device.
    Single(String),
    /// A column names the device.
    ByDevice(usize),
    /// Tag columns identify the devices of a table.
    Table(String, Vec<usize>),
    /// Each row is one point: device, measurement, and one of the value columns.
    Long { device: usize, measurement: usize },
}

/// A value column.
#[derive(Debug)]
pub(super) struct FieldColumn {
    index: usize,
    name: String,
    data_type: DataType,
}

pub(super) fn position(schema: &Schema, name: &str) -> Result<usize> {
    let exact = schema.fields().iter().position(|f| f.name() == name);
    exact
        .ok_or_else(|| Error::unknown_name("column", name, schema.fields().iter().map(|f| f.name().as_str())))
}

impl Roles {
    fn choose(schema: &Schema, sink_options: &SinkOptions, options: &WriteOptions) -> Result<Self> {
        let time = Self::time(schema, sink_options)?;
        let name = sink_options.device.clone().or_else(|| options.table.clone());
        let find =
            |name: &str| schema.fields().iter().position(|f| f.name() == name && is_string(f.data_type()));
        let devices = if sink_options.table {
            let mut tags =
                sink_options.tags.iter().map(|tag| position(schema, tag)).collect::<Result<Vec<_>>>()?;
            // The order of the tags of a device is that of the table's columns.
            tags.sort_unstable();
            tags.dedup();
            RowDevices::Table(name.unwrap_or_else(|| DEFAULT_TABLE.into()), tags)
        } else if let Some(column) = &sink_options.device_column {
            RowDevices::ByDevice(position(schema, column)?)
        } else if let (None, Some(device), Some(measurement)) = (&name, find("device"), find("measurement")) {
            RowDevices::Long { device, measurement }
        } else {
            RowDevices::Single(name.unwrap_or_else(|| DEFAULT_DEVICE.into()))
        };
        Ok(Self { time, devices })
    }

    /// The column with the times, where they are not row numbers.
    pub(super) fn time_index(schema: &Schema, sink_options: &SinkOptions) -> Result<Option<usize>> {
        Ok(match Self::time(schema, sink_options)? {
            Time::Column(at) => Some(at),
            Time::RowNumbers => None,
        })
    }

    pub(super) fn time(schema: &Schema, sink_options: &SinkOptions) -> Result<Time> {
        if let Some(name) = &sink_options.time {
            if name == ROW_NUMBERS {
                return Ok(Time::RowNumbers);
            }
            return position(schema, name).map(Time::Column);
        }
        let fields = schema.fields();
        if let Some(i) = fields.iter().position(|f| f.name().eq_ignore_ascii_case("time")) {
            return Ok(Time::Column(i));
        }
        let stamps: Vec<usize> = (0..fields.len())
            .filter(|&i| fields.get(i).is_some_and(|f| matches!(f.data_type(), ArrowType::Timestamp(..))))
            .collect();
        match stamps.as_slice() {
            [only] => Ok(Time::Column(*only)),
            _ => Err(Error::invalid("no column is the time").suggest(
                "name it with {}, or number the rows with {}",
                [Action::setting("time", "COLUMN"), Action::setting("time", ROW_NUMBERS)],
            )),
        }
    }

    /// The columns that name devices and series and have no values of their own.
    fn keys(&self) -> Vec<usize> {
        match &self.devices {
            RowDevices::Single(_) => Vec::new(),
            RowDevices::ByDevice(column) => vec![*column],
            RowDevices::Table(_, tags) => tags.clone(),
            RowDevices::Long { device, measurement } => vec![*device, *measurement],
        }
    }

    /// The fate of the columns, except for keys.
    fn fits<'a>(&self, schema: &'a Schema, version: Version) -> Vec<(&'a Field, Fit)> {
        let keys = self.keys();
        let columns = schema.fields().iter().enumerate().filter(|(i, _)| !keys.contains(i));
        let fit = |(i, field): (usize, &'a Arc<Field>)| {
            let is_time = matches!(self.time, Time::Column(time) if time == i);
            let fit = if is_time { fit_time(field.data_type()) } else { fit(field, version) };
            (field.as_ref(), fit)
        };
        columns.map(fit).collect()
    }

    /// The value columns.
    fn fields(&self, schema: &Schema, sink_options: &SinkOptions) -> Result<Vec<FieldColumn>> {
        let mut keys = self.keys();
        if let Time::Column(time) = self.time {
            keys.push(time);
        }
        let mut fields = Vec::new();
        for (index, field) in schema.fields().iter().enumerate().filter(|(i, _)| !keys.contains(i)) {
            let data_type = type_of(field, sink_options.writer.version)?;
            fields.push(FieldColumn { index, name: field.name().clone(), data_type });
        }
        Ok(fields)
    }

    /// Declares what rows that are added to a file go to; its tables are known.
    pub(super) fn resume(
        &self,
        schema: &Schema,
        sink_options: &SinkOptions,
        writer: &mut Writer,
    ) -> Result<Vec<FieldColumn>> {
        if !matches!(self.devices, RowDevices::Table(..)) {
            return self.declare(schema, sink_options, writer);
        }
        let mut fields = self.fields(schema, sink_options)?;
        for field in &mut fields {
            field.name = field.name.to_lowercase();
        }
        Ok(fields)
    }

    /// Declares the series that are known before the first row.
    fn declare(
        &self,
        schema: &Schema,
        sink_options: &SinkOptions,
        writer: &mut Writer,
    ) -> Result<Vec<FieldColumn>> {
        let mut fields = self.fields(schema, sink_options)?;
        if !matches!(self.devices, RowDevices::Long { .. }) {
            let names: Vec<&str> = fields.iter().map(|f| f.name.as_str()).collect();
            sink_options.check_columns(&names)?;
        }
        match &self.devices {
            RowDevices::Single(name) => {
                declare_device(writer, writer.device_id(name), &fields, sink_options)?;
            }
            RowDevices::Table(name, tags) => {
                let columns = schema.fields().iter().enumerate().filter_map(|(i, field)| {
                    if tags.contains(&i) {
                        return Some((sink_options.series(field.name(), DataType::String), Category::Tag));
                    }
                    let column = fields.iter().find(|f| f.index == i)?;
                    Some((sink_options.series(&column.name, column.data_type), Category::Field))
                });
                let columns = columns.collect();
                writer.add_table(TableSchema { name: name.clone(), columns })?;
                // Table columns have lower-case names.
                for field in &mut fields {
                    field.name = field.name.to_lowercase();
                }
            }
            RowDevices::ByDevice(_) | RowDevices::Long { .. } => {}
        }
        Ok(fields)
    }
}

fn is_string(data_type: &ArrowType) -> bool {
    match data_type {
        ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View => true,
        ArrowType::Dictionary(_, values) => is_string(values),
        _ => false,
    }
}

fn declare_device(
    writer: &mut Writer,
    id: DeviceId,
    fields: &[FieldColumn],
    sink_options: &SinkOptions,
) -> Result<()> {
    let series = fields.iter().map(|f| sink_options.series(&f.name, f.data_type)).collect();
    if sink_options.aligned { writer.add_aligned_device(id, series) } else { writer.add_device(id, series) }
}

/// The sink of the format.
pub(super) struct TsFileSink {
    writer: Writer,
    roles: Roles,
    sink_options: SinkOptions,
    fields: Vec<FieldColumn>,
    schema: SchemaRef,
    /// Rows that have to be sorted before they are written.
    unsorted: Option<TimeSort>,
    rows: u64,
    /// Number of rows without a value, which separate series cannot store.
    empty: u64,
}

impl Sink for TsFileSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.schema_ref().fields().len() != self.schema.fields().len() {
            return Err(Error::invalid("the columns of a batch differ from the schema of the file"));
        }
        let times = self.times(batch)?;
        self.rows += batch.num_rows() as u64;
        if !self.sink_options.aligned {
            self.empty += self.rows_without_value(batch);
        }
        match &mut self.unsorted {
            Some(unsorted) => unsorted.push(batch),
            None => self.store(batch, &times),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<Summary> {
        if let Some(unsorted) = self.unsorted.take() {
            for batch in unsorted.finish()? {
                let batch = batch?;
                let times = self.times(&batch)?;
                self.store(&batch, &times)?;
            }
        }
        self.writer.flush()?;
        let gone = self.series_without_points();
        let mut summary = self.writer.finish()?;
        summary.rows = self.rows - self.empty;
        if self.empty > 0 {
            summary.lost.push(format!(
                "{} rows with only nulls, which separate series cannot store; write with aligned=true (versions 3 and 4) to keep them",
                self.empty
            ));
        }
        summary.lost.extend(gone);
        Ok(summary)
    }
}

impl TsFileSink {
    pub(super) fn new(
        writer: Writer,
        roles: Roles,
        sink_options: SinkOptions,
        fields: Vec<FieldColumn>,
        schema: SchemaRef,
        driver: &Driver,
    ) -> Self {
        let unsorted = match roles.time {
            Time::Column(time) if sink_options.writer.order == Order::Sort => {
                Some(TimeSort::new(Arc::clone(&schema), time, driver.budget().total()))
            }
            _ => None,
        };
        Self { writer, roles, sink_options, fields, schema, unsorted, rows: 0, empty: 0 }
    }

    /// Passes rows to the writer.
    fn store(&mut self, batch: &RecordBatch, times: &[i64]) -> Result<()> {
        let columns: Vec<Converted> = self
            .fields
            .iter()
            .map(|f| convert(batch.column(f.index), f.data_type, &f.name))
            .collect::<Result<_>>()?;
        match &self.roles.devices {
            RowDevices::Single(name) => {
                let id = self.writer.device_id(name);
                put(&mut self.writer, &id, times, &self.fields, &columns)
            }
            RowDevices::ByDevice(column) => {
                let names = Labels::try_new(batch.column(*column), "device")?;
                for (name, rows) in groups(batch.num_rows(), |row| names.required(row))? {
                    let id = self.writer.device_id(name);
                    if !self.writer.has_device(&id) {
                        declare_device(&mut self.writer, id.clone(), &self.fields, &self.sink_options)?;
                    }
                    put_rows(&mut self.writer, &id, times, &self.fields, &columns, rows)?;
                }
                Ok(())
            }
            RowDevices::Table(table, tags) => {
                let tags: Vec<Labels> =
                    tags.iter().map(|&i| Labels::try_new(batch.column(i), "tag")).collect::<Result<_>>()?;
                let key = |row| {
                    let found: Vec<_> = tags.iter().map(|tag| tag.get(row)).collect();
                    let end = found.iter().map(|(_, end)| *end).min().unwrap_or(usize::MAX);
                    Ok((found.into_iter().map(|(value, _)| value).collect::<Vec<_>>(), end))
                };
                for (key, rows) in groups(batch.num_rows(), key)? {
                    let id = self.writer.add_table_device(table, &key)?;
                    put_rows(&mut self.writer, &id, times, &self.fields, &columns, rows)?;
                }
                Ok(())
            }
            RowDevices::Long { device, measurement } => {
                let devices = Labels::try_new(batch.column(*device), "device")?;
                let measurements = Labels::try_new(batch.column(*measurement), "measurement")?;
                self.write_long(&devices, &measurements, times, &columns)
            }
        }
    }

    /// Columns that no device has, because they have no values.
    fn series_without_points(&self) -> Vec<String> {
        if matches!(self.roles.devices, RowDevices::Table(..) | RowDevices::Long { .. }) {
            return Vec::new();
        }
        let gone = self.fields.iter().filter(|field| !self.writer.has_series(&field.name));
        let why = if self.rows == 0 { "the table is empty" } else { "all values are null" };
        let line = |field: &FieldColumn| {
            format!("column '{}': {why}, and TsFile cannot store an empty series", field.name)
        };
        gone.map(line).collect()
    }

    fn rows_without_value(&self, batch: &RecordBatch) -> u64 {
        let mut nulls = self.fields.iter().map(|field| batch.column(field.index).logical_nulls());
        let Some(Some(mut valid)) = nulls.next() else { return 0 };
        for column in nulls {
            let Some(column) = column.filter(|_| valid.null_count() > 0) else { return 0 };
            valid = NullBuffer::new(valid.inner() | column.inner());
        }
        valid.null_count() as u64
    }

    fn times(&self, batch: &RecordBatch) -> Result<ScalarBuffer<i64>> {
        let index = match self.roles.time {
            Time::RowNumbers => {
                let first = self.rows as i64;
                return Ok((first..first + batch.num_rows() as i64).collect::<Vec<_>>().into());
            }
            Time::Column(index) => index,
        };
        let column = batch.column(index);
        if let Some(row) =
            (column.null_count() > 0).then(|| (0..column.len()).find(|&i| column.is_null(i))).flatten()
        {
            let row = self.rows + row as u64;
            return Err(Error::invalid(format!("row {row} has no time")));
        }
        millis(column)
    }

    /// Each row is one point of one series.
    fn write_long(
        &mut self,
        devices: &Labels,
        measurements: &Labels,
        times: &[i64],
        columns: &[Converted],
    ) -> Result<()> {
        let key = |row: usize| {
            let filled = |c: &Converted| c.present.as_ref().is_none_or(|present| present.value(row));
            let places = columns.iter().enumerate();
            let mut values = places.filter(|(_, column)| filled(column)).map(|(place, _)| place);
            match (values.next(), values.next()) {
                (Some(value), None) => {
                    let key = (devices.required(row)?.0, measurements.required(row)?.0, value);
                    Ok((key, row + 1))
                }
                (None, _) => Err(Error::invalid(format!("row {row} of a batch has no value"))),
                _ => Err(Error::invalid(format!("row {row} of a batch has more than one value"))),
            }
        };
        for ((device, measurement, value), rows) in groups(times.len(), key)? {
            let rows = rows.into_rows();
            let (field, column) = (self.fields.at(value)?, columns.at(value)?);
            let id = self.writer.device_id(device);
            self.writer.ensure_series(&id, self.sink_options.series(measurement, field.data_type))?;
            let picked = column.pick(&rows);
            let times: Vec<i64> = rows.iter().map(|&i| times.at(i).copied()).collect::<Result<_>>()?;
            let column = Input { name: measurement, values: picked.values(), present: None };
            self.writer.write_inputs(&id, &times, &[column])?;
        }
        Ok(())
    }
}

fn inputs<'a>(fields: &'a [FieldColumn], columns: &'a [Converted]) -> impl Iterator<Item = Input<'a>> {
    fields.iter().zip(columns).map(|(field, column)| Input {
        name: &field.name,
        values: column.values(),
        present: column.present.as_deref(),
    })
}

fn put(
    writer: &mut Writer,
    id: &DeviceId,
    times: &[i64],
    fields: &[FieldColumn],
    columns: &[Converted],
) -> Result<()> {
    let inputs: Vec<Input<'_>> = inputs(fields, columns).collect();
    writer.write_inputs(id, times, &inputs)
}

fn put_rows(
    writer: &mut Writer,
    id: &DeviceId,
    times: &[i64],
    fields: &[FieldColumn],
    columns: &[Converted],
    rows: KeyRows,
) -> Result<()> {
    let rows = match rows {
        KeyRows::Range(start, end) => {
            let inputs: Vec<Input<'_>> =
                inputs(fields, columns).map(|input| input.range(start..end)).collect();
            return writer.write_inputs(id, times.part(start..end)?, &inputs);
        }
        KeyRows::Rows(rows) => rows,
    };
    let times: Vec<i64> = rows.iter().map(|&i| times.at(i).copied()).collect::<Result<_>>()?;
    let columns: Vec<Converted> = columns.iter().map(|c| c.pick(&rows)).collect();
    put(writer, id, &times, fields, &columns)
}
