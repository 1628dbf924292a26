//! An array of any format as a file of its own.

use tesselle_core::{ArrayView, DType, Driver, Error, Location, Result, Summary, WriteOptions};

use super::settings::{SinkSettings, UNNAMED};
use super::spec::{DatasetSpec, WriterOptions, default_chunk_shape};
use super::writer::Writer;

/// Tiles of the source that are kept; larger ones would make a band too large to hold.
const KEPT_TILE: u64 = 64 << 20;

/// Writes a whole array with the settings of a sink.
pub(crate) fn create_from_array(
    location: &Location,
    source: &dyn ArrayView,
    options: &WriteOptions,
    driver: &Driver,
) -> Result<Summary> {
    let settings = SinkSettings::new(options)?;
    let shape = source.shape().to_vec();
    if settings.shape.as_ref().is_some_and(|wanted| *wanted != shape) {
        return Err(Error::invalid(format!("the array has the shape {shape:?}, not the one that is set")));
    }
    // There is no type of one signed byte; the next larger one holds it.
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
    let mut writer = Writer::create(location, &specs, options, driver)?;
    writer.put_array(0, source)?;
    writer.finish()
}

/// The tiles of the source, where they are of moderate size.
fn chunk_shape(source: &dyn ArrayView, dtype: DType) -> Vec<u64> {
    let tile: Vec<u64> =
        source.tile_shape().iter().zip(source.shape()).map(|(tile, n)| (*tile).min(*n).max(1)).collect();
    let bytes = tile.iter().try_fold(dtype.size() as u64, |n, extent| n.checked_mul(*extent));
    let kept = bytes.is_some_and(|bytes| (4096..=KEPT_TILE).contains(&bytes));
    if kept || tile.iter().eq(source.shape()) && bytes.is_some_and(|bytes| bytes <= KEPT_TILE) {
        return tile;
    }
    default_chunk_shape(source.shape(), dtype)
}
