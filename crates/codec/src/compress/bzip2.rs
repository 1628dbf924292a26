//! bzip2 streams.

use std::io::Write;

use bzip2::Compression;
use bzip2::bufread::MultiBzDecoder;
use bzip2::write::BzEncoder;

use super::Compressor;
use super::stream::{damaged, fill};
use crate::Result;

pub(super) fn decompress_into(src: &[u8], dst: &mut [u8]) -> Result<()> {
    fill(Compressor::Bzip2, MultiBzDecoder::new(src), dst)
}

pub(super) fn compress(level: Option<i32>, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
    let level = level.and_then(|l| u32::try_from(l).ok()).map_or(9, |l| l.clamp(1, 9));
    let mut encoder = BzEncoder::new(dst, Compression::new(level));
    encoder
        .write_all(src)
        .and_then(|()| encoder.finish().map(drop))
        .map_err(|e| damaged(Compressor::Bzip2, &e))
}
