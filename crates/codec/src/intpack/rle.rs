//! Runs and literals: one byte of width, then groups after a varint control: odd is a run (`count * 2 + 1`, one
//! packed value), even are literals (`count * 2`, packed together). Each group starts on a whole byte.

use super::{Int, bits};
use crate::{Error, Result, Within, varint};

/// A run this long is written as a run; shorter ones join the literals around them.
const MIN_RUN: usize = 8;

const WHAT: &str = "run-length values";

/// One group of the encoded form: `count` values from `start`, all equal if `run`.
struct Group {
    start: usize,
    count: usize,
    run: bool,
}

fn groups<T: Int>(values: &[T], mut emit: impl FnMut(Group)) {
    let mut literals = 0;
    let mut at = 0;
    for run in values.chunk_by(|a, b| a == b) {
        if run.len() >= MIN_RUN {
            if literals < at {
                emit(Group { start: literals, count: at - literals, run: false });
            }
            emit(Group { start: at, count: run.len(), run: true });
            literals = at + run.len();
        }
        at += run.len();
    }
    if literals < at {
        emit(Group { start: literals, count: at - literals, run: false });
    }
}

fn width_of<T: Int>(values: &[T]) -> u32 {
    bits::width_of(values.iter().fold(0, |all, v| all | v.widen()))
}

fn group_len(group: &Group, width: u32) -> usize {
    let (control, values) = if group.run { (group.count * 2 + 1, 1) } else { (group.count * 2, group.count) };
    varint::len(control as u64) + bits::packed_len(values, width).unwrap_or(usize::MAX / 2)
}

/// Bytes that [`encode`] would append.
pub fn encoded_len<T: Int>(values: &[T]) -> usize {
    let width = width_of(values);
    let mut len = 1;
    groups(values, |group| len += group_len(&group, width));
    len
}

/// Appends `values`. An empty list is the single byte 1.
pub fn encode<T: Int>(values: &[T], dst: &mut Vec<u8>) {
    let width = width_of(values);
    dst.push(width as u8);
    groups(values, |group| {
        let part = values.within(group.start..group.start + group.count);
        if group.run {
            varint::write(group.count as u64 * 2 + 1, dst);
            bits::pack(part.iter().take(1).map(|v| v.widen()), width, dst);
        } else {
            varint::write(group.count as u64 * 2, dst);
            bits::pack(part.iter().map(|v| v.widen()), width, dst);
        }
    });
}

/// Appends `n` values to `dst`. A group that would exceed `n` is clipped.
pub fn decode<T: Int>(src: &[u8], n: usize, dst: &mut Vec<T>) -> Result<()> {
    let Some((&width, mut rest)) = src.split_first() else {
        return Err(Error::truncated(WHAT, 1, 0));
    };
    let width = u32::from(width);
    let mut left = n;
    while left > 0 {
        let (control, len) = varint::read(rest)?;
        rest = rest.within(len..);
        let count = usize::try_from(control >> 1).unwrap_or(usize::MAX).min(left);
        let used = if control & 1 == 1 {
            let mut value: Vec<T> = Vec::with_capacity(1);
            let used = bits::unpack(rest, width, 0, 1, &mut value)?;
            dst.resize(dst.len() + count, value.first().copied().unwrap_or_default());
            used
        } else {
            bits::unpack(rest, width, 0, count, dst)?
        };
        rest = rest.within(used..);
        left -= count;
    }
    Ok(())
}
