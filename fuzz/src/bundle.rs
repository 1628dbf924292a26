//! A folder as one input: its files one after the other, each with its name and its length.
//!
//! A file is `u16` length of the name, the name, `u32` length of the content, the content, little-endian. Any bytes are
//! a bundle: the last file may be cut off, and names that lead elsewhere are dropped.

use libfuzzer_sys::fuzzer_mutate;

/// The files of a folder, by their paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bundle {
    pub files: Vec<(String, Vec<u8>)>,
}

/// Files of one bundle: more only make a run slower.
const FILES: usize = 64;

fn take<'a>(rest: &mut &'a [u8], len: usize) -> &'a [u8] {
    let (taken, others) = rest.split_at(len.min(rest.len()));
    *rest = others;
    taken
}

fn number(rest: &mut &[u8], len: usize) -> usize {
    take(rest, len).iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
}

impl Bundle {
    pub fn parse(mut rest: &[u8]) -> Self {
        let mut files = Vec::new();
        while !rest.is_empty() && files.len() < FILES {
            let len = number(&mut rest, 2);
            let name = String::from_utf8_lossy(take(&mut rest, len)).into_owned();
            let len = number(&mut rest, 4);
            let content = take(&mut rest, len).to_vec();
            let is_plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
            if name.split('/').all(is_plain) {
                files.push((name, content));
            }
        }
        Self { files }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, content) in &self.files {
            bytes.extend((name.len() as u16).to_le_bytes());
            bytes.extend(name.bytes());
            bytes.extend((content.len() as u32).to_le_bytes());
            bytes.extend(content);
        }
        bytes
    }

    /// Changes one file, and now and then which files there are.
    pub fn mutate(&mut self, seed: u32, max_size: usize) {
        if self.files.is_empty() {
            self.files.push(("__schema/__1_1_a".into(), Vec::new()));
        }
        let chosen = (seed >> 8) as usize % self.files.len();
        match seed % 32 {
            0 => drop(self.files.remove(chosen)),
            1 => {
                let other = (seed >> 20) as usize % self.files.len();
                self.files[chosen].1 = self.files[other].1.clone();
            }
            _ => {
                let room = max_size.saturating_sub(self.to_bytes().len());
                let content = &mut self.files[chosen].1;
                let size = content.len();
                let capacity = size + room.min(size / 4 + 64);
                if capacity > 0 {
                    content.resize(capacity, 0);
                    let new = fuzzer_mutate(content, size, capacity);
                    content.truncate(new);
                }
            }
        }
    }
}

/// The body of a mutator for inputs whose first `head` bytes are not part of the bundle.
pub fn mutate(
    data: &mut [u8],
    size: usize,
    max_size: usize,
    seed: u32,
    head: usize,
    seal: impl Fn(&mut Bundle),
) -> usize {
    let head = head.min(size);
    let mut bundle = Bundle::parse(&data[head..size]);
    bundle.mutate(seed, max_size.saturating_sub(head));
    seal(&mut bundle);
    let bytes = bundle.to_bytes();
    if head + bytes.len() > max_size {
        return fuzzer_mutate(data, size, max_size);
    }
    data[head..head + bytes.len()].copy_from_slice(&bytes);
    head + bytes.len()
}
