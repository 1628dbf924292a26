//! The positions of the terms in their documents: an addition to the runs of the original engine, which skips it.
//!
//! ```text
//! uv   terms
//! u32  per group of 32 terms: where it starts in the area of groups
//! area groups: uv length of the payload of each term, then the payloads
//! ```
//!
//! A payload has the blocks of the posting list of its term; a term of one document has one block. In front of the blocks
//! are the lengths of all but the last, as varints. A block has the positions of its documents one document after the
//! other, as many as the frequencies state: the first one, then the gaps. 128 numbers at a time are patched packing; fewer
//! are too, unless they are [`FEW`] or less: then they are varints.
//!
//! A position is the number of the token in its field, with the number of the field in the upper two bits.

use bytes::Bytes;
use tesselle_codec::intblock::decode_patched;
use tesselle_codec::intpack::pfor;
use tesselle_codec::{Error, Result, varint};
use tesselle_core::Within;

use super::run::RunSource;
use super::{BLOCK, index};

const WHAT: &str = "positions";

/// Terms in a group.
const GROUP: usize = 32;

/// The most numbers that are stored as varints.
const FEW: usize = 8;

/// The longest lengths of a group.
const LENGTHS: usize = GROUP * 5;

/// Bits of the number of a token.
pub(crate) const TOKEN_BITS: u32 = 30;

/// The run, whose payloads are read when they are asked for.
#[derive(Debug)]
pub(crate) struct Positions {
    run: RunSource,
    terms: u64,
    /// Where the groups are listed, and where they start.
    groups: usize,
    area: usize,
}

impl Positions {
    pub(crate) fn parse(run: RunSource) -> tesselle_core::Result<Self> {
        let head = run.get(0..run.len().min(varint::MAX_LEN), WHAT)?;
        let mut groups = 0;
        let terms = varint::take(&head, &mut groups)?;
        let listed = index(terms.div_ceil(GROUP as u64), WHAT)?.saturating_mul(4);
        let area = groups.saturating_add(listed);
        if area > run.len() {
            return Err(Error::truncated(WHAT, area, run.len()).into());
        }
        Ok(Self { run, terms, groups, area })
    }

    /// Terms in the run.
    pub(crate) fn terms(&self) -> u64 {
        self.terms
    }

    /// The payload of the term with this number.
    pub(crate) fn payload(&self, term: u64) -> tesselle_core::Result<Bytes> {
        if term >= self.terms {
            return Err(Error::corrupt(WHAT, format!("term {term} of {}", self.terms)).into());
        }
        let group = index(term / GROUP as u64, WHAT)?;
        let at = self.groups + group * 4;
        let start =
            self.run.get(at..at + 4, WHAT)?.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let start = self.area.saturating_add(start as usize);
        let there = self.run.len().saturating_sub(start);
        let head = self.run.get(start..start.saturating_add(there.min(LENGTHS)), WHAT)?;
        let of_group = (self.terms - group as u64 * GROUP as u64).min(GROUP as u64);
        let (mut pos, mut before, mut len) = (0, 0usize, 0);
        for i in 0..of_group {
            let next = index(varint::take(&head, &mut pos)?, WHAT)?;
            if i < term % GROUP as u64 {
                before = before.saturating_add(next);
            } else if i == term % GROUP as u64 {
                len = next;
            }
        }
        let start = start.saturating_add(pos).saturating_add(before);
        self.run.get(start..start.saturating_add(len), WHAT)
    }
}

/// Block `block` of the `blocks` of a payload.
pub(crate) fn block(payload: &[u8], blocks: usize, block: usize) -> Result<&[u8]> {
    let (mut pos, mut start, mut len) = (0, 0usize, None);
    for i in 1..blocks {
        let next = index(varint::take(payload, &mut pos)?, WHAT)?;
        if i - 1 < block {
            start = start.saturating_add(next);
        } else if i - 1 == block {
            len = Some(next);
        }
    }
    let start = pos.saturating_add(start);
    let rest = payload.get(start..).ok_or_else(|| Error::truncated(WHAT, start, payload.len()))?;
    match len {
        None => Ok(rest),
        Some(len) => rest.get(..len).ok_or_else(|| Error::truncated(WHAT, len, rest.len())),
    }
}

