//! Blob columns during a write: values are packed into runs, and runs are compressed with or without a shared
//! content dictionary.
//!
//! For a column that fits the buffer the choice is made for all of it when the file is closed, like the
//! original does. For a larger one it is made from the buffered values, and from then on its runs are written
//! between row groups.

use tesselle_codec::compress::zstd::RawDictionary;
use tesselle_codec::varint;
use tesselle_core::driver::parallel;
use tesselle_core::{Error, Result, Within};

use super::page::Packing;
use crate::meta::record::Record;
use crate::meta::types::{Codec, RecordKind};

/// Max size of a content dictionary, and the min size worth trying.
const DICTIONARY_MAX: usize = 65_536;
const DICTIONARY_MIN: usize = 256;
/// Runs that are compressed both ways to choose for a column that does not fit the buffer.
const SAMPLED_RUNS: usize = 6;
/// The dictionary id in frames; the original applies its dictionary only to frames with it.
const DICTIONARY_ID: u8 = 1;

/// One blob column.
pub(crate) struct BlobSpool {
    bytes: Vec<u8>,
    lengths: Vec<usize>,
    target: u64,
    state: State,
}

enum State {
    Undecided,
    Plain,
    Dictionary(RawDictionary),
}

/// A run, ready to be written.
pub(crate) struct EncodedRun {
    pub(crate) record: Record,
    pub(crate) payload: Vec<u8>,
}

impl BlobSpool {
    pub(crate) fn new(target: u64) -> Self {
        Self { bytes: Vec::new(), lengths: Vec::new(), target, state: State::Undecided }
    }

    /// For a column whose runs so far refer to this dictionary, or to none.
    pub(crate) fn resumed(target: u64, dictionary: Option<RawDictionary>) -> Self {
        let state = dictionary.map_or(State::Plain, State::Dictionary);
        Self { bytes: Vec::new(), lengths: Vec::new(), target, state }
    }

    /// Adds the next value.
    pub(crate) fn push(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.lengths.push(value.len());
    }

