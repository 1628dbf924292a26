//! Re-encodes an archive, device by device.

use std::sync::Arc;

use tesselle_core::driver::{self, Order};
use tesselle_core::{Driver, Error, Location, Result, Rewritten, Scan, Table as _, WriteOptions};

use super::kept;
use super::schema::{Changes, fit, of_device};
use crate::meta::schema::{Category, TableSchema};
use crate::meta::{DataType, DeviceId};
use crate::open::{Archive, ModelTable};
use crate::table::DeviceTable;
use crate::write::Writer;
use crate::write::buffer::Input;
use crate::write::options::SinkOptions;
use crate::write::schema::{Converted, convert, millis};

/// Writes the rows of all devices and tables.
pub(super) fn rewrite(
    archive: &Arc<Archive>,
    target: &Location,
    write: &WriteOptions,
    mut sink_options: SinkOptions,
    driver: &Driver,
) -> Result<Rewritten> {
    let mut changes = Changes::default();
    let version = sink_options.writer.version;
    for entry in &archive.files {
        let metadata = &entry.file.metadata;
        for (key, value) in &metadata.properties {
            let known = sink_options.writer.properties.iter().any(|(name, _)| name == key);
            if !known && !crate::meta::file_metadata::is_about_encryption(key) {
                sink_options.writer.properties.push((key.clone(), value.clone()));
            }
        }
        match &metadata.created_by {
            // A setting takes precedence.
            Some(value) if version.is_flat() => {
                sink_options.writer.created_by.get_or_insert_with(|| value.clone());
            }
            Some(_) => {
                changes
                    .add("the name of the creator, which this version cannot store".to_owned(), "created_by");
            }
            None => {}
        }
    }
    // Points arrive in order; buffered ones can still get another encoding.
    sink_options.writer.order = crate::write::Order::Sort;
    sink_options.writer.fallback = true;
    let mut writer = Writer::create(target, write.overwrite, sink_options.writer.clone(), driver)?;
    for (name, table) in &archive.tables {
        declare_table(&mut writer, name, table, &sink_options, &mut changes)?;
    }
    for (path, places) in &archive.devices {
        driver.check_canceled()?;
        let table = archive.table_of(places).map(str::to_owned);
        device(archive, path, table.as_deref(), &sink_options, &mut writer, &mut changes, driver)?;
    }
    let mut summary = writer.finish()?;
    summary.lost.extend(changes.lines());
    Ok(Rewritten { summary, kept: kept(archive) })
}

fn declare_table(
    writer: &mut Writer,
    name: &str,
    table: &ModelTable,
    sink_options: &SinkOptions,
    changes: &mut Changes,
) -> Result<()> {
    let columns = table.columns.iter().filter(|(_, category)| *category != Category::Time);
    let columns = columns.map(|(column, category)| {
        let column = match category {
            Category::Field => fit(column.clone(), sink_options, name, changes),
            _ => column.clone(),
        };
        (column, *category)
    });
    let columns = columns.collect();
    writer.add_table(TableSchema { name: name.to_owned(), columns })
}

fn device(
    archive: &Arc<Archive>,
    path: &str,
    table: Option<&str>,
    sink_options: &SinkOptions,
    writer: &mut Writer,
    changes: &mut Changes,
    driver: &Driver,
) -> Result<()> {
    let data = archive.device(path)?;
    let id = if let Some(table) = table {
        table_device(archive, path, table, writer)?
    } else {
        let id = writer.device_id(path);
        let series = of_device(archive, &data, sink_options, changes)?;
        if data.is_aligned() {
            writer.add_aligned_device(id.clone(), series)?;
        } else {
            writer.add_device(id.clone(), series)?;
        }
        id
    };
    for column in data.columns.iter().filter(|column| column.chunks.is_empty()) {
        let name = format!("{path}.{}", column.name);
        if table.is_none() && !data.is_aligned() {
            changes.add("empty series".to_owned(), &name);
        }
    }
    let names: Vec<(String, DataType)> = data
        .columns
        .iter()
        .map(|column| {
            // Table columns have lower-case names.
            let name = if table.is_some() { column.name.to_lowercase() } else { column.name.to_string() };
            (name, column.data_type)
        })
        .collect();
    let view = DeviceTable::try_new(archive, path)?;
    if view.schema().fields().len() != names.len() + 1 {
        return Err(Error::internal("the columns of a device differ from those of its table"));
    }
    for batch in driver::scan(&view, &Scan::all(), driver, Order::Plan)? {
        let batch = batch?;
        let times = millis(batch.column(0))?;
        let columns: Vec<Converted> = batch
            .columns()
            .iter()
            .skip(1)
            .zip(&names)
            .map(|(column, (name, data_type))| convert(column, *data_type, name))
            .collect::<Result<_>>()?;
        let inputs: Vec<Input<'_>> = names
            .iter()
            .zip(&columns)
            .map(|((name, _), column)| Input {
                name,
                values: column.values(),
                present: column.present.as_deref(),
            })
            .collect();
        writer.write_inputs(&id, &times, &inputs)?;
    }
    Ok(())
}

/// The device of a table, by its tags.
fn table_device(archive: &Archive, path: &str, table: &str, writer: &mut Writer) -> Result<DeviceId> {
    let missing = || Error::internal("a device of a table is missing");
    let places = archive.devices.get(path).ok_or_else(missing)?;
    let (file, at) = places.first().ok_or_else(missing)?;
    let device =
        archive.files.get(*file).and_then(|entry| entry.file.devices.get(*at)).ok_or_else(missing)?;
    let columns = &archive.tables.get(table).ok_or_else(missing)?.columns;
    let count = columns.iter().filter(|(_, category)| *category == Category::Tag).count();
    let tags: Vec<Option<&str>> = (0..count).map(|i| device.id.tag(i)).collect();
    writer.add_table_device(table, &tags)
}
