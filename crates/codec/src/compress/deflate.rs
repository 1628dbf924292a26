//! gzip and zlib, both wrappers of DEFLATE.

use std::cell::RefCell;
use std::io::Write;

use flate2::bufread::MultiGzDecoder;
use flate2::write::{GzEncoder, ZlibEncoder};
use flate2::{Compression, Decompress, FlushDecompress, Status};

use super::stream::{damaged, fill};
use super::{Compressor, length_error};
use crate::Result;

thread_local! {
    // Creating a state takes longer than decoding a small structure: keep one per thread.
    static INFLATER: RefCell<Decompress> = RefCell::new(Decompress::new(true));
}

fn level_of(level: Option<i32>) -> Compression {
    level
        .and_then(|level| u32::try_from(level).ok())
        .map_or_else(Compression::default, |l| Compression::new(l.min(9)))
}

pub(super) fn gunzip_into(src: &[u8], dst: &mut [u8]) -> Result<()> {
    fill(Compressor::Gzip, MultiGzDecoder::new(src), dst)
}

pub(super) fn inflate_into(src: &[u8], dst: &mut [u8]) -> Result<()> {
    INFLATER.with_borrow_mut(|inflater| {
        inflater.reset(true);
        let run = |inflater: &mut Decompress, space: &mut [u8]| {
            let rest = src.get(inflater.total_in() as usize..).unwrap_or_default();
            let status = inflater.decompress(rest, space, FlushDecompress::Finish);
            status.map_err(|error| damaged(Compressor::Zlib, &error.into()))
        };
        let mut status = run(inflater, dst)?;
        if status != Status::StreamEnd && inflater.total_out() == dst.len() as u64 {
            // All is filled, but the end of the stream was not read yet.
            status = run(inflater, &mut [0])?;
        }
        let found = inflater.total_out() as usize;
        if status == Status::StreamEnd && found == dst.len() {
            return Ok(());
        }
        Err(length_error(Compressor::Zlib, dst.len(), found))
    })
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