    /// Buffered bytes.
    pub(crate) fn buffered(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Whether runs are written as soon as they are full.
    pub(crate) fn is_streaming(&self) -> bool {
        !matches!(self.state, State::Undecided)
    }

    /// The dictionary of its runs.
    pub(crate) fn dictionary(&self) -> Option<&[u8]> {
        match &self.state {
            State::Dictionary(dictionary) => Some(dictionary.content()),
            _ => None,
        }
    }

    /// The codec of its runs.
    pub(crate) fn codec(&self) -> Codec {
        if self.dictionary().is_some() { Codec::ZstdDict } else { Codec::Zstd }
    }

    /// Encodes the runs that are complete; with `all`, also the last one.
    pub(crate) fn drain(&mut self, packing: Packing, all: bool) -> Result<Vec<EncodedRun>> {
        let cuts = self.cut(all);
        let payloads = self.payloads(&cuts);
        let runs = match &self.state {
            State::Undecided if all => self.decide(&payloads, 1, packing)?,
            State::Undecided => {
                // More values follow, so this is an estimate in any case: some of the runs are enough for it.
                let step = payloads.len().div_ceil(SAMPLED_RUNS).max(1);
                let sample: Vec<_> = payloads.iter().step_by(step).cloned().collect();
                self.decide(&sample, step, packing)?;
                return self.drain(packing, all);
            }
            State::Plain => encode_all(&payloads, None, packing)?,
            State::Dictionary(dictionary) => encode_all(&payloads, Some(dictionary), packing)?,
        };
        let values: usize = cuts.iter().sum();
        let bytes: usize = self.lengths.drain(..values).sum();
        self.bytes.drain(..bytes);
        Ok(runs)
    }

    /// Number of values of each run.
    fn cut(&self, all: bool) -> Vec<usize> {
        let (mut cuts, mut values, mut bytes) = (Vec::new(), 0usize, 0u64);
        for len in &self.lengths {
            let len = *len as u64;
            if values > 0 && bytes + len > self.target {
                cuts.push(values);
                (values, bytes) = (0, 0);
            }
            values += 1;
            bytes += len;
        }
        if all && values > 0 {
            cuts.push(values);
        }
        cuts
    }

    fn payloads(&self, cuts: &[usize]) -> Vec<(u32, Vec<u8>)> {
        let (mut lengths, mut bytes) = (self.lengths.as_slice(), self.bytes.as_slice());
        let payloads = cuts.iter().map(|values| {
            let (mine, rest) = lengths.split_at(*values);
            lengths = rest;
            let mut payload = Vec::new();
            varint::write(*values as u64, &mut payload);
            for len in mine {
                varint::write(*len as u64, &mut payload);
            }
            let (content, rest) = bytes.split_at(mine.iter().sum());
            bytes = rest;
            payload.extend_from_slice(content);
            (*values as u32, payload)
        });
        payloads.collect()
    }

    /// Compresses with and without a candidate dictionary, and keeps the smaller result. Each run represents
    /// `times` runs.
    fn decide(
        &mut self,
        payloads: &[(u32, Vec<u8>)],
        times: usize,
        packing: Packing,
    ) -> Result<Vec<EncodedRun>> {
        let plain = encode_all(payloads, None, packing)?;
        let size = |runs: &[EncodedRun]| runs.iter().map(|r| r.payload.len()).sum::<usize>() * times;
        let candidate = candidate(&self.lengths, &self.bytes);
        if candidate.len() >= DICTIONARY_MIN {
            let cost = packing.pack(&candidate)?.len();
            let dictionary = RawDictionary::new(candidate);
            let shared = encode_all(payloads, Some(&dictionary), packing)?;
            if size(&shared) + cost < size(&plain) {
                self.state = State::Dictionary(dictionary);
                return Ok(shared);
            }
        }
        self.state = State::Plain;
        Ok(plain)
    }
}

/// A strided sample of the values.
fn candidate(lengths: &[usize], bytes: &[u8]) -> Vec<u8> {
    let total: usize = lengths.iter().sum();
    let stride =
        if total <= DICTIONARY_MAX || lengths.len() <= 1 { 1 } else { (total / DICTIONARY_MAX).max(1) };
    let sample = |stride: usize| {
        let mut out = Vec::new();
        let mut at = 0;
        for (i, len) in lengths.iter().enumerate() {
            if i % stride == 0 {
                let value = bytes.within(at..at + len);
                let room = DICTIONARY_MAX - out.len();
                out.extend_from_slice(value.get(..room).unwrap_or(value));
                if out.len() >= DICTIONARY_MAX {
                    break;
                }
            }
            at += len;
        }
        out
    };
    let out = sample(stride);
    if out.is_empty() { sample(1) } else { out }
}

fn encode_all(
    payloads: &[(u32, Vec<u8>)],
    dictionary: Option<&RawDictionary>,
    packing: Packing,
) -> Result<Vec<EncodedRun>> {
    parallel::try_map(payloads, |(values, payload)| {
        let mut stored = Vec::new();
        let codec = if let Some(dictionary) = dictionary {
            dictionary.compress(packing.level, DICTIONARY_ID, payload, &mut stored)?;
            Codec::ZstdDict
        } else {
            stored = packing.pack(payload)?;
            Codec::Zstd
        };
        let len = u32::try_from(payload.len()).ok().filter(|_| u32::try_from(stored.len()).is_ok());
        let len = len.ok_or_else(|| Error::limit("a blob exceeds 4 GiB"))?;
        let record = Record::new(RecordKind::Blob, codec, *values, len, &stored);
        Ok(EncodedRun { record, payload: stored })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::options::Profile;

    const PACKING: Packing = Packing { codec: Codec::Zstd, level: 3, profile: Profile::Plain };

    #[test]
    fn runs_are_cut_before_they_exceed_the_target() {
        let mut spool = BlobSpool::new(10);
        for len in [4usize, 6, 1, 25, 2, 0, 0] {
            spool.push(&vec![7; len]);
        }
        assert_eq!(spool.cut(true), [2, 1, 1, 3]);
        assert_eq!(spool.cut(false), [2, 1, 1]);
        let runs = spool.drain(PACKING, false).unwrap();
        assert_eq!(runs.iter().map(|r| r.record.values).collect::<Vec<_>>(), [2, 1, 1]);
        assert_eq!((spool.buffered(), spool.lengths.len()), (2, 3));
        assert_eq!(spool.drain(PACKING, true).unwrap().len(), 1);
        assert_eq!(spool.drain(PACKING, true).unwrap().len(), 0);
    }

    #[test]
    fn similar_values_share_a_dictionary() {
        let mut spool = BlobSpool::new(2000);
        for i in 0..400 {
            spool.push(
                format!("<html><head><title>page {i}</title></head><body>{}</body></html>", i * 7919)
                    .repeat(3)
                    .as_bytes(),
            );
        }
        let runs = spool.drain(PACKING, true).unwrap();
        assert_eq!(spool.codec(), Codec::ZstdDict);
        assert!(runs.iter().all(|r| r.record.codec == Codec::ZstdDict.id()));
        assert!(spool.dictionary().unwrap().len() <= DICTIONARY_MAX);
    }

    #[test]
    fn the_sample_is_strided_and_falls_back_to_all_values() {
        assert_eq!(candidate(&[0, 3, 0, 2], b"abcde"), b"abcde");
        let lengths = vec![1000; 200];
        let bytes: Vec<u8> = (0..200u32).flat_map(|i| vec![i as u8; 1000]).collect();
        let sample = candidate(&lengths, &bytes);
        assert_eq!(sample.len(), DICTIONARY_MAX);
        assert_eq!((sample[0], sample[1000], sample[2000]), (0, 3, 6));
        let mut sparse = vec![0; 200_000];
        sparse[1] = 70_000;
        assert_eq!(candidate(&sparse, &vec![9; 70_000]).len(), DICTIONARY_MAX);
    }
}
