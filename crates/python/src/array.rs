//! A column as an array: regions into any buffer, and reductions.

use std::sync::Arc;

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tesselle::array::read_region;
use tesselle::reduce::{Values, reduce};
use tesselle::{ArrayView, Region, Span};

use crate::capsules::fill;
use crate::error::raise;
use crate::run::{long, quick};

/// Reads over fewer bytes are not worth a thread that Ctrl-C could interrupt.
const SMALL: u64 = 1 << 20;

/// A dense array of numbers.
#[pyclass(frozen, module = "tesselle._native")]
pub(crate) struct Array {
    inner: Arc<dyn ArrayView>,
    /// Its bytes are truth values.
    is_bool: bool,
}

/// Values of a reduction: whole numbers or floats, row-major, and their shape.
#[derive(IntoPyObject)]
pub(crate) enum Reduced {
    Int(Vec<i128>, Vec<u64>),
    Float(Vec<f64>, Vec<u64>),
}

impl Array {
    pub(crate) fn new(inner: Arc<dyn ArrayView>, is_bool: bool) -> Self {
        Self { inner, is_bool }
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

    /// The name of the type of a cell, e.g. `f32` or `bool`.
    #[getter]
    fn dtype(&self) -> &'static str {
        if self.is_bool { "bool" } else { self.inner.dtype().name() }
    }

    /// Reads a region, `(start, stop, step)` for each axis, into a writable buffer of exactly its size.
    fn read_into(&self, py: Python<'_>, spans: Vec<(u64, u64, u64)>, out: PyBuffer<u8>) -> PyResult<()> {
        let region = region(spans);
        let cells = region.cells().and_then(|cells| cells.checked_mul(self.inner.dtype().size() as u64));
        if cells != Some(out.len_bytes() as u64) {
            return Err(PyValueError::new_err(format!(
                "the buffer has {} bytes, but the region has {}",
                out.len_bytes(),
                cells.map_or_else(|| "too many".to_owned(), |cells| cells.to_string())
            )));
        }
        let is_small = covered(&region, self.inner.dtype().size() as u64) < SMALL;
        fill(py, &out, |py, bytes| {
            let read = |driver: &tesselle::Driver| read_region(&*self.inner, &region, bytes, driver);
            if is_small { quick(py, read) } else { long(py, read) }
        })
    }

    /// Reduces a region over some axes.
    fn reduce(
        &self,
        py: Python<'_>,
        op: &str,
        spans: Vec<(u64, u64, u64)>,
        axes: Vec<usize>,
    ) -> PyResult<Reduced> {
        let op = op.parse().map_err(|error| raise(&error))?;
        let reduced = long(py, |driver| reduce(&*self.inner, &region(spans), op, &axes, driver))?;
        Ok(match reduced.values {
            Values::Int(values) => Reduced::Int(values, reduced.shape),
            Values::Float(values) => Reduced::Float(values, reduced.shape),
        })
    }
}
