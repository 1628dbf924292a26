//! `.xz` containers (LZMA2).

use std::io::Write;

use lzma_rust2::{XzOptions, XzReader, XzWriter};

use super::Compressor;
use super::stream::{damaged, fill};
use crate::Result;

pub(super) fn decompress_into(src: &[u8], dst: &mut [u8]) -> Result<()> {
    fill(Compressor::Xz, XzReader::new(src, true), dst)
}

pub(super) fn compress(level: Option<i32>, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
    let preset = level.and_then(|l| u32::try_from(l).ok()).map_or(6, |l| l.min(9));
    let write = |dst: &mut Vec<u8>| {
        let mut writer = XzWriter::new(dst, XzOptions::with_preset(preset))?;
        writer.write_all(src)?;
        writer.finish().map(drop)
    };
    write(dst).map_err(|e| damaged(Compressor::Xz, &e))
}
