//! The skip tables (spec §21.5).
//!
//! `uv lists`, then per list `uv documents`, `uv blocks`, and per block five `uv`: first document, last
//! document, max frequency, offset in the list's payload, documents. All values are absolute.

use tesselle_codec::{Error, Result, varint};

use super::run::{Places, RunSource, Walk};
use super::{BLOCK, index, number};

const WHAT: &str = "skip tables";

/// The run, with the place of every table that was asked for.
#[derive(Debug)]
pub(crate) struct Skips(Places);

impl Skips {
    /// Finds the tables, without decoding them.
    pub(crate) fn parse(run: RunSource) -> tesselle_core::Result<Self> {
        // A table takes at least two bytes.
        Places::try_new(run, WHAT, 2, next).map(Self)
    }

    /// Tables in the run.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The table of list `i`; `None` when there is no such list.
    pub(crate) fn table(&self, i: u32) -> tesselle_core::Result<Option<SkipTable>> {
        Ok(self.0.get(i)?.map(|table| SkipTable::parse(&table, 0)).transpose()?)
    }
}

fn next(walk: &mut Walk<'_>, pos: &mut usize) -> tesselle_core::Result<(usize, usize)> {
    let start = *pos;
    walk.varint(pos)?;
    let blocks = index(walk.varint(pos)?, WHAT)?;
    let fields = blocks.checked_mul(5).filter(|&count| count <= walk.len());
    let mut left = fields.ok_or_else(|| Error::corrupt(WHAT, "more blocks than bytes"))?;
    while left > 0 {
        let bytes = walk.bytes(*pos, 1)?;
        if bytes.is_empty() {
            return Err(Error::truncated(WHAT, left, 0).into());
        }
        *pos += skip_varints(bytes, &mut left);
    }
    Ok((start, *pos))
}

/// Skips varints until none of `left` is left or the bytes end: every varint ends with its only byte below 128. The
/// answer is how many bytes that took.
fn skip_varints(bytes: &[u8], left: &mut usize) -> usize {
    let mut pos = 0;
    while *left >= 8
        && let Some(word) = bytes.get(pos..).and_then(|rest| rest.first_chunk::<8>())
    {
        *left -= (!u64::from_le_bytes(*word) & 0x8080_8080_8080_8080).count_ones() as usize;
        pos += 8;
    }
    // Where the word loop stopped inside a varint, the rest of it is counted here.
    while *left > 0
        && let Some(&byte) = bytes.get(pos)
    {
        *left -= usize::from(byte < 0x80);
        pos += 1;
    }
    pos
}

/// The blocks of one list, a vector per field, for locality in a search.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SkipTable {
    pub(crate) docs: u64,
    pub(crate) first: Vec<u32>,
    pub(crate) last: Vec<u32>,
    pub(crate) max_freq: Vec<u32>,
    pub(crate) offset: Vec<u32>,
    pub(crate) count: Vec<u8>,
}

impl SkipTable {
    fn parse(run: &[u8], mut pos: usize) -> Result<Self> {
        let docs = varint::take(run, &mut pos)?;
        let blocks = index(varint::take(run, &mut pos)?, WHAT)?;
        if blocks > run.len().saturating_sub(pos) / 5 {
            return Err(Error::truncated(WHAT, blocks.saturating_mul(5), run.len().saturating_sub(pos)));
        }
        let mut table = Self { docs, ..Self::default() };
        for column in [&mut table.first, &mut table.last, &mut table.max_freq, &mut table.offset] {
            column.reserve_exact(blocks);
        }
        table.count.reserve_exact(blocks);
        let mut total = 0;
        for i in 0..blocks {
            let mut field = || number(varint::take(run, &mut pos)?, WHAT);
            let (first, last, max_freq, offset, count) = (field()?, field()?, field()?, field()?, field()?);
            let ascends = table.last.last().is_none_or(|&before| before < first);
            // `count` documents need as many distinct ids.
            let fits = (1..=BLOCK as u32).contains(&count) && last.checked_sub(first) >= Some(count - 1);
            if !ascends || !fits {
                return Err(Error::corrupt(
                    WHAT,
                    format!("block {i} states {count} documents from {first} to {last}"),
                ));
            }
            table.push(first, last, max_freq, offset, count as u8);
            total += u64::from(count);
        }
        if total != docs {
            return Err(Error::corrupt(WHAT, format!("{docs} documents stated, the blocks have {total}")));
        }
        Ok(table)
    }

    pub(crate) fn push(&mut self, first: u32, last: u32, max_freq: u32, offset: u32, count: u8) {
        self.first.push(first);
        self.last.push(last);
        self.max_freq.push(max_freq);
        self.offset.push(offset);
        self.count.push(count);
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        varint::write(self.docs, out);
        varint::write(self.len() as u64, out);
        let rest = self.last.iter().zip(&self.max_freq).zip(&self.offset).zip(&self.count);
        for (first, (((last, max_freq), offset), count)) in self.first.iter().zip(rest) {
            for field in [*first, *last, *max_freq, *offset, u32::from(*count)] {
                varint::write(field.into(), out);
            }
        }
    }

    /// Blocks of the list.
    pub(crate) fn len(&self) -> usize {
        self.first.len()
    }

    /// A frequency that at least `n` documents of the list reach, because every block has a document with its
    /// max frequency; `None` if there are fewer blocks.
    pub(crate) fn reached_by(&self, n: usize) -> Option<u32> {
        let nth = n.checked_sub(1).filter(|nth| *nth < self.max_freq.len())?;
        let mut largest = self.max_freq.clone();
        let (_, freq, _) = largest.select_nth_unstable_by(nth, |a, b| b.cmp(a));
        Some(*freq)
    }

    /// The max frequency of the list.
    pub(crate) fn list_max(&self) -> u32 {
        self.max_freq.iter().copied().max().unwrap_or(0)
    }
}
