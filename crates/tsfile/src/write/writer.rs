//! The writer: devices are declared, points are written by device, chunk groups are flushed.

use std::collections::{BTreeMap, HashSet};

use tesselle_core::driver::parallel;
use tesselle_core::{Context as _, Driver, Error, Location, Result, Summary};

use super::buffer::{Column, DeviceBuffer, Encoder, Input};
use super::output::Output;
use super::resume::{KnownDevice, Resumed};
use super::tail::{ChunkRecord, DeviceRecord, GroupRecord, Tail};
use super::values::Values;
use super::writer_options::WriterOptions;
use crate::meta::chunk_group::{ChunkGroupFooter, write_group_header};
use crate::meta::file_metadata::is_about_encryption;
use crate::meta::schema::{Category, MeasurementSchema, TableSchema};
use crate::meta::{Compression, DataType, DeviceId, Encoding, PutPrimitives as _, Value, Version, marker};
use crate::write::chunk::EncodedChunk;

/// Writes one file. Memory use follows `group_bytes`; only the metadata of each chunk is kept until the end.
///
/// Dropping a writer without [`Writer::finish`] leaves nothing behind.
#[derive(Debug)]
pub struct Writer {
    path: String,
    options: WriterOptions,
    driver: Driver,
    out: Output,
    devices: BTreeMap<DeviceId, DeviceBuffer>,
    records: BTreeMap<DeviceId, DeviceRecord>,
    /// 0.8 and 000001: a measurement name has the same schema in every device.
    measurements: BTreeMap<String, MeasurementSchema>,
    tables: Vec<TableSchema>,
    buffered: usize,
    summary: Summary,
    /// Points (of aligned devices rows) replaced by later ones at the same time.
    replaced: u64,
    /// Number of values rounded to the requested decimals, by measurement.
    rounded: BTreeMap<String, u64>,
    /// Number of chunks without the requested encoding, by that encoding and the actual one.
    refused: BTreeMap<(&'static str, &'static str), u64>,
    /// The file that is added to.
    resumed: Option<Resumed>,
    /// The version of new chunk groups (0.8 and 000001).
    group_version: i64,
    /// Position and version of the version records (000002).
    versions: Vec<(u64, i64)>,
}

impl Writer {
    /// Starts a file. It is invisible at `location` until [`Writer::finish`].
    pub fn create(
        location: &Location,
        overwrite: bool,
        options: WriterOptions,
        driver: &Driver,
    ) -> Result<Self> {
        let mut writer = Self::start(location, overwrite, options, driver)?;
        writer.out.buffer().extend_from_slice(writer.options.version.head());
        Ok(writer)
    }

    /// Starts a new state of a file: its contents are copied, and new data follows them.
    pub(crate) fn resume(resumed: Resumed, mut options: WriterOptions, driver: &Driver) -> Result<Self> {
        let metadata = resumed.metadata()?;
        let own = metadata.properties.iter().filter(|(key, _)| !is_about_encryption(key));
        options.properties = own.cloned().collect();
        options.created_by.clone_from(&metadata.created_by);
        let mut writer = Self::start(resumed.location(), true, options, driver)?;
        resumed.copy(&mut writer.out, driver)?;
        writer.records = resumed.records()?;
        let groups = writer.records.values().flat_map(|device| &device.groups);
        writer.group_version =
            groups.map(|group| group.version).max().map_or(0, |version| version.saturating_add(1));
        let measurements = metadata.measurements.iter();
        writer.measurements = measurements.map(|schema| (schema.name.clone(), schema.clone())).collect();
        writer.tables.clone_from(&metadata.tables);
        writer.versions.clone_from(&metadata.versions);
        writer.resumed = Some(resumed);
        Ok(writer)
    }

    fn start(location: &Location, overwrite: bool, options: WriterOptions, driver: &Driver) -> Result<Self> {
        options.check()?;
        Ok(Self {
            path: location.path().to_string(),
            options,
            driver: driver.clone(),
            out: Output::new(location.create(overwrite)?),
            devices: BTreeMap::new(),
            records: BTreeMap::new(),
            measurements: BTreeMap::new(),
            tables: Vec::new(),
            buffered: 0,
            summary: Summary::default(),
            replaced: 0,
            rounded: BTreeMap::new(),
            refused: BTreeMap::new(),
            resumed: None,
            group_version: 0,
            versions: Vec::new(),
        })
    }