/// Replaces `out` by `count` numbers of a block of `total` numbers, from `skip` on; the answer is where they end.
///
/// A number takes at least a bit, so the bytes limit how far `out` grows.
pub(crate) fn numbers(block: &[u8], total: u64, skip: u64, count: u64, out: &mut Vec<u32>) -> Result<usize> {
    out.clear();
    let end = skip.saturating_add(count).min(total);
    let (mut pos, mut done) = (0, 0);
    let mut chunk = [0u32; BLOCK];
    while done < end {
        let len = (total - done).min(BLOCK as u64) as usize;
        let values = chunk.within_mut(..len);
        if len > FEW {
            pos += decode_patched(block.get(pos..).unwrap_or_default(), values)?;
        } else {
            for value in values.iter_mut() {
                *value = super::number(varint::take(block, &mut pos)?, WHAT)?;
            }
        }
        let wanted = skip.saturating_sub(done).min(len as u64)..(end - done).min(len as u64);
        out.extend_from_slice(values.within(wanted.start as usize..wanted.end as usize));
        done += len as u64;
    }
    Ok(pos)
}

/// Turns the numbers of one document into its positions, which must ascend.
pub(crate) fn sum(numbers: &mut [u32]) -> Result<()> {
    let mut last: Option<u32> = None;
    for number in numbers {
        let position = match last {
            None => Some(*number),
            Some(last) => last.checked_add(*number).filter(|position| *position > last),
        };
        *number = position.ok_or_else(|| Error::corrupt(WHAT, "positions do not ascend"))?;
        last = position;
    }
    Ok(())
}

/// Collects the positions of terms in ascending order.
#[derive(Debug, Default)]
pub(crate) struct PositionsWriter {
    terms: u64,
    /// Where each group starts in the area.
    groups: Vec<u64>,
    /// Bytes of the area, including those that were taken.
    len: u64,
    area: Vec<u8>,
    /// The group that is being filled.
    lengths: Vec<u8>,
    payloads: Vec<u8>,
}

impl PositionsWriter {
    /// Adds a term with the frequencies of its documents and the numbers of their positions.
    pub(crate) fn push(&mut self, freqs: &[u32], numbers: &[u32]) -> Result<()> {
        let before = self.payloads.len();
        let (mut lengths, mut blocks) = (Vec::new(), Vec::new());
        let mut rest = numbers;
        let count = freqs.len().div_ceil(BLOCK);
        for (i, freqs) in freqs.chunks(BLOCK).enumerate() {
            let total = freqs.iter().map(|freq| *freq as usize).sum::<usize>().min(rest.len());
            let (own, others) = rest.split_at(total);
            rest = others;
            let start = blocks.len();
            write_block(own, &mut blocks)?;
            if i + 1 < count {
                varint::write((blocks.len() - start) as u64, &mut lengths);
            }
        }
        self.payloads.extend_from_slice(&lengths);
        self.payloads.extend_from_slice(&blocks);
        varint::write((self.payloads.len() - before) as u64, &mut self.lengths);
        self.terms += 1;
        if self.terms.is_multiple_of(GROUP as u64) {
            self.end_group();
        }
        Ok(())
    }

    /// Appends the terms of another writer; this one must be at the end of a group.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.groups.extend(other.groups.iter().map(|start| self.len + start));
        self.terms += other.terms;
        self.len += other.len;
        self.area.append(&mut other.area);
        self.lengths = other.lengths;
        self.payloads = other.payloads;
    }

    fn end_group(&mut self) {
        self.groups.push(self.len);
        self.len += (self.lengths.len() + self.payloads.len()) as u64;
        self.area.append(&mut self.lengths);
        self.area.append(&mut self.payloads);
    }

    /// The finished groups that were not taken yet.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.area)
    }

    /// The bytes in front of the area, and the rest of the area.
    pub(crate) fn finish(mut self) -> Result<(Vec<u8>, Vec<u8>)> {
        if !self.lengths.is_empty() {
            self.end_group();
        }
        let mut head = Vec::with_capacity(varint::MAX_LEN + self.groups.len() * 4);
        varint::write(self.terms, &mut head);
        for start in &self.groups {
            let start = u32::try_from(*start).map_err(|_| Error::unencodable(WHAT, "they exceed 4 GiB"))?;
            head.extend_from_slice(&start.to_le_bytes());
        }
        Ok((head, self.area))
    }
}

