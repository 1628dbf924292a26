//! The dataset directory: a length, then one record per dataset, back to back.
//!
//! | field | size |
//! |---|---|
//! | name_len, dtype, ndim, reserved | 4 each |
//! | name | name_len, then zeros up to a multiple of 8 from the start of the record |
//! | shape | 8 * ndim |
//! | chunk_shape | 8 * ndim |

use tesselle_core::{Cursor, DType, Error, Result};

use super::dtype;

/// Axes a dataset can have.
pub(crate) const MAX_RANK: usize = 8;

/// The minimum size of a record: header and one axis.
const LEAST_RECORD: u64 = 32;

/// Where the records start: after the superblock and the length.
pub(crate) const BLOB_OFFSET: u64 = 40;

/// One named tensor as stated by its record; only its rank and name are checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dataset {
    pub(crate) name: String,
    pub(crate) tag: u32,
    pub(crate) shape: Vec<u64>,
    pub(crate) chunk_shape: Vec<u64>,
}

impl Dataset {
    pub(crate) fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The element type; `None` for unknown tags.
    pub(crate) fn dtype(&self) -> Option<DType> {
        dtype::from_tag(self.tag)
    }

    /// The name of the element type, or `?` and the tag if unknown.
    pub(crate) fn dtype_name(&self) -> String {
        self.dtype().map_or_else(|| format!("?{}", self.tag), |dtype| dtype.name().to_owned())
    }

    /// The size of its record.
    pub(crate) fn record_len(&self) -> usize {
        (16 + self.name.len()).next_multiple_of(8) + 16 * self.rank()
    }

    /// Appends its record.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        for field in [self.name.len() as u32, self.tag, self.rank() as u32, 0] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.extend_from_slice(self.name.as_bytes());
        out.resize(start + (16 + self.name.len()).next_multiple_of(8), 0);
        for extent in self.shape.iter().chain(&self.chunk_shape) {
            out.extend_from_slice(&extent.to_le_bytes());
        }
    }

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self> {
        let name_len = cursor.u32_le()?;
        let tag = cursor.u32_le()?;
        let rank_offset = cursor.offset();
        let rank = cursor.u32_le()? as usize;
        cursor.skip(4)?;
        let name_offset = cursor.offset();
        let name = cursor.bytes_u64(u64::from(name_len))?;
        cursor.skip((8 - (name.len() % 8)) % 8)?;
        if !(1..=MAX_RANK).contains(&rank) {
            return Err(Error::corrupt(format!("ndim is {rank}, it must be 1 to {MAX_RANK}"))
                .class("bad_ndim")
                .offset(rank_offset)
                .piece("dataset record ndim"));
        }
        let name = std::str::from_utf8(name).map_err(|source| {
            Error::corrupt("a dataset name is not UTF-8")
                .class("bad_dataset_name")
                .offset(name_offset)
                .piece("dataset record name")
                .source(source)
        })?;
        let mut extents = || (0..rank).map(|_| cursor.u64_le()).collect::<Result<Vec<u64>>>();
        Ok(Self { name: name.to_owned(), tag, shape: extents()?, chunk_shape: extents()? })
    }
}

/// Parses the records of a blob at [`BLOB_OFFSET`].
pub(crate) fn parse(blob: &[u8], dataset_count: u32) -> Result<Vec<Dataset>> {
    if u64::from(dataset_count) > blob.len() as u64 / LEAST_RECORD {
        return Err(Error::corrupt(format!(
            "{dataset_count} datasets do not fit into a directory of {} bytes",
            blob.len()
        ))
        .class("dataset_count_exceeds_blob")
        .offset(8)
        .piece("superblock dataset_count"));
    }
    let mut cursor = Cursor::new(blob, BLOB_OFFSET, "dataset record");
    let mut datasets = Vec::with_capacity(dataset_count as usize);
    for id in 0..dataset_count {
        let start = cursor.offset();
        datasets.push(Dataset::parse(&mut cursor).map_err(|error| {
            match error.class_name() {
                "truncated" => Error::corrupt(format!("the record of dataset {id} runs past the directory"))
                    .class("directory_too_short")
                    .offset(start)
                    .piece("dataset record"),
                _ => error,
            }
        })?);
    }
    if !cursor.is_empty() {
        return Err(Error::corrupt(format!(
            "the directory has {} bytes, its records end after {}",
            blob.len(),
            cursor.position()
        ))
        .class("dataset_blob_mismatch")
        .offset(cursor.offset())
        .piece("dataset directory length"));
    }
    Ok(datasets)
}

/// The records of all datasets, as they follow the directory length.
pub(crate) fn write(datasets: &[Dataset]) -> Vec<u8> {
    let mut blob = Vec::with_capacity(datasets.iter().map(Dataset::record_len).sum());
    for dataset in datasets {
        dataset.write(&mut blob);
    }
    blob
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_length_round_trip() {
        let datasets: Vec<Dataset> = (0..=17)
            .map(|n| Dataset {
                name: "x".repeat(n),
                tag: 5,
                shape: vec![n as u64; 2],
                chunk_shape: vec![1; 2],
            })
            .collect();
        let blob = write(&datasets);
        assert_eq!(blob.len() % 8, 0);
        assert_eq!(parse(&blob, 18).unwrap(), datasets);
        assert_eq!(parse(&blob, 17).unwrap_err().class_name(), "dataset_blob_mismatch");
        assert_eq!(parse(&blob[..blob.len() - 8], 18).unwrap_err().class_name(), "directory_too_short");
    }
}