    /// The version of the file.
    pub fn version(&self) -> Version {
        self.options.version
    }

    /// The device of a dotted path, split as this version does.
    pub fn device_id(&self, path: &str) -> DeviceId {
        if self.options.version == Version::V4 { DeviceId::from_path(path) } else { DeviceId::plain(path) }
    }

    /// Whether the device has been declared.
    pub fn has_device(&self, device: &DeviceId) -> bool {
        self.devices.contains_key(device)
    }

    /// Declares a device whose series have times of their own.
    pub fn add_device(&mut self, device: DeviceId, series: Vec<MeasurementSchema>) -> Result<()> {
        self.declare(device, series, false)
    }

    /// Declares a device whose series share their times (version 3 and later).
    pub fn add_aligned_device(&mut self, device: DeviceId, series: Vec<MeasurementSchema>) -> Result<()> {
        if !self.options.version.is_compact() {
            let message = format!("version {} has no aligned devices", self.options.version.name());
            return Err(Error::invalid(message).hint("versions 3 and 4 have"));
        }
        self.declare(device, series, true)
    }

    /// Declares a table (version 4). Its devices are added with [`Writer::add_table_device`].
    pub fn add_table(&mut self, mut table: TableSchema) -> Result<()> {
        if self.options.version != Version::V4 {
            let message = format!("version {} has no tables", self.options.version.name());
            return Err(Error::invalid(message).hint("version 4 has"));
        }
        // Readers look names up in lower case.
        table.name = table.name.to_lowercase();
        for (column, category) in &mut table.columns {
            column.name = column.name.to_lowercase();
            if *category == Category::Field {
                self.check_schema(column)?;
            }
        }
        let columns: Vec<&str> = table.columns.iter().map(|(c, _)| c.name.as_str()).collect();
        check_names(columns.iter().copied())?;
        if self.tables.iter().any(|t| t.name == table.name) {
            return Err(Error::invalid(format!("table '{}' is declared twice", table.name)));
        }
        self.tables.push(table);
        Ok(())
    }

    /// The device of a table with these tag values, declared if it is new.
    pub fn add_table_device(&mut self, table: &str, tags: &[Option<&str>]) -> Result<DeviceId> {
        let name = table.to_lowercase();
        let known = self.tables.iter().find(|t| t.name == name);
        let table = known.ok_or_else(|| {
            Error::unknown_name("table", &name, self.tables.iter().map(|t| t.name.as_str()))
        })?;
        let count = table.columns.iter().filter(|(_, c)| *c == Category::Tag).count();
        if count != tags.len() {
            return Err(Error::invalid(format!("table '{name}' has {count} tags, got {}", tags.len())));
        }
        let mut segments = vec![Some(name)];
        segments.extend(tags.iter().map(|tag| tag.map(str::to_string)));
        let device = DeviceId::from_segments(segments);
        if !self.devices.contains_key(&device) {
            let fields = table.columns.iter().filter(|(_, c)| *c == Category::Field);
            let fields = fields.map(|(column, _)| column.clone()).collect();
            self.declare(device.clone(), fields, true)?;
        }
        Ok(device)
    }

    /// Declares an ordinary series, and its device if that is new. Repeating the same declaration has no
    /// effect.
    pub fn ensure_series(&mut self, device: &DeviceId, series: MeasurementSchema) -> Result<()> {
        if !self.devices.contains_key(device) {
            self.take_up(device, &[])?;
        }
        let buffer = self.devices.get(device);
        if buffer.is_some_and(DeviceBuffer::is_aligned) {
            let text =
                format!("device '{}' is aligned and takes whole rows, not single points", device.path());
            return Err(Error::invalid(text).hint("append to the table of the device"));
        }
        let known = buffer.and_then(|buffer| buffer.schema(&series.name));
        match known {
            Some(known) if *known == series => Ok(()),
            // A series of the file that is added to keeps its encoding and compressor.
            Some(known) if self.resumed.is_some() && known.data_type == series.data_type => Ok(()),
            Some(known) => {
                let (was, is) = (known.data_type.name(), series.data_type.name());
                let message = format!("measurement '{}' is {was} and {is} in one device", series.name);
                Err(Error::invalid(message).piece(format!("device '{}'", device.path())))
            }
            None => {
                self.check_series(std::slice::from_ref(&series), &device.path())?;
                let buffer = self.devices.entry(device.clone());
                let empty = || DeviceBuffer::new(false, Vec::new(), series.compression);
                buffer.or_insert_with(empty).add_series(series)
            }
        }
    }

