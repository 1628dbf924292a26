//! LZO1X blocks without frame or length, which end with a marker. They are read only: the writers of TsFile in C++ have them.
//!
//! An instruction copies bytes of the output, then up to three literals that follow it; a long run of literals is an
//! instruction of its own. Whether an instruction below 16 is a run of literals or a short copy depends on how many
//! literals precede it.

use super::{Compressor, length_error};
use crate::{Error, Result};

/// What precedes an instruction: so many literals, of which more than three count as this.
const RUN: usize = 4;
/// The distance of a copy that is the marker of the end.
const END: usize = 1 << 14;

pub(super) fn decompress_into(src: &[u8], dst: &mut [u8]) -> Result<()> {
    let mut block = Block { src, read: 0, dst, written: 0 };
    let mut literals = 0;
    if let Some(first @ 18..) = src.first().copied() {
        block.read = 1;
        literals = usize::from(first) - 17;
        block.literals(literals)?;
    }
    loop {
        let instruction = usize::from(block.byte()?);
        // The next literals are the last two bits of the instruction, or of its distance.
        let (distance, length, next) = match instruction {
            64.. => {
                let distance = (usize::from(block.byte()?) << 3) + (instruction >> 2 & 7) + 1;
                (distance, (instruction >> 5) + 1, instruction)
            }
            32.. => {
                let length = block.length(instruction, 31)? + 2;
                let pair = block.pair()?;
                ((pair >> 2) + 1, length, pair)
            }
            16.. => {
                let length = block.length(instruction, 7)? + 2;
                let pair = block.pair()?;
                let distance = END + ((instruction & 8) << 11) + (pair >> 2);
                if distance == END {
                    return block.end();
                }
                (distance, length, pair)
            }
            _ if literals == 0 => {
                let count = block.length(instruction, 15)? + 3;
                block.literals(count)?;
                literals = RUN;
                continue;
            }
            _ => {
                let distance = (usize::from(block.byte()?) << 2) + (instruction >> 2) + 1;
                if literals < RUN { (distance, 2, instruction) } else { (distance + 2048, 3, instruction) }
            }
        };
        block.copy(distance, length)?;
        literals = next & 3;
        block.literals(literals)?;
    }
}

/// A block in progress.
struct Block<'a> {
    src: &'a [u8],
    read: usize,
    dst: &'a mut [u8],
    written: usize,
}

