//! Encoder of runs, with the same choices as the original engines.

use crate::Within;
use crate::bitstream::{BitWriter, packed_len};
use crate::word::Int;
use crate::zigzag::varint;

const GROUP: usize = 8;
/// Packed groups in one run: the header stays one byte.
const GROUPS: usize = 63;
/// Copies in one repeat.
const REPEATS: usize = 32_767;

/// Appends the column of `values` to `dst`; an empty column has no bytes.
pub fn encode<T: Int>(values: &[T], dst: &mut Vec<u8>) {
    encode_words(values.iter().map(|v| v.to_word()), T::BITS, dst);
}

/// Appends the column of `values`, written as 32-bit integers.
pub fn encode_bool(values: &[bool], dst: &mut Vec<u8>) {
    encode_words(values.iter().map(|&v| u64::from(v)), 32, dst);
}

fn encode_words(words: impl Iterator<Item = u64> + Clone, bits: u32, dst: &mut Vec<u8>) {
    let mut all = 0;
    let mut any = false;
    for word in words.clone() {
        all |= word;
        any = true;
    }
    if !any {
        return;
    }
    let width = (64 - all.leading_zeros()).max(1);
    let mut body = vec![width as u8];
    let mut runs =
        Runs { body: &mut body, bits, width, pending: Vec::with_capacity(GROUPS * GROUP), partial: 0 };
    runs.encode(words);
    varint::write_u64(body.len() as u64, dst);
    dst.append(&mut body);
}

struct Runs<'a> {
    body: &'a mut Vec<u8>,
    bits: u32,
    width: u32,
    /// Complete groups waiting for their header, then the `partial` values of the current group.
    pending: Vec<u64>,
    partial: usize,
}

impl Runs<'_> {
    fn encode(&mut self, words: impl Iterator<Item = u64>) {
        let mut repeats = 0usize;
        let mut previous = 0u64;
        for word in words {
            if word == previous {
                repeats += 1;
                if (GROUP..=REPEATS).contains(&repeats) {
                    continue;
                }
                if repeats == REPEATS + 1 {
                    self.repeat(REPEATS, previous);
                    repeats = 1;
                }
            } else {
                if repeats >= GROUP {
                    self.repeat(repeats, previous);
                }
                repeats = 1;
                previous = word;
            }
            if self.partial == 0 && self.pending.len() == GROUPS * GROUP {
                self.packed(GROUP);
            }
            self.pending.push(word);
            self.partial += 1;
            if self.partial == GROUP {
                self.partial = 0;
                repeats = 0;
            }
        }
        if repeats >= GROUP {
            self.repeat(repeats, previous);
        } else if self.partial > 0 {
            let real = self.partial;
            self.pending.resize(self.pending.len() + GROUP - real, 0);
            self.packed(real);
        } else {
            self.packed(GROUP);
        }
    }

    /// Writes the complete groups; the last has `real` values.
    fn packed(&mut self, real: usize) {
        let groups = self.pending.len() / GROUP;
        if groups == 0 {
            return;
        }
        self.body.push((groups << 1 | 1) as u8);
        self.body.push(real as u8);
        self.body.reserve(packed_len(self.pending.len(), self.width));
        let mut writer = BitWriter::new(self.body);
        for &word in &self.pending {
            writer.write(word, self.width);
        }
        writer.finish();
        self.pending.clear();
    }

    fn repeat(&mut self, n: usize, word: u64) {
        // The current group contains copies that the repeat counts.
        self.pending.truncate(self.pending.len() - self.partial);
        self.partial = 0;
        self.packed(GROUP);
        varint::write_u64((n as u64) << 1, self.body);
        let size = self.width.div_ceil(8) as usize;
        if self.bits == 32 {
            self.body.extend_from_slice(word.to_le_bytes().within(..size));
        } else {
            self.body.extend_from_slice(word.to_be_bytes().within(8 - size..));
        }
    }
}