    fn declare(&mut self, device: DeviceId, series: Vec<MeasurementSchema>, aligned: bool) -> Result<()> {
        let path = device.path();
        if self.devices.contains_key(&device) {
            return Err(Error::invalid(format!("device '{path}' is declared twice")));
        }
        if path.is_empty() {
            return Err(Error::invalid("a device needs a name"));
        }
        if self.take_up(&device, &series)? {
            return Ok(());
        }
        self.check_series(&series, &path)?;
        let compression =
            series.first().map_or(Compression::default_for(self.options.version), |s| s.compression);
        self.devices.insert(device, DeviceBuffer::new(aligned, series, compression));
        Ok(())
    }

    /// Declares a device as the file that is added to has it, with those of `series` that are new; whether it has it.
    fn take_up(&mut self, device: &DeviceId, series: &[MeasurementSchema]) -> Result<bool> {
        let Some(resumed) = &mut self.resumed else { return Ok(false) };
        let Some(KnownDevice { aligned, series: mut all, last }) = resumed.device(device)? else {
            return Ok(false);
        };
        for known in &mut all {
            // In these versions a name means the same in all devices.
            if let Some(declared) = self.measurements.get(&known.name) {
                known.clone_from(declared);
            }
        }
        let path = device.path();
        for new in series {
            match all.iter().find(|known| known.name == new.name) {
                Some(known) if known.data_type != new.data_type => {
                    let (was, is) = (known.data_type.name(), new.data_type.name());
                    let text = format!("measurement '{}' is {was} in the file, {is} in the rows", new.name);
                    return Err(Error::invalid(text).piece(format!("device '{path}'")));
                }
                None if !aligned => all.push(new.clone()),
                _ => {}
            }
        }
        self.check_series(&all, &path)?;
        let compression =
            all.first().map_or(Compression::default_for(self.options.version), |s| s.compression);
        let mut buffer = DeviceBuffer::new(aligned, all, compression);
        buffer.resume_after(&last);
        self.devices.insert(device.clone(), buffer);
        Ok(true)
    }

    /// Checks the series of one device, and records their names if a name has the same schema in all devices.
    fn check_series(&mut self, series: &[MeasurementSchema], path: &str) -> Result<()> {
        check_names(series.iter().map(|s| s.name.as_str())).in_piece(|| format!("device '{path}'"))?;
        for schema in series {
            self.check_schema(schema).in_piece(|| format!("device '{path}'"))?;
        }
        if self.options.version.is_flat() {
            for schema in series {
                let known = self.measurements.entry(schema.name.clone()).or_insert_with(|| schema.clone());
                if known != schema {
                    let message = format!(
                        "measurement '{}' has another type, encoding or compression in another device",
                        schema.name
                    );
                    return Err(Error::invalid(message)
                        .hint("in this version a name has the same schema in all devices"));
                }
            }
        }
        Ok(())
    }

    fn check_schema(&self, schema: &MeasurementSchema) -> Result<()> {
        let version = self.options.version;
        let refuse = |what: String, hint: String| {
            let message = format!("measurement '{}': {what} in version {}", schema.name, version.name());
            Err(Error::invalid(message).hint(hint))
        };
        let type_name = schema.data_type.name();
        if !schema.data_type.is_writable(version) {
            return refuse(format!("type {type_name} does not exist"), "version 4 has all types".into());
        }
        if !schema.encoding.is_writable(schema.data_type, version) {
            let name = schema.encoding.name(version);
            let what = match schema.encoding {
                Encoding::Freq => format!("{name} can be read but not written: it is lossy and discontinued"),
                _ => format!("{name} cannot encode {type_name}"),
            };
            return refuse(what, format!("supported are {}", encodings(schema.data_type, version)));
        }
        if !schema.compression.is_writable(version) {
            let known: Vec<&str> =
                Compression::ALL.iter().filter(|c| c.is_writable(version)).map(|c| c.name()).collect();
            let what = format!("compressor {} is not supported", schema.compression.name());
            return refuse(what, format!("supported are {}", known.join(", ")));
        }
        super::chunk::decimals(schema).map(|_| ())
    }

