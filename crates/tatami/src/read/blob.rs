//! Blob runs: the run of each value, and the values of a decoded run.

use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::Buffer;
use bytes::Bytes;
use tesselle_codec::compress::zstd::RawDictionary;
use tesselle_codec::varint;
use tesselle_core::{At, Context, Error, Result};

use super::values::short;
use crate::meta::record::{RECORD_LEN, Record};
use crate::meta::regions::{BlobColumn, BlobRun};
use crate::open::File;

/// The runs of one column by ordinal.
#[derive(Debug, Clone)]
pub(crate) struct BlobIndex {
    runs: Vec<BlobRun>,
    /// Ordinal of the first value of each run, and one past the last.
    starts: Vec<u64>,
    dictionary: u64,
    column: usize,
}

impl BlobIndex {
    /// The index of a column; the footer must describe it.
    pub(crate) fn try_new(file: &File, column: usize) -> Result<Self> {
        let Some(blob) = file.footer().blob_column(column) else {
            return Err(
                Error::corrupt(format!("column {column} has no blob descriptor")).class("missing_blob")
            );
        };
        Ok(Self::of(blob, column))
    }

    fn of(blob: &BlobColumn, column: usize) -> Self {
        let mut starts = vec![0u64];
        let mut total = 0u64;
        starts.extend(blob.runs.iter().map(|run| {
            total = total.saturating_add(run.values);
            total
        }));
        Self { runs: blob.runs.clone(), starts, dictionary: blob.dictionary, column }
    }

    /// The run with this ordinal.
    pub(crate) fn run_of(&self, ordinal: u64) -> Result<usize> {
        let total = self.starts.last().copied().unwrap_or(0);
        if ordinal >= total {
            return Err(short(format!(
                "blob {ordinal} of column {} is out of range, its runs have {total}",
                self.column
            )));
        }
        Ok(self.starts.partition_point(|start| *start <= ordinal).saturating_sub(1))
    }

    /// Number of values of all runs.
    pub(crate) fn total(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Memory use in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.runs.len() * size_of::<BlobRun>() + self.starts.len() * size_of::<u64>()
    }

    /// The first ordinal of a run.
    pub(crate) fn start(&self, run: usize) -> Result<u64> {
        Ok(*self.starts.at(run)?)
    }

    /// Decoded bytes of a run, as the footer states them.
    pub(crate) fn decoded_len(&self, run: usize) -> Result<u64> {
        Ok(self.entry(run)?.uncompressed)
    }

    /// The byte range of a run.
    pub(crate) fn range(&self, run: usize, file: &File) -> Result<Range<u64>> {
        let entry = self.entry(run)?;
        let len = entry.compressed.saturating_add(RECORD_LEN);
        Ok(entry.offset..file.check_inside(entry.offset, len)?)
    }

    fn entry(&self, run: usize) -> Result<&BlobRun> {
        self.runs.at(run)
    }

    /// Decodes the fetched bytes of a run.
    pub(crate) fn decode(&self, run: usize, bytes: &[u8], file: &File) -> Result<DecodedRun> {
        self.decode_run(run, bytes, file, self.dictionary(file)?.as_deref()).in_piece(|| self.piece(run))
    }

    fn piece(&self, run: usize) -> String {
        format!("column {}, blob run {run}", self.column)
    }

    /// Compares the number of values in a decoded run with the footer.
    pub(crate) fn check_count(&self, run: usize, found: usize) -> Result<()> {
        let stated = self.entry(run)?.values;
        if stated == found as u64 {
            return Ok(());
        }
        Err(short(format!("a blob run has {found} values, the footer states {stated}")))
    }

    /// The content dictionary of the column, loaded on first use.
    pub(crate) fn dictionary(&self, file: &File) -> Result<Option<Arc<RawDictionary>>> {
        file.content_dictionary(self.dictionary)
    }

