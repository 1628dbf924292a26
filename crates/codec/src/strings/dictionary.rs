//! Strings as indexes into a dictionary of distinct strings, in order of first appearance.

use std::collections::HashMap;

use super::{Output, SHORT, cells, check_width, put, take, take_int, width_of};
use crate::{Error, Result};

const WHAT: &str = "string dictionary";

/// What decoding needs in addition to the stream of indexes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dictionary {
    /// Bytes of an index.
    pub id_width: u8,
    /// Bytes of a string length in `entries`.
    pub length_width: u8,
    /// The distinct strings: `length | bytes`, repeated.
    pub entries: Vec<u8>,
}

/// Appends one index per string of `data` and returns the dictionary.
pub fn encode(data: &[u8], offsets: &[u64], dst: &mut Vec<u8>) -> Result<Dictionary> {
    // The original engine derives the index width from the number of cells, not of distinct strings.
    let id_width = width_of(offsets.len() as u64);
    let mut ids: HashMap<&[u8], u64> = HashMap::new();
    let mut distinct: Vec<&[u8]> = Vec::new();
    for cell in cells(WHAT, data, offsets) {
        let cell = cell?;
        let id = *ids.entry(cell).or_insert_with(|| {
            distinct.push(cell);
            distinct.len() as u64 - 1
        });
        put(id, id_width, dst);
    }
    let length_width = width_of(distinct.iter().map(|s| s.len() as u64).max().unwrap_or(0));
    let mut entries = Vec::new();
    for string in distinct {
        put(string.len() as u64, length_width, &mut entries);
        entries.extend_from_slice(string);
    }
    Ok(Dictionary { id_width, length_width, entries })
}

/// The most distinct strings of [`split`].
pub const MOST_STRINGS: usize = 1 << 16;

/// Fills `data` and `offsets` with the strings of the indexes in `src`; their number must match exactly.
pub fn decode(
    id_width: u8,
    length_width: u8,
    entries: &[u8],
    src: &[u8],
    data: &mut [u8],
    offsets: &mut [u64],
) -> Result<()> {
    let id_width = check_ids(id_width, src)?;
    let started = |string: &[u8]| {
        let mut start = [0; SHORT];
        start.iter_mut().zip(string).for_each(|(place, byte)| *place = *byte);
        start
    };
    let strings = distinct(length_width, entries)?;
    let strings: Vec<([u8; SHORT], &[u8])> =
        strings.into_iter().map(|string| (started(string), string)).collect();
    let out = Output { what: WHAT, data, offsets, filled: 0, strings: 0 };
    match id_width {
        1 => look_up::<1>(src, &strings, out),
        2 => look_up::<2>(src, &strings, out),
        4 => look_up::<4>(src, &strings, out),
        _ => look_up::<8>(src, &strings, out),
    }
}

/// Appends the index of each string in `src`, and returns the distinct strings: what [`decode`] fills `size` bytes with, not
/// looked up. `None` if there are more than [`MOST_STRINGS`], and `ids` is as before.
pub fn split<'a>(
    id_width: u8,
    length_width: u8,
    entries: &'a [u8],
    src: &[u8],
    size: usize,
    ids: &mut Vec<u16>,
) -> Result<Option<Vec<&'a [u8]>>> {
    let id_width = check_ids(id_width, src)?;
    let strings = distinct(length_width, entries)?;
    if strings.len() > MOST_STRINGS {
        return Ok(None);
    }
    let start = ids.len();
    let largest = match id_width {
        1 => narrow::<1>(src, ids),
        2 => narrow::<2>(src, ids),
        4 => narrow::<4>(src, ids),
        _ => narrow::<8>(src, ids),
    };
    if let Some(id) = largest.filter(|id| *id >= strings.len() as u64) {
        return Err(out_of_range(id, strings.len()));
    }
    let lengths: Vec<usize> = strings.iter().map(|string| string.len()).collect();
    let own = ids.get(start..).unwrap_or_default();
    let found: usize = own.iter().filter_map(|id| lengths.get(usize::from(*id))).sum();
    if found != size {
        return Err(Error::Length { what: WHAT, expected: size as u64, found: found as u64 });
    }
    Ok(Some(strings))
}

/// Appends indexes of `W` bytes, cut to 16 bits, and returns the largest.
fn narrow<const W: usize>(src: &[u8], ids: &mut Vec<u16>) -> Option<u64> {
    let all = src.as_chunks::<W>().0;
    let largest = all.iter().map(wide).max();
    ids.extend(all.iter().map(|id| wide(id) as u16));
    largest
}

fn wide<const W: usize>(id: &[u8; W]) -> u64 {
    id.iter().fold(0, |id, byte| id << 8 | u64::from(*byte))
}

/// The width of an index, if `src` has whole ones.
fn check_ids(width: u8, src: &[u8]) -> Result<usize> {
    let width = check_width(WHAT, width)?;
    if !src.len().is_multiple_of(width) {
        return Err(Error::corrupt(WHAT, format!("{} bytes are not whole numbers of {width}", src.len())));
    }
    Ok(width)
}

/// The strings of a dictionary.
fn distinct(length_width: u8, mut entries: &[u8]) -> Result<Vec<&[u8]>> {
    let length_width = check_width(WHAT, length_width)?;
    let mut strings = Vec::new();
    while !entries.is_empty() {
        let len = take_int(WHAT, &mut entries, length_width)?;
        strings.push(take(WHAT, &mut entries, len)?);
    }
    Ok(strings)
}

fn out_of_range(id: u64, strings: usize) -> Error {
    Error::corrupt(WHAT, format!("string {id} is out of range, the dictionary has {strings}"))
}

/// Appends the strings of indexes of `W` bytes, each given with its first bytes.
fn look_up<const W: usize>(src: &[u8], strings: &[([u8; SHORT], &[u8])], mut out: Output<'_>) -> Result<()> {
    for id in src.as_chunks::<W>().0 {
        let id = wide(id);
        let Some((start, string)) = usize::try_from(id).ok().and_then(|id| strings.get(id)) else {
            return Err(out_of_range(id, strings.len()));
        };
        if !out.push_short(start, string.len()) {
            out.push(string)?;
        }
    }
    out.finish()
}
