//! The array view of an npy file.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use tesselle_core::array::{CopyAxis, Place, clipped, copy_box};
use tesselle_core::{ArrayView, ByteRange, DType, Error, Location, Result, Storage};

use super::header::Header;

/// Bytes of a band of rows that is read as one tile.
const TILE: u64 = 4 << 20;

/// An npy file as an array; a scalar is an array of one cell.
#[derive(Debug)]
pub(super) struct NpyArray {
    location: Location,
    file: Arc<str>,
    header: Header,
    shape: Vec<u64>,
    tile_shape: Vec<u64>,
    axis_names: Vec<String>,
    row_bytes: u64,
}

impl NpyArray {
    /// Reads the header, not the data.
    pub(super) fn open(location: &Location) -> Result<Self> {
        let header = Header::read(location)?;
        let shape = if header.shape.is_empty() { vec![1] } else { header.shape.clone() };
        let size = header.dtype.size() as u64;
        let total = shape.iter().try_fold(size, |n, extent| n.checked_mul(*extent));
        let stored = location.size()?.saturating_sub(header.data_offset);
        if total.is_none_or(|total| total > stored) {
            return Err(Error::corrupt(format!(
                "the shape {shape:?} needs more than the {stored} bytes of data in the file"
            ))
            .class("truncated")
            .offset(header.data_offset));
        }
        let row_bytes = shape.iter().skip(1).product::<u64>() * size;
        let mut tile_shape: Vec<u64> = shape.iter().map(|extent| (*extent).max(1)).collect();
        // In column-major files, a band of rows is scattered over the whole file, so there is one tile.
        if !header.column_major
            && let Some(rows) = tile_shape.first_mut()
        {
            *rows = (*rows).min((TILE / row_bytes.max(1)).max(1));
        }
        let axis_names = (0..shape.len()).map(|axis| format!("i{axis}")).collect();
        let (location, file) = (location.clone(), location.path().into());
        Ok(Self { location, file, header, shape, tile_shape, axis_names, row_bytes })
    }

    /// Where the cells begin.
    pub(super) fn data_offset(&self) -> u64 {
        self.header.data_offset
    }

    /// Whether the cells are truth values.
    pub(super) fn is_bool(&self) -> bool {
        self.header.is_bool
    }

    /// The version of the file.
    pub(super) fn version(&self) -> &'static str {
        self.header.version
    }

    /// Whether cells are stored in output form.
    fn is_plain(&self) -> bool {
        !self.header.column_major && !self.header.big_endian
    }

    /// The byte range of some rows of row-major cells.
    fn rows(&self, start: u64, count: u64) -> ByteRange {
        let from = self.header.data_offset + start * self.row_bytes;
        ByteRange::new(Arc::clone(&self.file), from..from + count * self.row_bytes)
    }

    /// Transposes column-major cells into row-major order.
    fn transpose(&self, stored: &[u8], dst: &mut [u8]) -> Result<()> {
        let size = self.header.dtype.size();
        let (mut axes, mut src, mut dst_stride) = (Vec::with_capacity(self.shape.len()), size, size);
        for extent in &self.shape {
            axes.push(CopyAxis { len: *extent as usize, src, dst: 0 });
            src *= *extent as usize;
        }
        for axis in axes.iter_mut().rev() {
            axis.dst = dst_stride;
            dst_stride *= axis.len;
        }
        if copy_box(size, &axes, stored, dst) {
            return Ok(());
        }
        Err(Error::internal("an array is shorter than its cells"))
    }
}

impl ArrayView for NpyArray {
    fn dtype(&self) -> DType {
        self.header.dtype
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

    fn storage(&self) -> Option<Arc<dyn Storage>> {
        Some(Arc::clone(self.location.storage()))
    }

    fn locate(&self, tile: &[u64], _rows: &Range<u64>) -> Result<Place> {
        let first = tile.first().copied().unwrap_or(0) * self.tile_shape[0];
        let rows = clipped(&self.shape, &self.tile_shape, tile)[0];
        let range = self.rows(first, rows);
        Ok(if self.is_plain() { Place::Raw(range) } else { Place::Encoded(vec![range]) })
    }

    fn decode(&self, _tile: &[u64], _rows: Range<u64>, fetched: &[Bytes], dst: &mut [u8]) -> Result<()> {
        let [stored] = fetched else { return Err(Error::internal("a tile has one range")) };
        if self.header.column_major {
            self.transpose(stored, dst)?;
        } else {
            dst.copy_from_slice(stored);
        }
        if self.header.big_endian {
            dst.chunks_exact_mut(self.header.dtype.size()).for_each(<[u8]>::reverse);
        }
        Ok(())
    }

    fn is_raw(&self) -> bool {
        self.is_plain()
    }

    fn whole(&self) -> Option<Place> {
        self.is_plain().then(|| Place::Raw(self.rows(0, self.shape[0])))
    }
}

#[cfg(test)]
mod tests {
    use tesselle_core::{Driver, DriverOptions, Region};

    use super::*;

    #[test]
    fn byte_and_axis_order_do_not_matter() {
        let folder = tempfile::tempdir().unwrap();
        let driver = Driver::try_new(&DriverOptions::default().with_threads(2)).unwrap();
        let read = |descr: &str, fortran: &str, cells: Vec<i16>, big: bool| {
            let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
            let text = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': (2, 3), }}\n");
            bytes.extend((text.len() as u16).to_le_bytes());
            bytes.extend(text.as_bytes());
            bytes.extend(cells.iter().flat_map(|c| if big { c.to_be_bytes() } else { c.to_le_bytes() }));
            let path = folder.path().join("a.npy");
            std::fs::write(&path, bytes).unwrap();
            let array = NpyArray::open(&Location::local(&path).unwrap()).unwrap();
            let mut out = vec![0; 12];
            array.read_region(&Region::whole(&[2, 3]), &mut out, &driver).unwrap();
            out.chunks(2).map(|c| i16::from_le_bytes([c[0], c[1]])).collect::<Vec<_>>()
        };
        let want = [1, 2, 3, 4, 5, 6];
        assert_eq!(read("<i2", "False", vec![1, 2, 3, 4, 5, 6], false), want);
        assert_eq!(read(">i2", "False", vec![1, 2, 3, 4, 5, 6], true), want);
        assert_eq!(read("<i2", "True", vec![1, 4, 2, 5, 3, 6], false), want);
        assert_eq!(read(">i2", "True", vec![1, 4, 2, 5, 3, 6], true), want);
    }
}
