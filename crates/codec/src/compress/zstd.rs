//! Zstandard: any sequence of data and skippable frames, with or without content size, checksum and dictionary.

use std::cell::RefCell;

use zstd::zstd_safe::{CCtx, CParameter, DCtx, ErrorCode, InBuffer, OutBuffer, get_error_name};

use super::{Compressor, length_error};
use crate::{Error, Result};

/// The level the library itself takes when none is given.
pub const DEFAULT_LEVEL: i32 = 3;

const WHAT: &str = "zstd data";

thread_local! {
    // A context costs a hundred kilobytes and its set-up more time than a small page: one per thread serves all.
    static DECODER: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
    static ENCODER: RefCell<CCtx<'static>> = RefCell::new(CCtx::create());
}

fn damaged(code: ErrorCode) -> Error {
    Error::corrupt(WHAT, get_error_name(code))
}

/// Decompresses all frames of `src` so that they fill `dst` exactly.
pub fn decompress_into(src: &[u8], dst: &mut [u8]) -> Result<()> {
    DECODER.with_borrow_mut(|decoder| fill(decoder, src, dst))
}

/// Like [`decompress_into`], with a dictionary (raw content or trained).
pub fn decompress_with_dictionary(src: &[u8], dictionary: &[u8], dst: &mut [u8]) -> Result<()> {
    let mut decoder = DCtx::create();
    decoder.load_dictionary(dictionary).map_err(damaged)?;
    fill(&mut decoder, src, dst)
}

fn fill(decoder: &mut DCtx<'_>, src: &[u8], dst: &mut [u8]) -> Result<()> {
    // One call decodes every frame when all of `dst` is filled; it also accepts frames without a content size.
    let expected = dst.len();
    match decoder.decompress(dst, src) {
        Ok(n) if n == expected => Ok(()),
        Ok(n) => Err(length_error(Compressor::Zstd, expected, n)),
        Err(code) => Err(damaged(code)),
    }
}

/// Appends one frame with its content size and no checksum.
pub fn compress(level: i32, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
    ENCODER.with_borrow_mut(|encoder| {
        let start = dst.len();
        dst.reserve(zstd::zstd_safe::compress_bound(src.len()));
        let space = dst.capacity();
        dst.resize(space, 0);
        let result = encoder.compress(dst.get_mut(start..).unwrap_or_default(), src, level);
        dst.truncate(start + *result.as_ref().unwrap_or(&0));
        result.map(drop).map_err(|code| Error::unencodable(WHAT, get_error_name(code)))
    })
}

/// Appends one frame as a streaming encoder writes it: no content size, no checksum.
pub fn compress_without_content_size(level: i32, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
    let refused = |code| Error::unencodable(WHAT, get_error_name(code));
    let mut encoder = CCtx::create();
    encoder.set_parameter(CParameter::CompressionLevel(level)).map_err(refused)?;
    encoder.set_parameter(CParameter::ContentSizeFlag(false)).map_err(refused)?;
    let mut input = InBuffer::around(src);
    let mut space = vec![0; CCtx::out_size()];
    loop {
        let ending = input.pos() == src.len();
        let mut output = OutBuffer::around(space.as_mut_slice());
        let left = if ending {
            encoder.end_stream(&mut output).map_err(refused)?
        } else {
            encoder.compress_stream(&mut output, &mut input).map_err(refused)?
        };
        dst.extend_from_slice(output.as_slice());
        if ending && left == 0 {
            return Ok(());
        }
    }
}
