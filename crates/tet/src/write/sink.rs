//! Record batches in, one file out.
//!
//! With a known shape and rows in row-major order, chunks are written as soon as their band is complete. If the shape
//! is known only at the end, the values are buffered in memory, within the driver's budget.

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use tesselle_core::fit::{check_types, fit_axis};
use tesselle_core::{Action, At, Created, Driver, Error, Location, Result, Sink, Summary, WriteRequest};

use super::counter::CellCounter;
use super::options::{RowOrder, SinkSettings, UNNAMED, parse_numbers};
use super::schema::{Roles, coordinates, fit};
use super::spec::{DatasetSpec, WriterOptions, default_chunk_shape};
use super::writer::Writer;
use crate::format::NAME;
use crate::meta::directory::MAX_RANK;
use crate::read::schema::{CHUNK_KEY, VALUE};

/// Takes batches of axis columns and values.
pub(crate) struct TetSink {
    location: Location,
    driver: Driver,
    settings: SinkSettings,
    overwrite: bool,
    roles: Roles,
    counter: CellCounter,
    rows: u64,
    state: State,
}

enum State {
    /// The shape is known: chunks are written as they fill.
    Streaming(Box<Writer>),
    /// Values are buffered until the shape is known, one buffer per dataset; with coordinates if rows come in any
    /// order.
    Waiting { values: Vec<Vec<u8>>, coordinates: Vec<Vec<i64>> },
}

/// Starts a file for rows. Defaults follow from the facts about the source.
pub(crate) fn start(mut request: WriteRequest, driver: &Driver) -> Result<Created> {
    request.fill_tensor(MAX_RANK);
    let WriteRequest { target, schema, facts, options, .. } = request;
    let settings = SinkSettings::try_new(&options, &facts)?;
    let rank = Roles::rank(&schema, &settings)?;
    let fits = schema.fields().iter().enumerate().map(|(i, field)| {
        let fit = if i < rank { fit_axis(field.data_type()) } else { fit(field.data_type()) };
        (field.as_ref(), fit)
    });
    let fitted = settings.fitted(&facts).with_types(check_types(NAME, fits)?);
    let sink = TetSink::try_new(target.location(NAME)?, &schema, options.overwrite, settings, driver)?;
    Ok(Created { sink: Box::new(sink), fitted })
}

impl TetSink {
    fn try_new(
        location: &Location,
        schema: &SchemaRef,
        overwrite: bool,
        mut settings: SinkSettings,
        driver: &Driver,
    ) -> Result<Self> {
        location.refuse_existing(overwrite)?;
        let roles = Roles::try_new(schema, &settings)?;
        let rank = roles.axes.len().max(1);
        let noted = |key: &str| schema.metadata().get(key).and_then(|text| parse_numbers(text));
        if settings.chunk.is_none() {
            settings.chunk = noted(CHUNK_KEY).filter(|chunk| chunk.len() == rank && !chunk.contains(&0));
        }
        for (name, list) in [("shape", &settings.shape), ("chunk", &settings.chunk)] {
            if let Some(list) = list.as_ref().filter(|list| list.len() != rank) {
                return Err(Error::invalid(format!(
                    "{name} has {} numbers, there are {rank} axes",
                    list.len()
                )));
            }
        }
        let mut sink = Self {
            location: location.clone(),
            driver: driver.clone(),
            overwrite,
            counter: CellCounter::new(rank, settings.shape.as_deref()),
            rows: 0,
            state: State::Waiting {
                values: vec![Vec::new(); roles.values.len()],
                coordinates: vec![Vec::new(); rank],
            },
            roles,
            settings,
        };
        if let Some(shape) = sink.settings.shape.clone().filter(|_| sink.settings.order == RowOrder::RowMajor)
        {
            sink.state = State::Streaming(Box::new(sink.writer(&shape)?));
        }
        Ok(sink)
    }

    fn dataset_name(&self, column: &str) -> String {
        match &self.settings.name {
            Some(name) if self.roles.values.len() == 1 => name.clone(),
            Some(name) => format!("{name}/{column}"),
            None if self.roles.values.len() == 1 && column == VALUE => UNNAMED.to_owned(),
            None => column.to_owned(),
        }
    }

    fn writer(&self, shape: &[u64]) -> Result<Writer> {
        let settings = &self.settings;
        let specs: Vec<DatasetSpec> = self
            .roles
            .values
            .iter()
            .map(|column| DatasetSpec {
                name: self.dataset_name(&column.name),
                dtype: column.dtype,
                shape: shape.to_vec(),
                chunk_shape: settings
                    .chunk
                    .clone()
                    .unwrap_or_else(|| default_chunk_shape(shape, column.dtype)),
                codec: settings.codec,
                level: settings.level,
                budget: settings.budget,
            })
            .collect();
        let options = WriterOptions {
            overwrite: self.overwrite,
            alignment: settings.alignment,
            footer: settings.footer(&specs, &self.roles.axes),
            checksum: settings.checksum,
        };
        Writer::create(&self.location, &specs, options, &self.driver)
    }

    /// The coordinates of a batch; for a table without axes the row numbers.
    fn coordinates(&self, batch: &RecordBatch) -> Result<Vec<Vec<i64>>> {
        if self.roles.axes.is_empty() {
            let first = self.rows.cast_signed();
            return Ok(vec![(first..).take(batch.num_rows()).collect()]);
        }
        let columns = batch.columns().iter().zip(&self.roles.axes);
        columns.map(|(column, name)| coordinates(column, name)).collect()
    }

    fn buffered(&self) -> u64 {
        match &self.state {
            State::Streaming(_) => 0,
            State::Waiting { values, coordinates } => {
                let values: usize = values.iter().map(Vec::len).sum();
                let coordinates: usize = coordinates.iter().map(|axis| axis.len() * 8).sum();
                (values + coordinates) as u64
            }
        }
    }
}

