//! gzip and zlib, both wrappers of DEFLATE.

use std::io::Write;

use flate2::Compression;
use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};

use super::Compressor;
use super::stream::{damaged, fill};
use crate::Result;

fn level_of(level: Option<i32>) -> Compression {
    level
        .and_then(|level| u32::try_from(level).ok())
        .map_or_else(Compression::default, |l| Compression::new(l.min(9)))
}

pub(super) fn gunzip_into(src: &[u8], dst: &mut [u8]) -> Result<()> {
    fill(Compressor::Gzip, MultiGzDecoder::new(src), dst)
}

pub(super) fn inflate_into(src: &[u8], dst: &mut [u8]) -> Result<()> {
    fill(Compressor::Zlib, ZlibDecoder::new(src), dst)
}

pub(super) fn gzip(level: Option<i32>, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
    let mut encoder = GzEncoder::new(dst, level_of(level));
    encoder
        .write_all(src)
        .and_then(|()| encoder.finish().map(drop))
        .map_err(|e| damaged(Compressor::Gzip, &e))
}

pub(super) fn deflate(level: Option<i32>, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
    let mut encoder = ZlibEncoder::new(dst, level_of(level));
    encoder
        .write_all(src)
        .and_then(|()| encoder.finish().map(drop))
        .map_err(|e| damaged(Compressor::Zlib, &e))
}
