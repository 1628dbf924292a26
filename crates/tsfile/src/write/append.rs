//! Appending rows to a file: new chunk groups after the existing ones, and a new tail.

use std::sync::Arc;

use arrow_schema::{DataType as ArrowType, Field, Schema, SchemaRef, TimeUnit};
use tesselle_core::{Action, AppendRequest, Driver, Error, Result, Sink as _, Summary, Table as _};

use super::options::SinkOptions;
use super::resume::Resumed;
use super::sink::{Roles, RowDevices, TsFileSink};
use super::writer::Writer;
use crate::meta::schema::Category;
use crate::open::Archive;
use crate::table::{DeviceTable, LONG};

/// Settings for new rows; the tables and series of the file do not change.
const SETTINGS: [&str; 11] = [
    "compression",
    "compressions",
    "decimals",
    "device_column",
    "encoding",
    "encodings",
    "group_bytes",
    "order",
    "page_bytes",
    "page_points",
    "time",
];

/// Appends rows. Existing series keep their encoding and compressor, and times must be after their last one; devices and
/// unaligned series may be new.
pub(crate) fn append(request: AppendRequest<'_>, driver: &Driver) -> Result<Summary> {
    request.refuse_axis()?;
    request.settings.expect_only(&SETTINGS)?;
    let archive = Archive::open(&request.location, &request.open.clone().with_raw(false))?;
    let archive = archive.shared();
    let resumed = Resumed::try_new(&archive)?;
    let mut settings = request.settings.clone();
    let most = super::WriterOptions::default().group_bytes as u64;
    settings.fill_share("group_bytes", 4, most, driver.budget().total());
    let mut sink_options = SinkOptions::parse(&settings)?.for_version(resumed.version()?, &settings)?;
    let (target, schema) = choose(&archive, &request, &sink_options)?;
    let rows = request.rows.conform(&schema)?;
    let roles = Roles { time: Roles::time(&schema, &sink_options)?, devices: target.devices(&schema)? };
    sink_options.aligned = target.is_aligned(&archive)?;
    let mut writer = Writer::resume(resumed, sink_options.writer.clone(), driver)?;
    let fields = roles.resume(&schema, &sink_options, &mut writer)?;
    let mut sink = Box::new(TsFileSink::new(writer, roles, sink_options, fields, schema, driver));
    for batch in rows.batches {
        driver.check_canceled()?;
        sink.write(&batch?)?;
    }
    driver.check_canceled()?;
    sink.finish()
}

/// What rows are added to.
enum AppendTarget {
    /// The series of one device, by its path.
    Device(String),
    /// The devices that a column names.
    ByColumn(String),
    /// A table of the table model, with its tags in their order.
    Table(String, Vec<String>),
    /// Points of any series.
    Points,
}

impl AppendTarget {
    fn devices(&self, schema: &Schema) -> Result<RowDevices> {
        let at = |name: &String| super::sink::position(schema, name);
        Ok(match self {
            Self::Device(path) => RowDevices::Single(path.clone()),
            Self::ByColumn(column) => RowDevices::ByDevice(at(column)?),
            Self::Table(name, tags) => {
                RowDevices::Table(name.clone(), tags.iter().map(at).collect::<Result<_>>()?)
            }
            Self::Points => RowDevices::Long {
                device: at(&"device".to_owned())?,
                measurement: at(&"measurement".to_owned())?,
            },
        })
    }

    /// Whether devices that are new share the times of their series.
    fn is_aligned(&self, archive: &Archive) -> Result<bool> {
        match self {
            Self::Device(path) if archive.devices.contains_key(path) => {
                Ok(archive.device(path)?.is_aligned())
            }
            Self::Table(..) => Ok(true),
            _ => Ok(false),
        }
    }
}

