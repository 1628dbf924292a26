//! An array of any format as a separate file.

use arrow_schema::Field;
use tesselle_core::fit::check_types;
use tesselle_core::{ArrayRequest, ArrayView, DType, Driver, Error, Result, Written};

use super::options::{SinkSettings, UNNAMED};
use super::schema::fit;
use super::spec::{DatasetSpec, WriterOptions, default_chunk_shape};
use super::writer::Writer;
use crate::format::NAME;

/// Chunks of the source are kept up to this size; larger ones would make a band too large for memory.
const KEPT_TILE: u64 = 64 << 20;

/// Writes a whole array with the settings of a sink.
pub(crate) fn from_array(request: ArrayRequest<'_>, driver: &Driver) -> Result<Written> {
    request.expect_whole(NAME)?;
    let value = Field::new("value", request.array.dtype().arrow(), false);
    let types = check_types(NAME, [(&value, fit(value.data_type()))])?;
    let settings = SinkSettings::new(&request.options, &request.facts)?;
    let mut fitted = settings.fitted(&request.facts).with_types(types);
    fitted.lost.extend(request.lost_origin());
    let ArrayRequest { target, array: source, options, .. } = request;
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
    let specs = [spec];
    let options = WriterOptions {
        overwrite: options.overwrite,
        alignment: settings.alignment,
        footer: settings.footer(&specs, source.axis_names()),
        checksum: settings.checksum,
    };
    let mut writer = Writer::create(target.location(NAME)?, &specs, options, driver)?;
    writer.put_array(0, source)?;
    Ok(Written { summary: writer.finish()?, fitted })
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
