//! The jobs' data.

use std::path::Path;

use compare_harness::sized;

/// Side of the square tensor.
pub fn side() -> u64 {
    sized(16384, 1024)
}

/// Side of the square tensor of single cells.
pub fn many() -> u64 {
    sized(1000, 100)
}

/// Side of a chunk, and of a window.
pub const CHUNK: u64 = 512;

/// The upper left corners of the windows: the same sequence in every engine.
pub fn windows() -> impl Iterator<Item = (u64, u64)> {
    let mut state = 12345_u64;
    let mut next = move || {
        state = (state * 1_103_515_245 + 12345) % (1 << 31);
        state % (side() - CHUNK)
    };
    (0..sized(100, 5)).map(move |_| (next(), next()))
}

/// The tensor of `base.npy`, as bytes.
pub fn base(folder: &Path) -> Vec<u8> {
    let mut bytes = std::fs::read(folder.join("base.npy")).expect("base.npy is there");
    let header = bytes.len() - (side() * side() * 4) as usize;
    bytes.drain(..header);
    bytes
}

/// One little-endian single.
pub fn cell(bytes: &[u8], index: usize) -> f64 {
    let at = index * 4;
    f64::from(f32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]))
}