fn write_block(numbers: &[u32], out: &mut Vec<u8>) -> Result<()> {
    for chunk in numbers.chunks(BLOCK) {
        if chunk.len() > FEW {
            pfor::encode(chunk, out)?;
        } else {
            for number in chunk {
                varint::write((*number).into(), out);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Term = Vec<Vec<u32>>;

    /// The numbers of some documents.
    fn numbers_of(term: &Term) -> Vec<u32> {
        let document = |positions: &Vec<u32>| {
            let before = std::iter::once(0).chain(positions.iter().copied());
            positions.iter().zip(before).map(|(position, before)| position - before).collect::<Vec<_>>()
        };
        term.iter().flat_map(document).collect()
    }

    fn freqs(term: &Term) -> Vec<u32> {
        term.iter().map(|positions| positions.len() as u32).collect()
    }

    fn written(terms: &[Term], cut: usize) -> Vec<u8> {
        let mut all = PositionsWriter::default();
        let mut area = Vec::new();
        for part in terms.chunks(cut * GROUP) {
            let mut writer = PositionsWriter::default();
            for term in part {
                writer.push(&freqs(term), &numbers_of(term)).unwrap();
            }
            all.append(writer);
            area.extend(all.take());
        }
        let (mut run, rest) = all.finish().unwrap();
        run.extend(area);
        run.extend(rest);
        run
    }

    fn documents() -> impl Strategy<Value = Term> {
        let document = prop::collection::btree_set(prop_oneof![0u32..3000, any::<u32>()], 1..12);
        prop::collection::vec(document.prop_map(|set| set.into_iter().collect()), 1..300)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn positions_of_every_document_are_found(
            terms in prop::collection::vec(documents(), 0..70),
            cut in 1usize..3,
        ) {
            let run = Positions::parse(written(&terms, cut).into()).unwrap();
            prop_assert_eq!(run.terms(), terms.len() as u64);
            let mut out = Vec::new();
            for (number, term) in terms.iter().enumerate() {
                let payload = run.payload(number as u64).unwrap();
                let blocks = term.len().div_ceil(BLOCK);
                for (i, documents) in term.chunks(BLOCK).enumerate() {
                    let block = block(&payload, blocks, i).unwrap();
                    let total = documents.iter().map(|positions| positions.len() as u64).sum();
                    let mut skip = 0;
                    for positions in documents {
                        let count = positions.len() as u64;
                        numbers(block, total, skip, count, &mut out).unwrap();
                        sum(&mut out).unwrap();
                        prop_assert_eq!(&out, positions);
                        skip += count;
                    }
                    prop_assert_eq!(numbers(block, total, 0, total, &mut out).unwrap(), block.len());
                }
            }
        }

        #[test]
        fn damaged_runs_are_refused_or_read(
            term in documents(),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            total in any::<u64>(),
        ) {
            let mut bytes = written(&[term], 1);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let mut out = Vec::new();
            for run in [bytes.clone(), bytes[..at].to_vec()] {
                let Ok(run) = Positions::parse(run.into()) else { continue };
                let Ok(payload) = run.payload(0) else { continue };
                let Ok(block) = block(&payload, 3, 1) else { continue };
                let _ = numbers(block, total, total / 2, total, &mut out);
                prop_assert!(out.len() <= block.len() * 8);
            }
        }
    }

    #[test]
    fn positions_must_ascend() {
        assert!(sum(&mut [3, 0]).is_err() && sum(&mut [u32::MAX, 1]).is_err());
        assert!(sum(&mut [0, 1, 5]).is_ok());
    }
}