impl Sink for TetSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.num_columns() != self.roles.axes.len() + self.roles.values.len() {
            return Err(Error::invalid("a batch has different columns than the sink"));
        }
        let at = self.coordinates(batch)?;
        let ordered = self.settings.order == RowOrder::RowMajor;
        if ordered {
            let slices: Vec<&[i64]> = at.iter().map(Vec::as_slice).collect();
            self.counter.advance(&slices, batch.num_rows())?;
        }
        let columns: Vec<ArrayRef> = batch.columns().iter().skip(self.roles.axes.len()).cloned().collect();
        for (id, (column, role)) in columns.iter().zip(&self.roles.values).enumerate() {
            match &mut self.state {
                State::Streaming(writer) => {
                    let mut bytes = Vec::with_capacity(batch.num_rows() * role.dtype.size());
                    role.append(column, &mut bytes)?;
                    writer.push_rows(id, &bytes)?;
                }
                State::Waiting { values, .. } => {
                    if let Some(values) = values.get_mut(id) {
                        role.append(column, values)?;
                    }
                }
            }
        }
        if let State::Waiting { coordinates, .. } = &mut self.state
            && !ordered
        {
            coordinates.iter_mut().zip(&at).for_each(|(all, part)| all.extend_from_slice(part));
        }
        self.rows += batch.num_rows() as u64;
        let most = self.driver.budget().total();
        if self.buffered() > most {
            return Err(Error::limit(format!(
                "values of unknown shape exceed the memory budget of {most} bytes"
            ))
            .suggest(
                "add {} so that chunks can be written as they fill",
                [Action::setting("shape", "N,M")],
            ));
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Summary> {
        let state = std::mem::replace(
            &mut self.state,
            State::Waiting { values: Vec::new(), coordinates: Vec::new() },
        );
        let (mut summary, origin) = match state {
            State::Streaming(writer) => {
                self.counter.finish()?;
                (writer.finish()?, self.counter.origin().to_vec())
            }
            State::Waiting { values, coordinates } => {
                let placed = if self.settings.order == RowOrder::RowMajor {
                    let shape = self.counter.finish()?;
                    Placed { shape, values, origin: self.counter.origin().to_vec() }
                } else {
                    self.place(&values, &coordinates)?
                };
                let mut writer = self.writer(&placed.shape)?;
                for (id, values) in placed.values.iter().enumerate() {
                    writer.push_rows(id, values)?;
                }
                (writer.finish()?, placed.origin)
            }
        };
        summary.rows = self.rows;
        if origin.iter().any(|origin| *origin != 0) {
            summary.lost.push(format!("the start of the axes, {origin:?}: a tensor counts positions from 0"));
        }
        Ok(summary)
    }
}

/// All values of an array in their order.
struct Placed {
    shape: Vec<u64>,
    values: Vec<Vec<u8>>,
    /// The coordinates of the first cell.
    origin: Vec<i64>,
}

impl TetSink {
    /// Places unordered rows by their coordinates.
    fn place(&self, values: &[Vec<u8>], coordinates: &[Vec<i64>]) -> Result<Placed> {
        let given = self.settings.shape.as_deref();
        let origin: Vec<i64> = coordinates
            .iter()
            .map(|axis| if given.is_some() { 0 } else { axis.iter().copied().min().unwrap_or(0) })
            .collect();
        let shape: Vec<u64> = match given {
            Some(shape) => shape.to_vec(),
            None => coordinates
                .iter()
                .zip(&origin)
                .map(|(axis, origin)| {
                    axis.iter()
                        .max()
                        .map_or(0, |most| most.wrapping_sub(*origin).cast_unsigned().saturating_add(1))
                })
                .collect(),
        };
        let cells = crate::meta::geometry::product(shape.iter().copied())
            .filter(|cells| cells.saturating_mul(8) <= self.driver.budget().total())
            .ok_or_else(|| {
                Error::limit(format!("an array of shape {shape:?} does not fit the memory budget"))
            })?;
        let mut cell_of = Vec::with_capacity(self.rows as usize);
        let mut taken = vec![false; cells as usize];
        for row in 0..self.rows as usize {
            let mut cell = 0_u64;
            for ((axis, origin), extent) in coordinates.iter().zip(&origin).zip(&shape) {
                let at = axis.at(row)?.wrapping_sub(*origin).cast_unsigned();
                if at >= *extent {
                    return Err(Error::invalid(format!("row {row} is outside the shape {shape:?}")));
                }
                cell = cell * extent + at;
            }
            match taken.get_mut(cell as usize) {
                Some(free @ false) => *free = true,
                _ => return Err(Error::invalid(format!("row {row} has the coordinates of another row"))),
            }
            cell_of.push(cell as usize);
        }
        let holes = taken.contains(&false);
        let placed = values.iter().zip(&self.roles.values).map(|(values, role)| {
            let size = role.dtype.size();
            let mut out = vec![0; cells as usize * size];
            if holes {
                let fill = role.fill().ok_or_else(|| {
                    Error::invalid(format!("{} of {cells} cells are missing", cells - self.rows))
                        .suggest("set {} or another value for them", [Action::setting("fill", "NaN")])
                })?;
                out.chunks_exact_mut(size).for_each(|cell| cell.copy_from_slice(fill));
            }
            for (cell, value) in cell_of.iter().zip(values.chunks_exact(size)) {
                if let Some(place) = out.get_mut(cell * size..(cell + 1) * size) {
                    place.copy_from_slice(value);
                }
            }
            Ok(out)
        });
        let values = placed.collect::<Result<Vec<_>>>()?;
        Ok(Placed { shape, values, origin })
    }
}