    /// The record of a run and its stored payload.
    fn record<'b>(&self, run: usize, bytes: &'b [u8]) -> Result<(BlobRun, Record, &'b [u8])> {
        let entry = *self.entry(run)?;
        let record = Record::parse(bytes, entry.offset)?;
        let stored = bytes.part(RECORD_LEN as usize..)?;
        if u64::from(record.compressed) != stored.len() as u64 {
            let (stated, found) = (record.compressed, stored.len());
            return Err(Error::corrupt(format!("a blob run states {stated} bytes, the footer {found}"))
                .class("page_checksum")
                .offset(entry.offset));
        }
        Ok((entry, record, stored))
    }

    fn decode_run(
        &self,
        run: usize,
        bytes: &[u8],
        file: &File,
        dictionary: Option<&RawDictionary>,
    ) -> Result<DecodedRun> {
        let (entry, record, stored) = self.record(run, bytes)?;
        let payload = file.profile().open_run(&record, stored, dictionary, entry.offset)?;
        DecodedRun::parse(payload.into_owned()).at_offset(entry.offset)
    }

    /// Decodes the values `wanted`, which are in the consecutive `runs`, into one buffer without a copy: each
    /// run is decoded so that it ends where the values of the next one start, overwriting the lengths of that
    /// one. Returns offsets and the bytes of only these values, because a cast to string checks all bytes.
    ///
    /// Returns `None` if a run differs from the footer or has other bytes after its values: then there would
    /// be gaps.
    pub(crate) fn decode_joined(
        &self,
        runs: &[(usize, Bytes)],
        wanted: &Range<u64>,
        file: &File,
    ) -> Result<Option<(Vec<i32>, Buffer)>> {
        let dictionary = self.dictionary(file)?;
        let mut total = 0usize;
        for (run, bytes) in runs {
            let piece = || self.piece(*run);
            let (entry, record, stored) = self.record(*run, bytes).in_piece(piece)?;
            if u64::from(record.uncompressed) != entry.uncompressed {
                return Ok(None);
            }
            let size = file.profile().run_size(&record, stored, entry.offset).in_piece(piece)?;
            total = total.saturating_add(size);
        }
        if i32::try_from(total).is_err() {
            return Ok(None);
        }
        let mut values = vec![0; total];
        let mut offsets: Vec<i32> = Vec::with_capacity((wanted.end - wanted.start) as usize + 1);
        let mut end = total;
        // From the last run to the first; the offsets are reversed at the end.
        for (run, bytes) in runs.iter().rev() {
            let (entry, record, stored) = self.record(*run, bytes)?;
            let start = end.saturating_sub(record.uncompressed as usize);
            let space = values.part_mut(start..end)?;
            let opened =
                file.profile().open_run_into(&record, stored, dictionary.as_deref(), entry.offset, space);
            opened.in_piece(|| self.piece(*run))?;
            let starts = value_starts(space).at_offset(entry.offset).in_piece(|| self.piece(*run))?;
            let all = starts.len() as u64 == entry.values + 1 && starts.last() == Some(&space.len());
            if !all {
                return Ok(None);
            }
            let first = self.start(*run)?;
            let from = wanted.start.saturating_sub(first) as usize;
            let upto = (wanted.end.saturating_sub(first) as usize).min(starts.len() - 1);
            if offsets.is_empty()
                && let Some(last) = starts.get(upto)
            {
                offsets.push((start + last) as i32);
            }
            let ours = starts.part(from..upto)?;
            offsets.extend(ours.iter().rev().map(|at| (start + at) as i32));
            end = start + starts.first().copied().unwrap_or(0);
        }
        offsets.reverse();
        let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else { return Ok(None) };
        for offset in &mut offsets {
            *offset -= first;
        }
        let bytes = Buffer::from_vec(values).slice_with_length(first as usize, (last - first) as usize);
        Ok(Some((offsets, bytes)))
    }
}

/// The values of one run: their number, their lengths, their bytes.
#[derive(Debug, Clone)]
pub(crate) struct DecodedRun {
    bytes: Vec<u8>,
    /// Start of each value in `bytes`, and one past the last.
    starts: Vec<usize>,
}

impl DecodedRun {
    /// Reads the lengths before the values.
    pub(crate) fn parse(payload: Vec<u8>) -> Result<Self> {
        let starts = value_starts(&payload)?;
        Ok(Self { bytes: payload, starts })
    }

    /// Memory use in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.len() + self.starts.len() * size_of::<usize>()
    }

    /// Number of values.
    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// One value.
    pub(crate) fn value(&self, index: u64) -> Result<&[u8]> {
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        let bounds = self.starts.get(at).zip(self.starts.get(at.saturating_add(1)));
        bounds
            .and_then(|(start, end)| self.bytes.get(*start..*end))
            .ok_or_else(|| short(format!("blob {index} is out of range, the run has {}", self.len())))
    }
}

/// Start of each value of a run in its payload, and one past the last.
fn value_starts(payload: &[u8]) -> Result<Vec<usize>> {
    let mut pos = 0;
    let take = |pos: &mut usize| varint::take(payload, pos).map_err(|e| Error::from(e).class("short_values"));
    let count = take(&mut pos)?;
    // A value takes at least one byte of length: an impossible count is refused before allocation.
    let count = usize::try_from(count).ok().filter(|n| *n <= payload.len() - pos);
    let Some(count) = count else {
        return Err(short("a blob run states more values than it has bytes".into()));
    };
    let mut lengths = Vec::with_capacity(count);
    for _ in 0..count {
        lengths.push(take(&mut pos)?);
    }
    let mut starts = Vec::with_capacity(count + 1);
    starts.push(pos);
    for (i, len) in lengths.into_iter().enumerate() {
        let end = usize::try_from(len)
            .ok()
            .and_then(|len| pos.checked_add(len))
            .filter(|end| *end <= payload.len());
        let Some(end) = end else {
            return Err(short(format!("blob {i} of {len} bytes overruns its run")));
        };
        starts.push(end);
        pos = end;
    }
    Ok(starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_their_lengths() {
        let run = DecodedRun::parse(b"\x03\x01\x00\x02abc".to_vec()).unwrap();
        assert_eq!(run.len(), 3);
        assert_eq!(run.value(0).unwrap(), b"a");
        assert_eq!(run.value(1).unwrap(), b"");
        assert_eq!(run.value(2).unwrap(), b"bc");
        assert_eq!(run.value(3).unwrap_err().class_name(), "short_values");
    }

    #[test]
    fn hostile_counts_and_lengths_are_refused() {
        for bad in [
            &b""[..],
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x02\x01",
            b"\x01\x05abcd",
            b"\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        ] {
            assert_eq!(DecodedRun::parse(bad.to_vec()).unwrap_err().class_name(), "short_values", "{bad:?}");
        }
    }
}