    /// Writes rows of a device. Columns that are not named are null in these rows.
    pub fn write(&mut self, device: &DeviceId, times: &[i64], columns: &[Column<'_>]) -> Result<()> {
        let columns: Vec<Input<'_>> = columns.iter().map(Input::from).collect();
        self.write_inputs(device, times, &columns)
    }

    /// Like [`Writer::write`], from borrowed buffers.
    pub(crate) fn write_inputs(
        &mut self,
        device: &DeviceId,
        times: &[i64],
        columns: &[Input<'_>],
    ) -> Result<()> {
        let setting = self.options.setting();
        let encoder = Encoder { setting: &setting, driver: &self.driver };
        let buffer = self
            .devices
            .get_mut(device)
            .ok_or_else(|| Error::not_found(format!("device '{}' is not declared", device.path())))?;
        let kept = match self.resumed {
            Some(_) => fitting(buffer, columns).in_piece(|| format!("device '{}'", device.path()))?,
            None => None,
        };
        let columns = kept.as_deref().unwrap_or(columns);
        let bytes = buffer
            .write(times, columns, self.options.order, &encoder)
            .map_err(|e| e.piece(format!("device '{}'", device.path())).file(&self.path))?;
        self.buffered += bytes;
        self.summary.rows += times.len() as u64;
        if self.buffered >= self.options.group_bytes { self.flush() } else { Ok(()) }
    }

    /// Writes one row of a device; [`Writer::write`] is faster for many.
    pub fn write_row(&mut self, device: &DeviceId, time: i64, cells: &[(&str, Value)]) -> Result<()> {
        let values: Vec<Values> = cells.iter().map(|(_, value)| value.into()).collect();
        let columns: Vec<Column<'_>> = cells
            .iter()
            .zip(&values)
            .map(|((name, _), values)| Column { name, values, present: None })
            .collect();
        self.write(device, &[time], &columns)
    }

    /// Writes the buffered points as one chunk group per device.
    pub fn flush(&mut self) -> Result<()> {
        self.driver.check_canceled()?;
        let path = self.path.clone();
        self.flush_groups().in_file(&path)
    }

    fn flush_groups(&mut self) -> Result<()> {
        let setting = self.options.setting();
        let encoder = Encoder { setting: &setting, driver: &self.driver };
        let mut owners = Vec::new();
        let mut jobs = Vec::new();
        for (id, buffer) in self.devices.iter_mut().filter(|(_, buffer)| !buffer.is_empty()) {
            self.replaced += buffer.settle();
            for job in buffer.chunks(&encoder)? {
                owners.push(id.clone());
                jobs.push(job);
            }
        }
        let encoded: Vec<Result<EncodedChunk>> =
            self.driver.install(|| parallel::map(&jobs, |job| job.run(&setting)));
        drop(jobs);
        let mut chunks = owners.into_iter().zip(encoded).peekable();
        while let Some((device, first)) = chunks.next() {
            let piece = || format!("device '{}'", device.path());
            let mut group = vec![first.in_piece(piece)?];
            while let Some((_, chunk)) = chunks.next_if(|(id, _)| *id == device) {
                group.push(chunk.in_piece(piece)?);
            }
            self.put_group(&device, group)?;
        }
        let used = self.devices.values_mut().filter(|buffer| !buffer.is_empty());
        used.for_each(DeviceBuffer::flushed);
        self.buffered = 0;
        Ok(())
    }

    /// Whether a series of this name has been written, for any device.
    pub(crate) fn has_series(&self, name: &str) -> bool {
        let groups = self.records.values().flat_map(|device| &device.groups);
        groups.flat_map(|group| &group.chunks).any(|chunk| chunk.measurement == name)
    }

    fn put_group(&mut self, device: &DeviceId, chunks: Vec<EncodedChunk>) -> Result<()> {
        let version = self.options.version;
        let start = self.out.position();
        if version.is_compact() {
            write_group_header(device, self.out.buffer(), version)?;
        }
        let mut records = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            if let Some(encoding) = chunk.refused {
                let names = (encoding.name(version), chunk.header.encoding.name(version));
                *self.refused.entry(names).or_default() += 1;
            }
            if chunk.rounded > 0 {
                *self.rounded.entry(chunk.header.measurement.clone()).or_default() += chunk.rounded;
            }
            records.push(ChunkRecord::new(&chunk.header, self.out.position(), chunk.statistics.clone()));
            chunk.header.write(self.out.buffer(), version)?;
            self.out.append(&chunk.body)?;
        }
        if !version.is_compact() {
            let footer = ChunkGroupFooter {
                device: device.clone(),
                data_size: self.out.position() - start,
                chunks: records.len() as u32,
            };
            footer.write(self.out.buffer(), version)?;
        }
        self.summary.pieces += records.len() as u64;
        let end = self.out.position();
        let group = GroupRecord { start, end, version: self.group_version, chunks: records };
        self.records.entry(device.clone()).or_default().groups.push(group);
        Ok(())
    }

    /// Writes the buffered points and the metadata, and makes the file visible.
    pub fn finish(mut self) -> Result<Summary> {
        self.flush()?;
        let path = self.path;
        if let Some(last) = self.versions.iter().map(|(_, version)| *version).max() {
            // Readers look for the first version record after a chunk.
            let next = last.saturating_add(1);
            self.versions.push((self.out.position(), next));
            self.out.buffer().push(marker::VERSION);
            self.out.buffer().put_i64(next);
        }
        let tail = Tail {
            version: self.options.version,
            devices: &self.records,
            measurements: self.measurements.into_values().collect(),
            tables: self.tables,
            versions: self.versions,
            properties: self.options.properties,
            created_by: self.options.created_by,
            degree: self.options.degree,
        };
        tail.write(&mut self.out).in_file(&path)?;
        let resource = self.resumed.as_ref().map(Resumed::retire_resource).transpose()?.flatten();
        self.summary.bytes = self.out.commit().in_file(&path)?;
        if let (Some(resumed), Some(resource)) = (&self.resumed, resource) {
            resumed.renew_resource(&resource)?;
        }
        self.summary.lost.extend(self.resumed.map(Resumed::lost).unwrap_or_default());
        if self.replaced > 0 {
            self.summary.lost.push(format!(
                "{} points (of aligned devices, rows) replaced by later ones at the same time",
                self.replaced
            ));
        }
        self.summary.lost.extend(rounded_lines(&self.rounded));
        let refused = self.refused.iter().map(|((from, to), chunks)| {
            format!(
                "encoding {from} of {chunks} chunks, which would change their values; {to} is used instead"
            )
        });
        self.summary.lost.extend(refused);
        Ok(self.summary)
    }
}

/// The columns that a device of a file has; `None` where it has all. Others must be without a value: the series of an
/// aligned device are fixed once it has rows.
fn fitting<'a>(buffer: &DeviceBuffer, columns: &[Input<'a>]) -> Result<Option<Vec<Input<'a>>>> {
    if !buffer.is_aligned() || columns.iter().all(|column| buffer.schema(column.name).is_some()) {
        return Ok(None);
    }
    let (kept, others): (Vec<Input<'a>>, Vec<Input<'a>>) =
        columns.iter().copied().partition(|column| buffer.schema(column.name).is_some());
    let is_empty = |column: &Input<'_>| column.present.is_some_and(|present| !present.contains(&true));
    match others.iter().find(|column| !is_empty(column)) {
        Some(column) => Err(Error::invalid(format!(
            "column '{}' has no values in this device so far, and the series of an aligned device are fixed",
            column.name
        ))
        .hint("convert the file and the rows into a new one")),
        None => Ok(Some(kept)),
    }
}

