//! NumPy's array file: one dense array, read in place and written band by band.

mod format;
mod header;
mod view;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field};
pub use format::Npy;
use header::Header;
use tesselle_core::array::read_region;
use tesselle_core::storage::Staged;
use tesselle_core::{Action, ArrayView, DType, Driver, Error, Region, Result, Sink, Span, Summary};

/// Bytes assembled at a time.
const BAND: u64 = 32 << 20;

/// Writes a region of `array`, whose cells may be truth values.
fn write_array(
    array: &dyn ArrayView,
    is_bool: bool,
    region: &Region,
    mut out: Box<dyn Staged>,
    driver: &Driver,
) -> Result<Summary> {
    let too_large = || Error::limit("the array exceeds the address space");
    let cells = region.cells().ok_or_else(too_large)?;
    cells.checked_mul(array.dtype().size() as u64).ok_or_else(too_large)?;
    let shape = region.shape();
    let header = if is_bool { Header::of_bools(shape) } else { Header::new(array.dtype(), shape) };
    out.write(&header.to_bytes())?;
    if cells > 0 {
        Bands { array, most: BAND, buffer: Vec::new(), out: &mut *out, driver }.write(region, 0)?;
    }
    Ok(Summary { rows: cells, bytes: out.commit()?, pieces: 1, ..Summary::default() })
}

/// Writes cells band by band, in row-major order.
struct Bands<'a> {
    array: &'a dyn ArrayView,
    /// Bytes of a band at most.
    most: u64,
    buffer: Vec<u8>,
    out: &'a mut dyn Staged,
    driver: &'a Driver,
}

impl Bands<'_> {
    /// Writes a region that has one index on each axis before `axis`: several indexes of this axis at once, or where a single
    /// one has too many cells, its bands along the next axis.
    fn write(&mut self, region: &Region, axis: usize) -> Result<()> {
        let size = self.array.dtype().size() as u64;
        let Some(len) = region.spans.get(axis).map(Span::len) else { return self.write_band(region, size) };
        let inner = region.spans.iter().skip(axis + 1);
        let inner = inner.fold(size, |bytes, span| bytes.saturating_mul(span.len()));
        let at_once = (self.most / inner.max(1)).clamp(1, len.max(1));
        let mut done = 0;
        while done < len {
            let count = at_once.min(len - done);
            let mut band = region.clone();
            if let Some(span) = band.spans.get_mut(axis) {
                span.start += done * span.step;
                span.stop = span.start + (count - 1) * span.step + 1;
            }
            if inner > self.most {
                self.write(&band, axis + 1)?;
            } else {
                self.write_band(&band, count * inner)?;
            }
            done += count;
        }
        Ok(())
    }

    fn write_band(&mut self, band: &Region, bytes: u64) -> Result<()> {
        self.driver.check_canceled()?;
        let bytes = usize::try_from(bytes).map_err(|_| Error::internal("a band exceeds its bound"))?;
        self.buffer.resize(bytes, 0);
        read_region(self.array, band, &mut self.buffer, self.driver)?;
        self.out.write(&self.buffer)
    }
}

/// Accepts batches of one column of numbers or truth values and writes them as a vector.
fn column_sink(mut out: Box<dyn Staged>, field: &Field) -> Result<Box<dyn Sink>> {
    let header = match DType::from_arrow(field.data_type()) {
        Some(dtype) => Header::new(dtype, vec![0]),
        None if *field.data_type() == DataType::Boolean => Header::of_bools(vec![0]),
        None => return Err(Error::internal("a column is not numeric")),
    };
    // The length is known at the end; the header keeps its size and is rewritten then.
    out.write(&header.to_bytes())?;
    Ok(Box::new(ColumnSink { out, header, rows: 0 }))
}

struct ColumnSink {
    out: Box<dyn Staged>,
    header: Header,
    rows: u64,
}

impl Sink for ColumnSink {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let column = batch.column(0);
        if column.null_count() > 0 {
            return Err(Error::invalid("an npy file has no missing values, but this column does")
                .suggest("filter them out with {}, or write another format", [Action::Filter]));
        }
        self.rows += column.len() as u64;
        self.out.write(&little_endian(column)?)
    }

    fn finish(mut self: Box<Self>) -> Result<Summary> {
        let header = Header { shape: vec![self.rows], ..self.header };
        self.out.write_at(0, &header.to_bytes())?;
        Ok(Summary { rows: self.rows, bytes: self.out.commit()?, pieces: 1, ..Summary::default() })
    }
}

pub(super) fn little_endian(column: &ArrayRef) -> Result<Vec<u8>> {
    macro_rules! bytes {
        ($type:ty) => {
            Ok(column.as_primitive::<$type>().values().iter().flat_map(|value| value.to_le_bytes()).collect())
        };
    }
    match column.data_type() {
        DataType::Boolean => Ok(column.as_boolean().values().iter().map(u8::from).collect()),
        DataType::Int8 => bytes!(Int8Type),
        DataType::Int16 => bytes!(Int16Type),
        DataType::Int32 => bytes!(Int32Type),
        DataType::Int64 => bytes!(Int64Type),
        DataType::UInt8 => bytes!(UInt8Type),
        DataType::UInt16 => bytes!(UInt16Type),
        DataType::UInt32 => bytes!(UInt32Type),
        DataType::UInt64 => bytes!(UInt64Type),
        DataType::Float16 => bytes!(Float16Type),
        DataType::Float32 => bytes!(Float32Type),
        DataType::Float64 => bytes!(Float64Type),
        other => Err(Error::internal(format!("an npy sink received type {other}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tesselle_core::storage::MemoryStorage;
    use tesselle_core::testing::TiledArray;
    use tesselle_core::{DriverOptions, Location};

    use super::*;

    #[test]
    fn bands_of_any_size_write_the_same_cells() {
        let cells: Vec<u8> = (0..3 * 4 * 5 * 2).collect();
        let array = TiledArray::try_new(DType::U16, &[3, 4, 5], &[2, 3, 2], &cells).unwrap();
        let driver = Driver::try_new(&DriverOptions::default().with_threads(1)).unwrap();
        let mut region = Region::whole(array.shape());
        region.spans[1] = Span { start: 1, stop: 4, step: 2 };
        region.spans[2] = Span { start: 0, stop: 5, step: 3 };
        let mut expected = vec![0; 3 * 2 * 2 * 2];
        read_region(&array, &region, &mut expected, &driver).unwrap();
        for most in [1, 2, 5, 8, 9, 23, 24, 1000] {
            let place = Location::new(Arc::new(MemoryStorage::new()), "a");
            let mut out = place.create(true).unwrap();
            let mut bands =
                Bands { array: &array, most, buffer: Vec::new(), out: &mut *out, driver: &driver };
            bands.write(&region, 0).unwrap();
            assert!(bands.buffer.capacity() as u64 <= most.max(8), "{most}");
            out.commit().unwrap();
            assert_eq!(place.read_range(0..place.size().unwrap()).unwrap(), expected, "{most}");
        }
    }
}
