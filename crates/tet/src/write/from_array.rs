//! An array of any format as a separate file.

use arrow_schema::Field;
use tesselle_core::fit::check_types;
use tesselle_core::{
    ArrayRequest, ArrayView, ArraysRequest, DType, Driver, Error, Fitted, Location, Result, TableFacts,
    WriteOptions, Written,
};

use super::options::{SinkSettings, UNNAMED};
use super::schema::fit;
use super::spec::{DatasetSpec, FooterSpec, WriterOptions, default_chunk_shape};
use super::writer::Writer;
use crate::format::NAME;

/// Chunks of the source are kept up to this size; larger ones would make a band too large for memory.
const KEPT_TILE: u64 = 64 << 20;

/// Writes a whole array with the settings of a sink.
pub(crate) fn from_array(request: ArrayRequest<'_>, driver: &Driver) -> Result<Written> {
    request.expect_whole(NAME)?;
    let lost_origin = request.lost_origin();
    let ArrayRequest { target, array, facts, options, .. } = request;
    let mut planned = Planned::try_new(array, &facts, &options)?;
    planned.fitted.lost.extend(lost_origin);
    write(target.location(NAME)?, vec![planned], options.overwrite, driver)
}

/// Writes several arrays into one file. A file has no attributes, its datasets have.
pub(crate) fn from_arrays(request: ArraysRequest<'_>, driver: &Driver) -> Result<Written> {
    let ArraysRequest { location, arrays, attributes, options } = request;
    let plan = arrays.iter().map(|one| {
        let mut planned = Planned::try_new(one.array, &one.facts(), &one.options(&options))?;
        planned.fitted.lost.extend(one.lost_origin());
        Ok(planned)
    });
    let mut planned = plan.collect::<Result<Vec<_>>>()?;
    if let Some(first) = planned.first_mut() {
        first.fitted.lost.extend(attributes.iter().map(|one| format!("the attribute '{}'", one.name)));
    }
    write(&location, planned, options.overwrite, driver)
}

/// A dataset of a new file, and where its cells are.
struct Planned<'a> {
    source: &'a dyn ArrayView,
    spec: DatasetSpec,
    settings: SinkSettings,
    fitted: Fitted,
}

impl<'a> Planned<'a> {
    fn try_new(source: &'a dyn ArrayView, facts: &TableFacts, options: &WriteOptions) -> Result<Self> {
        let value = Field::new("value", source.dtype().arrow(), false);
        let types = check_types(NAME, [(&value, fit(value.data_type()))])?;
        let settings = SinkSettings::try_new(options, facts)?;
        options.settings.expect_no_rows(source.axis_names())?;
        let fitted = settings.fitted(facts).with_types(types);
        let shape = source.shape().to_vec();
        if settings.shape.as_ref().is_some_and(|wanted| *wanted != shape) {
            return Err(Error::invalid(format!(
                "the array has the shape {shape:?}, which differs from the setting shape"
            )));
        }
        // The format has no signed 8-bit type; 16 bits represent it exactly.
        let dtype = if source.dtype() == DType::I8 { DType::I16 } else { source.dtype() };
        let spec = DatasetSpec {
            name: settings.name.clone().unwrap_or_else(|| UNNAMED.to_owned()),
            dtype,
            chunk_shape: settings.chunk.clone().unwrap_or_else(|| chunk_shape(source, dtype)),
            shape,
            codec: settings.codec,
            level: settings.level,
            budget: settings.budget,
        };
        Ok(Self { source, spec, settings, fitted })
    }

    fn footer(&self) -> Option<FooterSpec> {
        self.settings.footer(std::slice::from_ref(&self.spec), self.source.axis_names())
    }
}

/// Writes a file of these datasets.
fn write(
    location: &Location,
    planned: Vec<Planned<'_>>,
    overwrite: bool,
    driver: &Driver,
) -> Result<Written> {
    let first = planned.first().ok_or_else(|| Error::invalid("there is no array to write"))?;
    let options = WriterOptions {
        overwrite,
        alignment: first.settings.alignment,
        footer: planned.iter().filter_map(Planned::footer).reduce(FooterSpec::merged),
        checksum: first.settings.checksum,
    };
    let specs: Vec<DatasetSpec> = planned.iter().map(|one| one.spec.clone()).collect();
    let mut writer = Writer::create(location, &specs, options, driver)?;
    let mut written = Written::default();
    for (id, one) in planned.into_iter().enumerate() {
        writer.put_array(id, one.source)?;
        written.add(Written { fitted: one.fitted, ..Written::default() });
    }
    written.summary = writer.finish()?;
    Ok(written)
}

/// The chunks of the source, if they are of moderate size.
fn chunk_shape(source: &dyn ArrayView, dtype: DType) -> Vec<u64> {
    let chunk: Vec<u64> =
        source.tile_shape().iter().zip(source.shape()).map(|(chunk, n)| (*chunk).min(*n).max(1)).collect();
    let bytes = chunk.iter().try_fold(dtype.size() as u64, |n, extent| n.checked_mul(*extent));
    let kept = bytes.is_some_and(|bytes| (4096..=KEPT_TILE).contains(&bytes));
    if kept || chunk.iter().eq(source.shape()) && bytes.is_some_and(|bytes| bytes <= KEPT_TILE) {
        return chunk;
    }
    default_chunk_shape(source.shape(), dtype)
}
