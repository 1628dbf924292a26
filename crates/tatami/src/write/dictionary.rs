//! Value dictionaries of the extended profile: the distinct strings of a column, while they are few.

use std::collections::HashMap;

use arrow_array::Array;

use crate::meta::schema::write_bytes;
use crate::scalars::binary_at;

/// Max entries and bytes of a dictionary; larger columns use the other forms.
const MAX_ENTRIES: usize = 1 << 16;
const MAX_BYTES: usize = 1 << 20;

/// Collects the distinct strings of a column in order of appearance.
#[derive(Debug, Default)]
pub(crate) struct DictionaryBuilder {
    codes: HashMap<Vec<u8>, u32>,
    payload: Vec<u8>,
    /// Abandoned: the values do not repeat.
    closed: bool,
    used: bool,
}

impl DictionaryBuilder {
    /// The codes of the non-null strings; `None` if they do not repeat enough or do not fit.
    pub(crate) fn encode(&mut self, array: &dyn Array) -> Option<Vec<u32>> {
        if self.closed {
            return None;
        }
        let mut out = Vec::with_capacity(array.len() - array.null_count());
        let before = self.codes.len();
        for row in (0..array.len()).filter(|row| array.is_valid(*row)) {
            let value = binary_at(array, row);
            let code = if let Some(code) = self.codes.get(value) {
                *code
            } else {
                if self.codes.len() >= MAX_ENTRIES || self.payload.len() + value.len() > MAX_BYTES {
                    return None;
                }
                let code = self.codes.len() as u32;
                self.codes.insert(value.to_vec(), code);
                write_bytes(value, &mut self.payload);
                code
            };
            out.push(code);
        }
        let added = self.codes.len() - before;
        if added * 2 > out.len().max(8) {
            self.closed = true;
            return None;
        }
        Some(out)
    }

    /// Records that a page refers to the dictionary, so that it is written.
    pub(crate) fn mark_used(&mut self) {
        self.used = true;
    }

    /// The payload and the number of entries, if a page refers to it.
    pub(crate) fn finish(self) -> Option<(Vec<u8>, u64)> {
        self.used.then_some((self.payload, self.codes.len() as u64))
    }
}
