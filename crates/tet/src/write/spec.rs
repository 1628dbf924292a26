//! The parameters of a write: datasets, alignment, footer.

use tesselle_core::{DType, Error, Result, setters};

use crate::meta::directory::{Dataset, MAX_RANK};
use crate::meta::dtype::tag_of;
use crate::meta::footer::HistoryRow;
use crate::meta::geometry::Grid;
use crate::meta::index::{Codec, MemoryBudget};
use crate::meta::metadata::Metadata;

/// A dataset to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetSpec {
    /// Its name; a slash has no special meaning.
    pub name: String,
    /// The element type; all but `i8`.
    pub dtype: DType,
    /// The extent of each of its 1 to 8 axes.
    pub shape: Vec<u64>,
    /// The nominal chunk; edge chunks are clipped.
    pub chunk_shape: Vec<u64>,
    /// How chunks are stored.
    pub codec: Codec,
    /// The zstd level; `None` is the library's default.
    pub level: Option<i32>,
    /// Memory hints; those of the first dataset go into the file.
    pub budget: MemoryBudget,
}

impl DatasetSpec {
    /// A raw dataset in chunks of about a megabyte in row-major order.
    pub fn new(name: impl Into<String>, dtype: DType, shape: impl Into<Vec<u64>>) -> Self {
        let shape = shape.into();
        let chunk_shape = default_chunk_shape(&shape, dtype);
        let budget = MemoryBudget::default();
        Self { name: name.into(), dtype, shape, chunk_shape, codec: Codec::Raw, level: None, budget }
    }

    /// Sets the nominal chunk.
    #[must_use]
    pub fn chunk_shape(mut self, chunk_shape: impl Into<Vec<u64>>) -> Self {
        self.chunk_shape = chunk_shape.into();
        self
    }

    /// Sets the codec.
    #[must_use]
    pub fn codec(mut self, codec: Codec) -> Self {
        self.codec = codec;
        self
    }

    /// The record and the geometry, if the spec is valid.
    pub(crate) fn check(&self) -> Result<(Dataset, Grid)> {
        let refuse = |message: String| Error::invalid(message).piece(format!("dataset '{}'", self.name));
        let tag = tag_of(self.dtype).ok_or_else(|| {
            refuse(format!("the format has no type {}", self.dtype.name()))
                .hint("widen it to i16 or store it as u8")
        })?;
        let rank = self.shape.len();
        if !(1..=MAX_RANK).contains(&rank) {
            return Err(refuse(format!("the dataset has {rank} axes, but 1 to {MAX_RANK} are allowed"))
                .hint("a single number has the shape [1]"));
        }
        if self.chunk_shape.len() != rank {
            return Err(refuse(format!(
                "the shape has {rank} axes, the chunk shape {}",
                self.chunk_shape.len()
            )));
        }
        if self.chunk_shape.contains(&0) {
            return Err(refuse("a chunk extent is 0".to_owned()));
        }
        if u32::try_from(self.name.len()).is_err() {
            return Err(refuse("the name is too long".to_owned()));
        }
        let dataset = Dataset {
            name: self.name.clone(),
            tag,
            shape: self.shape.clone(),
            chunk_shape: self.chunk_shape.clone(),
        };
        let grid = Grid::try_new(&dataset).map_err(|error| refuse(error.message().to_owned()))?;
        Ok((dataset, grid))
    }
}

/// Chunks of about a megabyte that span whole rows, so that they are contiguous in row-major order.
pub fn default_chunk_shape(shape: &[u64], dtype: DType) -> Vec<u64> {
    let mut left = (1_u64 << 20) / dtype.size() as u64;
    let mut chunk = vec![1; shape.len()];
    for (chunk, extent) in chunk.iter_mut().zip(shape).rev() {
        *chunk = (*extent).clamp(1, left.max(1));
        left /= (*extent).max(1);
    }
    chunk
}

/// How raw payloads are aligned to their element size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Alignment {
    /// Payloads are contiguous regardless of alignment, as the original engine writes them.
    Packed,
    /// A gap before a raw payload that would be misaligned. Causes a warning in the original's verification.
    #[default]
    Gaps,
    /// Index rows and payloads of raw datasets first, large elements before small ones; no gaps as long as chunks are
    /// given in that order.
    Sorted,
}

/// The footer to write.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FooterSpec {
    /// Provenance.
    pub history: Vec<HistoryRow>,
    /// Attributes, axis names, labels.
    pub metadata: Option<Metadata>,
    /// Whether zone maps and the secondary index are embedded. Only readers since version 0.7.0 of the original
    /// engine open such files.
    pub indexes: bool,
    /// The minimum version of the footer, 1 or 2; always 2 with indexes.
    pub version: Option<u32>,
}

impl FooterSpec {
    /// The footer of a file with the datasets of both.
    pub(super) fn merged(mut self, other: Self) -> Self {
        match (&mut self.metadata, other.metadata) {
            (Some(own), Some(others)) => own.datasets.extend(others.datasets),
            (own, others) => *own = own.take().or(others),
        }
        self
    }
}

/// How a file is written.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriterOptions {
    /// Whether an existing file may be replaced.
    pub overwrite: bool,
    /// How raw payloads are aligned.
    pub alignment: Alignment,
    /// The footer; `None` writes none, which every reader supports.
    pub footer: Option<FooterSpec>,
    /// Whether zstd frames have a checksum of their content, 4 bytes each, which every decoder checks. The original
    /// engine writes none.
    pub checksum: bool,
}

setters! { WriterOptions {
    with_overwrite => overwrite: bool,
    with_alignment => alignment: Alignment,
    with_footer => footer: impl Into<Option<FooterSpec>>,
    with_checksum => checksum: bool,
} }

impl Default for WriterOptions {
    fn default() -> Self {
        Self { overwrite: false, alignment: Alignment::default(), footer: None, checksum: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_chunks_span_rows() {
        assert_eq!(default_chunk_shape(&[10, 20], DType::F32), [10, 20]);
        assert_eq!(default_chunk_shape(&[10_000, 1000], DType::F32), [262, 1000]);
        assert_eq!(default_chunk_shape(&[10, 10_000_000], DType::U8), [1, 1 << 20]);
        assert_eq!(default_chunk_shape(&[0], DType::U8), [1]);
    }

    #[test]
    fn specs_that_make_no_sense_are_refused() {
        let good = DatasetSpec::new("a", DType::F32, [2, 3]);
        assert!(good.check().is_ok());
        let bad = [
            DatasetSpec { dtype: DType::I8, ..good.clone() },
            DatasetSpec { shape: vec![], chunk_shape: vec![], ..good.clone() },
            DatasetSpec { shape: vec![1; 9], chunk_shape: vec![1; 9], ..good.clone() },
            DatasetSpec { chunk_shape: vec![1], ..good.clone() },
            DatasetSpec { chunk_shape: vec![1, 0], ..good.clone() },
            DatasetSpec { shape: vec![u64::MAX, 2], ..good },
        ];
        for spec in bad {
            assert_eq!(spec.check().unwrap_err().kind(), tesselle_core::ErrorKind::Invalid, "{spec:?}");
        }
    }
}