/// Maximum number of measurements named in the summary.
const NAMED: usize = 16;

/// What rounding changed, one line per measurement.
fn rounded_lines(rounded: &BTreeMap<String, u64>) -> impl Iterator<Item = String> {
    let named = rounded.iter().take(NAMED).map(|(name, count)| {
        format!("digits of {count} values of '{}', rounded to the requested decimals", name.escape_debug())
    });
    let rest: u64 = rounded.values().skip(NAMED).sum();
    let more = rounded.len().saturating_sub(NAMED);
    let last = (more > 0).then(|| {
        format!("digits of {rest} values of {more} more measurements, rounded to the requested decimals")
    });
    named.chain(last)
}

/// The encodings that values of this type can have, for messages.
fn encodings(data_type: DataType, version: Version) -> String {
    let all = Encoding::ALL.iter().filter(|e| e.is_writable(data_type, version));
    all.map(|e| e.name(version)).collect::<Vec<_>>().join(", ")
}

fn check_names<'a>(names: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut seen = HashSet::new();
    for name in names {
        if name.is_empty() {
            return Err(Error::invalid("a measurement needs a name"));
        }
        if !seen.insert(name) {
            return Err(Error::invalid(format!("measurement '{name}' is declared twice")));
        }
    }
    Ok(())
}
