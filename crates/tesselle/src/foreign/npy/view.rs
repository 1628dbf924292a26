//! The array face of an npy file.

use std::ops::Range;

use bytes::Bytes;
use tesselle_core::array::TileBytes;
use tesselle_core::{ArrayView, DType, Error, Location, Result};

use super::header::Header;

/// Bytes of a band of rows that is read as one tile.
const TILE: u64 = 4 << 20;

/// An npy file as an array; a scalar is an array of one cell.
#[derive(Debug)]
pub(super) struct NpyArray {
    location: Location,
    header: Header,
    shape: Vec<u64>,
    tile_shape: Vec<u64>,
    axis_names: Vec<String>,
    row_bytes: u64,
}

impl NpyArray {
    /// Reads the header; the data stays where it is.
    pub(super) fn open(location: &Location) -> Result<Self> {
        let header = Header::read(location)?;
        let shape = if header.shape.is_empty() { vec![1] } else { header.shape.clone() };
        let size = header.dtype.size() as u64;
        let total = shape.iter().try_fold(size, |n, extent| n.checked_mul(*extent));
        let stored = location.size()?.saturating_sub(header.data_offset);
        if total.is_none_or(|total| total > stored) {
            return Err(Error::corrupt(format!(
                "the shape {shape:?} needs more than the {stored} bytes of data that are there"
            ))
            .class("truncated")
            .offset(header.data_offset));
        }
        let row_bytes = shape.iter().skip(1).product::<u64>() * size;
        let mut tile_shape: Vec<u64> = shape.iter().map(|extent| (*extent).max(1)).collect();
        // Stored column by column, a band of rows is scattered over the whole file: one tile then.
        if !header.column_major
            && let Some(rows) = tile_shape.first_mut()
        {
            *rows = (*rows).min((TILE / row_bytes.max(1)).max(1));
        }
        let axis_names = (0..shape.len()).map(|axis| format!("i{axis}")).collect();
        Ok(Self { location: location.clone(), header, shape, tile_shape, axis_names, row_bytes })
    }

    /// Where the cells begin.
    pub(super) fn data_offset(&self) -> u64 {
        self.header.data_offset
    }

    /// The version of the file.
    pub(super) fn version(&self) -> &'static str {
        self.header.version
    }

    fn rows(&self, start: u64, count: u64) -> Result<Bytes> {
        let from = self.header.data_offset + start * self.row_bytes;
        self.location.read_range(from..from + count * self.row_bytes)
    }

    /// Puts cells stored column by column into row-major order.
    fn transposed(&self, stored: &[u8], rows: &Range<u64>, out: &mut Vec<u8>) {
        let size = self.header.dtype.size();
        let mut strides = vec![size as u64; self.shape.len()];
        for axis in 1..self.shape.len() {
            strides[axis] = strides[axis - 1] * self.shape[axis - 1];
        }
        let mut counters: Vec<u64> = vec![0; self.shape.len()];
        counters[0] = rows.start;
        let cells = (rows.end - rows.start) * self.row_bytes / size as u64;
        for _ in 0..cells {
            let at: u64 = counters.iter().zip(&strides).map(|(c, s)| c * s).sum();
            out.extend_from_slice(stored.get(at as usize..at as usize + size).unwrap_or_default());
            for axis in (0..counters.len()).rev() {
                counters[axis] += 1;
                if axis == 0 || counters[axis] < self.shape[axis] {
                    break;
                }
                counters[axis] = 0;
            }
        }
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

    fn tile<'s>(&self, tile: &[u64], rows: Range<u64>, scratch: &'s mut Vec<u8>) -> Result<TileBytes<'s>> {
        let band = tile.first().copied().unwrap_or(0) * self.tile_shape[0];
        if !self.header.column_major && !self.header.big_endian {
            return self.rows(band + rows.start, rows.end - rows.start).map(TileBytes::Shared);
        }
        scratch.clear();
        if self.header.column_major {
            let stored = self.rows(0, self.shape[0])?;
            self.transposed(&stored, &(band + rows.start..band + rows.end), scratch);
        } else {
            scratch.extend_from_slice(&self.rows(band + rows.start, rows.end - rows.start)?);
        }
        if self.header.big_endian {
            scratch.chunks_exact_mut(self.header.dtype.size()).for_each(<[u8]>::reverse);
        }
        Ok(TileBytes::Scratch(scratch))
    }

    fn contiguous(&self) -> Option<Bytes> {
        let plain = !self.header.column_major && !self.header.big_endian;
        plain.then(|| self.rows(0, self.shape[0]).ok()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use tesselle_core::{Driver, DriverOptions, Region};

    use super::*;

    #[test]
    fn byte_and_axis_order_do_not_matter() {
        let folder = tempfile::tempdir().unwrap();
        let driver = Driver::new(&DriverOptions { threads: Some(2), memory: None }).unwrap();
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