/// The table that grows, and the columns that its rows have.
fn choose(
    archive: &Arc<Archive>,
    request: &AppendRequest<'_>,
    sink_options: &SinkOptions,
) -> Result<(AppendTarget, SchemaRef)> {
    let source = &request.rows.schema;
    let named = |name: &str| source.index_of(name).is_ok();
    if let Some(column) = &sink_options.device_column {
        return Ok((AppendTarget::ByColumn(column.clone()), with_times(source, sink_options)?));
    }
    let names: Vec<&String> = archive.tree_devices().chain(archive.tables.keys()).collect();
    let long = named("device") && named("measurement");
    let table = match (request.table.as_deref(), names.as_slice()) {
        (Some(LONG), _) => None,
        (Some(name), _) => Some(name.to_owned()),
        (None, _) if long => None,
        (None, [only]) => Some((*only).clone()),
        (None, many) => {
            let message = format!("there are {} tables in it; name the one that grows", many.len());
            let many = many.iter().map(|name| (*name).clone()).collect();
            return Err(Error::invalid(message).suggest("add {}", [Action::Table(many)]));
        }
    };
    let Some(table) = table else {
        if !long {
            return Err(Error::invalid(
                "points of many series have the columns device, measurement, time and values",
            ));
        }
        return Ok((AppendTarget::Points, with_times(source, sink_options)?));
    };
    if let Some(model) = archive.tables.get(&table) {
        let columns = model.columns.iter().filter(|(_, category)| *category != Category::Time);
        let columns: Vec<(&str, bool)> =
            columns.map(|(column, category)| (column.name.as_str(), *category == Category::Tag)).collect();
        return of_model(archive, &table, &columns, source, sink_options);
    }
    let known = archive.devices.contains_key(&table);
    let view = if known { Some(DeviceTable::try_new(archive, &table)?.schema()) } else { None };
    let aligned = known && archive.device(&table)?.is_aligned();
    let time = Roles::time_index(source, sink_options)?;
    let mut fields = Vec::new();
    for (at, field) in source.fields().iter().enumerate() {
        let old = view.as_ref().and_then(|view| view.field_with_name(field.name()).ok());
        fields.push(match old {
            _ if Some(at) == time => time_field(field),
            Some(old) => Arc::new(old.clone()),
            None if aligned => {
                return Err(Error::invalid(format!(
                    "device '{table}' has no series '{}', and those of an aligned device are fixed",
                    field.name()
                ))
                .suggest("choose the columns to add with {}", [Action::Columns]));
            }
            None => Arc::clone(field),
        });
    }
    Ok((AppendTarget::Device(table), Arc::new(Schema::new(fields))))
}

/// A table of the table model: names of columns count in lower case, tags that are missing are null.
fn of_model(
    archive: &Arc<Archive>,
    table: &str,
    columns: &[(&str, bool)],
    source: &Schema,
    sink_options: &SinkOptions,
) -> Result<(AppendTarget, SchemaRef)> {
    let view = crate::table::ModelTableView::try_new(archive, table)?.schema();
    let time = Roles::time_index(source, sink_options)?;
    let (mut fields, mut tags) = (Vec::new(), Vec::new());
    for (at, field) in source.fields().iter().enumerate() {
        if Some(at) == time {
            fields.push(time_field(field));
            continue;
        }
        let lower = field.name().to_lowercase();
        let (Some((_, _)), Ok(old)) =
            (columns.iter().find(|(name, _)| *name == lower), view.field_with_name(&lower))
        else {
            let known = columns.iter().map(|(name, _)| *name);
            return Err(Error::unknown_name("column", field.name(), known));
        };
        fields.push(Arc::new(old.clone().with_name(field.name())));
    }
    for (name, _) in columns.iter().filter(|(_, tag)| *tag) {
        let given = source.fields().iter().find(|field| field.name().to_lowercase() == *name);
        tags.push(given.map_or_else(|| (*name).to_owned(), |field| field.name().clone()));
        if given.is_none() {
            fields.push(Arc::new(Field::new(*name, ArrowType::Utf8, true)));
        }
    }
    Ok((AppendTarget::Table(table.to_owned(), tags), Arc::new(Schema::new(fields))))
}

/// The columns of the rows, with times in the unit of the file.
fn with_times(source: &Schema, sink_options: &SinkOptions) -> Result<SchemaRef> {
    let time = Roles::time_index(source, sink_options)?;
    let fields = source.fields().iter().enumerate();
    let fields: Vec<Arc<Field>> = fields
        .map(|(at, field)| if Some(at) == time { time_field(field) } else { Arc::clone(field) })
        .collect();
    Ok(Arc::new(Schema::new(fields)))
}

fn time_field(field: &Field) -> Arc<Field> {
    Arc::new(Field::new(field.name(), ArrowType::Timestamp(TimeUnit::Millisecond, None), false))
}
