//! Tokenizer, the same for documents and queries.
//!
//! A token is a maximal run of letters (general categories Lu, Ll, Lt, Lm, Lo) and decimal digits (Nd), each code
//! point mapped by its simple lower-case mapping. Everything else separates: marks, letter numbers, underscores,
//! apostrophes, bytes that are not UTF-8. There is no stemming, no stop word and no length limit (spec §20).
//!
//! Independent of fields, documents and files.

mod letters;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use letters::UNICODE_VERSION;

/// Larger code points are never part of a token.
const END: u32 = 0x32400;

/// One bit per code point: whether it is part of a token.
static LETTERS: [u64; END as usize / 64] = bitset();

/// The token form of an ASCII byte; 0 for separators.
static ASCII: [u8; 128] = ascii();

#[allow(clippy::large_stack_arrays, reason = "it is evaluated when the crate is compiled")]
const fn bitset() -> [u64; END as usize / 64] {
    let mut bits = [0u64; END as usize / 64];
    let mut i = 0;
    while i < letters::RANGES.len() {
        let (first, last) = letters::RANGES[i];
        let mut word = first / 64;
        while word <= last / 64 {
            let low = if word == first / 64 { first % 64 } else { 0 };
            let high = if word == last / 64 { last % 64 } else { 63 };
            bits[word as usize] |= (u64::MAX >> (63 - high)) & (u64::MAX << low);
            word += 1;
        }
        i += 1;
    }
    bits
}

const fn ascii() -> [u8; 128] {
    let mut table = [0u8; 128];
    let mut byte = 0u8;
    while byte < 128 {
        if byte.is_ascii_alphanumeric() {
            table[byte as usize] = byte.to_ascii_lowercase();
        }
        byte += 1;
    }
    table
}

/// Number of leading lower-case ASCII letters and digits, which are unchanged in tokens.
fn plain_run(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| !PLAIN[usize::from(*byte)]).unwrap_or(bytes.len())
}

/// Whether a byte is a lower-case ASCII letter or a digit.
static PLAIN: [bool; 256] = plain();

const fn plain() -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_lowercase() || byte.is_ascii_digit();
        byte += 1;
    }
    table
}

/// Whether `c` is part of a token.
pub fn is_token_char(c: char) -> bool {
    let c = c as u32;
    LETTERS.get(c as usize / 64).is_some_and(|word| word >> (c % 64) & 1 == 1)
}

/// The simple lower-case mapping.
///
/// The full mapping of one character differs only for U+0130, where the first code point is the simple
/// mapping.
fn simple_lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

/// Calls `emit` with every token of `text` and its byte range in the source.
pub fn tokenize(text: &[u8], mut emit: impl FnMut(&str, Range<usize>)) {
    let mut token = String::with_capacity(64);
    let mut at = 0;
    for chunk in text.utf8_chunks() {
        tokenize_str(chunk.valid(), at, &mut token, &mut emit);
        at += chunk.valid().len() + chunk.invalid().len();
    }
}

/// The tokens of valid UTF-8 that starts at byte `base` of the whole.
fn tokenize_str(text: &str, base: usize, token: &mut String, emit: &mut impl FnMut(&str, Range<usize>)) {
    let bytes = text.as_bytes();
    let (mut at, mut start) = (0, 0);
    while let Some(&byte) = bytes.get(at) {
        if token.is_empty() && PLAIN[usize::from(byte)] {
            let end = at + plain_run(bytes.get(at..).unwrap_or_default());
            let run = text.get(at..end).unwrap_or_default();
            // Most words end here and need no copy; the others continue below.
            if bytes.get(end).is_none_or(|next| ASCII.get(usize::from(*next)) == Some(&0)) {
                emit(run, base + at..base + end);
                at = end + 1;
            } else {
                start = at;
                token.push_str(run);
                at = end;
            }
            continue;
        }
        if let Some(&lower) = ASCII.get(usize::from(byte)) {
            if lower != 0 {
                if token.is_empty() {
                    start = at;
                }
                token.push(char::from(lower));
            } else if !token.is_empty() {
                emit(token, base + start..base + at);
                token.clear();
            }
            at += 1;
            continue;
        }
        // `at` is on a character boundary: ASCII advances by one, this by the length of the character.
        let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) else { break };
        if is_token_char(c) {
            if token.is_empty() {
                start = at;
            }
            token.push(simple_lower(c));
        } else if !token.is_empty() {
            emit(token, base + start..base + at);
            token.clear();
        }
        at += c.len_utf8();
    }
    if !token.is_empty() {
        emit(token, base + start..base + at);
        token.clear();
    }
}

/// The tokens of `text`, in order, with duplicates.
pub fn tokens(text: &[u8]) -> Vec<String> {
    let mut out = Vec::new();
    tokenize(text, |token, _| out.push(token.to_owned()));
    out
}
