//! A column as an array: regions into any buffer, and reductions.

use std::sync::Arc;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyByteArray;
use tesselle::array::read_region;
use tesselle::reduce::{Values, quantile, reduce};
use tesselle::{ArrayView, ErrorKind, Region, Span};

use crate::capsules::fill;
use crate::error::raise;
use crate::run::{complete, long, quick};

/// Reads over fewer bytes are not worth a thread that Ctrl-C could interrupt.
const SMALL: u64 = 1 << 20;

/// A dense array of numbers, truth values or times.
#[pyclass(frozen, module = "tesselle._native")]
pub(crate) struct Array {
    inner: Arc<dyn ArrayView>,
    /// Its bytes are truth values.
    is_bool: bool,
    /// What its numbers count, as numpy names it, if they are times or durations.
    time: Option<String>,
}

/// Values of a reduction, row-major: the bytes of numbers of 64 bits, or integers that need more.
#[derive(IntoPyObject)]
pub(crate) enum Reduced<'py> {
    Bytes(Bound<'py, PyByteArray>),
    Large(Vec<i128>),
}

/// Integers as numbers of 64 bits, with the name that numpy has for the type; `None` if one of them does not fit.
fn narrow(values: &[i128], unsigned: bool) -> Option<(&'static str, Vec<u8>)> {
    let packed = |pack: &dyn Fn(i128) -> Option<[u8; 8]>| {
        let mut bytes = Vec::with_capacity(values.len() * 8);
        values.iter().try_for_each(|value| pack(*value).map(|cell| bytes.extend_from_slice(&cell)))?;
        Some(bytes)
    };
    let as_unsigned = || packed(&|value| u64::try_from(value).ok().map(u64::to_le_bytes));
    let as_signed = || packed(&|value| i64::try_from(value).ok().map(i64::to_le_bytes));
    let unsigned = unsigned.then(as_unsigned).flatten().map(|bytes| ("<u8", bytes));
    unsigned.or_else(|| as_signed().map(|bytes| ("<i8", bytes)))
}

impl Array {
    pub(crate) fn new(inner: Arc<dyn ArrayView>, is_bool: bool, time: Option<String>) -> Self {
        Self { inner, is_bool, time }
    }
}

fn region(spans: Vec<(u64, u64, u64)>) -> Region {
    Region { spans: spans.into_iter().map(|(start, stop, step)| Span { start, stop, step }).collect() }
}

/// How many bytes a region spans, with the cells that its steps pass over.
fn covered(region: &Region, cell: u64) -> u64 {
    region.spans.iter().fold(cell, |bytes, span| bytes.saturating_mul(span.stop.saturating_sub(span.start)))
}

#[pymethods]
impl Array {
    #[getter]
    fn shape(&self) -> Vec<u64> {
        self.inner.shape().to_vec()
    }

    /// The nominal extents of a tile.
    #[getter]
    fn chunks(&self) -> Vec<u64> {
        self.inner.tile_shape().to_vec()
    }

    #[getter]
    fn dims(&self) -> Vec<String> {
        self.inner.axis_names().to_vec()
    }

    /// The coordinate of position 0 on each axis.
    #[getter]
    fn origin(&self) -> Vec<i128> {
        self.inner.origin()
    }

    /// What the numbers count, as numpy names it, if they are times or durations: `datetime64[ms]`.
    #[getter]
    fn time(&self) -> Option<&str> {
        self.time.as_deref()
    }

    /// The name of the type of a stored cell, e.g. `f32` or `bool`.
    #[getter]
    fn dtype(&self) -> &'static str {
        if self.is_bool { "bool" } else { self.inner.dtype().name() }
    }

    /// Reads a region, `(start, stop, step)` for each axis, into a writable buffer of exactly its size.
    fn read_into(&self, py: Python<'_>, spans: Vec<(u64, u64, u64)>, out: &Bound<'_, PyAny>) -> PyResult<()> {
        let out = PyUntypedBuffer::get(out)?;
        let region = region(spans);
        let bytes = region.cells().and_then(|cells| cells.checked_mul(self.inner.dtype().size() as u64));
        if bytes != Some(out.len_bytes() as u64) {
            return Err(PyValueError::new_err(format!(
                "the buffer has {} bytes, but the region has {}",
                out.len_bytes(),
                bytes.map_or_else(|| "too many".to_owned(), |bytes| bytes.to_string())
            )));
        }
        if bytes == Some(0) {
            return Ok(());
        }
        let is_small = covered(&region, self.inner.dtype().size() as u64) < SMALL;
        fill(py, &out, |py, bytes| {
            let read = |driver: &tesselle::Driver| {
                read_region(&*self.inner, &region, bytes, driver)?;
                if self.is_bool {
                    // Files may have other bytes than 0 and 1, which numpy does not expect.
                    for byte in bytes.iter_mut() {
                        *byte = u8::from(*byte != 0);
                    }
                }
                Ok(())
            };
            if is_small { quick(py, read) } else { complete(py, read) }
        })
    }

    /// Quantiles over some axes, one after the other: their bytes as doubles, and the shape of each. Bands take `memory`, or
    /// if the thinnest band needs more, what the driver admits.
    fn quantiles<'py>(
        &self,
        py: Python<'py>,
        levels: Vec<f64>,
        spans: Vec<(u64, u64, u64)>,
        axes: Vec<usize>,
        memory: u64,
    ) -> PyResult<(Bound<'py, PyByteArray>, Vec<u64>)> {
        let array = Arc::clone(&self.inner);
        let (bytes, shape) = long(py, move |driver| {
            let region = region(spans);
            let (mut bytes, mut shape) = (Vec::new(), Vec::new());
            let small = driver.with_memory(memory.min(driver.budget().total()));
            for level in levels {
                let found = match quantile(&*array, &region, level, &axes, &small) {
                    Err(error) if error.kind() == ErrorKind::Limit => {
                        quantile(&*array, &region, level, &axes, driver)?
                    }
                    found => found?,
                };
                bytes.extend(found.values.into_iter().flat_map(f64::to_le_bytes));
                shape = found.shape;
            }
            Ok((bytes, shape))
        })?;
        Ok((PyByteArray::new(py, &bytes), shape))
    }

    /// Reduces a region over some axes: numpy's name of the type, the values and their shape.
    fn reduce<'py>(
        &self,
        py: Python<'py>,
        op: &str,
        spans: Vec<(u64, u64, u64)>,
        axes: Vec<usize>,
    ) -> PyResult<(&'static str, Reduced<'py>, Vec<u64>)> {
        let op = op.parse().map_err(|error| raise(&error))?;
        let unsigned = !self.is_bool && !self.inner.dtype().is_signed() && !self.inner.dtype().is_float();
        let array = Arc::clone(&self.inner);
        let (shape, packed) = long(py, move |driver| {
            let reduced = reduce(&*array, &region(spans), op, &axes, driver)?;
            Ok((
                reduced.shape,
                match reduced.values {
                    Values::Int(values) => narrow(&values, unsigned).ok_or(values),
                    Values::Float(values) => {
                        Ok(("<f8", values.into_iter().flat_map(f64::to_le_bytes).collect()))
                    }
                },
            ))
        })?;
        Ok(match packed {
            Ok((dtype, bytes)) => (dtype, Reduced::Bytes(PyByteArray::new(py, &bytes)), shape),
            Err(values) => ("|O", Reduced::Large(values), shape),
        })
    }
}
