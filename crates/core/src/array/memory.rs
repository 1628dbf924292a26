//! An array in memory.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::{ArrayView, DType, Place, clipped};
use crate::error::{Error, Result};

/// Bytes of a band of rows that is processed as one tile.
const BAND: u64 = 4 << 20;

/// A number that can be a cell.
pub trait Cell: Copy {
    /// Its type.
    const DTYPE: DType;

    /// Appends its bytes, little-endian.
    fn append_to(self, bytes: &mut Vec<u8>);
}

macro_rules! cells {
    ($($native:ty => $dtype:ident),+ $(,)?) => {$(
        impl Cell for $native {
            const DTYPE: DType = DType::$dtype;

            fn append_to(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        }
    )+};
}

cells! {
    i8 => I8, i16 => I16, i32 => I32, i64 => I64,
    u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    half::f16 => F16, f32 => F32, f64 => F64,
}

/// A dense array in memory, row-major, little-endian: the source of an array that is to be written.
///
/// ```
/// use tesselle_core::ArrayView;
/// use tesselle_core::array::MemoryArray;
///
/// let field = MemoryArray::from_slice(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3])?.with_axis_names(["y", "x"])?;
/// assert_eq!(field.shape(), [2, 3]);
/// # Ok::<(), tesselle_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryArray {
    dtype: DType,
    shape: Vec<u64>,
    tile_shape: Vec<u64>,
    axis_names: Vec<String>,
    origin: Vec<i128>,
    cells: Bytes,
}

impl MemoryArray {
    /// Copies row-major cells. Fails if their number does not match the shape.
    pub fn from_slice<T: Cell>(cells: &[T], shape: impl IntoIterator<Item = u64>) -> Result<Self> {
        let mut bytes = Vec::with_capacity(size_of_val(cells));
        for cell in cells {
            cell.append_to(&mut bytes);
        }
        Self::from_bytes(T::DTYPE, shape, bytes)
    }

    /// Takes row-major little-endian bytes without a copy. Fails if their number does not match the shape. A shape
    /// without axes is one cell.
    pub fn from_bytes(
        dtype: DType,
        shape: impl IntoIterator<Item = u64>,
        cells: impl Into<Bytes>,
    ) -> Result<Self> {
        let (mut shape, cells): (Vec<u64>, Bytes) = (shape.into_iter().collect(), cells.into());
        if shape.is_empty() {
            shape.push(1);
        }
        let size = dtype.size() as u64;
        let wanted = shape.iter().try_fold(size, |n, extent| n.checked_mul(*extent));
        if wanted != Some(cells.len() as u64) {
            let given = cells.len() as u64 / size;
            return Err(Error::invalid(format!("{given} cells do not fill the shape {shape:?}")));
        }
        let mut tile_shape: Vec<u64> = shape.iter().map(|extent| (*extent).max(1)).collect();
        let row_bytes = tile_shape.iter().skip(1).product::<u64>() * size;
        if let Some(rows) = tile_shape.first_mut() {
            *rows = (*rows).min((BAND / row_bytes).max(1));
        }
        let axis_names = (0..shape.len()).map(|axis| format!("i{axis}")).collect();
        let origin = vec![0; shape.len()];
        Ok(Self { dtype, shape, tile_shape, axis_names, origin, cells })
    }

    /// Names the axes `[default: i0, i1, …]`. Fails if the number of names differs from the number of axes.
    pub fn with_axis_names<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Result<Self> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        self.check_axes("names", names.len())?;
        self.axis_names = names;
        Ok(self)
    }

    /// Sets the coordinate of position 0 on each axis `[default: 0]`. Fails if the number of coordinates differs from
    /// the number of axes.
    pub fn with_origin(mut self, origin: impl IntoIterator<Item = i128>) -> Result<Self> {
        let origin: Vec<i128> = origin.into_iter().collect();
        self.check_axes("origins", origin.len())?;
        self.origin = origin;
        Ok(self)
    }

    /// The cells, row-major, little-endian.
    pub fn bytes(&self) -> &Bytes {
        &self.cells
    }

    fn check_axes(&self, what: &str, given: usize) -> Result<()> {
        let axes = self.shape.len();
        if given == axes {
            return Ok(());
        }
        Err(Error::invalid(format!("{given} {what} for {axes} axes")))
    }
}

impl ArrayView for MemoryArray {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn tile_shape(&self) -> &[u64] {
        &self.tile_shape
    }

    fn axis_names(&self) -> &[String] {
        &self.axis_names
    }

    fn origin(&self) -> Vec<i128> {
        self.origin.clone()
    }

    fn locate(&self, tile: &[u64], _rows: &Range<u64>) -> Result<Place> {
        let extents = clipped(&self.shape, &self.tile_shape, tile);
        let (Some(position), Some(count), Some(most)) =
            (tile.first(), extents.first(), self.tile_shape.first())
        else {
            return Err(Error::internal("an array in memory has no axes"));
        };
        let row_bytes = self.shape.iter().skip(1).product::<u64>() * self.dtype.size() as u64;
        let start = (position * most * row_bytes) as usize;
        let end = start + (count * row_bytes) as usize;
        if end > self.cells.len() {
            return Err(Error::internal("a tile is outside an array in memory"));
        }
        Ok(Place::Held(self.cells.slice(start..end)))
    }

    fn is_raw(&self) -> bool {
        true
    }

    fn whole(&self) -> Option<Place> {
        Some(Place::Held(self.cells.clone()))
    }
}

impl From<MemoryArray> for Arc<dyn ArrayView> {
    fn from(array: MemoryArray) -> Self {
        Arc::new(array)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::contiguous;
    use crate::driver::{Driver, DriverOptions};
    use crate::selection::{Region, Span};

    #[test]
    fn regions_across_bands_are_those_of_the_slice() {
        // Rows of 1 MiB make bands of four rows; the last band has one.
        let columns = 1_u64 << 18;
        let cells: Vec<u32> = (0..9 * columns as u32).collect();
        let array = MemoryArray::from_slice(&cells, [9, columns]).unwrap();
        assert_eq!(array.tile_shape(), [4, columns]);
        let driver = Driver::try_new(&DriverOptions { threads: Some(2), memory: None }).unwrap();
        let span = |start, stop, step| Span { start, stop, step };
        let region = Region { spans: vec![span(1, 9, 2), span(5, 14, 3)] };
        let mut bytes = vec![0; 4 * 3 * 4];
        array.read_region(&region, &mut bytes, &driver).unwrap();
        let read: Vec<u32> = bytes.chunks(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect();
        let want: Vec<u32> =
            [1, 3, 5, 7].iter().flat_map(|y| [5, 8, 11].map(|x| y * columns as u32 + x)).collect();
        assert_eq!(read, want);
        assert_eq!(contiguous(&array).unwrap().unwrap(), *array.bytes());
    }

    #[test]
    fn shape_names_and_origin_must_fit() {
        let error = MemoryArray::from_slice(&[1_i16, 2, 3], [2, 2]).unwrap_err();
        assert_eq!(error.message(), "3 cells do not fill the shape [2, 2]");
        let scalar = MemoryArray::from_slice(&[7_u8], []).unwrap();
        assert_eq!((scalar.shape(), scalar.axis_names()), (&[1][..], &["i0".to_owned()][..]));
        let empty = MemoryArray::from_slice::<f64>(&[], [0, 5]).unwrap();
        assert_eq!(empty.tile_shape(), [1, 5]);
        assert!(scalar.clone().with_axis_names(["y", "x"]).is_err());
        assert_eq!(scalar.with_origin([-5]).unwrap().origin(), [-5]);
    }
}
