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
use tesselle_core::{Action, ArrayView, DType, Driver, Error, Region, Result, Sink, Summary};

/// Bytes assembled at a time.
const BAND: u64 = 32 << 20;

/// Writes a region of `array`.
fn write_array(
    array: &dyn ArrayView,
    region: &Region,
    mut out: Box<dyn Staged>,
    driver: &Driver,
) -> Result<Summary> {
    let shape = region.shape();
    let too_large = || Error::limit("the array exceeds the address space");
    let cells = region.cells().ok_or_else(too_large)?;
    let size = array.dtype().size() as u64;
    out.write(&Header::new(array.dtype(), shape.clone()).to_bytes())?;
    let row_bytes = shape.iter().skip(1).product::<u64>() * size;
    if cells > 0 {
        let rows_per_band = (BAND / row_bytes.max(1)).max(1);
        let mut buffer = Vec::new();
        for row in (0..shape[0]).step_by(rows_per_band as usize) {
            driver.check_canceled()?;
            let mut band = region.clone();
            let span = &mut band.spans[0];
            let rows = rows_per_band.min(shape[0] - row);
            span.start += row * span.step;
            span.stop = span.start + (rows - 1) * span.step + 1;
            buffer.resize(usize::try_from(rows * row_bytes).map_err(|_| too_large())?, 0);
            read_region(array, &band, &mut buffer, driver)?;
            out.write(&buffer)?;
        }
    }
    Ok(Summary { rows: cells, bytes: out.commit()?, pieces: 1, ..Summary::default() })
}

/// Accepts batches of one numeric column and writes them as a vector.
fn column_sink(mut out: Box<dyn Staged>, field: &Field) -> Result<Box<dyn Sink>> {
    let dtype = DType::from_arrow(field.data_type());
    let dtype = dtype.ok_or_else(|| Error::internal("a column is not numeric"))?;
    // The length is known at the end; the header keeps its size and is rewritten then.
    out.write(&Header::new(dtype, vec![0]).to_bytes())?;
    Ok(Box::new(ColumnSink { out, dtype, rows: 0 }))
}

struct ColumnSink {
    out: Box<dyn Staged>,
    dtype: DType,
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
        self.out.write_at(0, &Header::new(self.dtype, vec![self.rows]).to_bytes())?;
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