impl Block<'_> {
    fn byte(&mut self) -> Result<u8> {
        let byte = self.src.get(self.read).copied().ok_or_else(|| self.truncated(1))?;
        self.read += 1;
        Ok(byte)
    }

    fn pair(&mut self) -> Result<usize> {
        Ok(usize::from(self.byte()?) | usize::from(self.byte()?) << 8)
    }

    fn truncated(&self, needed: usize) -> Error {
        let available = self.src.len().saturating_sub(self.read);
        Error::Truncated { what: Compressor::Lzo.name(), needed, available }
    }

    /// The length in the low bits of an instruction. Where they are 0, bytes follow that add to `most`: 255 for each
    /// zero, and the first that is none.
    fn length(&mut self, instruction: usize, most: usize) -> Result<usize> {
        if instruction & most != 0 {
            return Ok(instruction & most);
        }
        let mut length = most;
        loop {
            match self.byte()? {
                0 => length += 255,
                last => return Ok(length + usize::from(last)),
            }
        }
    }

    fn space(&mut self, count: usize) -> Result<&mut [u8]> {
        let (len, end) = (self.dst.len(), self.written.saturating_add(count));
        let space = self.dst.get_mut(self.written..end);
        space.ok_or_else(|| length_error(Compressor::Lzo, len, end))
    }

    fn literals(&mut self, count: usize) -> Result<()> {
        let src = self.src;
        let literals = src.get(self.read..self.read.saturating_add(count));
        let literals = literals.ok_or_else(|| self.truncated(count))?;
        self.space(count)?.copy_from_slice(literals);
        self.read += count;
        self.written += count;
        Ok(())
    }

    /// Repeats what was written `distance` bytes before, which may overlap what is written now.
    fn copy(&mut self, distance: usize, length: usize) -> Result<()> {
        let Some(from) = self.written.checked_sub(distance) else {
            let why = format!("a copy from {distance} bytes before byte {}", self.written);
            return Err(Error::corrupt(Compressor::Lzo.name(), why));
        };
        self.space(length)?;
        // What is written repeats every `distance` bytes, so each step may copy all of it that is there.
        let mut done = 0;
        while done < length {
            let step = (length - done).min(distance + done);
            self.dst.copy_within(from..from + step, self.written + done);
            done += step;
        }
        self.written += length;
        Ok(())
    }

    fn end(&self) -> Result<()> {
        if self.read != self.src.len() {
            let left = self.src.len() - self.read;
            return Err(Error::corrupt(Compressor::Lzo.name(), format!("{left} bytes follow its end")));
        }
        if self.written != self.dst.len() {
            return Err(length_error(Compressor::Lzo, self.dst.len(), self.written));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(src: &[u8], len: usize) -> Result<Vec<u8>> {
        let mut out = vec![0xaa; len];
        decompress_into(src, &mut out).map(|()| out)
    }

    const MARKER: [u8; 3] = [0x11, 0, 0];

    #[test]
    fn every_instruction_is_read() {
        let block = |parts: &[&[u8]]| [&parts.concat()[..], &MARKER].concat();
        let run = |count: u8| (0..count).collect::<Vec<u8>>();
        for (src, expected) in [
            (block(&[]), Vec::new()),
            // Four literals, as the first byte states them.
            (block(&[&[21], b"abcd"]), b"abcd".to_vec()),
            // A run of literals, and 3 bytes from 4 before them with a literal after it.
            (block(&[&[1], b"abcd", &[0b0100_1101, 0], b"x"]), b"abcdabcx".to_vec()),
            // 8 bytes from 1 before: an overlap.
            (block(&[&[18], b"a", &[0b1110_0000, 0]]), b"aaaaaaaaa".to_vec()),
            // 2 + 31 + 255 + 3 bytes from 2 before.
            (block(&[&[19], b"ab", &[0b0010_0000, 0, 3, 4, 0]]), b"ab".repeat(147)[..293].to_vec()),
            // After three literals: 2 bytes from 3 before, then 2 literals.
            (block(&[&[20], b"abc", &[0b0000_1010, 0], b"yz"]), b"abcabyz".to_vec()),
        ] {
            let len = expected.len();
            assert_eq!(decoded(&src, len).unwrap(), expected, "{src:?}");
            assert!(matches!(decoded(&src, len + 1), Err(Error::Length { .. })), "{src:?}");
            for cut in 0..src.len() {
                assert!(decoded(&src[..cut], len).is_err(), "{src:?} cut at {cut}");
            }
            if len > 0 {
                assert!(decoded(&src, len - 1).is_err(), "{src:?}");
            }
            assert!(decoded(&[&src[..], &[0]].concat(), len).is_err(), "{src:?}");
        }
        // Far copies: 3 bytes from 2,049 before after a run, and 4 from 16,385 before.
        let zeros = [0b0010_0000].into_iter().chain([0; 70]).chain([100, 0, 0]).collect::<Vec<u8>>();
        let count = 2 + 31 + 70 * 255 + 100;
        let start = run(18);
        let head = [&[0_u8, 3][..], &run(21), &zeros].concat();
        let near = block(&[&head, &[1], b"wxyz", &[0, 0]]);
        let written = |tail: &[u8]| [&run(21)[..], &vec![20; count], tail].concat();
        let expected = written(b"wxyz\x14\x14\x14");
        assert_eq!(decoded(&near, expected.len()).unwrap(), expected);
        let far = block(&[&head, &[0b0001_0010, 4, 0]]);
        let expected = written(&[20; 4]);
        assert_eq!(decoded(&far, expected.len()).unwrap(), expected);
        assert!(decoded(&block(&[&[35], &start, &[0b0001_0010, 0, 1]]), 22).is_err(), "before the start");
    }
}
