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

/// Fills `data` and `offsets` with the strings of the indexes in `src`; their number must match exactly.
pub fn decode(
    id_width: u8,
    length_width: u8,
    mut entries: &[u8],
    src: &[u8],
    data: &mut [u8],
    offsets: &mut [u64],
) -> Result<()> {
    let id_width = check_width(WHAT, id_width)?;
    let length_width = check_width(WHAT, length_width)?;
    let mut strings: Vec<([u8; SHORT], &[u8])> = Vec::new();
    while !entries.is_empty() {
        let len = take_int(WHAT, &mut entries, length_width)?;
        let string = take(WHAT, &mut entries, len)?;
        let mut start = [0; SHORT];
        start.iter_mut().zip(string).for_each(|(place, byte)| *place = *byte);
        strings.push((start, string));
    }
    if !src.len().is_multiple_of(id_width) {
        return Err(Error::corrupt(WHAT, format!("{} bytes are not whole numbers of {id_width}", src.len())));
    }
    let out = Output { what: WHAT, data, offsets, filled: 0, strings: 0 };
    match id_width {
        1 => look_up::<1>(src, &strings, out),
        2 => look_up::<2>(src, &strings, out),
        4 => look_up::<4>(src, &strings, out),
        _ => look_up::<8>(src, &strings, out),
    }
}

/// Appends the strings of indexes of `W` bytes, each given with its first bytes.
fn look_up<const W: usize>(src: &[u8], strings: &[([u8; SHORT], &[u8])], mut out: Output<'_>) -> Result<()> {
    for id in src.as_chunks::<W>().0 {
        let id = id.iter().fold(0_u64, |id, byte| id << 8 | u64::from(*byte));
        let Some((start, string)) = usize::try_from(id).ok().and_then(|id| strings.get(id)) else {
            return Err(Error::corrupt(
                WHAT,
                format!("string {id} is out of range, the dictionary has {}", strings.len()),
            ));
        };
        if !out.push_short(start, string.len()) {
            out.push(string)?;
        }
    }
    out.finish()
}
